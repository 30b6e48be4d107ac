"""The search loop: suggest, evaluate, store."""

import json
import reprlib
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, replace
from itertools import count, islice
from typing import Any

import numpy as np

from ensemble_search.evaluation.base import Evaluation, Evaluator
from ensemble_search.evaluation.side_by_side import SideBySide
from ensemble_search.optimizers.base import History, Observation, Optimizer, Suggestion
from ensemble_search.problems.base import Problem
from ensemble_search.problems.classification import CLASSIFICATION
from ensemble_search.runtime import provenance
from ensemble_search.runtime.errors import UserError
from ensemble_search.runtime.names import GIVEN
from ensemble_search.search.budget import Budget
from ensemble_search.search.journal import InMemory, Journal, Record
from ensemble_search.search.observe import generator, observation
from ensemble_search.spaces.base import Configuration, Space

_END: Any = object()


@dataclass(frozen=True)
class _UnderWay:
    """A started evaluation that has not been stored yet."""

    suggestion: Suggestion
    configuration: Configuration
    suggest_seconds: float
    planned_after: int
    evaluation: Future[Evaluation]


def _checked(suggestion: Any, suggests: str, space: Space) -> Configuration:
    """Return the configuration; if it is invalid, raise a UserError that begins with `suggests`."""
    if not isinstance(suggestion, Suggestion):
        raise UserError(f"{suggests} {reprlib.repr(suggestion)}; it must be a Suggestion")
    for key, value in suggestion.why.items():
        try:
            json.dumps(value, allow_nan=False)
        except (TypeError, ValueError):
            raise UserError(
                f"{suggests} a configuration whose why.{key} is {reprlib.repr(value)}; it must be "
                "a JSON value, and numbers must be finite"
            ) from None
    try:
        return space.configuration(dict(suggestion.configuration))
    except UserError as error:
        raise UserError(f"{suggests} what is not in the space '{space.name}': {error}") from None


def run(
    optimizer: Optimizer,
    space: Space,
    labels: np.ndarray,
    evaluators: Sequence[Evaluator],
    journal: Journal | InMemory,
    *,
    budget: Budget,
    seed: Sequence[int],
    problem: Problem = CLASSIFICATION,
    progress: Callable[[list[Record]], None] = lambda records: None,
    check: Callable[[], None] = lambda: None,
    since: float | None = None,
) -> list[Record]:
    """Resume the search in ``journal`` until its budget is exhausted; return its evaluations.

    Given evaluations (``search.given``) are the first records of the journal, which may have more
    than are within the budget and returned. Results do not depend on the number of evaluators:
    evaluations are stored in the order of suggestion, not of completion.

    Raises Unusable if a configuration in the journal is not in the space; UserError if the budget's
    evaluations are exhausted before enough have succeeded, or the optimizer plans nothing;
    EvaluatorError if an evaluator fails, after storing the evaluations suggested earlier.

    Parameters
    ----------
    labels
        Validation labels, int, of shape (n_validation,).
    evaluators
        At least one; several evaluate the suggestions of a plan concurrently.
    budget
        Total evaluations, full fits or seconds of fitting, including those in the journal but
        excluding given evaluations.
    seed
        The study's seed and the repeat.
    problem
        Problem type and metric.
    progress
        Called with all records after every evaluation.
    check
        Called before an evaluation is stored; an exception ends the search without storing it.
    since
        Start of the job by ``time.monotonic``; default: now.
    """

    # Set below, and changed by the functions in between.
    known = 0
    begun = time.monotonic() if since is None else since
    observations: tuple[Observation, ...] = ()
    suggestions: Iterator[Suggestion] = iter(())

    def observed(record: Record, configuration: Configuration) -> Observation:
        return observation(
            configuration, record.status, record.error, record.validation, problem, record.fidelity,
            record.fit_seconds, record.origin == GIVEN,
        )  # fmt: skip

    def plan(known: int) -> Iterator[Suggestion]:
        history = History(space, labels, observations[:known], problem, seed[-1])
        return iter(optimizer.plan(history, (generator(seed, i) for i in count(known))))

    def start_next() -> bool:
        """Start another evaluation, unless all evaluators are busy or results are needed first."""
        nonlocal known, suggestions
        if not side_by_side.idle:
            return False
        own = [o.fidelity for o in observations if not o.given]
        if not budget.allows([*own, *(u.suggestion.fidelity for u in under_way)]):
            return False
        start = time.perf_counter()
        suggestion = next(suggestions, _END)
        if suggestion is _END:
            if under_way:
                return False
            known = len(observations)
            suggestions = plan(known)
            suggestion = next(suggestions, _END)
            if suggestion is _END:
                raise UserError(
                    f"{type(optimizer).__name__}: its plan after {known} evaluations is empty; "
                    "a plan must yield at least one suggestion"
                )
        seconds = time.perf_counter() - start
        configuration = _checked(suggestion, f"{type(optimizer).__name__}: suggests", space)
        evaluation = side_by_side.start(dict(suggestion.configuration), suggestion.fidelity)
        under_way.append(_UnderWay(suggestion, configuration, seconds, known, evaluation))
        return True

    def store(first: _UnderWay) -> None:
        nonlocal begun, observations
        record = Record.of(
            dict(first.suggestion.configuration),
            first.evaluation.result(),
            labels,
            problem,
            first.suggest_seconds,
            first.suggestion.why,
            fidelity=first.suggestion.fidelity,
            planned_after=first.planned_after,
        )
        ended = time.monotonic()
        rest = max(0.0, ended - begun - record.suggest_seconds - record.fit_seconds)
        record = replace(record, rest_seconds=rest, began=provenance.past(begun))
        begun = ended
        check()
        journal.append(record)
        observations += (observed(record, first.configuration),)
        progress(journal.records)

    labels = labels.copy()
    labels.flags.writeable = False
    for record in journal.records[: budget.end(journal.records)]:
        try:
            observations += (observed(record, space.configuration(record.configuration)),)
        except UserError as error:  # the configuration is not in the space
            assert isinstance(journal, Journal)  # other journals begin empty
            raise journal.rejection(len(observations) + 1, str(error)) from None
    # Continue the plan of the last evaluation.
    known = journal.records[-1].planned_after if journal.records else 0
    suggestions = islice(plan(known), max(0, len(observations) - known), None)
    under_way: deque[_UnderWay] = deque()
    with SideBySide(evaluators) as side_by_side:
        while (end := budget.end(journal.records)) is None:
            if under_way and under_way[0].evaluation.done():
                store(under_way.popleft())
            elif not start_next():
                side_by_side.wait()
    return journal.records[:end]
