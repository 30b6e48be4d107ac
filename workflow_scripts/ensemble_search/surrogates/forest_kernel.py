"""Diversity by a kernel on configurations that a forest learns."""

import numpy as np
from pydantic import Field

from ensemble_search.surrogates._categories import Categories
from ensemble_search.surrogates.base import DiversityModel, DiversitySurrogate

LANDMARKS = 10  # observed configurations: trees learn the diversities to them


class ForestKernel(DiversitySurrogate):
    """Weighted mean of observed diversities; not from the DivBO paper, and far cheaper.

    Extremely randomized trees learn a configuration's diversities to ten random observed ones, and
    are grown until every observed configuration has its own leaf. The weight w_i(x) of observation
    i for a configuration x is the share of trees in which they share a leaf. The prediction is
    sum_ij w_i(x) w_j(x') D_ij: symmetric, and D_ij for two observed configurations. Trees learn
    from n rows instead of n^2 pairs. Groups of trees are the members of the model; each orders the
    categories by the diversities to one of the ten (``Categories.places``), so that groups disagree
    on untried algorithms.
    """

    groups: int = Field(5, ge=1, description="Groups of trees, the members of the model.")
    trees: int = Field(20, ge=1, description="Trees of a group.")

    def fit(
        self,
        vectors: np.ndarray,
        diversities: np.ndarray,
        categories: np.ndarray,
        rng: np.random.Generator,
    ) -> DiversityModel:
        """Grow the trees; see :meth:`DiversitySurrogate.fit`."""
        from sklearn.ensemble import ExtraTreesRegressor

        known = Categories(categories)
        vectors = np.asarray(vectors, dtype=np.float32)
        codes = known.codes(vectors)
        landmarks = np.resize(rng.permutation(len(vectors)), LANDMARKS)  # with repeats
        targets = diversities[:, landmarks]
        groups = []
        for _ in range(self.groups):
            places = known.places(codes, targets[:, rng.integers(LANDMARKS)], rng)
            columns = vectors.copy()
            columns[:, known.columns] = places[codes]
            forest = ExtraTreesRegressor(
                self.trees, max_features=0.5, random_state=int(rng.integers(2**31))
            ).fit(columns, targets)
            trees = [estimator.tree_ for estimator in forest.estimators_]
            groups.append((places, [(tree, _shares(tree, columns)) for tree in trees]))

        def weights(vectors: np.ndarray) -> np.ndarray:
            columns = np.array(vectors, dtype=np.float32)
            codes = known.codes(columns)
            result = np.zeros((self.groups, len(vectors), len(diversities)), dtype=np.float32)
            for group, (places, trees) in enumerate(groups):
                columns[:, known.columns] = places[codes]
                for tree, share in trees:
                    result[group] += share[tree.apply(columns)]
            return result / self.trees

        def predict(a: np.ndarray, b: np.ndarray) -> np.ndarray:
            products = weights(a) @ (diversities @ weights(b).transpose(0, 2, 1))
            # Rounded, as the last bits of a matrix product depend on the processor.
            return products.astype(np.float32)

        return predict


def _shares(tree, columns: np.ndarray) -> np.ndarray:
    """Return each row's share of a tree's nodes, 1 / rows in its leaf, of shape (nodes, n)."""
    shares = np.zeros((tree.node_count, len(columns)), dtype=np.float32)
    shares[tree.apply(columns), np.arange(len(columns))] = 1
    return shares / np.maximum(shares.sum(axis=1, keepdims=True), 1)
