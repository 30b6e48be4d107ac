"""Ensembles for every iteration of a finished search, with validation and test errors."""

import importlib
import inspect
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ensemble_search.ensembles.base import Ensemble, Members, Pool
from ensemble_search.problems import member_diversity, tasks
from ensemble_search.problems.tasks import UNWEIGHTED
from ensemble_search.results import readers
from ensemble_search.runtime import outside, plugins, provenance
from ensemble_search.runtime.code_version import libraries
from ensemble_search.runtime.errors import UserError
from ensemble_search.runtime.files import (
    atomic,
    check,
    checksums,
    read_json,
    read_npy,
    read_npz,
    write_json,
    write_parquet,
)
from ensemble_search.runtime.names import CLASSIFICATION, OBSERVATIONS, PREDICTIONS


def load(
    search: Path, split: Path, seed: int, of: Mapping[str, Any] | None = None
) -> tuple[Pool, np.ndarray, np.ndarray]:
    """Read the inputs for the ensembles of a finished search; features are not read.

    Evaluations on a share of the training rows are treated as failed. ``search`` and ``split`` are
    folders with the files of ``docs/architecture.md``, ``seed`` is that of the pool, and ``of`` the
    expected identity of the search; see ``readers.search``.

    Returns the pool; the test predictions, of shape (n, n_test, n_columns), memory-mapped as the
    pool's; and the test labels, of shape (n_test,), as ``pool.labels``. Raises UserError if a file
    is missing or damaged, or two files do not belong together.
    """
    about = split / "split.json"
    check(about)
    data = read_json(about).get("checksum") if about.exists() else None
    metric = readers.checked_search(search, of, data)["metric"]
    names = ["error", "predict_seconds", "fidelity"]
    table = readers.observations(search, names)
    # Use lists, because to_numpy would import pandas; None becomes NaN.
    errors, seconds, fidelity = (np.array(table[n].to_pylist(), dtype=float) for n in names)
    errors[fidelity < 1] = np.nan
    names, weights = ["y_validation", "classes"], "validation_weights"
    inputs = read_npz(split / "inputs.npz", names, optional=[weights])
    problem = tasks.problem(metric, inputs.get(weights, UNWEIGHTED))
    labels, n_outputs = inputs["y_validation"], len(inputs["classes"]) or 1
    test_labels = read_npy(split / "test_labels.npy")
    predictions = []
    for part, expected in (("validation", labels), ("test", test_labels)):
        array = readers.predictions(search, part, len(errors))
        shape = (len(errors), len(expected), problem.columns(n_outputs))
        if array.shape != shape:
            raise UserError(
                f"'{search}': predictions-{part}.npy has shape {array.shape}, but {shape} belongs "
                f"to the evaluations and the {part} labels and classes in '{split}'"
            )
        predictions.append(array)
    for index in np.flatnonzero(~np.isnan(errors)):
        if np.isnan(predictions[0][index]).any():
            raise UserError(
                f"'{search}': evaluation {index + 1} has an error, but its validation "
                "predictions are not numbers"
            )
    pool = Pool(predictions[0], labels, errors, seed, problem, seconds)
    return pool, predictions[1], test_labels


def check_members(ensemble: Ensemble, built: Sequence[Members | None], pool: Pool) -> None:
    """Check the ensembles of every prefix of a pool, which a part from outside may have built.

    Raises UserError, naming the file of the ensemble and the first iteration with wrong members.
    """
    for i, members in enumerate(built):
        if members is None or (i and members is built[i - 1]):
            continue
        if wrong := _wrong(members, pool.errors[: i + 1]):
            file = Path(inspect.getfile(type(ensemble)))
            where = outside.shown(file) if outside.holds(file) else f"ensembles/{file.name}"
            raise UserError(f"{where}: after evaluation {i + 1}, {wrong}")


def _wrong(members: Any, errors: np.ndarray) -> str:
    """Describe how members violate their contract; empty if they do not."""
    if not isinstance(members, Members):
        return f"it is a {type(members).__name__}; build must return Members or None"
    indices, weights = np.asarray(members.indices), np.asarray(members.weights)
    known = np.flatnonzero(~np.isnan(errors))
    if indices.dtype.kind != "i" or not np.isin(indices, known).all():
        return "indices are not positions of evaluations that succeeded"
    if indices.ndim != 1 or not len(indices) or (np.diff(indices) <= 0).any():
        return "indices are not one or more positions in ascending order, each once"
    if weights.shape != indices.shape or weights.dtype.kind != "f" or not (weights > 0).all():
        return "weights are not a number above 0 for each member"
    if not np.isclose(total := weights.sum(), 1):
        return f"the weights sum to {total:g}; they must sum to 1"
    return ""


