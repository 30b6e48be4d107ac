"""Diversity surrogates that learn from pairs of configurations (DivBO paper, Section 3.1)."""

from abc import abstractmethod
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from pydantic import Field

from ensemble_search.surrogates._forest import grow
from ensemble_search.surrogates._pairs.rows import Pairs
from ensemble_search.surrogates._pairs.trees import PairTrees
from ensemble_search.surrogates.base import DiversityModel, DiversitySurrogate

#: Maps columns of shapes (m, n_columns) and (p, n_columns) to predictions of shape (m, p).
Member = Callable[[np.ndarray, np.ndarray], np.ndarray]


class _OnPairs(DiversitySurrogate):
    """Base: every ordered pair is a row, including pairs of a configuration with itself."""

    trees: int = Field(200, ge=1, description="Trees of each model.")

    @abstractmethod
    def members(self, pairs: Pairs, rng: np.random.Generator) -> Sequence[Member]:
        """Train the members of the model."""

    def fit(
        self,
        vectors: np.ndarray,
        diversities: np.ndarray,
        categories: np.ndarray,
        rng: np.random.Generator,
    ) -> DiversityModel:
        """Fit the members; see :meth:`DiversitySurrogate.fit`. Equal configurations get 0."""
        pairs = Pairs.of(vectors, diversities, categories)
        if not pairs.varying.any():
            return lambda a, b: np.zeros((1, len(a), len(b)))
        members = self.members(pairs, rng)

        def predict(a: np.ndarray, b: np.ndarray) -> np.ndarray:
            a, b = pairs.columns(a), pairs.columns(b)
            return np.stack([member(a, b) for member in members])

        return predict


class BoostedPairs(_OnPairs):
    """Base of boosters, each on the pairs of a random 80 % of the configurations.

    Rows that share a configuration are dependent, so leaving out single rows would understate the
    spread. Predictions average both orders of a pair, so they are symmetric.
    """

    models: int = Field(5, ge=1, description="Boosted models, the members.")

    @abstractmethod
    def boosters(self, pairs: Pairs, rng: np.random.Generator) -> list:
        """Train the library's models."""

    @staticmethod
    @abstractmethod
    def read(booster) -> PairTrees:
        """Read the trees of one booster."""

    def members(self, pairs: Pairs, rng: np.random.Generator) -> Sequence[Member]:
        """Train the boosters; return predictions by their trees."""
        return [self.read(booster).predict for booster in self.boosters(pairs, rng)]


class LightGBMPairs(BoostedPairs):
    """The surrogate of the DivBO paper: LightGBM regressors (Section 3.1).

    The paper mentions several models without details. Here there are 5 models of 200 trees, each
    trained on the pairs of a random 80 % of the configurations. Predictions average both orders of
    a pair; a leaf has at least 5 pairs (LightGBM's default, 20, can hardly split the pairs of ten
    configurations).
    """

    def boosters(self, pairs: Pairs, rng: np.random.Generator) -> list:
        """Train LightGBM."""
        import lightgbm

        parameters = {
            "objective": "regression",
            "learning_rate": 0.1,
            "num_leaves": 31,
            "min_data_in_leaf": 5,  # the default, 20, hardly splits the pairs of 10 configurations
            "feature_fraction": 0.8,
            "use_missing": False,
            "deterministic": True,
            "force_row_wise": True,  # a fifth faster here than column-wise
            "num_threads": 1,
            "verbosity": -1,
        }
        # Bin once for all models; LightGBM's trees take nearly all of the time.
        data = lightgbm.Dataset(pairs.rows, pairs.targets, params=parameters)
        data.construct()
        boosters = []
        for _ in range(self.models):
            chosen: Any = pairs.of_subset(rng)  # LightGBM takes an array, too
            rows = data.subset(chosen)
            seed = int(rng.integers(2**31))
            boosters.append(lightgbm.train(parameters | {"seed": seed}, rows, self.trees))
        return boosters

    @staticmethod
    def read(booster) -> PairTrees:
        """Read the trees of LightGBM's text."""
        return PairTrees.of_lightgbm(booster.model_to_string())


class RandomForestPairs(_OnPairs):
    """Probabilistic random forest (DivBO paper, Figure 2: PRF).

    Each tree is a member and learns from a bootstrap sample of the pairs, not of the
    configurations. Predictions average both orders of a pair.
    """

    trees: int = Field(10, ge=2, description="Trees of the forest, the members of the model.")

    def members(self, pairs: Pairs, rng: np.random.Generator) -> Sequence[Member]:
        """Grow the trees."""

        def member(tree) -> Member:
            def predict(a: np.ndarray, b: np.ndarray) -> np.ndarray:
                result = np.empty((len(a), len(b)))
                for j, other in enumerate(b):  # 5000 x 25 rows at once would need too much memory
                    others = np.broadcast_to(other, a.shape)
                    orders = np.hstack([a, others]), np.hstack([others, a])
                    result[:, j] = sum(tree.predict(rows).ravel() for rows in orders) / 2
                return result

            return predict

        return [member(tree) for tree in grow(pairs.rows, pairs.targets, self.trees, rng)]


class LightGBMSingle(_OnPairs):
    """One LightGBM regressor on all ordered pairs, as in the DivBO authors' code; no spread.

    1000 trees of depth 5 learn the normal scores of the diversities (:func:`normal_scores`) and
    predict each pair in one order, the first argument first, so predictions are not symmetric.
    Transforming them back to diversities preserves their order.
    """

    trees: int = Field(1000, ge=1, description="Trees of the model.")

    def members(self, pairs: Pairs, rng: np.random.Generator) -> Sequence[Member]:
        """Train LightGBM, which needs no random numbers here."""
        import lightgbm

        parameters = {
            "objective": "regression",
            "learning_rate": 0.1,
            "num_leaves": 31,
            "max_depth": 5,
            "use_missing": False,
            "deterministic": True,
            "force_row_wise": True,
            "num_threads": 1,
            "verbosity": -1,
        }
        scores = normal_scores(pairs.targets)
        data = lightgbm.Dataset(pairs.rows, scores)
        booster = lightgbm.train(parameters, data, self.trees)
        model = PairTrees.of_lightgbm(booster.model_to_string())
        known, first = np.unique(scores, return_index=True)
        targets = pairs.targets[first]
        return [lambda a, b: np.interp(model.predict(a, b, orders=(0,)), known, targets)]


def normal_scores(values: np.ndarray) -> np.ndarray:
    """Transform values to standard normal quantiles of their ranks, averaged over ties.

    Probabilities are kept 1 / (4 n^(1/4) sqrt(pi log n)) away from 0 and 1, as in OpenBox's
    ``gaussian_transform``.

    Parameters
    ----------
    values
        Of shape (n,), n >= 2.
    """
    from scipy.special import ndtri
    from scipy.stats import rankdata

    n = len(values)
    margin = 1 / (4 * n**0.25 * np.sqrt(np.pi * np.log(n)))
    return ndtri(np.clip((rankdata(values) - 1) / (n - 1), margin, 1 - margin))
