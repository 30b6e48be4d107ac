"""The paper's diversity surrogate: several LightGBM models on all pairs of configurations."""

import numpy as np
from pydantic import Field

from divbo.pair_trees import PairTrees
from divbo.surrogates.base import DiversityModel, DiversitySurrogate


class LightGBMPairs(DiversitySurrogate):
    """LightGBM regressors on concatenated pairs (paper, Section 3.2; specification B.3).

    Every ordered pair of observed configurations is a row, each with itself too (diversity 0).
    Each model learns from the pairs of a random 80 % of the configurations: rows that share a
    configuration depend on each other, so leaving out single rows would understate the spread.
    A prediction is the mean over both orders of the pair, hence symmetric.
    """

    models: int = Field(5, ge=1, description="LightGBM models.")
    trees: int = Field(200, ge=1, description="Trees of each model.")

    def fit(
        self, vectors: np.ndarray, diversities: np.ndarray, rng: np.random.Generator
    ) -> DiversityModel:
        """Fit the models; see :meth:`DiversitySurrogate.fit`."""
        boosters, varying = train(vectors, diversities, self.models, self.trees, rng)
        if not boosters:
            return lambda a, b: np.zeros((self.models, len(a), len(b)))
        models = [PairTrees(booster.model_to_string()) for booster in boosters]

        def predict(a: np.ndarray, b: np.ndarray) -> np.ndarray:
            a, b = (np.asarray(v, dtype=np.float32)[:, varying] for v in (a, b))
            return np.stack([m.predict(a, b) for m in models])

        return predict


def train(
    vectors: np.ndarray,
    diversities: np.ndarray,
    models: int,
    trees: int,
    rng: np.random.Generator,
) -> tuple[list, np.ndarray]:
    """Train boosters on the pairs of subsets of the configurations.

    Returns
    -------
    boosters
        LightGBM boosters, or none if all configurations are equal.
    varying
        Bool, of shape (n_columns,): the columns they were trained on, twice; the others are
        constant over the configurations, so that no tree could split on them.
    """
    import lightgbm

    n = len(vectors)
    varying = (vectors != vectors[0]).any(axis=0)
    columns = int(varying.sum())
    if not columns:
        return [], varying
    vectors = np.asarray(vectors, dtype=np.float32)[:, varying]
    pairs = np.empty((n, n, 2 * columns), dtype=np.float32)
    pairs[:, :, :columns] = vectors[:, None]
    pairs[:, :, columns:] = vectors
    parameters = {
        "objective": "regression",
        "learning_rate": 0.1,
        "num_leaves": 31,
        "min_data_in_leaf": 5,  # LightGBM's 20 can hardly split the pairs of 10 configurations
        "feature_fraction": 0.8,
        "use_missing": False,
        "deterministic": True,
        "force_row_wise": True,  # a fifth faster than by columns here
        "num_threads": 1,
        "verbosity": -1,
    }
    # Binned once for all models. Nearly all of the time is LightGBM's own, in the trees.
    data = lightgbm.Dataset(pairs.reshape(n * n, -1), diversities.ravel(), params=parameters)
    data.construct()
    size = min(n, max(2, round(0.8 * n)))
    boosters = []
    for _ in range(models):
        chosen = np.sort(rng.choice(n, size, replace=False))
        rows = (chosen[:, None] * n + chosen).ravel()
        seed = int(rng.integers(2**31))
        boosters.append(lightgbm.train(parameters | {"seed": seed}, data.subset(rows), trees))
    return boosters, varying
