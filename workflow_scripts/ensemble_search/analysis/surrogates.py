"""How well surrogates predict configurations that they have not seen (DivBO paper, Figure 2)."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from ensemble_search.results import layout, readers

KEYS = ["dataset", "protocol", "surrogate", "observations"]


def load(study: Mapping[str, Any], results: Path) -> tuple[pd.DataFrame, list[str]]:
    """Read the evaluations of surrogates that a study asks for.

    Parameters
    ----------
    study
        ``surrogates`` (its section; None: there is nothing to read), ``datasets``, ``seed``,
        ``space``.
    results
        Folder of the study.

    Returns
    -------
    quality
        One row per data set, surrogate, repeat, size and protocol, with the columns that
        ``surrogate_quality.assess`` describes. An undefined ``tau`` is 0: a model that
        predicts the same for all puts nothing in order.
    missing
        Files that are not there, or were made otherwise, with the reason.

    Raises
    ------
    Unusable
        If a file is damaged.
    """
    section: Any = study.get("surrogates")
    tables: list[Any] = []
    missing: list[str] = []
    for dataset in (section["datasets"] or study["datasets"]) if section else []:
        for surrogate in section["names"]:
            for repeat in range(section["repeats"]):
                fields = {"dataset": dataset, "surrogate": surrogate, "repeat": repeat}
                file = f"{layout.SURROGATE.format(**fields)}/quality.parquet"
                asked = {"surrogate": surrogate, "repeat": repeat}
                asked |= {key: section[key] for key in ("sizes", "held_out")}
                asked |= {key: study[key] for key in ("seed", "space")}
                table = readers.of_job(readers.quality, results, file, asked, missing)
                if table is None:
                    continue
                found = table.to_pandas()
                found.insert(0, "repeat", repeat)
                found.insert(0, "surrogate", surrogate)
                found.insert(0, "dataset", dataset)
                tables.append(found)
    if not tables:
        return pd.DataFrame(columns=[*KEYS, "repeat"]), missing
    quality = pd.concat(tables, ignore_index=True)
    return quality.assign(tau=quality["tau"].fillna(0.0)), missing


def taus(quality: pd.DataFrame) -> pd.DataFrame:
    """Mean, standard deviation (divisor n - 1) and number of repeats of tau.

    Returns
    -------
    taus
        One row per data set, protocol, surrogate and number of observations: ``mean``, ``std``,
        ``repeats``.
    """
    groups = quality.groupby(KEYS, sort=False)["tau"]
    return groups.agg(mean="mean", std="std", repeats="size").reset_index()


def calibration(quality: pd.DataFrame) -> pd.DataFrame:
    """Compare the predicted spread with the error, at the largest number of observations.

    Returns
    -------
    calibration
        One row per data set, protocol and surrogate, means over repeats: ``within_1``,
        ``within_2``, ``absolute_error``, ``spread``, and ``ratio``, the last two's.
    """
    last = quality[quality["observations"] == quality["observations"].max()]
    columns = ["within_1", "within_2", "absolute_error", "spread"]
    table = last.groupby(KEYS, sort=False)[columns].mean().reset_index()
    return table.assign(ratio=table["absolute_error"] / table["spread"].where(table["spread"] > 0))


def seconds(quality: pd.DataFrame) -> pd.DataFrame:
    """Mean CPU seconds of a fit over data sets and repeats.

    Returns
    -------
    seconds
        One row per surrogate, one column per number of observations.
    """
    fits = quality.drop_duplicates(["dataset", "surrogate", "repeat", "observations"])
    return fits.pivot_table(
        index="surrogate", columns="observations", values="fit_cpu_seconds", sort=False
    )
