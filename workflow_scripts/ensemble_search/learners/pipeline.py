"""Pipelines whose operators are built for the data that reaches them."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ensemble_search.learners.fitted import FittedPipeline
from ensemble_search.learners.operators import Data, Operator


class Pipeline(FittedPipeline):
    """Rescaler, preprocessor and learner; a :class:`FittedPipeline` once fitted.

    Parameters
    ----------
    steps
        Operators in order, each with its values by short name; the last is the learner.
    categorical
        Bool, of shape (n_features,): whether each column is one-hot or holds categorical codes.
    threads
        Threads that a step may start; results do not depend on it.
    balanced
        Whether the learner weights rows so that all classes have the same total weight; learners
        without sample weights ignore it.
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
            Sample weights, of shape (n,); steps before the learner and learners without sample
            weights ignore them.

        Raises
        ------
        ValueError
            If a step produces NaN or infinite numbers; errors of the steps also propagate.
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
            if X.shape[1] != width:  # no later step needs to know which columns are categorical
                categorical = np.zeros(X.shape[1], dtype=bool)
        self.learner_ = learner.build(values, Data(X, y, categorical, self.threads))
        self.learner_.fit(X, y, **self._weights(y, weights))
        if hasattr(self.learner_, "classes_"):
            self.classes_ = self.learner_.classes_
        if hasattr(self.learner_, "estimators_") and hasattr(self.learner_, "n_jobs"):
            self.learner_.n_jobs = 1  # a forest's threads would sum votes in arbitrary order
        return self

    def _weights(self, y: np.ndarray, weights: np.ndarray | None) -> dict[str, np.ndarray]:
        """Return the learner's argument for sample weights, if it has one."""
        if not self.balanced and weights is None:
            return {}
        from sklearn.utils.class_weight import compute_sample_weight
        from sklearn.utils.validation import has_fit_parameter

        if not has_fit_parameter(self.learner_, "sample_weight"):
            return {}
        own = compute_sample_weight("balanced", y) if self.balanced else np.ones(len(y))
        return {"sample_weight": own if weights is None else own * weights}
