"""Diversity from the known ones of similar configurations, where a forest says what is similar."""

import numpy as np
from pydantic import Field

from divbo.surrogates.base import DiversityModel, DiversitySurrogate

COORDINATES = 5  # of the embedding that the trees are grown on


class ForestKernel(DiversitySurrogate):
    """Weighted mean of known diversities; not of the paper, and far cheaper.

    The observed configurations are embedded in a few coordinates in which squared distances are
    about their diversities (classical scaling). Extremely randomized trees that predict the
    coordinates from the configuration are grown until every observed one has its own leaf, and a
    configuration x is as similar to observation i as many trees put them in the same leaf: these
    are weights w_i(x) of sum 1. The prediction is sum_ij w_i(x) w_j(x') D_ij, which is symmetric,
    and D_ij itself for two observed configurations. There are n rows to learn from instead of the
    n^2 pairs. Groups of trees are the members of the model.
    """

    groups: int = Field(5, ge=1, description="Groups of trees, the members of the model.")
    trees: int = Field(20, ge=1, description="Trees of a group.")

    def fit(
        self, vectors: np.ndarray, diversities: np.ndarray, rng: np.random.Generator
    ) -> DiversityModel:
        """Grow the trees; see :meth:`DiversitySurrogate.fit`."""
        from sklearn.ensemble import ExtraTreesRegressor

        vectors = np.ascontiguousarray(vectors, dtype=np.float32)
        forest = ExtraTreesRegressor(
            n_estimators=self.groups * self.trees,
            max_features=0.5,
            random_state=int(rng.integers(2**31)),
        ).fit(vectors, embed(diversities, COORDINATES))
        trees = [estimator.tree_ for estimator in forest.estimators_]
        shares = []
        for tree in trees:
            leaves = tree.apply(vectors)
            share = np.zeros((tree.node_count, len(vectors)), dtype=np.float32)
            share[leaves, np.arange(len(vectors))] = 1
            shares.append(share / np.maximum(share.sum(axis=1, keepdims=True), 1))

        def weights(vectors: np.ndarray) -> np.ndarray:
            vectors = np.ascontiguousarray(vectors, dtype=np.float32)
            result = np.zeros((self.groups, len(vectors), len(diversities)), dtype=np.float32)
            for i, (tree, share) in enumerate(zip(trees, shares, strict=True)):
                result[i // self.trees] += share[tree.apply(vectors)]
            return result / self.trees

        def predict(a: np.ndarray, b: np.ndarray) -> np.ndarray:
            return weights(a) @ (diversities @ weights(b).transpose(0, 2, 1))

        return predict


def embed(distances: np.ndarray, size: int) -> np.ndarray:
    """Classical scaling: coordinates whose squared distances are about the given ones.

    Parameters
    ----------
    distances
        Of shape (n, n), symmetric, zeros on the diagonal.

    Returns
    -------
    coordinates
        Of shape (n, size), the largest last; zeros where there are fewer than size.
    """
    centred = distances - distances.mean(axis=0)
    centred -= centred.mean(axis=1, keepdims=True)
    values, columns = np.linalg.eigh(-centred / 2)
    found = columns[:, -size:] * np.sqrt(np.maximum(values[-size:], 0))
    return np.pad(found, ((0, 0), (size - found.shape[1], 0)))
