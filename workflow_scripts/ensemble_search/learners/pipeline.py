"""Pipelines whose operators are built for the data that reach them."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ensemble_search.learners.operators import Data, Operator


class Pipeline:
    """Rescaler, preprocessor and learner, with the interface of scikit-learn's estimators.

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

    Attributes
    ----------
    classes_
        The seen labels, sorted, of shape (n_classes,); classification only.
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

    def fit(self, X: np.ndarray, y: np.ndarray) -> "Pipeline":
        """Build and fit the steps one after the other.

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
        self.learner_.fit(X, y, **self._weights(y))
        if hasattr(self.learner_, "classes_"):
            self.classes_ = self.learner_.classes_
        if hasattr(self.learner_, "estimators_") and hasattr(self.learner_, "n_jobs"):
            self.learner_.n_jobs = 1  # threads of a forest would add up votes in any order
        return self

    def predict_proba(self, X: np.ndarray) -> np.ndarray:
        """Return class probabilities, of shape (n_samples, n_classes); rows sum to 1."""
        probabilities = np.asarray(self.learner_.predict_proba(self._transformed(X)), dtype=float)
        return probabilities / probabilities.sum(axis=1, keepdims=True)

    def predict(self, X: np.ndarray) -> np.ndarray:
        """Return the predictions of a regression, float64, of shape (n_samples,)."""
        return np.asarray(self.learner_.predict(self._transformed(X)), dtype=float)

    def _transformed(self, X: np.ndarray) -> np.ndarray:
        for name, transformer in self.transformers_:
            X = self._transform(name, transformer, X)
        return X

    def _weights(self, y: np.ndarray) -> dict[str, np.ndarray]:
        """Return the learner's argument with the weights of the rows, if there is one."""
        if not self.balanced:
            return {}
        from sklearn.utils.class_weight import compute_sample_weight
        from sklearn.utils.validation import has_fit_parameter

        known = has_fit_parameter(self.learner_, "sample_weight")
        return {"sample_weight": compute_sample_weight("balanced", y)} if known else {}

    @staticmethod
    def _transform(name: str, transformer, X: np.ndarray) -> np.ndarray:
        X = transformer.transform(X)
        if hasattr(X, "toarray"):
            X = X.toarray()
        X = np.ascontiguousarray(X, dtype=float)
        if not np.isfinite(X).all():
            raise ValueError(f"{name} made numbers that are not finite")
        return X
