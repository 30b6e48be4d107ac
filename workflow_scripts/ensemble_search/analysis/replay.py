"""What must be known to read the results of searches that were replayed on tables."""

import pandas as pd


def caveat(manifests: pd.DataFrame, budget: int | None, splits: int = 1) -> str:
    """Explain on how many entries searches were replayed, and what that can and cannot show.

    Parameters
    ----------
    manifests
        As ``Results`` has them.
    budget
        Evaluations per search; None if it is in another unit.
    splits
        Number of splits of a data set. Default: 1.

    Returns
    -------
    text
        Empty if none was replayed.
    """
    if "table" not in manifests or manifests["table"].isna().all():
        return ""
    replayed = manifests["table"].dropna()
    sizes = sorted({table["entries"] for table in replayed})
    size = f"{sizes[0]:,}" if len(sizes) == 1 else f"{sizes[0]:,} to {sizes[-1]:,}"
    most = "up to " if len(sizes) > 1 else ""
    share = f" ({most}{100 * budget / sizes[0]:.0f} % of them are evaluated)" if budget else ""
    where = f" and split (the repeats go round over {splits})" if splits > 1 else ""
    return (
        f"The searches were replayed on tables of {size} configurations per data set{where}: they "
        f"choose among these{share}, and the result of each is looked up. Seconds of fitting are "
        "those measured when the table was made. This compares searches on the same pipelines, "
        "with as many repeats as one likes; it cannot show what a search would find outside its "
        "table, and the more of a table is evaluated, the less searches can differ."
    )
