"""Diversity from the known ones of similar configurations, where a forest says what is similar."""

import numpy as np
from pydantic import Field

from divbo.surrogates.base import DiversityModel, DiversitySurrogate, one_hot

LANDMARKS = 10  # observed configurations; the trees learn how far others are from these


class ForestKernel(DiversitySurrogate):
    """Weighted mean of known diversities; not of the paper, and far cheaper.

    Extremely randomized trees learn the diversities of a configuration to ten observed ones, drawn
    at random, and are grown until every observed configuration has its own leaf. A configuration
    x is as similar to observation i as many trees put them in the same leaf: these are weights
    w_i(x) of sum 1. The prediction is sum_ij w_i(x) w_j(x') D_ij, which is symmetric, and D_ij
    itself for two observed configurations. There are n rows to learn from instead of the n^2
    pairs. Groups of trees are the members of the model.
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

        vectors = one_hot(vectors, categories)
        landmarks = np.resize(rng.permutation(len(vectors)), LANDMARKS)  # again from the first
        forest = ExtraTreesRegressor(
            n_estimators=self.groups * self.trees,
            max_features=0.5,
            random_state=int(rng.integers(2**31)),
        ).fit(vectors, diversities[:, landmarks])
        trees = [estimator.tree_ for estimator in forest.estimators_]
        shares = []
        for tree in trees:
            leaves = tree.apply(vectors)
            share = np.zeros((tree.node_count, len(vectors)), dtype=np.float32)
            share[leaves, np.arange(len(vectors))] = 1
            shares.append(share / np.maximum(share.sum(axis=1, keepdims=True), 1))

        def weights(vectors: np.ndarray) -> np.ndarray:
            vectors = one_hot(vectors, categories)
            result = np.zeros((self.groups, len(vectors), len(diversities)), dtype=np.float32)
            for i, (tree, share) in enumerate(zip(trees, shares, strict=True)):
                result[i // self.trees] += share[tree.apply(vectors)]
            return result / self.trees

        def predict(a: np.ndarray, b: np.ndarray) -> np.ndarray:
            products = weights(a) @ (diversities @ weights(b).transpose(0, 2, 1))
            # The last bits of a product of matrices depend on the processor: equal ones shall tie.
            return products.astype(np.float32)

        return predict
