"""Probabilistic random forest that splits categories: the performance surrogate of SMAC, DivBO."""

import numpy as np
from pydantic import Field

from divbo.surrogates.base import PerformanceModel, PerformanceSurrogate

VARIANCE = 1e-5  # the least, as in OpenBox


class RandomForest(PerformanceSurrogate):
    """Forest whose trees' spread is the uncertainty (Hutter et al. 2011; OpenBox's settings).

    Each tree learns from a bootstrap sample. It sees a categorical hyperparameter as one column,
    its categories in the order of their mean errors in that sample: splits between them are the
    best splits into two subsets (Breiman et al. 1984, Theorem 4.5). A category that the sample
    does not have gets a random place in this order, another in every tree, so the trees disagree
    about it: expected improvement is high for an algorithm that was never tried, where a forest on
    one-hot columns predicts the mean of the others and is sure of it.

    Every split looks at 5/6 of the hyperparameters, and lies anywhere between the two neighbouring
    values; a node of fewer than 3 rows is not split, and a leaf holds at least 3, counted with the
    copies in the bootstrap sample. The mean is the mean of the trees' means, the variance their
    variance (divisor n - 1), no less than 1e-5.
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
        codes = _Codes(categories)
        vectors = np.asarray(vectors, dtype=np.float32)
        trees = [
            _Tree(vectors, codes, np.asarray(errors, dtype=float), rng) for _ in range(self.trees)
        ]

        def predict(vectors: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            columns = np.array(vectors, dtype=np.float32)
            flat = codes.of(columns)
            means = np.stack([tree.predict(columns, flat) for tree in trees])
            variance = np.maximum(means.var(axis=0, ddof=1), VARIANCE)
            return means.mean(axis=0), np.sqrt(variance)

        return predict


class _Codes:
    """The categories of all hyperparameters, numbered through."""

    def __init__(self, categories: np.ndarray):
        self.columns = np.flatnonzero(categories)
        self.sizes = np.asarray(categories)[self.columns]
        self.starts = np.cumsum(self.sizes) - self.sizes
        self.owners = np.repeat(np.arange(len(self.sizes)), self.sizes)

    def of(self, vectors: np.ndarray) -> np.ndarray:
        """Return the numbers of the categories of encoded configurations, a column each."""
        return vectors[:, self.columns].astype(np.intp) + self.starts

    def places(self, flat: np.ndarray, errors: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Order each hyperparameter's categories by mean error; absent ones anywhere between."""
        total = len(self.owners)
        counts = np.bincount(flat.ravel(), minlength=total)
        weights = np.repeat(errors, flat.shape[1])
        sums = np.bincount(flat.ravel(), weights, minlength=total)
        seen = counts > 0
        means = np.where(seen, sums / np.maximum(counts, 1), np.inf)
        draws = rng.random(total)
        order = np.lexsort((draws, means, self.owners))
        places = np.empty(total)
        places[order] = np.arange(total) - self.starts[self.owners[order]]
        present = np.bincount(self.owners, seen, minlength=len(self.sizes))[self.owners]
        return np.where(seen, places, draws * present - 0.5).astype(np.float32)


class _Tree:
    """One tree: scikit-learn's, on columns in which categories are numbers."""

    def __init__(
        self, vectors: np.ndarray, codes: _Codes, errors: np.ndarray, rng: np.random.Generator
    ):
        from sklearn.tree import DecisionTreeRegressor

        rows = rng.integers(len(errors), size=len(errors))
        columns, errors = vectors[rows], errors[rows]
        flat = codes.of(columns)
        self.places = codes.places(flat, errors, rng)
        columns[:, codes.columns] = self.places[flat]
        seed = int(rng.integers(2**31))
        self.tree = (
            DecisionTreeRegressor(
                max_features=5 / 6, min_samples_split=3, min_samples_leaf=3, random_state=seed
            )
            .fit(columns, errors)
            .tree_
        )
        self._move_thresholds(columns, rng)
        used = np.isin(codes.columns, self.tree.feature)
        self.used = [(i, codes.columns[i]) for i in np.flatnonzero(used)]

    def _move_thresholds(self, columns: np.ndarray, rng: np.random.Generator) -> None:
        """Draw each threshold uniformly between the values beside it (scikit-learn: the middle)."""
        splits = np.flatnonzero(self.tree.children_left >= 0)
        values = columns[:, self.tree.feature[splits]].astype(float)
        here = self.tree.decision_path(columns).toarray()[:, splits] > 0
        left = values <= self.tree.threshold[splits]
        low = np.where(here & left, values, -np.inf).max(axis=0)
        high = np.where(here & ~left, values, np.inf).min(axis=0)
        self.tree.threshold[splits] = low + rng.random(len(splits)) * (high - low)

    def predict(self, columns: np.ndarray, flat: np.ndarray) -> np.ndarray:
        """Return the means of the leaves; ``columns`` is overwritten where it holds categories."""
        for i, column in self.used:
            columns[:, column] = self.places[flat[:, i]]
        return self.tree.predict(columns).ravel()