def score(
    built: Sequence[Members | None],
    pool: Pool,
    test_predictions: np.ndarray,
    test_labels: np.ndarray,
    test_weights: np.ndarray = UNWEIGHTED,
) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray], np.ndarray]:
    """Compute the losses of the ensembles of every prefix of a pool, only where they changed.

    Parameters
    ----------
    built
        From ``Ensemble.build_prefixes``.
    pool, test_predictions, test_labels
        From :func:`load`.
    test_weights
        Weights of the test rows, of shape (n_test,). Default: equal.

    Returns
    -------
    scores
        Columns of ``scores.parquet``: ``iteration`` (from 1), ``validation_error`` and
        ``test_error`` (losses by the study's metric, NaN until an evaluation has succeeded),
        ``members`` (number of unique ones) and ``predict_seconds`` (to predict validation and test
        rows; NaN if the errors are, or if unknown), each of shape (n,).
    members
        Columns of ``members.parquet``: ``iteration``, ``member`` (iteration of the evaluation)
        and ``weight``; rows only for iterations at which the ensemble changed.
    losses
        Losses of individual test samples at these iterations, float32, of shape (n_changes,
        n_test), or (n_changes, 0) if the loss is not a mean over samples.

    Raises
    ------
    UserError
        If the test predictions of a member are not numbers.
    """
    metric = pool.problem.metric
    test_metric, unweighted = metric.with_weights(test_weights), metric.with_weights(UNWEIGHTED)
    result = np.full((len(built), 3), np.nan)
    sizes = np.zeros(len(built), dtype=np.int64)
    changes: list[tuple[int, Members]] = []
    losses: list[np.ndarray] = []
    for i, members in enumerate(built):
        if i and members is built[i - 1]:
            result[i], sizes[i] = result[i - 1], sizes[i - 1]
        elif members is not None:
            for index in members.indices:
                if np.isnan(test_predictions[index]).any():
                    raise UserError(f"test predictions of evaluation {index + 1} are not numbers")
            validation, test = members.predict_both(pool.predictions, test_predictions)
            seconds = pool.predict_seconds
            result[i] = (
                metric.loss(pool.labels, validation),
                test_metric.loss(test_labels, test),
                np.nan if seconds is None else members.total_seconds(seconds),
            )
            sizes[i] = len(members.indices)
            changes.append((i + 1, members))
            single = unweighted.losses(test_labels, test)
            losses.append(np.asarray([] if single is None else single, dtype=np.float32))
    scores = {
        "iteration": np.arange(1, len(built) + 1),
        "validation_error": result[:, 0],
        "test_error": result[:, 1],
        "members": sizes,
        "predict_seconds": result[:, 2],
    }
    lengths = [len(members.indices) for _, members in changes]
    made = {
        "iteration": np.repeat(np.array([i for i, _ in changes], dtype=np.int64), lengths),
        "member": np.concatenate([np.empty(0, int), *(m.indices + 1 for _, m in changes)]),
        "weight": np.concatenate([np.empty(0), *(m.weights for _, m in changes)]),
    }
    return scores, made, np.stack(losses) if losses else np.empty((0, len(test_labels)))


def diversity(
    built: Sequence[Members | None],
    pool: Pool,
    test_predictions: np.ndarray,
    test_labels: np.ndarray,
) -> dict[str, Any] | None:
    """Measure the diversity of the last ensemble's members; for the parameters, see :func:`score`.

    ``iteration`` and, for each of ``validation`` and ``test``, the ``measures`` (in classification)
    and ``decompositions`` (of weighted means of stored predictions) of ``member_diversity``; None
    for values undefined with a single member. None if no evaluation succeeded.
    """
    if not built or (members := built[-1]) is None:
        return None
    parts = {
        "validation": (pool.predictions, pool.labels),
        "test": (test_predictions, test_labels),
    }
    found: dict[str, Any] = {"iteration": len(built)}
    task = pool.problem.task
    for part, (predictions, labels) in parts.items():
        chosen, values = np.asarray(predictions[members.indices]), dict[str, float]()
        if task == CLASSIFICATION:
            values |= member_diversity.measures(chosen, labels)
        if type(members) is Members:  # others vote or feed a model
            values |= member_diversity.decompositions(chosen, labels, members.weights, task)
        # Drop the digits that depend on the processor.
        found[part] = {k: None if np.isnan(v) else round(v, 12) for k, v in values.items()}
    return found


