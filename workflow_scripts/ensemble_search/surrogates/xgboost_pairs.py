"""The paper's diversity surrogate with XGBoost, which other surrogates do not need."""

import json

import numpy as np

from ensemble_search.surrogates._on_pairs import BoostedPairs
from ensemble_search.surrogates._pairs.rows import Pairs
from ensemble_search.surrogates._pairs.trees import PairTrees


class XGBoostPairs(BoostedPairs):
    """XGBoost instead of LightGBM (DivBO paper, Figure 2: XGB).

    The numbers of models, trees and leaves are the same; other settings are XGBoost's defaults.
    """

    def boosters(self, pairs: Pairs, rng: np.random.Generator) -> list:
        """Train XGBoost."""
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
        for _ in range(self.models):
            chosen = pairs.of_subset(rng)
            data = xgboost.QuantileDMatrix(pairs.rows[chosen], pairs.targets[chosen], nthread=1)
            seed = int(rng.integers(2**31))
            boosters.append(xgboost.train(parameters | {"seed": seed}, data, self.trees))
        return boosters

    @staticmethod
    def read(booster) -> PairTrees:
        """Read the trees of XGBoost's JSON."""
        return PairTrees.of_xgboost(json.loads(booster.save_raw("json")))
