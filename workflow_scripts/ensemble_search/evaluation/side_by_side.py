"""Concurrent evaluations, each by an evaluator of its own."""

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from queue import SimpleQueue
from typing import Any

from ensemble_search.evaluation.base import Evaluation, Evaluator


class SideBySide:
    """Run evaluations concurrently, one per evaluator; a context manager.

    On exit, several evaluators are cancelled, a single one is not.

    Parameters
    ----------
    evaluators
        At least one. A single one runs in the calling thread, when the result is requested.
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
        """Start an evaluation (``Evaluator.evaluate``); return a function that waits for it."""
        if not self._threads:
            return partial(self._evaluate, values, fidelity)
        return self._threads.submit(self._evaluate, values, fidelity).result

    def _evaluate(self, values: Mapping[str, Any], fidelity: float) -> Evaluation:
        evaluator = self._idle.get()
        try:
            return evaluator.evaluate(values, fidelity)
        finally:
            self._idle.put(evaluator)
