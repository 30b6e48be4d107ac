"""Regressors, which share the classifiers' hyperparameters where possible.

The target has mean 0 and variance 1. Ranges of the other hyperparameters are those of auto-sklearn
(``pipeline/components/regression``), unless a comment says otherwise.

Forests have no ``criterion``: of those that auto-sklearn searches, squared_error and friedman_mse
rank splits in the same order (scikit-learn is dropping the latter), and absolute_error takes up to
ten times as long (a minute for ``extra_trees`` on 10,000 rows). As in auto-sklearn, boosting
minimises the squared error.
"""

from ConfigSpace import Categorical, Float

from ensemble_search.learners import classifiers
from ensemble_search.learners.operators import SEED, operator

_EPSILON = Float("epsilon", (1e-3, 1.0), log=True, default=0.1)


@operator(*classifiers.random_forest.without("criterion"))
def random_forest(values, data):
    """100 trees."""
    from sklearn.ensemble import RandomForestRegressor

    return RandomForestRegressor(n_estimators=100, **classifiers.forest_arguments(values, data))


@operator(
    *classifiers.adaboost.without("algorithm"),
    Categorical("loss", ["linear", "square", "exponential"], default="linear"),
)
def adaboost(values, data):
    """AdaBoost.R2."""
    from sklearn.ensemble import AdaBoostRegressor
    from sklearn.tree import DecisionTreeRegressor

    return AdaBoostRegressor(
        estimator=DecisionTreeRegressor(max_depth=values["max_depth"]),
        n_estimators=values["n_estimators"],
        learning_rate=values["learning_rate"],
        loss=values["loss"],
        random_state=SEED,
    )


@operator(*classifiers.extra_trees.without("criterion"))
def extra_trees(values, data):
    """512 trees, as for classification."""
    from sklearn.ensemble import ExtraTreesRegressor

    return ExtraTreesRegressor(n_estimators=512, **classifiers.forest_arguments(values, data))


@operator(*classifiers.gradient_boosting.without("criterion"))
def gradient_boosting(values, data):
    """100 trees."""
    from sklearn.ensemble import GradientBoostingRegressor

    return GradientBoostingRegressor(n_estimators=100, random_state=SEED, **values)


@operator(*classifiers.knn.hyperparameters)
def knn(values, data):
    """Euclidean distance."""
    from sklearn.neighbors import KNeighborsRegressor

    return KNeighborsRegressor(
        n_neighbors=min(values["n_neighbors"], data.n_samples),
        weights=values["weights"],
        p=2,
        n_jobs=data.threads,
    )


@operator(Float("alpha", (1e-5, 10.0), log=True, default=1.0))
def ridge(values, data):
    """Solved directly, so auto-sklearn's ``tol`` would have no effect."""
    from sklearn.linear_model import Ridge

    return Ridge(alpha=values["alpha"], random_state=SEED)


@operator(
    # auto-sklearn minimises the same function by stochastic gradient descent. Its l1_ratio is
    # log-scaled from 1e-9, so most draws would be ridge regressions.
    Float("alpha", (1e-7, 1e-1), log=True, default=1e-4),
    Float("l1_ratio", (0.01, 1.0), default=0.15),
    Float("tol", (1e-5, 1e-1), log=True, default=1e-4),
)
def elastic_net(values, data):
    """Coordinate descent, at most 1000 iterations."""
    from sklearn.linear_model import ElasticNet

    return ElasticNet(random_state=SEED, **values)


@operator(
    *classifiers.liblinear_svc.without("penalty", "loss"),
    Categorical(
        "loss",
        ["epsilon_insensitive", "squared_epsilon_insensitive"],
        default="squared_epsilon_insensitive",
    ),
    _EPSILON,
    forbidden=[{"dual": False, "loss": "epsilon_insensitive"}],
)
def liblinear_svr(values, data):
    """At most 1000 iterations, as for classification; only the squared loss has a primal form."""
    from sklearn.svm import LinearSVR

    return LinearSVR(random_state=SEED, **values)


@operator(
    *classifiers.libsvm_svc.hyperparameters,
    _EPSILON,
    conditions=classifiers.libsvm_svc.conditions,
)
def libsvm_svr(values, data):
    """At most 10000 iterations."""
    from sklearn.svm import SVR

    model = SVR(max_iter=10_000, **values)
    model.random_state = SEED  # else it draws an (unused) seed from NumPy's global generator
    return model


@operator(*classifiers.lightgbm.hyperparameters)
def lightgbm(values, data):
    """Depth at most 15, as for classification."""
    return lightgbm_regressor(data.threads, subsample_freq=1, max_depth=15, **values)


def lightgbm_regressor(threads: int, **arguments):
    """Return a quiet LightGBM regressor whose trees do not depend on the number of threads."""
    from lightgbm import LGBMRegressor

    return LGBMRegressor(**classifiers.lightgbm_arguments(threads), **arguments)


REGRESSORS = (
    random_forest,
    adaboost,
    extra_trees,
    gradient_boosting,
    knn,
    ridge,
    elastic_net,
    liblinear_svr,
    libsvm_svr,
    lightgbm,
)
