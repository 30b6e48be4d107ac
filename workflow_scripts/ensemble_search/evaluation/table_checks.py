"""Checks of a table's content, which may come from elsewhere; see ``evaluation.table``.

All raise ``Unusable``, with one line that names the file, the first wrong row (from 0) and its
value.
"""

import contextlib
import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ensemble_search.problems.base import Problem
from ensemble_search.problems.combination import rounded
from ensemble_search.runtime.errors import UserError
from ensemble_search.runtime.files import Unusable
from ensemble_search.runtime.names import CLASSIFICATION, OK, STATUSES

#: Advice if a table is damaged.
REMEDY = "copy the table again, or remove it and run the study that makes it"
NAMES = ", ".join(STATUSES)
#: Largest error, seconds and MiB; sums of larger ones could overflow.
MOST = 1e12
NUMBER = f"a number from 0 to {MOST:g}"
#: Number of values to check at once.
CHUNK = 2**22
#: Tolerated difference of losses, relative to the highest, due to processors.
TOLERANCE = 1e-6


def check_numbers(path: Path, iterations: Sequence[int | None]) -> None:
    """Check that rows are numbered from 1."""
    for row, number in enumerate(iterations):
        if number != row + 1:
            _reject(path, row, f"'iteration' is {number}", f"must be {row + 1}")


def check_columns(path: Path, columns: Mapping[str, Sequence]) -> None:
    """Check statuses, errors, times, memory and fidelities; for columns, see ``table.COLUMNS``."""
    ok = _ok(columns)
    rules: list[tuple[str, Any, str]] = [
        ("status", [s not in STATUSES for s in columns["status"]], f"one of {NAMES}"),
        ("fidelity", _wrong(columns["fidelity"], 0, 1), "more than 0 and at most 1"),
    ]
    for name in ("fit_seconds", "cpu_seconds", "memory_mb"):
        rules.append((name, _wrong(columns[name], most=MOST), NUMBER))
    for name in ("error", "predict_seconds"):
        empty = np.isnan(_numbers(columns[name]))
        wrong = np.where(ok, _wrong(columns[name], most=MOST), ~empty)
        rules.append((name, wrong, f"{NUMBER} where 'status' is ok, and empty else"))
    for name, wrong, right in rules:
        for row in np.flatnonzero(wrong)[:1].tolist():
            _reject(path, row, f"'{name}' is {columns[name][row]!r}", f"must be {right}")


def check_counts(path: Path, about: Mapping, columns: Mapping[str, Sequence]) -> None:
    """Check the counts and seconds of a manifest, which may be printed without its table."""
    counts = Counter(columns["status"])
    if Counter(about["status"]) != counts:
        said = f"'status' is {about['status']}, its table's {dict(counts)}"
        raise Unusable(path, f"{said}; must be equal", REMEDY)
    seconds = math.fsum(columns["fit_seconds"])
    if not abs(about["fit_seconds"] - seconds) <= 1e-6 * max(1.0, seconds):
        said = f"'fit_seconds' is {about['fit_seconds']:g}, the sum of its table's {seconds:g}"
        raise Unusable(path, f"{said}; must be equal", REMEDY)


def check_unique(path: Path, keys: Sequence) -> None:
    """Check that no configuration is duplicated at the same fidelity."""
    first: dict = {}
    for row, key in enumerate(keys):
        if (same := first.setdefault(key, row)) != row:
            _reject(path, row, f"it repeats row {same}, {dict(key[0])}", "configurations differ")


def check_space(path: Path, configurations: Sequence[Mapping], make: Callable) -> None:
    """Check that ``make`` (``Space.configurations``) accepts every configuration."""
    with contextlib.suppress(UserError):
        make(configurations)  # all at once, because that is far faster
        return
    for row, values in enumerate(configurations):
        try:
            make([values])
        except UserError as error:
            _reject(path, row, str(error), "configurations must be of the table's space")


def check_predictions(path: Path, stored: np.ndarray, statuses: Sequence[str], task: str) -> None:
    """Check that predictions are numbers or probabilities if, and only if, the status is ok.

    They are of shape (n_entries, n_samples, n_columns).
    """
    if not all(stored.shape[1:]):
        raise Unusable(path, f"its shape {stored.shape} has no predictions", REMEDY)
    if task != CLASSIFICATION and stored.shape[2] > 1:
        said = f"it has {stored.shape[2]} predictions of a row, a regression has one"
        raise Unusable(path, said, REMEDY)
    ok = np.array([status == OK for status in statuses], dtype=bool)[:, None, None]
    step = max(1, CHUNK // int(np.prod(stored.shape[1:])))
    probabilities = task == CLASSIFICATION
    right = "probabilities from 0 to 1" if probabilities else "finite numbers"
    slack = stored.shape[2] * float(np.finfo(stored.dtype).eps)
    for start in range(0, len(stored), step):
        part = np.asarray(stored[start : start + step], dtype=np.float32)
        good = (part >= 0) & (part <= 1) if probabilities else np.isfinite(part)
        known = ok[start : start + step]
        for row, *place in np.argwhere(np.where(known, ~good, ~np.isnan(part)))[:1]:
            must = right if known[row] else "NaN where 'status' is not ok"
            at = f"'{path.name}'[{', '.join(map(str, (start + row, *place)))}]"
            _reject(path, start + row, f"{at} is {part[row, *place]}", f"must be {must}")
        if probabilities and stored.shape[2] > 1:
            sums = part.sum(axis=2, dtype=float)
            for row, sample in np.argwhere(np.abs(sums - 1) > slack)[:1]:
                said = f"the probabilities of sample {sample} have the sum {sums[row, sample]:.6g}"
                _reject(path, start + row, said, "must be 1")


def check_losses(
    path: Path,
    columns: Mapping[str, Sequence],
    stored: np.ndarray,
    labels: np.ndarray,
    problem: Problem,
) -> None:
    """Check that errors are the losses, by the problem's metric, of the stored predictions.

    The predictions are of shape (n_entries, n_validation, n_columns), the labels (n_validation,).
    """
    slack = TOLERANCE * max(1.0, problem.metric.worst)
    for row in np.flatnonzero(_ok(columns)).tolist():
        with np.errstate(over="ignore"):  # an infinite loss is not an error
            loss = problem.metric.loss(labels, rounded(np.asarray(stored[row], dtype=np.float32)))
        error = columns["error"][row]
        if not abs(loss - error) <= slack * max(1.0, error):
            said = f"'error' is {error!r}, the loss of its predictions {loss:.6g}"
            _reject(path, row, said, "must be equal")


def _ok(columns: Mapping[str, Sequence]) -> np.ndarray:
    return np.array([status == OK for status in columns["status"]], dtype=bool)


def _numbers(values: Sequence[float | None]) -> np.ndarray:
    return np.array(values, dtype=float)  # None becomes NaN


def _wrong(values: Sequence[float | None], above: float = -1, most: float = np.inf) -> np.ndarray:
    numbers = _numbers(values)
    return ~(np.isfinite(numbers) & (numbers >= 0) & (numbers > above) & (numbers <= most))


def _reject(path: Path, row: int, said: str, right: str) -> None:
    raise Unusable(path, f"row {row}: {said}; {right}", REMEDY)
