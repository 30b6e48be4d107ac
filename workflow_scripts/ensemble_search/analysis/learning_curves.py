"""Test losses on growing parts of the training rows, and what the parts' choice changes."""

import json

import numpy as np
import pandas as pd

from ensemble_search.analysis import ranks
from ensemble_search.analysis.load import Results
from ensemble_search.data.subsets import default_kernel

#: Data sets without a part of their own use all training rows.
ALL = "all rows"


def curves(results: Results) -> pd.DataFrame:
    """Collect the final test losses of data sets that are parts of the same source.

    Of data sets of a source with the same part, the first counts.

    Returns
    -------
    losses
        One row per run: ``source`` (the first data set's name), ``method``, ``chosen`` (how its
        rows are chosen, as :func:`described`, or :data:`ALL`), ``share``, ``rows`` (of training),
        ``repeat``, ``test_error``. Without rows if no source has two parts.
    """
    parts, sources = results.study.get("train_rows", {}), results.study.get("sources", {})
    groups: dict[str, list[str]] = {}
    for name in results.study["datasets"]:
        groups.setdefault(json.dumps(sources.get(name), sort_keys=True), []).append(name)
    curves = [g for g in groups.values() if sum(name in parts for name in g) > 1]
    source = {name: group[0] for group in curves for name in group}
    final = ranks.final_errors(results.compared)
    long = final.melt(ignore_index=False, var_name="method", value_name="test_error").reset_index()
    long = long[long["dataset"].isin(source)]
    names = long["dataset"]
    rows = results.datasets.set_index("dataset")["train"]
    task = results.losses.task
    table = pd.DataFrame(
        {
            "dataset": names,
            "source": names.map(source),
            "method": long["method"],
            "chosen": [described(parts[n], task) if n in parts else ALL for n in names],
            "share": [parts[n]["share"] if n in parts else 1.0 for n in names],
            "rows": names.map(rows),
            "repeat": long["repeat"],
            "test_error": long["test_error"],
        }
    )
    places = table["dataset"].map({name: i for i, name in enumerate(results.study["datasets"])})
    first = places.groupby([table[key] for key in ("source", "chosen", "share")]).transform("min")
    return table[places == first].drop(columns="dataset").reset_index(drop=True)


def described(part: dict, task: str) -> str:
    """Name how rows are chosen: ``uniform``, or ``k-DPP, product, alpha 0.9, balanced``."""
    if part["by"] != "k-dpp":
        return part["by"]
    words = [
        "k-DPP",
        part.get("kernel") or default_kernel(task),
        f"alpha {part['alpha']:.15g}",
        part["balanced"] and "balanced",
    ]
    return ", ".join(filter(None, words))


def summary(losses: pd.DataFrame) -> pd.DataFrame:
    """Average over repeats, and compare with the uniform part of the same size.

    Parameters
    ----------
    losses
        Of :func:`curves`.

    Returns
    -------
    summary
        One row per source, method, choice and share: ``rows``, ``mean``, ``std`` and ``repeats`` of
        the test loss; ``difference`` to ``uniform`` of as many rows, the mean of what both have of
        a repeat, and its standard error ``se`` (NaN for fewer than two repeats).
    """
    keys = ["source", "method", "chosen", "share"]
    result = []
    for key, runs in losses.groupby(keys, sort=False):
        found = dict(zip(keys, key, strict=True))
        own = runs.set_index("repeat")["test_error"]
        like = (losses["source"] == key[0]) & (losses["method"] == key[1])
        same = losses[like & (losses["rows"] == runs["rows"].iloc[0])]
        uniform = same[same["chosen"] == "uniform"].groupby("repeat")["test_error"].first()
        pairs = (own - uniform).dropna() if found["chosen"] != "uniform" else pd.Series(dtype=float)
        result.append(
            {
                **found,
                "rows": runs["rows"].iloc[0],
                "mean": own.mean(),
                "std": own.std(),
                "repeats": len(own),
                "difference": pairs.mean() if len(pairs) else np.nan,
                "se": pairs.std() / np.sqrt(len(pairs)) if len(pairs) > 1 else np.nan,
            }
        )
    return pd.DataFrame(result)
