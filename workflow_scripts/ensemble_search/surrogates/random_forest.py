"""Probabilistic random forest with categorical splits: the performance surrogate of DivBO."""

import numpy as np
from pydantic import Field

from ensemble_search.surrogates._categories import Categories
from ensemble_search.surrogates._forest import TREE, fitted
from ensemble_search.surrogates.base import PerformanceModel, PerformanceSurrogate

VARIANCE = 1e-5  # lower bound, as in OpenBox


class RandomForest(PerformanceSurrogate):
    """Forest whose trees' spread is the uncertainty (Hutter et al. 2011; OpenBox's settings).

    Each tree learns from a bootstrap sample. A categorical hyperparameter is one column, whose
    categories are ordered by their mean errors in the sample (``Categories.places``). Categories
    not in the sample get random places, so that trees disagree on them: an untried algorithm may
    have a high expected improvement, whereas a forest on one-hot columns confidently predicts the
    mean of the others.

    Every split considers 5/6 of the hyperparameters, and its threshold is random between the two
    neighbouring values; leaves hold at least 3 rows, counting copies in the bootstrap sample. Mean
    and variance (divisor n - 1, at least 1e-5) are those of the trees' predictions.
    """

    trees: int = Field(10, ge=2, description="Trees of the forest.")

    def fit(
        self,
        vectors: np.ndarray,
        errors: np.ndarray,
        categories: np.ndarray,
        rng: np.random.Generator,
    ) -> PerformanceModel:
        """Fit the forest; see :meth:`PerformanceSurrogate.fit`."""
        known = Categories(categories)
        vectors, errors = np.asarray(vectors, dtype=np.float32), np.asarray(errors, dtype=float)
        trees = [_Tree(vectors, known, errors, rng) for _ in range(self.trees)]

        def predict(vectors: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            columns = np.array(vectors, dtype=np.float32)
            codes = known.codes(columns)
            means = np.stack([tree.predict(columns, codes) for tree in trees])
            variance = np.maximum(means.var(axis=0, ddof=1), VARIANCE)
            return means.mean(axis=0), np.sqrt(variance)

        return predict


class _Tree:
    """scikit-learn's tree on columns of numbered categories."""

    def __init__(
        self, vectors: np.ndarray, known: Categories, errors: np.ndarray, rng: np.random.Generator
    ):
        from sklearn.tree import DecisionTreeRegressor

        rows = rng.integers(len(errors), size=len(errors))
        columns, errors = vectors[rows], errors[rows]
        codes = known.codes(columns)
        self.places = known.places(codes, errors, rng)
        columns[:, known.columns] = self.places[codes]
        seed = int(rng.integers(2**31))
        self.tree = fitted(DecisionTreeRegressor(**TREE, random_state=seed), columns, errors)
        self._move_thresholds(columns, rng)
        self.used = np.flatnonzero(np.isin(known.columns, self.tree.feature))
        self.columns = known.columns[self.used]

    def _move_thresholds(self, columns: np.ndarray, rng: np.random.Generator) -> None:
        """Draw each threshold uniformly between its neighbouring values, not at their midpoint."""
        splits = np.flatnonzero(self.tree.children_left >= 0)
        path = self.tree.decision_path(columns)
        rows, nodes = np.repeat(np.arange(len(columns)), np.diff(path.indptr)), path.indices
        inner = self.tree.children_left[nodes] >= 0
        rows, nodes = rows[inner], nodes[inner]
        values = columns[rows, self.tree.feature[nodes]].astype(float)
        left = values <= self.tree.threshold[nodes]
        low, high = np.full(path.shape[1], -np.inf), np.full(path.shape[1], np.inf)
        np.maximum.at(low, nodes[left], values[left])
        np.minimum.at(high, nodes[~left], values[~left])
        low, high = low[splits], high[splits]
        self.tree.threshold[splits] = low + rng.random(len(splits)) * (high - low)

    def predict(self, columns: np.ndarray, codes: np.ndarray) -> np.ndarray:
        """Return the leaves' means; this overwrites the categorical ``columns``."""
        columns[:, self.columns] = self.places.take(codes[:, self.used])
        return self.tree.predict(columns).ravel()
