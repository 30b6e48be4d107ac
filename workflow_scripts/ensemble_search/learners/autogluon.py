"""Six of AutoGluon's learners with the hyperparameters that version 0.4 searches.

Boosters stop early when the loss (log loss; in regression, squared error) on a held-out tenth of
the training rows has not decreased for ``PATIENCE`` trees; the trees up to the best one are kept.
(AutoGluon stops by the metric on the validation rows. Here, learners must not see these rows, and
the error on a tenth of the training rows is too coarse.)
"""

from typing import Any

import numpy as np
from ConfigSpace import Categorical, Float, Integer
from sklearn.base import BaseEstimator

from ensemble_search.learners.classifiers import lightgbm_classifier
from ensemble_search.learners.operators import SEED, operator

TREES = 10_000  # maximum per booster
PATIENCE = 100
HELD_OUT = 0.1

_LEARNING_RATE: dict[str, Any] = {"bounds": (5e-3, 0.2), "log": True}


class EarlyStopping(BaseEstimator):
    """Fit a booster with early stopping on held-out rows.

    Parameters
    ----------
    booster
        Unfitted classifier or regressor whose ``fit`` takes rows for early stopping.
    fit_arguments
        Function that maps these rows and their labels to the arguments of ``fit``.
    predict_arguments
        Arguments of ``predict_proba`` or ``predict``.
    regression
        Whether it is a regressor.
    """

    def __init__(self, booster, fit_arguments, predict_arguments=None, regression=False):
        self.booster = booster
        self.fit_arguments = fit_arguments
        self.predict_arguments = predict_arguments
        self.regression = regression

    def fit(self, X, y):
        """Fit; ValueError if no class (in regression, the data) has at least two rows."""
        if self.regression:
            held = held_out(np.zeros(len(y), dtype=int))
        else:
            self.classes_, y = np.unique(y, return_inverse=True)
            held = held_out(y)
        if not held.any():
            raise ValueError("no class has a row to spare for early stopping")
        self.booster.fit(X[~held], y[~held], **self.fit_arguments(X[held], y[held]))
        return self

    def predict_proba(self, X):
        """Return class probabilities, of shape (n_samples, n_classes)."""
        return self.booster.predict_proba(X, **(self.predict_arguments or {}))

    def predict(self, X):
        """Return regression predictions, of shape (n_samples,)."""
        return self.booster.predict(X, **(self.predict_arguments or {}))


def held_out(codes: np.ndarray) -> np.ndarray:
    """Mark a tenth of every class with two or more rows, bool, of shape (n,).

    The draw depends only on the labels.
    """
    rng = np.random.default_rng(SEED)
    marked = np.zeros(len(codes), dtype=bool)
    for code in np.unique(codes):
        rows = rng.permutation(np.flatnonzero(codes == code))
        if len(rows) > 1:
            marked[rows[: max(1, round(HELD_OUT * len(rows)))]] = True
    return marked


@operator(
    Float("learning_rate", **_LEARNING_RATE, default=0.05),
    Float("feature_fraction", (0.75, 1.0), default=1.0),
    Integer("min_data_in_leaf", (2, 60), default=20),
    Integer("num_leaves", (16, 96), default=31),
    Categorical("extra_trees", [False, True], default=False),
)
def lightgbm(values, data):
    """With and without random thresholds (``extra_trees``), two presets of AutoGluon."""
    booster = lightgbm_classifier(data.threads, **lightgbm_arguments(values))
    return EarlyStopping(booster, lightgbm_rows)


def lightgbm_arguments(values) -> dict:
    """Return the arguments of LightGBM."""
    return {
        "n_estimators": TREES,
        "learning_rate": values["learning_rate"],
        "colsample_bytree": values["feature_fraction"],
        "min_child_samples": values["min_data_in_leaf"],
        "num_leaves": values["num_leaves"],
        "extra_trees": values["extra_trees"],
        "early_stopping_round": PATIENCE,
    }


def lightgbm_rows(X, y) -> dict:
    """Return the arguments of LightGBM's ``fit``."""
    return {"eval_X": (X,), "eval_y": (y,)}


@operator(
    Float("learning_rate", **_LEARNING_RATE, default=0.03),
    Integer("max_depth", (3, 10), default=3),
    Integer("min_child_weight", (1, 5), default=1),
    Float("gamma", (0.0, 5.0), default=0.01),
    Float("subsample", (0.5, 1.0), default=1.0),
    Float("colsample_bytree", (0.5, 1.0), default=1.0),
    Float("reg_alpha", (0.0, 10.0), default=0.0),
    Float("reg_lambda", (0.0, 10.0), default=1.0),
)
def xgboost(values, data):
    """Histogram trees, on the CPU."""
    from xgboost import XGBClassifier

    return EarlyStopping(XGBClassifier(**xgboost_arguments(values, data)), xgboost_rows)


def xgboost_arguments(values, data) -> dict:
    """Return the arguments of XGBoost."""
    return {
        "n_estimators": TREES,
        "early_stopping_rounds": PATIENCE,
        "tree_method": "hist",
        "device": "cpu",
        "n_jobs": data.threads,
        "random_state": SEED,
        "verbosity": 0,
        **values,
    }


def xgboost_rows(X, y) -> dict:
    """Return the arguments of XGBoost's ``fit``."""
    return {"eval_set": [(X, y)], "verbose": False}


@operator(
    Float("learning_rate", **_LEARNING_RATE, default=0.05),
    Integer("depth", (5, 8), default=6),
    Float("l2_leaf_reg", (1.0, 5.0), default=3.0),
)
def catboost(values, data):
    """Write no files; also limit threads in prediction."""
    from catboost import CatBoostClassifier

    booster = CatBoostClassifier(**catboost_arguments(values, data))
    return EarlyStopping(booster, catboost_rows, {"thread_count": data.threads})


def catboost_arguments(values, data) -> dict:
    """Return the arguments of CatBoost."""
    return {
        "iterations": TREES,
        "early_stopping_rounds": PATIENCE,
        "thread_count": data.threads,
        "random_seed": SEED,
        "allow_writing_files": False,
        "logging_level": "Silent",
        **values,
    }


def catboost_rows(X, y) -> dict:
    """Return the arguments of CatBoost's ``fit``."""
    return {"eval_set": (X, y)}


def forest_arguments(values, data) -> dict:
    """Return the arguments of a forest."""
    return {
        **values,
        "n_estimators": 300,
        "max_leaf_nodes": 15_000,
        "n_jobs": data.threads,
        "random_state": SEED,
    }


@operator(Categorical("criterion", ["gini", "entropy"], default="gini"))
def random_forest(values, data):
    """300 trees."""
    from sklearn.ensemble import RandomForestClassifier

    return RandomForestClassifier(**forest_arguments(values, data))


@operator(Categorical("criterion", ["gini", "entropy"], default="gini"))
def extra_trees(values, data):
    """300 trees."""
    from sklearn.ensemble import ExtraTreesClassifier

    return ExtraTreesClassifier(**forest_arguments(values, data))


@operator(Categorical("weights", ["uniform", "distance"], default="uniform"))
def knn(values, data):
    """5 neighbours, on standardised features, which the other learners do not need."""
    from sklearn.neighbors import KNeighborsClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    return make_pipeline(StandardScaler(), KNeighborsClassifier(**knn_arguments(values, data)))


def knn_arguments(values, data) -> dict:
    """Return the arguments of nearest neighbours."""
    return {"n_neighbors": min(5, data.n_samples), "n_jobs": data.threads, **values}


LEARNERS = (lightgbm, xgboost, catboost, random_forest, extra_trees, knn)
