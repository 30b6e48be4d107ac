"""Pipelines whose operators are built for the data that reach them."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ensemble_search.learners.fitted import FittedPipeline
from ensemble_search.learners.operators import Data, Operator


class Pipeline(FittedPipeline):
    """Rescaler, preprocessor and learner; fitted, a :class:`FittedPipeline`.

    Parameters
    ----------
    steps
        Operators in order, each with its values by short names; the last one is the learner.
    categorical
        Bool, of shape (n_features,): one-hot columns and categorical codes.
    threads
        Threads that a step may start; results do not depend on it.
    balanced
        Whether the learner weighs rows so that all classes have the same total weight; learners
        that take no weights ignore it.
    """

    def __init__(
        self,
        steps: Sequence[tuple[Operator, Mapping[str, Any]]],
        categorical: np.ndarray,
        threads: int,
        balanced: bool = False,
    ):
        self.steps = steps
        self.categorical = categorical
        self.threads = threads
        self.balanced = balanced

    def fit(self, X: np.ndarray, y: np.ndarray, weights: np.ndarray | None = None) -> "Pipeline":
        """Build and fit the steps one after the other.

        Parameters
        ----------
        X, y
            Rows and their labels.
        weights
            How much each row counts, of shape (n,); steps before the learner and learners that take
            no weights ignore it.

        Raises
        ------
        ValueError
            If a step makes NaN or infinite numbers; also, whatever a step raises.
        """
        categorical = np.asarray(self.categorical, dtype=bool)
        self.transformers_ = []
        *before, (learner, values) = self.steps
        for operator, own in before:
            transformer = operator.build(own, Data(X, y, categorical, self.threads))
            if transformer is None:
                continue
            transformer.fit(X, y)
            self.transformers_.append((operator.name, transformer))
            X, width = self._transform(operator.name, transformer, X), X.shape[1]
            if X.shape[1] != width:  # no later step needs the kinds of columns
                categorical = np.zeros(X.shape[1], dtype=bool)
        self.learner_ = learner.build(values, Data(X, y, categorical, self.threads))
        self.learner_.fit(X, y, **self._weights(y, weights))
        if hasattr(self.learner_, "classes_"):
            self.classes_ = self.learner_.classes_
        if hasattr(self.learner_, "estimators_") and hasattr(self.learner_, "n_jobs"):
            self.learner_.n_jobs = 1  # threads of a forest would add up votes in any order
        return self

    def _weights(self, y: np.ndarray, weights: np.ndarray | None) -> dict[str, np.ndarray]:
        """Return the learner's argument with the weights of the rows, if there is one."""
        if not self.balanced and weights is None:
            return {}
        from sklearn.utils.class_weight import compute_sample_weight
        from sklearn.utils.validation import has_fit_parameter

        if not has_fit_parameter(self.learner_, "sample_weight"):
            return {}
        own = compute_sample_weight("balanced", y) if self.balanced else np.ones(len(y))
        return {"sample_weight": own if weights is None else own * weights}
