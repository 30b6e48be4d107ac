"""The learners of the ESMBO paper.

A. Lacoste, H. Larochelle, M. Marchand and F. Laviolette: *Sequential Model-Based Ensemble
Optimization*, UAI 2014. Every tree ensemble has 100 trees. Numbers of features are given as a ratio
of all features. Docstrings note where the authors' code differs from the paper.
"""

import math

from ConfigSpace import Categorical, Float, Integer

from ensemble_search.learners import classifiers, regressors
from ensemble_search.learners.operators import SEED, operator

TREES = 100


@operator(
    Float("C", (1e-2, 1e3), log=True, default=1.0),
    Float("gamma", (1e-5, 1e3), log=True, default=0.1),
)
def svm(values, data):
    """RBF kernel; otherwise as in the DivBO paper's space, with libsvm's tolerance."""
    fixed = {"kernel": "rbf", "shrinking": True, "tol": 1e-3}
    return classifiers.libsvm_svc.build({**values, **fixed}, data)


@operator(*svm.hyperparameters, Float("epsilon", (1e-2, 1.0), log=True, default=0.1))
def svr(values, data):
    """RBF kernel; ``epsilon`` refers to a target of variance 1."""
    return regressors.libsvm_svr.build({**values, "kernel": "rbf"}, data)


def number_of_features(ratio: float, n_features: int) -> int:
    """Return the number of features that a split tries: the ratio, rounded, at least 1."""
    return max(1, round(ratio * n_features))


@operator(
    Categorical("trees", ["random_forest", "extra_trees"], default="random_forest"),
    Categorical("bootstrap", [True, False], default=True),
    Float("max_features", (1e-4, 1.0), default=0.5),
)
def forest_classifier(values, data):
    """Breiman's random forest, or extremely randomised trees."""
    from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier

    kinds = {"random_forest": RandomForestClassifier, "extra_trees": ExtraTreesClassifier}
    return kinds[values["trees"]](**forest_arguments(values, data))


@operator(*forest_classifier.hyperparameters)
def forest_regressor(values, data):
    """As for classification."""
    from sklearn.ensemble import ExtraTreesRegressor, RandomForestRegressor

    kinds = {"random_forest": RandomForestRegressor, "extra_trees": ExtraTreesRegressor}
    return kinds[values["trees"]](**forest_arguments(values, data))


def forest_arguments(values, data) -> dict:
    """Return the arguments of a forest."""
    return {
        "n_estimators": TREES,
        "bootstrap": values["bootstrap"],
        "max_features": number_of_features(values["max_features"], data.n_features),
        "n_jobs": data.threads,
        "random_state": SEED,
    }


@operator(
    Integer("max_depth", (1, 15), default=3),
    Float("learning_rate", (1e-2, 1.0), log=True, default=0.1),
    Float("max_features", (1e-3, 1.0), default=1.0),
)
def boosting_classifier(values, data):
    """Log loss."""
    from sklearn.ensemble import GradientBoostingClassifier

    return GradientBoostingClassifier(
        n_estimators=TREES,
        max_depth=values["max_depth"],
        learning_rate=values["learning_rate"],
        max_features=number_of_features(values["max_features"], data.n_features),
        random_state=SEED,
    )


@operator(
    *boosting_classifier.without("max_features"),
    Float("alpha", (1e-4, 1.0), default=0.9),
)
def boosting_regressor(values, data):
    """Huber loss; splits try all features.

    The paper describes "a convex combination" of the squared and the absolute error, with weight
    alpha. The authors' code passes alpha to scikit-learn's Huber loss: errors are squared up to
    their alpha-quantile and absolute beyond it. scikit-learn requires alpha below 1.
    """
    from ensemble_search.learners.huber_boosting import HuberBoosting

    return HuberBoosting(
        n_estimators=TREES,
        max_depth=values["max_depth"],
        learning_rate=values["learning_rate"],
        loss="huber",
        alpha=min(values["alpha"], math.nextafter(1.0, 0.0)),
        random_state=SEED,
    )


@operator(
    Integer("units_1", (1, 100), default=50),
    Integer("units_2", (1, 100), default=50),
    *(Float(f"penalty_{i}", (1e-5, 100.0), log=True, default=1e-3) for i in (1, 2, 3)),
)
def mlp(values, data):
    """Two hidden layers; scikit-learn's network has one penalty for all layers."""
    from ensemble_search.learners.mlp import TwoLayerPerceptron

    return TwoLayerPerceptron(
        units=(values["units_1"], values["units_2"]),
        penalties=tuple(values[f"penalty_{i}"] for i in (1, 2, 3)),
        random_state=SEED,
    )
