"""Fitted pipelines: the parts needed to predict, without those that build them."""

from typing import Any

import numpy as np


class FittedPipeline:
    """Fitted transformers and a fitted learner, with scikit-learn's estimator interface.

    Attributes
    ----------
    transformers_
        Names and fitted transformers, in order.
    learner_
        The fitted classifier or regressor.
    classes_
        The seen labels, sorted, of shape (n_classes,); classification only.
    """

    transformers_: list[tuple[str, Any]]
    learner_: Any
    classes_: np.ndarray

    def predict_proba(self, X: np.ndarray) -> np.ndarray:
        """Return class probabilities, of shape (n_samples, n_classes); rows sum to 1."""
        probabilities = np.asarray(self.learner_.predict_proba(self._transformed(X)), dtype=float)
        return probabilities / probabilities.sum(axis=1, keepdims=True)

    def predict(self, X: np.ndarray) -> np.ndarray:
        """Return regression predictions, float64, of shape (n_samples,)."""
        return np.asarray(self.learner_.predict(self._transformed(X)), dtype=float)

    def _transformed(self, X: np.ndarray) -> np.ndarray:
        for name, transformer in self.transformers_:
            X = self._transform(name, transformer, X)
        return X

    @staticmethod
    def _transform(name: str, transformer, X: np.ndarray) -> np.ndarray:
        X = transformer.transform(X)
        if hasattr(X, "toarray"):
            X = X.toarray()
        X = np.ascontiguousarray(X, dtype=float)
        if not np.isfinite(X).all():
            raise ValueError(f"{name} made numbers that are not finite")
        return X
