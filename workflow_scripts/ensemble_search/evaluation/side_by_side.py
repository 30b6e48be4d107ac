"""Concurrent evaluation of several configurations, each by its own evaluator."""

from collections.abc import Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from queue import SimpleQueue
from typing import Any

from ensemble_search.evaluation.base import Evaluation, Evaluator


class SideBySide:
    """Evaluate at most one configuration per evaluator at a time; a context manager.

    A single evaluator runs in the calling thread. On exit, unfinished evaluations are cancelled.
    """

    def __init__(self, evaluators: Sequence[Evaluator]):
        self._evaluators = evaluators
        self._free: SimpleQueue[Evaluator] = SimpleQueue()
        for evaluator in evaluators:
            self._free.put(evaluator)
        self._threads = ThreadPoolExecutor(len(evaluators)) if len(evaluators) > 1 else None
        self._running: set[Future] = set()

    def __enter__(self) -> "SideBySide":
        return self

    def __exit__(self, *_) -> None:
        if self._threads:
            for evaluator in self._evaluators:
                evaluator.cancel()
            self._threads.shutdown(cancel_futures=True)

    @property
    def idle(self) -> bool:
        """Whether an evaluator has nothing to do."""
        self._running = {future for future in self._running if not future.done()}
        return len(self._running) < len(self._evaluators)

    def start(self, values: Mapping[str, Any], fidelity: float) -> Future[Evaluation]:
        """Start an evaluation; see ``Evaluator.evaluate``. A single evaluator also finishes it."""
        if not self._threads:
            future: Future[Evaluation] = Future()
            future.set_result(self._evaluate(values, fidelity))
            return future
        future = self._threads.submit(self._evaluate, values, fidelity)
        self._running.add(future)
        return future

    def wait(self) -> None:
        """Wait until at least one running evaluation has ended."""
        wait(self._running, return_when=FIRST_COMPLETED)

    def _evaluate(self, values: Mapping[str, Any], fidelity: float) -> Evaluation:
        evaluator = self._free.get()
        try:
            return evaluator.evaluate(values, fidelity)
        finally:
            self._free.put(evaluator)
