"""SAMME.R: boosting on the class probabilities of trees (Zhu, Zou, Rosset and Hastie, 2009)."""

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.utils import check_array


class SammeR(ClassifierMixin, BaseEstimator):
    """AdaBoost SAMME.R (Algorithm 4 of Multi-class AdaBoost, Statistics and Its Interface 2).

    With K classes and log-probabilities l (clipped at the float's epsilon), a tree contributes
    ``h_k = (K - 1) (l_k - mean(l))``; the weight of a sample of class c is then multiplied by
    ``exp(-learning_rate (K - 1)/K (l_c - mean of the other l))``. Boosting stops early at a tree
    without errors.

    Probabilities are the softmax of ``f_k / (K - 1)``, where f is the mean of the trees' h. With
    the sum, which has the same maximum, all probabilities would be near 0 or 1.

    Parameters
    ----------
    estimator
        Decision tree.
    n_estimators
        Maximum number of trees.
    learning_rate
        Shrinkage of the weight updates.
    random_state
        Seed of the trees' seeds.
    """

    def __init__(self, estimator, n_estimators=50, learning_rate=1.0, random_state=None):
        self.estimator = estimator
        self.n_estimators = n_estimators
        self.learning_rate = learning_rate
        self.random_state = random_state

    def fit(self, X, y, sample_weight=None):
        """Boost the trees; rows have equal weights unless ``sample_weight`` is given."""
        X = _checked(X)
        self.classes_, codes = np.unique(y, return_inverse=True)
        n, k = len(codes), len(self.classes_)
        rows = np.arange(n)
        seeds = np.random.RandomState(self.random_state)
        weights = np.full(n, 1 / n)
        if sample_weight is not None:
            weights = sample_weight / sample_weight.sum()
        self.estimators_ = []
        for _ in range(self.n_estimators):
            tree = clone(self.estimator).set_params(random_state=seeds.randint(2**31 - 1))
            tree.fit(X, codes, sample_weight=weights, check_input=False)
            probabilities = np.zeros((n, k))  # the tree may lack a class of weight 0
            probabilities[:, tree.classes_] = tree.predict_proba(X, check_input=False)
            self.estimators_.append(tree)
            if weights[probabilities.argmax(axis=1) != codes].sum() <= 0:
                break
            logs = _clipped_log(probabilities)
            own = logs[rows, codes]
            others = (logs.sum(axis=1) - own) / (k - 1)
            weights = weights * np.exp(-self.learning_rate * (k - 1) / k * (own - others))
            if not np.isfinite(weights.sum()) or weights.sum() <= 0:
                break
            weights /= weights.sum()
        return self

    def predict_proba(self, X):
        """Return class probabilities, of shape (n_samples, n_classes)."""
        X, k = _checked(X), len(self.classes_)
        scores = np.zeros((len(X), k))
        for tree in self.estimators_:
            probabilities = np.zeros((len(X), k))
            probabilities[:, tree.classes_] = tree.predict_proba(X, check_input=False)
            logs = _clipped_log(probabilities)
            scores += logs - logs.mean(axis=1, keepdims=True)
        scores /= len(self.estimators_)
        exponentials = np.exp(scores - scores.max(axis=1, keepdims=True))
        return exponentials / exponentials.sum(axis=1, keepdims=True)

    def predict(self, X):
        """Return the most probable classes, of shape (n_samples,)."""
        return self.classes_[self.predict_proba(X).argmax(axis=1)]


def _checked(X: np.ndarray) -> np.ndarray:
    """Convert to the trees' precision once: checking takes up to a quarter of a fit."""
    return check_array(X, dtype=np.float32)


def _clipped_log(probabilities: np.ndarray) -> np.ndarray:
    return np.log(np.maximum(probabilities, np.finfo(probabilities.dtype).eps))
