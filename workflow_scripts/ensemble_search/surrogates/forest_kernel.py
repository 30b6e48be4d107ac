"""Diversity by a kernel on configurations that a forest learns."""

import numpy as np
from pydantic import Field

from ensemble_search.surrogates._categories import Categories
from ensemble_search.surrogates._forest import fitted
from ensemble_search.surrogates.base import DiversityModel, DiversitySurrogate

LANDMARKS = 10  # observed configurations: trees learn the diversities to them
STEPS = 2**20  # of a unit of diversity


class ForestKernel(DiversitySurrogate):
    """Observed diversities of similar configurations; not from the DivBO paper, and far cheaper.

    Extremely randomized trees learn a configuration's diversities to ten random observed ones, and
    are grown until every observed configuration has its own leaf (those that the trees cannot tell
    apart share one, and one of them stands for all). Each tree is a member of the model: for a
    pair, it predicts the diversity D_ij of the two observed configurations in whose leaves they
    fall. So the members spread as the diversities of similar pairs do, and the mean is
    sum_ij w_ij D_ij, where the weight w_ij is the share of the trees. Predictions are symmetric,
    and D_ij for two observed configurations. Trees learn from n rows instead of n^2 pairs. Each
    orders the categories by the diversities to one of the ten (``Categories.places``), so that
    trees disagree on untried algorithms.

    Diversities are rounded to multiples of 2^-20, so that the trees' sums of them, and of their
    squares, are exact: splits that part the observed alike then tie. Otherwise last bits choose
    between them, and since trees are grown until nothing is left to split, they change suggestions.
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
            rows = np.zeros(tree.node_count, dtype=int)  # the observed one in every leaf
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
        # Transposed, so that the entries of a column are neighbours: orders are written faster.
        self._columns = np.array(vectors.T, dtype=np.float32, order="C")
        self._categorical, self._codes = known.columns, known.codes(vectors).T.copy()

    def ordered(self, places: np.ndarray) -> np.ndarray:
        """Return the columns, of shape (n, n_columns); the next call overwrites them."""
        self._columns[self._categorical] = places.take(self._codes)
        return self._columns.T
