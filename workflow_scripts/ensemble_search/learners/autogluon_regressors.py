"""The learners of autogluon.py for regression.

AutoGluon searches the same hyperparameters, except for the forests' ``criterion``.
"""

from ensemble_search.learners import autogluon
from ensemble_search.learners.autogluon import EarlyStopping
from ensemble_search.learners.operators import operator
from ensemble_search.learners.regressors import lightgbm_regressor


@operator(*autogluon.lightgbm.hyperparameters)
def lightgbm(values, data):
    """Early stopping by the squared error, as for the other boosters."""
    booster = lightgbm_regressor(data.threads, **autogluon.lightgbm_arguments(values))
    return EarlyStopping(booster, autogluon.lightgbm_rows, regression=True)


@operator(*autogluon.xgboost.hyperparameters)
def xgboost(values, data):
    """Histogram trees, on the CPU."""
    from xgboost import XGBRegressor

    booster = XGBRegressor(**autogluon.xgboost_arguments(values, data))
    return EarlyStopping(booster, autogluon.xgboost_rows, regression=True)


@operator(*autogluon.catboost.hyperparameters)
def catboost(values, data):
    """Write no files; also limit threads in prediction."""
    from catboost import CatBoostRegressor

    booster = CatBoostRegressor(**autogluon.catboost_arguments(values, data))
    threads = {"thread_count": data.threads}
    return EarlyStopping(booster, autogluon.catboost_rows, threads, regression=True)


@operator()
def random_forest(values, data):
    """300 trees."""
    from sklearn.ensemble import RandomForestRegressor

    return RandomForestRegressor(**autogluon.forest_arguments(values, data))


@operator()
def extra_trees(values, data):
    """300 trees."""
    from sklearn.ensemble import ExtraTreesRegressor

    return ExtraTreesRegressor(**autogluon.forest_arguments(values, data))


@operator(*autogluon.knn.hyperparameters)
def knn(values, data):
    """5 neighbours, on standardised features, which the other learners do not need."""
    from sklearn.neighbors import KNeighborsRegressor
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    neighbours = KNeighborsRegressor(**autogluon.knn_arguments(values, data))
    return make_pipeline(StandardScaler(), neighbours)


LEARNERS = (lightgbm, xgboost, catboost, random_forest, extra_trees, knn)
