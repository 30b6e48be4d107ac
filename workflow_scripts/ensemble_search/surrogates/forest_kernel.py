"""Diversity from a kernel on configurations, learned by a forest."""

import numpy as np
from pydantic import Field

from ensemble_search.surrogates._categories import Categories
from ensemble_search.surrogates._forest import fitted
from ensemble_search.surrogates.base import DiversityModel, DiversitySurrogate

LANDMARKS = 10  # observed configurations to which trees learn the diversities
STEPS = 2**20  # per unit of diversity


class ForestKernel(DiversitySurrogate):
    """Diversities observed for similar configurations: far cheaper, not from the DivBO paper.

    Extremely randomized trees learn a configuration's diversities to ten random observed ones. They
    are grown until every observed configuration has its own leaf (those that they cannot
    distinguish, or whose diversities to the ten are equal, share a leaf, and one of them represents
    all). Each tree is a member of the model: for a pair, it predicts the diversity D_ij of the two
    observed configurations in whose leaves the pair falls. The members thus spread as the
    diversities of similar pairs do. The mean is sum_ij w_ij D_ij, where the weight w_ij is the
    share of trees that predict D_ij. Predictions are symmetric; for two observed configurations
    with leaves of their own, they equal D_ij. Trees learn from n rows instead of n^2 pairs. Each
    tree orders the categories by the diversities to one of the ten (``Categories.places``), so that
    trees disagree on untried algorithms.

    Diversities are rounded to multiples of 2^-20, so that the trees' sums of diversities and of
    their squares are exact: splits that separate the observed configurations in the same way then
    tie. Otherwise, the last bits would choose between these splits and, because trees are grown
    until nothing is left to split, change suggestions.
    """

    trees: int = Field(36, ge=1, description="Trees, the members of the model.")

    def fit(
        self,
        vectors: np.ndarray,
        diversities: np.ndarray,
        categories: np.ndarray,
        rng: np.random.Generator,
    ) -> DiversityModel:
        """Grow the trees; see :meth:`DiversitySurrogate.fit`."""
        from sklearn.tree import ExtraTreeRegressor

        known = Categories(categories)
        codes = known.codes(vectors)
        observed = _Columns(vectors, known)
        diversities = np.rint(diversities * STEPS) / STEPS
        landmarks = np.resize(rng.permutation(len(vectors)), LANDMARKS)  # with repeats
        targets = np.ascontiguousarray(diversities[:, landmarks])
        diversities = diversities.astype(np.float32)
        trees = []
        for _ in range(self.trees):
            places = known.places(codes, targets[:, rng.integers(LANDMARKS)], rng)
            columns = observed.ordered(places)
            made = ExtraTreeRegressor(max_features=0.5, random_state=int(rng.integers(2**31)))
            tree = fitted(made, columns, targets)
            rows = np.zeros(tree.node_count, dtype=int)  # the observed configuration in every leaf
            rows[tree.apply(columns)] = np.arange(len(vectors))
            trees.append((places, tree, rows))

        def predict(a: np.ndarray, b: np.ndarray) -> np.ndarray:
            both = _Columns(a, known), _Columns(b, known)
            result = np.empty((self.trees, len(a), len(b)), dtype=np.float32)
            for member, (places, tree, rows) in zip(result, trees, strict=True):
                i, j = (rows[tree.apply(columns.ordered(places))] for columns in both)
                member[:] = diversities[:, j].take(i, axis=0)
            return result

        return predict


class _Columns:
    """Configurations as the columns of trees that order the categories differently."""

    def __init__(self, vectors: np.ndarray, known: Categories):
        self.size = len(vectors)
        # Transposed, so that a column's entries are contiguous and faster to write.
        self._columns = np.array(vectors.T, dtype=np.float32, order="C")
        self._categorical, self._codes = known.columns, known.codes(vectors).T.copy()

    def ordered(self, places: np.ndarray) -> np.ndarray:
        """Return the columns, of shape (n, n_columns), overwritten by the next call."""
        self._columns[self._categorical] = places.take(self._codes)
        return self._columns.T
