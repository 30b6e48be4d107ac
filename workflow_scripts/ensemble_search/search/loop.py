"""The search loop: suggest, evaluate, store."""

import time
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from ensemble_search.evaluation.base import Evaluator
from ensemble_search.optimizers.base import History, Observation, Optimizer
from ensemble_search.problems.base import Problem
from ensemble_search.problems.classification import CLASSIFICATION
from ensemble_search.runtime import provenance
from ensemble_search.runtime.errors import UserError
from ensemble_search.search.budget import Budget
from ensemble_search.search.journal import Journal, Record
from ensemble_search.search.observe import generator, observation
from ensemble_search.spaces.base import Space


def run(
    optimizer: Optimizer,
    space: Space,
    labels: np.ndarray,
    evaluator: Evaluator,
    journal: Journal,
    *,
    budget: Budget,
    seed: Sequence[int],
    problem: Problem = CLASSIFICATION,
    progress: Callable[[list[Record]], None] = lambda records: None,
    check: Callable[[], None] = lambda: None,
    since: float | None = None,
) -> list[Record]:
    """Resume the search in ``journal`` until its budget is exhausted.

    Parameters
    ----------
    labels
        Validation labels, int, of shape (n_validation,).
    budget
        Total evaluations or seconds of fitting, including those in the journal.
    seed
        Study's seed and repeat.
    problem
        Type of the problem, with the metric.
    progress
        Called with all records after every evaluation.
    check
        Called before an evaluation is stored; an exception ends the search without storing it.
    since
        When the job started, as ``time.time``; by default, now.

    Returns
    -------
    records
        The evaluations within the budget; the journal may have more.

    Raises
    ------
    Unusable
        If a configuration in the journal is not in the space.
    """

    def observed(record: Record) -> Observation:
        configuration = space.configuration(record.configuration)
        return observation(configuration, record.status, record.error, record.validation, problem)

    begun = time.time() if since is None else since
    labels = labels.copy()
    labels.flags.writeable = False
    observations: tuple[Observation, ...] = ()
    for record in journal.records[: budget.end(journal.records)]:
        try:
            observations += (observed(record),)
        except UserError as error:  # a configuration that the space does not have
            raise journal.refusal(len(observations) + 1, str(error)) from None
    while (end := budget.end(journal.records)) is None:
        history = History(space, labels, observations, problem)
        start = time.perf_counter()
        suggestion = optimizer.suggest(history, generator(seed, len(history)))
        suggest_seconds = time.perf_counter() - start
        values = dict(suggestion.configuration)
        result = evaluator.evaluate(values)
        record = Record.of(values, result, labels, problem, suggest_seconds, suggestion.why)
        ended = time.time()
        rest = max(0.0, ended - begun - suggest_seconds - record.fit_seconds)
        record = replace(record, rest_seconds=rest, began=provenance.moment(begun))
        begun = ended
        check()
        journal.append(record)
        observations += (observed(record),)
        progress(journal.records)
    return journal.records[:end]
