"""Preprocessors for regression: counterparts of those that need classes, and all others."""

from functools import partial

from ConfigSpace import Categorical

from ensemble_search.learners import preprocessors
from ensemble_search.learners.classifiers import forest_arguments
from ensemble_search.learners.operators import SEED, operator
from ensemble_search.learners.regressors import lightgbm_regressor


@operator(*preprocessors.polynomial.hyperparameters)
def polynomial(values, data):
    """Products of the columns most important to LightGBM."""
    return preprocessors.important_polynomials(values, data, lightgbm_regressor(data.threads))


@operator(
    *preprocessors.select_percentile.without("score_func"),
    Categorical("score_func", ["f_regression", "mutual_info"], default="f_regression"),
)
def select_percentile(values, data):
    """Keep the best share of columns by a univariate score."""
    from sklearn.feature_selection import SelectPercentile, f_regression, mutual_info_regression

    from ensemble_search.learners.selection import Selection

    mutual_info = partial(
        mutual_info_regression, discrete_features=data.categorical, random_state=SEED
    )
    score = {"f_regression": f_regression, "mutual_info": mutual_info}[values["score_func"]]
    return Selection(SelectPercentile(score, percentile=values["percentile"]))


@operator(*preprocessors.select_generic_univariate.without("score_func"))
def select_generic_univariate(values, data):
    """Keep columns whose F-test rejects zero correlation with the target at level alpha.

    Mutual information is not offered, because it has no test.
    """
    from sklearn.feature_selection import GenericUnivariateSelect, f_regression

    from ensemble_search.learners.selection import Selection

    return Selection(
        GenericUnivariateSelect(f_regression, mode=values["mode"], param=values["alpha"])
    )


@operator(*preprocessors.extra_trees_selector.without("criterion"))
def extra_trees_selector(values, data):
    """Keep columns of at least mean importance in 100 trees."""
    from sklearn.ensemble import ExtraTreesRegressor
    from sklearn.feature_selection import SelectFromModel

    from ensemble_search.learners.selection import Selection

    trees = ExtraTreesRegressor(n_estimators=100, **forest_arguments(values, data))
    return Selection(SelectFromModel(trees, threshold="mean"))


REGRESSION_PREPROCESSORS = (
    preprocessors.none,
    preprocessors.cross_features,
    preprocessors.fast_ica,
    preprocessors.feature_agglomeration,
    preprocessors.kernel_pca,
    preprocessors.kitchen_sinks,
    preprocessors.nystroem,
    preprocessors.pca,
    polynomial,
    preprocessors.random_trees_embedding,
    preprocessors.svd,
    select_percentile,
    select_generic_univariate,
    extra_trees_selector,
)
