"""Where the time of the searches went."""

import numpy as np
import pandas as pd

from divbo.search import progress


def time_spent(observations: pd.DataFrame) -> pd.DataFrame:
    """Sum up the time of each search over all its runs.

    Returns
    -------
    times
        Index: searches. ``runs``; mean seconds a run ``fit`` (fitting and predicting, wall clock)
        and ``suggest``; ``outside``: share of fit + suggest that is not fitting; ``hours``: wall
        clock of all runs, fit + suggest; ``cpu_hours``: CPU time of all evaluations.
    """
    columns = ["runs", "fit", "suggest", "outside", "hours", "cpu_hours"]
    if observations.empty:
        return pd.DataFrame(columns=columns)
    seconds = ["fit_seconds", "suggest_seconds", "cpu_seconds"]
    groups = observations.groupby("search", sort=False)
    table = groups[seconds].sum()
    table["runs"] = (
        observations[["search", "dataset", "repeat"]].drop_duplicates().groupby("search").size()
    )
    table["fit"] = table["fit_seconds"] / table["runs"]
    table["suggest"] = table["suggest_seconds"] / table["runs"]
    total = table["fit_seconds"] + table["suggest_seconds"]
    table["outside"] = table["suggest_seconds"] / total.where(total > 0)
    table["hours"] = total / 3600
    table["cpu_hours"] = table["cpu_seconds"] / 3600
    return table[columns]


def suggest_curves(observations: pd.DataFrame) -> pd.DataFrame:
    """Median seconds to suggest at every iteration: ``search``, ``iteration``, ``seconds``."""
    if observations.empty:
        return pd.DataFrame(columns=["search", "iteration", "seconds"])
    groups = observations.groupby(["search", "iteration"], sort=False)["suggest_seconds"]
    return groups.median().rename("seconds").reset_index()


def duration(seconds: float) -> str:
    """Write seconds as :func:`progress.duration`, but digits below 10 s, and – for NaN."""
    if not np.isfinite(seconds):
        return "–"
    if seconds < 10:
        return f"{seconds:.2g} s" if seconds < 1 else f"{seconds:.1f} s"
    return progress.duration(seconds)
