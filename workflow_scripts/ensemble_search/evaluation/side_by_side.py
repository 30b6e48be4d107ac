"""Evaluating several configurations side by side, each by an evaluator of its own."""

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from queue import SimpleQueue
from typing import Any

from ensemble_search.evaluation.base import Evaluation, Evaluator


class SideBySide:
    """Starts evaluations, at most one an evaluator; a context manager.

    On leaving it, evaluations whose results nobody waits for are cancelled.

    Parameters
    ----------
    evaluators
        At least one. A single one works in the calling thread, when its result is asked for.
    """

    def __init__(self, evaluators: Sequence[Evaluator]):
        self._evaluators = evaluators
        self._idle: SimpleQueue[Evaluator] = SimpleQueue()
        for evaluator in evaluators:
            self._idle.put(evaluator)
        self._threads = ThreadPoolExecutor(len(evaluators)) if len(evaluators) > 1 else None

    def __enter__(self) -> "SideBySide":
        return self

    def __exit__(self, *_) -> None:
        if self._threads:
            for evaluator in self._evaluators:
                evaluator.cancel()
            self._threads.shutdown(cancel_futures=True)

    def start(self, values: Mapping[str, Any], fidelity: float) -> Callable[[], Evaluation]:
        """Start an evaluation, and return what waits for its result; see ``Evaluator.evaluate``."""
        if not self._threads:
            return partial(self._evaluate, values, fidelity)
        return self._threads.submit(self._evaluate, values, fidelity).result

    def _evaluate(self, values: Mapping[str, Any], fidelity: float) -> Evaluation:
        evaluator = self._idle.get()
        try:
            return evaluator.evaluate(values, fidelity)
        finally:
            self._idle.put(evaluator)
