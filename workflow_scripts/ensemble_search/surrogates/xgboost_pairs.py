"""The paper's diversity surrogate with XGBoost instead of LightGBM (Figure 2)."""

import json

import numpy as np
from pydantic import Field

from ensemble_search.surrogates._pairs.rows import Pairs
from ensemble_search.surrogates._pairs.trees import PairTrees
from ensemble_search.surrogates.base import DiversityModel, DiversitySurrogate


class XGBoostPairs(DiversitySurrogate):
    """XGBoost regressors on concatenated pairs (DivBO paper, Figure 2: XGB).

    As ``LightGBMPairs``, with as many models, trees and leaves, each model on the pairs of 80 % of
    the configurations; other settings are XGBoost's defaults.
    """

    models: int = Field(5, ge=1, description="XGBoost models.")
    trees: int = Field(200, ge=1, description="Trees of each model.")

    def fit(
        self,
        vectors: np.ndarray,
        diversities: np.ndarray,
        categories: np.ndarray,
        rng: np.random.Generator,
    ) -> DiversityModel:
        """Fit the models; see :meth:`DiversitySurrogate.fit`."""
        pairs = Pairs.of(vectors, diversities, categories)
        if not pairs.varying.any():
            return pairs.no_model(self.models)
        boosters = train(pairs, self.models, self.trees, rng)
        models = [PairTrees.of_xgboost(json.loads(b.save_raw("json"))) for b in boosters]
        return pairs.model(models)


def train(pairs: Pairs, models: int, trees: int, rng: np.random.Generator) -> list:
    """Train XGBoost boosters on the pairs of subsets of the configurations."""
    import xgboost

    parameters = {
        "objective": "reg:squarederror",
        "tree_method": "hist",
        "grow_policy": "lossguide",
        "learning_rate": 0.1,
        "max_depth": 0,
        "max_leaves": 31,
        "colsample_bytree": 0.8,
        "nthread": 1,
        "verbosity": 0,
    }
    boosters = []
    for _ in range(models):
        chosen = pairs.of_subset(rng)
        data = xgboost.QuantileDMatrix(pairs.rows[chosen], pairs.targets[chosen], nthread=1)
        seed = int(rng.integers(2**31))
        boosters.append(xgboost.train(parameters | {"seed": seed}, data, trees))
    return boosters
