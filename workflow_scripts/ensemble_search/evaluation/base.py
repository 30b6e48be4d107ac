"""Interface between a search and the evaluators of its configurations."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, Self

import numpy as np

from ensemble_search.runtime.names import FITTED


class EvaluatorError(RuntimeError):
    """The evaluator itself failed: an error of the search, not of a configuration."""


@dataclass(frozen=True)
class Evaluation:
    """Result of evaluating a configuration."""

    status: str  #: ``ok``, ``timeout``, ``memory``, ``crash`` or ``invalid`` (unusable predictions)
    #: Predictions, float32, of shapes (n_validation, n_outputs) and (n_test, n_outputs); None
    #: unless the status is ``ok``. With folds, ``validation`` holds out-of-fold predictions of all
    #: training rows, and ``test`` the means over the folds' models.
    validation: np.ndarray | None
    test: np.ndarray | None
    fit_seconds: float  #: wall-clock seconds to build, fit and predict, over all folds
    cpu_seconds: float  #: CPU seconds of the worker and its children
    #: Wall-clock seconds to predict both sets, a part of ``fit_seconds``; None unless ``ok``.
    predict_seconds: float | None
    #: Peak resident memory in MiB, including interpreter and data: the worker's peak as counted by
    #: the kernel, or the largest sample of worker and children if that is higher. For a killed
    #: evaluation, it is the largest sample, or the limit if that was exceeded.
    memory_mb: float
    #: Name of the exception or signal, and one line of at most 300 characters; None if ``ok``.
    error_type: str | None
    message: str | None
    origin: str = FITTED  #: ``fitted``, or the source of a lookup: ``shared`` or ``table``


class Evaluator(Protocol):
    """Evaluates configurations one after another; a context manager."""

    def __enter__(self) -> Self: ...

    def __exit__(self, *exception) -> None: ...

    def evaluate(self, values: Mapping[str, Any], fidelity: float = 1.0) -> Evaluation:
        """Evaluate a configuration, its active hyperparameters by name.

        ``fidelity`` is the share of the training rows to fit on, in (0, 1]:
        ``data.rows.share_of_rows``. Raises EvaluatorError if no configuration can be evaluated.
        """
        ...

    def cancel(self) -> None:
        """Make an evaluation in another thread end soon with EvaluatorError; irreversible."""
        ...


#: Creates an evaluator from the name of a space, the ``inputs.npz`` of a split, the limits
#: (``seconds``, ``memory_mb``) and the number of threads.
MakeEvaluator = Callable[[str, Path, Mapping[str, float], int], Evaluator]
