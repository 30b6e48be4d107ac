"""What an evaluator is: the search asks it what becomes of a configuration."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, Self

import numpy as np


class EvaluatorError(RuntimeError):
    """The evaluator cannot do its work at all: an error of the search, of no configuration."""


@dataclass(frozen=True)
class Evaluation:
    """What came of one configuration.

    Attributes
    ----------
    status
        ``ok``, ``timeout``, ``memory``, ``crash`` or ``invalid`` (predictions that are none).
    validation, test
        Class probabilities, float32, of shapes (n_validation, n_classes) and (n_test, n_classes);
        None unless the status is ``ok``. Where the split has folds, one model is fitted a fold:
        the validation rows are all training rows, each predicted by the model that was not fitted
        on it, and the test predictions are the mean over the models.
    fit_seconds
        Wall-clock seconds to build, fit and predict, all folds together.
    cpu_seconds
        CPU seconds of the worker and its children meanwhile.
    predict_seconds
        Wall-clock seconds to predict both sets, a part of ``fit_seconds``; None unless ``ok``.
    memory_mb
        Largest resident memory meanwhile in MiB, interpreter and data included: of the worker, as
        the kernel counts it, and of its children as often as it was looked at. Of a killed
        evaluation what was seen; the limit if it was killed for memory.
    error_type, message
        Name of the exception or signal, and one line of at most 300 characters; None if ``ok``.
    """

    status: str
    validation: np.ndarray | None
    test: np.ndarray | None
    fit_seconds: float
    cpu_seconds: float
    predict_seconds: float | None
    memory_mb: float
    error_type: str | None
    message: str | None


class Evaluator(Protocol):
    """Evaluates configurations one after another; a context manager."""

    def __enter__(self) -> Self: ...

    def __exit__(self, *exception) -> None: ...

    def evaluate(self, values: Mapping[str, Any], fidelity: float = 1.0) -> Evaluation:
        """Evaluate a configuration.

        Parameters
        ----------
        values
            Its active hyperparameters by name.
        fidelity
            Share of the training rows to fit on, in (0, 1]: ``data.rows.share_of_rows``.

        Raises
        ------
        EvaluatorError
            If no configuration can be evaluated.
        """
        ...

    def cancel(self) -> None:
        """Let an evaluation under way in another thread end soon, with EvaluatorError."""
        ...


#: Makes an evaluator from the name of a space, the ``inputs.npz`` of a split, the limits
#: (``seconds``, ``memory_mb``) and the number of threads.
MakeEvaluator = Callable[[str, Path, Mapping[str, float], int], Evaluator]
