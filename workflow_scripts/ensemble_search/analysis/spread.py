"""How evenly designs cover a range (Dodge et al., 2017, Figure 1)."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from ensemble_search.dpp.coverage import SAMPLERS
from ensemble_search.results import layout, readers

MEASURES = ("discrepancy", "centre", "origin")


def load(study: Mapping[str, Any], results: Path) -> tuple[pd.DataFrame, list[str]]:
    """Read what was measured of the designs that a study asks for.

    Parameters
    ----------
    study
        ``spread`` (its section; None: there is nothing to read) and ``seed``.
    results
        Folder of the study.

    Returns
    -------
    designs
        One row per design: ``sampler``, ``size``, ``sample`` and :data:`MEASURES`.
    missing
        Files that are not there, or were made otherwise, with the reason.

    Raises
    ------
    Unusable
        If a file is damaged.
    """
    tables: list[Any] = []
    missing: list[str] = []
    for sampler in SAMPLERS if study.get("spread") else ():
        file = f"{layout.SPREAD.format(sampler=sampler)}/spread.parquet"
        asked = {**study["spread"], "seed": study["seed"]}
        table = readers.of_job(readers.spread, results, file, asked, missing)
        if table is not None:
            tables.append(table.to_pandas().assign(sampler=sampler))
    if not tables:
        return pd.DataFrame(columns=["sampler", *readers.SPREAD]), missing
    return pd.concat(tables, ignore_index=True), missing


def summary(designs: pd.DataFrame) -> pd.DataFrame:
    """Compute medians and quartiles over the designs of each sampler and size.

    Returns
    -------
    summary
        One row per measure, sampler and size: ``lower``, ``median``, ``upper``.
    """
    long = designs.melt(["sampler", "size", "sample"], MEASURES, var_name="measure")
    groups = long.groupby(["measure", "sampler", "size"], sort=False)["value"]
    quartiles = groups.quantile([0.25, 0.5, 0.75]).unstack()
    return quartiles.set_axis(["lower", "median", "upper"], axis=1).reset_index()


def slopes(summary: pd.DataFrame) -> pd.Series:
    """Fit lines to log median over log size, from a tenth of the largest size on.

    Returns
    -------
    slopes
        By measure and sampler: -1/2 of medians that shrink like 1 / sqrt(k), -1 like 1 / k. NaN
        where there are fewer than 2 sizes, or a median is 0.
    """
    late = summary[10 * summary["size"] >= summary["size"].max()]

    def slope(part: pd.DataFrame) -> float:
        if len(part) < 2 or not part["median"].all():
            return np.nan
        return float(np.polyfit(np.log(part["size"]), np.log(part["median"]), 1)[0])

    groups = late.groupby(["measure", "sampler"], sort=False)[["size", "median"]]
    return groups.apply(slope)


def uniform_medians(sizes: np.ndarray) -> pd.DataFrame:
    """Compute the exact medians of independent uniform points.

    Parameters
    ----------
    sizes
        Numbers of points.

    Returns
    -------
    medians
        Index: the sizes. A column per measure. The star discrepancy of uniform points is the
        statistic of the two-sided Kolmogorov-Smirnov test.
    """
    from scipy.stats import kstwo

    # All k points miss what is within r of the origin with probability (1 - r)^k.
    radius = -np.expm1(-np.log(2) / sizes)
    medians = {
        "discrepancy": kstwo.median(sizes), "centre": (radius / 2) ** 2, "origin": radius**2
    }  # fmt: skip
    return pd.DataFrame(medians, index=sizes)
