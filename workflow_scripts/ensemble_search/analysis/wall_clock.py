"""Losses over wall-clock time, if everything that is suggested together ran side by side."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from ensemble_search.analysis.load import Results
from ensemble_search.runtime import plugins
from ensemble_search.runtime.errors import UserError

#: Points of time of a curve.
POINTS = 60


def batches(settings: Mapping[str, Any], evaluations: int) -> list[int]:
    """Return the sizes of what a search suggests together, in order; they sum to ``evaluations``.

    Parameters
    ----------
    settings
        Of the search in a study: ``optimizer`` and its settings.
    evaluations
        Of a run.
    """
    optimizer = plugins.make("optimizers", settings, "optimizer", "searches")
    sizes: list[int] = []
    while (left := evaluations - sum(sizes)) > 0:
        sizes.append(optimizer.together(evaluations - left, left))
    return sizes


def side_by_side(study: Mapping[str, Any], evaluations: int) -> dict[str, list[int]]:
    """Return the :func:`batches` of every search; none if the study has no designs or batches.

    Random search and random initial designs alone do not count.
    """
    sizes = {name: _sizes(settings, evaluations) for name, settings in study["searches"].items()}
    designs = [
        name
        for name, settings in study["searches"].items()
        if max(sizes[name][1:], default=0) > 1 or settings["optimizer"] in ("k-dpp", "sobol")
    ]
    return sizes if designs else {}


def _sizes(settings: Mapping[str, Any], evaluations: int) -> list[int]:
    """Return the batches; one by one where the optimizer is not there any more."""
    try:
        return batches(settings, evaluations)
    except UserError:
        return [1] * evaluations


def ends(suggest: np.ndarray, fit: np.ndarray, sizes: list[int]) -> np.ndarray:
    """Compute when each evaluation and all before it are done, in seconds, of shape (n,).

    A batch begins when the one before it is done; its suggestions are made one after the other, and
    fitted at once.

    Parameters
    ----------
    suggest, fit
        Seconds of each evaluation, of shape (n,).
    sizes
        Of the batches.
    """
    result, now, place = np.empty(len(fit)), 0.0, 0
    for size in sizes:
        part = slice(place, place + size)
        result[part] = now + np.cumsum(suggest[part]) + fit[part]
        now = max(now, result[part].max(initial=now))
        place += size
    return np.maximum.accumulate(result)


def curves(results: Results, sizes: Mapping[str, list[int]]) -> pd.DataFrame:
    """Average test losses over wall-clock time.

    Parameters
    ----------
    sizes
        Of :func:`side_by_side`.

    Returns
    -------
    curves
        One row per data set, method and point of time: ``seconds``, ``mean``, ``std`` (of the test
        loss over repeats; a run without a model yet counts as ``Losses.with_failures`` says),
        ``workers`` (the largest batch) and ``end`` (mean seconds of a whole run).
    """
    compared, keys = results.compared, ["dataset", "search", "repeat"]
    nothing = pd.Series([np.nan])
    done: dict[tuple, np.ndarray] = {}
    ordered = results.observations.sort_values("iteration")
    for key, run in ordered.groupby(keys, sort=False):
        seconds = (run[name].fillna(0).to_numpy() for name in ("suggest_seconds", "fit_seconds"))
        done[key] = ends(*seconds, sizes[key[1]])
    rows = []
    for dataset, part in compared.scores.groupby("dataset", observed=True, sort=False):
        losses = pd.concat([part["test_error"], nothing])
        losses = compared.losses.with_failures(losses, pd.Series(dataset, losses.index))
        filled, worst = part.assign(test_error=losses.to_numpy()[:-1]), losses.iloc[-1]
        runs: dict[str, list] = {}
        by_run = filled.groupby(["method", "repeat"], observed=True, sort=False)
        for (method, repeat), run in by_run:
            search = results.study["methods"][method]["search"]
            own = run.sort_values("iteration")["test_error"].to_numpy()
            runs.setdefault(method, []).append((done[dataset, search, repeat], own))
        times = np.concatenate([t for of in runs.values() for t, _ in of])
        grid = np.geomspace(times.min(), times.max(), POINTS)
        for method in compared.methods:
            steps = np.array([_at(grid, t, losses, worst) for t, losses in runs[method]])
            for seconds, column in zip(grid, steps.T, strict=True):
                rows.append(
                    {
                        "dataset": dataset,
                        "method": method,
                        "seconds": seconds,
                        "mean": column.mean(),
                        "std": column.std(ddof=1) if len(column) > 1 else np.nan,
                        "workers": max(sizes[results.study["methods"][method]["search"]]),
                        "end": np.mean([t[-1] for t, _ in runs[method]]),
                    }
                )
    return pd.DataFrame(rows)


def _at(grid: np.ndarray, times: np.ndarray, losses: np.ndarray, worst: float) -> np.ndarray:
    """The loss at each point of time: of the last iteration that is done, at first the worst."""
    known = np.searchsorted(times, grid, side="right")
    return np.concatenate([[worst], losses])[known]
