"""The diversity surrogate of the authors' remaining code: one LightGBM model, no spread."""

import numpy as np
from pydantic import Field

from ensemble_search.surrogates._pairs.rows import Pairs
from ensemble_search.surrogates._pairs.trees import PairTrees
from ensemble_search.surrogates.base import DiversityModel, DiversitySurrogate


class LightGBMSingle(DiversitySurrogate):
    """One LightGBM regressor on all ordered pairs, as in the authors' code.

    1000 trees of depth 5 learn the normal scores of the diversities (:func:`normal_scores`) and
    predict each pair in one order, the first argument first, so predictions are not symmetric. They
    are transformed back to diversities, which keeps their order.
    """

    trees: int = Field(1000, ge=1, description="Trees of the model.")

    def fit(
        self,
        vectors: np.ndarray,
        diversities: np.ndarray,
        categories: np.ndarray,
        rng: np.random.Generator,
    ) -> DiversityModel:
        """Fit the model, which needs no random numbers; see :meth:`DiversitySurrogate.fit`."""
        import lightgbm

        pairs = Pairs.of(vectors, diversities, categories)
        if not pairs.varying.any():
            return pairs.no_model(1)
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

        def predict(a: np.ndarray, b: np.ndarray) -> np.ndarray:
            predicted = model.predict(pairs.columns(a), pairs.columns(b), orders=(0,))
            return np.interp(predicted, known, pairs.targets[first])[None]

        return predict


def normal_scores(values: np.ndarray) -> np.ndarray:
    """Transform values to standard normal quantiles of their ranks, averaged over ties.

    Probabilities are kept 1 / (4 n^(1/4) sqrt(pi log n)) away from 0 and 1, as in OpenBox's
    ``gaussian_transform``.

    Parameters
    ----------
    values
        Of shape (n,), n at least 2.
    """
    from scipy.special import ndtri
    from scipy.stats import rankdata

    n = len(values)
    margin = 1 / (4 * n**0.25 * np.sqrt(np.pi * np.log(n)))
    return ndtri(np.clip((rankdata(values) - 1) / (n - 1), margin, 1 - margin))
