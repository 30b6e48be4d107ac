"""Time spent by the searches."""

import numpy as np
import pandas as pd

from ensemble_search.search import progress


def time_spent(observations: pd.DataFrame, manifests: pd.DataFrame) -> pd.DataFrame:
    """Sum the time of each search over all its runs.

    One row per search. ``runs``; mean wall-clock seconds per run: ``fit`` (fitting and predicting),
    ``suggest`` and ``rest`` (of the jobs: starting workers, reading, writing); ``outside``: share
    of the three outside fitting; ``hours``: all three, over all runs; ``cpu_hours``: CPU time of
    all evaluations.
    """
    columns = ["runs", "fit", "suggest", "rest", "outside", "hours", "cpu_hours"]
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
    rest = manifests.groupby("search")["rest_seconds"].sum()
    table["rest"] = rest / table["runs"]
    total = table["fit_seconds"] + table["suggest_seconds"] + rest
    table["outside"] = 1 - table["fit_seconds"] / total.where(total > 0)
    table["hours"] = total / 3600
    table["cpu_hours"] = table["cpu_seconds"] / 3600
    return table[columns]


def total(times: pd.DataFrame, recorded: str) -> str:
    """Describe how long all searches took together; for replays, which part of it is recorded.

    ``times`` come from :func:`time_spent`; for ``recorded``, see ``origins.recorded``.
    """
    runs = times["runs"]
    own = (runs * (times["suggest"] + times["rest"])).sum()
    fit = (runs * times["fit"]).sum()
    if recorded == "recorded":
        return (
            f"{duration(own)} of replaying in total, and {duration(fit)} of fitting recorded when "
            "the tables were made (wall-clock time)"
        )
    partly = f", {recorded}" if recorded else ""
    return f"{duration(own + fit)} of search in total (wall-clock time{partly})"


def suggest_curves(observations: pd.DataFrame) -> pd.DataFrame:
    """Median seconds to suggest at every iteration: ``search``, ``iteration``, ``seconds``."""
    if observations.empty:
        return pd.DataFrame(columns=["search", "iteration", "seconds"])
    groups = observations.groupby(["search", "iteration"], sort=False)["suggest_seconds"]
    return groups.median().rename("seconds").reset_index()


def duration(seconds: float) -> str:
    """Format seconds as :func:`progress.duration`, but with decimals below 10 s, and – for NaN."""
    if not np.isfinite(seconds):
        return "–"
    if seconds < 10:
        return f"{seconds:.2g} s" if seconds < 1 else f"{seconds:.1f} s"
    return progress.duration(seconds)
