"""The search loop: ask the optimizer, evaluate, write it down."""

import time
from collections.abc import Callable, Sequence

import numpy as np

from divbo.ensembles.base import expand
from divbo.evaluation.evaluator import Evaluator
from divbo.history import OK, History, Observation
from divbo.optimizers.base import Optimizer
from divbo.search.journal import Journal, Record
from divbo.space.base import Space


def generator(seed: Sequence[int], iteration: int) -> np.random.Generator:
    """Make the generator of an iteration: it depends on the seed and the iteration alone."""
    return np.random.default_rng([*seed, iteration])


def run(
    optimizer: Optimizer,
    space: Space,
    labels: np.ndarray,
    evaluator: Evaluator,
    journal: Journal,
    budget: int,
    seed: Sequence[int],
    progress: Callable[[list[Record]], None] = lambda records: None,
) -> list[Record]:
    """Continue the search in ``journal`` until it has ``budget`` evaluations.

    Parameters
    ----------
    labels
        Validation labels, int, of shape (n_validation,).
    budget
        Evaluations in all, those in the journal included.
    seed
        Study's seed and repeat.
    progress
        Called with all records after every evaluation.

    Returns
    -------
    records
        The first ``budget`` evaluations.
    """
    observations = tuple(observation(space, r) for r in journal.records[:budget])
    while len(observations) < budget:
        history = History(space, labels, observations)
        start = time.perf_counter()
        suggestion = optimizer.suggest(history, generator(seed, len(history)))
        suggest_seconds = time.perf_counter() - start
        values = dict(suggestion.configuration)
        result = evaluator.evaluate(values)
        validation, test = (stored(p) for p in (result.validation, result.test))
        error = None
        if result.status == OK:
            error = error_rate(expand(validation), labels)
        record = Record(
            configuration=values,
            status=result.status,
            error=error,
            suggest_seconds=suggest_seconds,
            fit_seconds=result.fit_seconds,
            cpu_seconds=result.cpu_seconds,
            error_type=result.error_type,
            message=result.message,
            why=suggestion.why,
            validation=validation,
            test=test,
        )
        journal.append(record)
        observations += (observation(space, record),)
        progress(journal.records)
    return journal.records[:budget]


def observation(space: Space, record: Record) -> Observation:
    """Show the optimizer a stored evaluation: never what belongs to the test set."""
    ok = record.status == OK
    return Observation(
        configuration=space.configuration(record.configuration),
        status=record.status,
        error=record.error if ok else float("nan"),
        prediction=expand(record.validation) if ok else None,
    )


def stored(probabilities: np.ndarray | None) -> np.ndarray | None:
    """Keep one column, the probability of class 1, of two classes."""
    if probabilities is None or probabilities.shape[1] != 2:
        return probabilities
    return np.ascontiguousarray(probabilities[:, 1:])


def error_rate(probabilities: np.ndarray, labels: np.ndarray) -> float:
    """Share of samples whose most probable class (the first of ties) is not their label."""
    return float(np.mean(probabilities.argmax(axis=1) != labels))
