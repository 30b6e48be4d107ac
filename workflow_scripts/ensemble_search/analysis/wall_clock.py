"""Losses over wall-clock time if all configurations suggested together ran concurrently."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from ensemble_search.analysis.load import Results
from ensemble_search.runtime import plugins
from ensemble_search.runtime.errors import UserError

#: Number of points in time of a curve.
POINTS = 60


def batches(settings: Mapping[str, Any], evaluations: int, given: int = 0) -> list[int]:
    """Return the sizes of the batches of a run, in order; they sum to ``evaluations``.

    ``settings`` has the ``optimizer`` and its settings; ``given`` evaluations precede the run.
    """
    optimizer = plugins.make("optimizers", settings, "optimizer", "searches")
    sizes: list[int] = []
    while (left := evaluations - sum(sizes)) > 0:
        sizes.append(optimizer.together(given + evaluations - left, left, given))
    return sizes


def has_batches(study: Mapping[str, Any], evaluations: int) -> bool:
    """Whether some search of the study suggests a design or batches.

    Random search and random initial designs alone do not count.
    """
    return any(
        settings["optimizer"] in ("k-dpp", "sobol")
        or max(_sizes(settings, evaluations)[1:], default=0) > 1
        for settings in study["searches"].values()
    )


def _sizes(settings: Mapping[str, Any], evaluations: int, given: int = 0) -> list[int]:
    """Return the batches; size 1 if the optimizer no longer exists."""
    try:
        return batches(settings, evaluations, given)
    except UserError:
        return [1] * evaluations


def ends(suggest: np.ndarray, fit: np.ndarray, sizes: list[int]) -> np.ndarray:
    """Compute when each evaluation and all earlier ones are done, in seconds, of shape (n,).

    A batch begins when the previous one is done; its suggestions are made one after the other, then
    fitted concurrently. ``suggest`` and ``fit`` are the seconds of each evaluation, of shape (n,),
    and ``sizes`` those of the batches.
    """
    result, now, place = np.empty(len(fit)), 0.0, 0
    for size in sizes:
        part = slice(place, place + size)
        result[part] = now + np.cumsum(suggest[part]) + fit[part]
        now = max(now, result[part].max(initial=now))
        place += size
    return np.maximum.accumulate(result)


def curves(results: Results) -> pd.DataFrame:
    """Average test losses over wall-clock time.

    As :func:`over_time`, with ``workers`` (the largest batch of the method's search).
    """
    done: dict[tuple, np.ndarray] = {}
    sizes: dict[tuple, list[int]] = {}  # by search, evaluations and given evaluations
    workers: dict[str, int] = {}  # by search
    for key, run in _runs(results.observations):
        suggest, fit = (run[f"{part}_seconds"].fillna(0).to_numpy() for part in ("suggest", "fit"))
        kind = key[1], len(run), results.given(*key)
        if kind not in sizes:
            sizes[kind] = _sizes(results.study["searches"][kind[0]], *kind[1:])
        done[key] = ends(suggest, fit, sizes[kind])
        workers[kind[0]] = max(workers.get(kind[0], 0), *sizes[kind])
    found = over_time(results, done)
    searches = found["method"].map(lambda method: results.study["methods"][method]["search"])
    return found.assign(workers=searches.map(workers))


def fitted(observations: pd.DataFrame) -> dict[tuple, np.ndarray]:
    """Return the seconds of fitting after each evaluation, by (data set, search, repeat)."""
    runs = _runs(observations.fillna({"fit_seconds": 0.0}))
    return {key: run["fit_seconds"].cumsum().to_numpy() for key, run in runs}


def _runs(observations: pd.DataFrame):
    ordered = observations.sort_values("iteration")
    return ordered.groupby(["dataset", "search", "repeat"], sort=False)


def over_time(results: Results, done: Mapping[tuple, np.ndarray]) -> pd.DataFrame:
    """Average test losses over seconds.

    ``done`` has, by (data set, search, repeat), the seconds until each evaluation is done, of shape
    (n,), ascending. The result has one row per data set, method and point in time: ``seconds``,
    ``mean``, ``std`` (of the test loss over repeats; a run without a model yet is treated as in
    ``Losses.with_failures``, and a finished run keeps its last loss), ``models`` (share of the runs
    that have one), and ``end`` (mean seconds of a whole run). Data sets without any seconds have no
    rows.
    """
    compared = results.compared
    nothing = pd.Series([np.nan])
    frames = []
    for dataset, part in compared.scores.groupby("dataset", observed=True, sort=False):
        losses = pd.concat([part["test_error"], nothing])
        losses = compared.losses.with_failures(losses, pd.Series(dataset, losses.index))
        known, worst = part["test_error"].notna(), losses.iloc[-1]
        filled = part.assign(test_error=losses.to_numpy()[:-1], known=known)
        runs: dict[str, list] = {}
        by_run = filled.groupby(["method", "repeat"], observed=True, sort=False)
        for (method, repeat), run in by_run:
            search = results.study["methods"][method]["search"]
            own = run.sort_values("iteration")[["test_error", "known"]].to_numpy(float)
            runs.setdefault(method, []).append((done[dataset, search, repeat], own))
        times = np.concatenate([t for of in runs.values() for t, _ in of])
        times = times[times > 0]
        if not len(times):  # predictions made elsewhere
            continue
        grid = np.unique(np.geomspace(times.min(), times.max(), POINTS))
        for method in compared.methods:
            steps = np.array([_at(grid, t, rows, worst) for t, rows in runs[method]])
            steps, known = steps[..., 0], steps[..., 1]
            points = {
                "dataset": dataset,
                "method": method,
                "seconds": grid,
                "mean": steps.mean(axis=0),
                "std": steps.std(axis=0, ddof=1) if len(steps) > 1 else np.nan,
                "models": known.mean(axis=0),
                "end": np.mean([t[-1] for t, _ in runs[method]]),
            }
            frames.append(pd.DataFrame(points))
    columns = ["dataset", "method", "seconds", "mean", "std", "models", "end"]
    return pd.concat(frames, ignore_index=True) if frames else pd.DataFrame(columns=columns)


def _at(grid: np.ndarray, times: np.ndarray, rows: np.ndarray, worst: float) -> np.ndarray:
    """Loss at each time, and whether there is a model; before the first, the worst loss."""
    return np.vstack([[worst, 0], rows])[np.searchsorted(times, grid, side="right")]
