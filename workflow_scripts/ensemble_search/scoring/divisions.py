"""Ensemble rules on many divisions of the same held-out rows, with the same fits.

A data set has a single, random validation part, and a rule's result on it says little about the
rule: the difference between two rules varies more between divisions than most differences are
large. Fits use neither part, so validation and test rows can be divided again without refitting.
"""

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from ensemble_search.ensembles.base import Ensemble, Pool
from ensemble_search.runtime import plugins
from ensemble_search.runtime.errors import UserError
from ensemble_search.runtime.files import read_npz, write_parquet
from ensemble_search.scoring import ensemble_scores


def divide(labels: np.ndarray, n_validation: int, rng: np.random.Generator) -> np.ndarray:
    """Draw the validation rows of a division, stratified as splits are: bool, of shape (n,).

    ``labels`` are those of all held-out rows, the ``n_validation`` current validation rows first,
    of shape (n,): int class codes, or numbers. The number per class stays the same; all others are
    test rows.
    """
    strata = labels if labels.dtype.kind == "i" else np.zeros(len(labels), dtype=int)
    drawn = np.zeros(len(labels), dtype=bool)
    for code in np.unique(strata):
        rows = np.flatnonzero(strata == code)
        drawn[rng.permutation(rows)[: (rows < n_validation).sum()]] = True
    return drawn


def score(
    ensembles: Mapping[str, Ensemble],
    pool: Pool,
    test_predictions: np.ndarray,
    test_labels: np.ndarray,
    divisions: int,
    weights: np.ndarray | None = None,
) -> dict[str, Any]:
    """Build the ensembles of all evaluations on random divisions and compute their losses.

    The generator of (the pool's seed, d) draws division d, from 1, and its seed for random ties, so
    all ensembles have the same divisions. No ensemble may refit pipelines. For the pool and the
    test rows, see ``ensemble_scores.load``; ``weights`` are those of the held-out rows, validation
    rows first, of shape (n,), equal by default.

    The columns are ``ensemble``, ``division``, ``validation_error`` and ``test_error``; losses are
    NaN if no evaluation succeeded. Raises UserError if test predictions of a successful evaluation
    are not numbers.
    """
    ok = np.flatnonzero(~np.isnan(pool.errors))
    held = np.concatenate([pool.predictions[ok], test_predictions[ok]], axis=1)
    if len(bad := np.flatnonzero(np.isnan(held).any(axis=(1, 2)))):
        raise UserError(f"test predictions of evaluation {ok[bad[0]] + 1} are not numbers")
    labels = np.concatenate([pool.labels, test_labels])
    rows: list[tuple[str, int, float, float]] = []
    for number in range(1, divisions + 1):
        rng = np.random.default_rng([pool.seed, number])
        validation = divide(labels, len(pool.labels), rng)
        problems = [
            pool.problem
            if weights is None
            else replace(pool.problem, metric=pool.problem.metric.with_weights(weights[part]))
            for part in (validation, ~validation)
        ]
        metrics = [problem.metric for problem in problems]
        predictions = held[:, validation]
        errors = [metrics[0].loss(labels[validation], model) for model in predictions]
        divided = Pool(
            predictions, labels[validation], np.array(errors), int(rng.integers(2**31)), problems[0]
        )
        for name, ensemble in ensembles.items():
            members = ensemble.build(divided) if len(ok) else None
            losses = [np.nan, np.nan]
            if members is not None:
                both = members.predict_both(predictions, held[:, ~validation])
                parts = labels[validation], labels[~validation]
                losses = [m.loss(y, p) for m, y, p in zip(metrics, parts, both, strict=True)]
            rows.append((name, number, losses[0], losses[1]))
    columns = zip(*rows, strict=True)
    names = "ensemble", "division", "validation_error", "test_error"
    return {name: list(column) for name, column in zip(names, columns, strict=True)}


def write(
    search: Path,
    split: Path,
    job: Mapping[str, Any],
    seed: int,
    output: Path,
    of: Mapping[str, Any] | None = None,
) -> None:
    """Write the scores of a finished search's ensembles to ``output/divisions.parquet``.

    ``job`` has ``divisions``, their number, and ``ensembles``, settings by name; for the others and
    errors, see ``ensemble_scores.load``, ``plugins.make`` and :func:`score`.
    """
    ensembles = {
        name: plugins.make("ensembles", settings, "type", f"ensembles.{name}")
        for name, settings in job["ensembles"].items()
    }
    pool, test_predictions, test_labels = ensemble_scores.load(search, split, seed, of)
    names = ["validation_weights", "test_weights"]
    weights = read_npz(split / "inputs.npz", [], optional=names)
    weighted = np.concatenate([weights[name] for name in names]) if weights else None
    scores = score(ensembles, pool, test_predictions, test_labels, job["divisions"], weighted)
    about = {"ensemble_search.job": json.dumps(job)}
    write_parquet(output / "divisions.parquet", scores, about)