def write_losses(path: Path, iterations: np.ndarray, losses: np.ndarray) -> None:
    """Write losses of individual test samples (``losses.npz``); 0/1 losses take one bit each.

    ``iterations`` are those at which the ensemble changed, ascending, of shape (n_changes,),
    ``losses`` of shape (n_changes, n_test).
    """
    bits = bool(((losses == 0) | (losses == 1)).all())
    arrays = {
        "iterations": np.asarray(iterations, dtype=np.int64),
        "samples": np.array(losses.shape[1]),
        "losses": np.packbits(losses == 1, axis=1) if bits else losses.astype(np.float32),
    }
    with atomic(path) as temporary:
        np.savez(temporary, allow_pickle=False, **arrays)


def write(
    search: Path,
    split: Path,
    settings: Any,
    seed: int,
    output: Path,
    refits: Mapping[str, Any] | None = None,
    of: Mapping[str, Any] | None = None,
) -> None:
    """Write the scores, members, losses and manifest of a finished search's ensemble.

    The files in ``output`` are ``scores.parquet``, ``members.parquet``, ``losses.npz`` and, written
    last, ``ensemble.json``. ``settings`` are those in the study, such as ``{"type": "selection",
    "size": 25}``; ``refits`` are fields of ``Refitting``, for ensembles that refit pipelines. For
    the others, see :func:`load`. Raises UserError as ``plugins.make``, :func:`load`,
    :func:`check_members` and :func:`score`, or if ``refits`` is missing, before anything is
    written.
    """
    ensemble = plugins.make("ensembles", settings, "type", "ensemble")
    pool, test_predictions, test_labels = load(search, split, seed, of)
    if ensemble.refits:
        if refits is None:
            raise UserError(f"ensemble '{settings['type']}' refits pipelines: give --refits")
        # Import by name, so that the code of evaluations is not part of other ensembles' versions.
        refitting = importlib.import_module("ensemble_search.scoring.cross_fitting").Refitting(
            **refits
        )
        pool = refitting.enable(pool, search, split)
    built = ensemble.build_prefixes(pool)
    check_members(ensemble, built, pool)
    weights = read_npz(split / "inputs.npz", [], optional=["test_weights"])
    test_weights = weights.get("test_weights", UNWEIGHTED)
    scores, members, losses = score(built, pool, test_predictions, test_labels, test_weights)
    write_parquet(output / "members.parquet", members)
    write_losses(output / "losses.npz", np.unique(members["iteration"]), losses)
    # Include the settings, so that a report can distinguish ensembles of the same name.
    made_with = {"type": settings["type"], **ensemble.model_dump(mode="json")}
    write_parquet(
        output / "scores.parquet", scores, {"ensemble_search.settings": json.dumps(made_with)}
    )
    # A replayed search has its predictions in a table, which its observations name.
    made_from = [n for n in PREDICTIONS if (search / n).exists()] or [OBSERVATIONS]
    modules = [type(part).__module__ for part in (ensemble, pool.problem.metric)]
    manifest = {
        "settings": made_with,
        "seed": seed,
        "versions": provenance.versions(libraries(*modules, *ensemble.modules)),
        "diversity": diversity(built, pool, test_predictions, test_labels),
        "search": checksums(search, made_from),
        "files": checksums(output, ("losses.npz", "members.parquet", "scores.parquet")),
    }
    if ensemble.refits and built and built[-1]:
        manifest["failed_refits"] = (ensemble.unfitted(built[-1], pool) + 1).tolist()
        manifest["iterations_with_failed_refits"] = sum(
            members is not None and ensemble.unfitted(members, pool.first(n)).size > 0
            for n, members in enumerate(built, start=1)
        )
    write_json(output / "ensemble.json", manifest)
