"""Origin of the results: the study's settings and the searches' manifests."""

from collections.abc import Mapping
from typing import Any

import pandas as pd

from ensemble_search.data import prepare
from ensemble_search.runtime.errors import number_of
from ensemble_search.runtime.names import FITTED
from ensemble_search.runtime.shares import TOLERANCE
from ensemble_search.search.budget import COUNTED, UNITS

#: Where times of fitting come from, by :func:`recorded`.
RECORDED = {
    "recorded": "Seconds of fits are those recorded when the searches' table was made.",
    "partly recorded": "Seconds of evaluations that searches share, or that were given, are those "
    "recorded when these were fitted.",
}
#: Settings of the split that do not count if a column has this role.
UNUSED = {"part": ("split.train", "split.validation", "split.test"), "fold": ("split.test",)}
#: Keys of ``search.json`` that describe where and with what a search ran.
FACTS = {"commit": "git commit", "dirty": "uncommitted changes", "machine": "", "versions": ""}


def settings(study: Mapping[str, Any], by: Mapping[str, Mapping[str, str]]) -> pd.DataFrame:
    """Flatten the study's settings into rows ``key``, ``value`` (nested keys joined by a dot).

    ``by`` has the ``by`` of every data set's ``split.json``: shares of parts say where they are not
    those of the rows.
    """
    rows: list[tuple[str, str]] = []
    unused: dict[str, dict[str, list[str]]] = {}
    for dataset, own in by.items():
        for key in (key for role in own for key in UNUSED.get(role, ())):
            unused.setdefault(key, {}).setdefault(prepare.divided(own), []).append(dataset)

    def walk(key: str, value: Any) -> None:
        if isinstance(value, Mapping):
            for name, inner in value.items():
                walk(f"{key}.{name}" if key else str(name), inner)
        elif isinstance(value, list | tuple):
            rows.append((key, ", ".join(map(str, value))))
        elif value is not None:
            others = (f"; not of {', '.join(n)}: {why}" for why, n in unused.get(key, {}).items())
            rows.append((key, "".join([str(value), *others])))

    walk("", study)
    return pd.DataFrame(rows, columns=["key", "value"])


def origins(manifests: pd.DataFrame) -> pd.DataFrame:
    """Collect the searches' environments: rows ``what``, ``value``, ``searches`` (how many).

    More than one value for the same ``what`` means that the searches differ.
    """
    rows: list[tuple[str, str]] = []
    for manifest in manifests.to_dict("records"):
        for key, label in FACTS.items():
            value = manifest.get(key)
            facts = value.items() if isinstance(value, Mapping) else [(label, value)]
            rows += [(name, _text(v)) for name, v in facts if isinstance(v, str | int | bool)]
    frame = pd.DataFrame(rows, columns=["what", "value"])
    return frame.groupby(["what", "value"], sort=False).size().rename("searches").reset_index()


def period(manifests: pd.DataFrame) -> tuple[str, str] | None:
    """Return when the first search started and the last finished, in UTC: ``2025-01-31 12:05``.

    None if unknown.
    """
    if not {"started", "finished"} <= set(manifests.columns):
        return None
    first, last = (
        pd.to_datetime(manifests[key], utc=True, errors="coerce", format="ISO8601")
        for key in ("started", "finished")
    )
    if first.isna().all() or last.isna().all():
        return None
    return f"{first.min():%Y-%m-%d %H:%M}", f"{last.max():%Y-%m-%d %H:%M}"


def _text(value: Any) -> str:
    return ("yes" if value else "no") if isinstance(value, bool) else str(value)


def replayed(manifests: pd.DataFrame) -> bool:
    """Return whether searches were replayed: their evaluations looked up in tables."""
    return "table" in manifests and bool(manifests["table"].notna().any())


def recorded(manifests: pd.DataFrame) -> str:
    """Return whether times of fitting come from elsewhere: a key of :data:`RECORDED`, or empty."""
    if replayed(manifests):
        return "recorded"
    origins = {name for counts in manifests.get("origin", pd.Series()).dropna() for name in counts}
    return "partly recorded" if origins - {FITTED} else ""


def caveat(manifests: pd.DataFrame, budget: int | None, splits: int = 1) -> str:
    """Explain on how many entries searches were replayed, and what this can and cannot show.

    ``budget`` is the number of evaluations per search, None if it is in another unit; ``splits``
    the number of splits per data set. Empty if no search was replayed.
    """
    if not replayed(manifests):
        return ""
    sizes = sorted({table["entries"] for table in manifests["table"].dropna()})
    size = f"{sizes[0]:,}" if len(sizes) == 1 else f"{sizes[0]:,} to {sizes[-1]:,}"
    most = "up to " if len(sizes) > 1 else ""
    share = f" ({most}{100 * budget / sizes[0]:.0f} % of them are evaluated)" if budget else ""
    where = f" and split (the repeats cycle through {splits})" if splits > 1 else ""
    return (
        f"The searches were replayed on tables of {size} configurations per data set{where}: they "
        f"choose among these{share}, and the result of each is looked up. Times of fitting and "
        "predicting are those recorded when the table was made. This compares searches on the same "
        "pipelines, with as many repeats as one likes; it cannot show what a search would find "
        "outside its table, and the more of a table is evaluated, the less searches can differ."
    )


def used_up(
    observations: pd.DataFrame, manifests: pd.DataFrame, budget: Mapping[str, float | None]
) -> str:
    """Explain which searches ended because their table was used up, and what they used.

    ``budget`` is the study's. Empty if every search reached it.
    """
    unit, limit = next((u, n) for u, n in budget.items() if n is not None)
    if unit not in COUNTED or not replayed(manifests):
        return ""
    spent = observations.groupby(["dataset", "search", "repeat"])[COUNTED[unit]].sum()
    short = spent[spent < limit - TOLERANCE]
    if short.empty:
        return ""
    low, high = (f"{n:,.4g}" for n in (short.min(), short.max()))
    names = ", ".join(dict.fromkeys(short.index.get_level_values("search")))
    return (
        f"{number_of(len(short), 'search')} of {len(spent)} ({names}) ended after "
        f"{low if low == high else f'{low} to {high}'} of {limit:,.10g} {UNITS[unit]}, because "
        "all entries of their tables had been evaluated; take larger tables, or a smaller budget."
    )
