"""Convert fitted classifiers and regressors to parts that ``predictor.learners`` reads."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from ensemble_search.predictor.store import boosters, transformers
from ensemble_search.predictor.store.parts import Part, kernel, need, of
from ensemble_search.predictor.store.trees import scikit_learn, tree_sum


def stored(fitted: Any) -> tuple[list[Part], Part]:
    """Describe a fitted learner, and any transformers that must precede it.

    NotStorable if its type is not in :data:`STORED`, or no space has its settings.
    """
    if type(fitted).__name__ == "Pipeline":
        *before, last = (step for _, step in fitted.steps)
        parts, learner = stored(last)
        return [*(p for step in before for p in transformers.stored(step)), *parts], learner
    found = of(fitted, STORED)
    parts, learner = found if isinstance(found, tuple) else ([], found)
    classes = getattr(fitted, "classes_", None)
    if classes is not None and len(classes):  # CatBoost's regressors have an empty array
        need(np.issubdtype(np.asarray(classes).dtype, np.integer), "classes are not codes")
        learner["classes"] = np.asarray(classes, dtype=np.int64)
    return parts, learner


def _inside(fitted: Any) -> Part:
    """The booster inside ``EarlyStopping`` or ``ConsecutiveLabels``, whose labels are codes."""
    inner = getattr(fitted, "booster", None) or fitted.estimator
    return of(inner, boosters.STORED)


# Trees ------------------------------------------------------------------------------------------


def _forest(fitted: Any) -> Part:
    trees = [e.tree_ for e in getattr(fitted, "estimators_", [fitted])]
    need(trees[0].n_outputs == 1, "a forest has several outputs")
    start = np.zeros(trees[0].value.shape[2])
    return tree_sum(scikit_learn(trees), start, "none", len(trees), turns=False)


def _gradient_boosting(fitted: Any) -> Part:
    start = fitted._raw_predict_init(np.zeros((1, fitted.n_features_in_)))[0]
    need(type(fitted.init_).__name__ in ("DummyClassifier", "DummyRegressor"),
         "a booster starts from another model")  # fmt: skip
    trees = [tree.tree_ for stage in fitted.estimators_ for tree in stage]
    values = [fitted.learning_rate * tree.value[:, 0] for tree in trees]
    link = "none"
    if hasattr(fitted, "classes_"):
        need(fitted.loss == "log_loss", f"a booster has the loss {fitted.loss}")
        link = "logistic" if len(fitted.classes_) == 2 else "softmax"
    return tree_sum(scikit_learn(trees, values), start, link)


def _samme(fitted: Any) -> Part:
    k = len(fitted.classes_)
    weights = fitted.estimator_weights_[: len(fitted.estimators_)]
    trees, values = [], []
    for weight, estimator in zip(weights, fitted.estimators_, strict=True):
        chosen = estimator.classes_[estimator.tree_.value[:, 0].argmax(axis=1)]
        own = chosen[:, None] == fitted.classes_
        values.append(np.where(own, weight, -1 / (k - 1) * weight))
        trees.append(estimator.tree_)
    total = float(fitted.estimator_weights_.sum())
    return tree_sum(scikit_learn(trees, values), np.zeros(k), "votes", total, turns=False)


def _samme_r(fitted: Any) -> Part:
    trees, values = [], []
    for estimator in fitted.estimators_:
        shares = np.zeros((estimator.tree_.node_count, len(fitted.classes_)))
        shares[:, estimator.classes_] = estimator.tree_.value[:, 0]
        logs = np.log(np.maximum(shares, np.finfo(float).eps))
        values.append(logs - logs.mean(axis=1, keepdims=True))
        trees.append(estimator.tree_)
    start = np.zeros(len(fitted.classes_))
    return tree_sum(scikit_learn(trees, values), start, "softmax", len(trees), turns=False)


def _adaboost_regressor(fitted: Any) -> Part:
    trees = scikit_learn([e.tree_ for e in fitted.estimators_])
    weights = fitted.estimator_weights_[: len(fitted.estimators_)]
    return {"kind": "tree median", **trees, "weights": weights, "link": "none"}


# Linear models ----------------------------------------------------------------------------------


def _linear(weights: np.ndarray, offset: Any, link: str) -> Part:
    weights = np.atleast_2d(weights).T.astype(float)
    offset = np.broadcast_to(np.asarray(offset, dtype=float), weights.shape[1:])
    return {"kind": "linear", "weights": weights, "offset": np.array(offset), "link": link}


def _regression(fitted: Any) -> Part:
    return _linear(fitted.coef_, fitted.intercept_, "none")


def _logistic(fitted: Any) -> Part:
    link = "logistic" if len(fitted.classes_) == 2 else "softmax"
    return _linear(fitted.coef_, fitted.intercept_, link)


def _one_against_rest(fitted: Any) -> Part:
    need(all(type(e).__name__ == "LogisticRegression" for e in fitted.estimators_),
         "a OneVsRestClassifier has other models than logistic regressions")  # fmt: skip
    link = "logistic" if len(fitted.classes_) == 2 else "rest"
    coefficients = np.vstack([e.coef_ for e in fitted.estimators_])
    return _linear(coefficients, np.ravel([e.intercept_ for e in fitted.estimators_]), link)


def _descent(fitted: Any) -> Part:
    links = {"log_loss": "logistic" if len(fitted.classes_) == 2 else "rest",
             "modified_huber": "linear"}  # fmt: skip
    need(fitted.loss in links, f"an SGDClassifier has the loss {fitted.loss}")
    return _linear(fitted.coef_, fitted.intercept_, links[fitted.loss])


def _scores(fitted: Any) -> Part:
    link = "clipped" if len(fitted.classes_) == 2 else "softmax"
    return of(fitted.estimator, {
        "sklearn.LinearSVC": lambda model: _linear(model.coef_, model.intercept_, link),
        "sklearn.SGDClassifier": lambda model: _linear(model.coef_, model.intercept_, link),
        "sklearn.SVC": lambda model: _machine(model, link),
    })  # fmt: skip


def _bernoulli(fitted: Any) -> tuple[list[Part], Part]:
    need(fitted.binarize is not None, "a BernoulliNB does not binarize")
    without = np.log(1 - np.exp(fitted.feature_log_prob_))
    offset = fitted.class_log_prior_ + without.sum(axis=1)
    threshold = {"kind": "threshold", "threshold": float(fitted.binarize)}
    return [threshold], _linear(fitted.feature_log_prob_ - without, offset, "softmax")


def _multinomial(fitted: Any) -> Part:
    return _linear(fitted.feature_log_prob_, fitted.class_log_prior_, "softmax")


# Others -----------------------------------------------------------------------------------------


def _quadratic(fitted: Any) -> Part:
    two = len(fitted.classes_) == 2
    pairs = zip(fitted.rotations_, fitted.scalings_, strict=True)
    matrices = {f"matrix_{i}": R * (S ** (-0.5)) for i, (R, S) in enumerate(pairs)}
    spread = np.array([np.sum(np.log(s)) for s in fitted.scalings_])
    own = {"means": np.array(fitted.means_), "spread": spread, "prior": np.log(fitted.priors_)}
    return {"kind": "quadratic", **own, **matrices, "link": "logistic" if two else "softmax"}


def _normal(fitted: Any) -> Part:
    own = {"means": fitted.theta_, "variances": fitted.var_, "prior": np.log(fitted.class_prior_)}
    return {"kind": "normal", **own, "link": "softmax"}


def _network(fitted: Any) -> Part:
    layers = {f"layer_{i}": layer for i, layer in enumerate(fitted.layers_)}
    rectified = type(fitted).__name__ == "DropoutNetwork"
    own = {"rectified": rectified, "layers": len(layers)}
    return {"kind": "network", **own, **layers, "link": "softmax"}


def _perceptron(fitted: Any) -> Part:
    need(fitted.activation in ("relu", "tanh"), f"a network has {fitted.activation} units")
    parts = zip(fitted.coefs_, fitted.intercepts_, strict=True)
    layers = {f"layer_{i}": np.vstack(part) for i, part in enumerate(parts)}
    link = {"identity": "none", "logistic": "logistic", "softmax": "softmax"}
    own = {"rectified": fitted.activation == "relu", "layers": len(layers)}
    return {"kind": "network", **own, **layers, "link": link[fitted.out_activation_]}


def _machine(fitted: Any, link: str) -> Part:
    need(fitted.kernel in ("rbf", "poly", "sigmoid"), f"a machine has the kernel {fitted.kernel}")
    vectors = fitted.support_vectors_
    known = kernel(fitted.kernel, vectors, fitted._gamma, fitted.degree, fitted.coef0)
    own = {"weights": fitted.dual_coef_, "offset": fitted.intercept_, "link": link}
    if len(getattr(fitted, "classes_", ())) > 2:
        own["counts"] = fitted.n_support_
    return {**known, "kind": "machine", **own}


def _neighbours(fitted: Any) -> Part:
    need(fitted.metric == "minkowski" and fitted.p in (1, 2), "neighbours have an odd distance")
    labels = {"labels": fitted._y}
    if not hasattr(fitted, "classes_"):
        labels = {"values": fitted._y.reshape(-1, 1).astype(float)}
    own = {"n_neighbors": fitted.n_neighbors, "weights": fitted.weights, "p": fitted.p}
    return {"kind": "neighbours", **own, "rows": fitted._fit_X, **labels, "link": "none"}


#: Functions by library and class.
STORED: Mapping[str, Callable[[Any], Part | tuple[list[Part], Part]]] = {
    **boosters.STORED,
    "ensemble_search.EarlyStopping": _inside,
    "ensemble_search.ConsecutiveLabels": _inside,
    **{f"sklearn.{kind}{task}": _forest
       for kind in ("DecisionTree", "RandomForest", "ExtraTrees")
       for task in ("Classifier", "Regressor")},
    "sklearn.GradientBoostingClassifier": _gradient_boosting,
    "sklearn.GradientBoostingRegressor": _gradient_boosting,
    "ensemble_search.HuberBoosting": _gradient_boosting,
    "sklearn.AdaBoostClassifier": _samme,
    "ensemble_search.SammeR": _samme_r,
    "sklearn.AdaBoostRegressor": _adaboost_regressor,
    "sklearn.Ridge": _regression,
    "sklearn.ElasticNet": _regression,
    "sklearn.LinearSVR": _regression,
    "sklearn.LinearDiscriminantAnalysis": _logistic,
    "sklearn.LogisticRegression": _logistic,
    "sklearn.OneVsRestClassifier": _one_against_rest,
    "ensemble_search.OneVsRest": _one_against_rest,
    "sklearn.SGDClassifier": _descent,
    "ensemble_search.ScoreClassifier": _scores,
    "sklearn.BernoulliNB": _bernoulli,
    "sklearn.MultinomialNB": _multinomial,
    "sklearn.QuadraticDiscriminantAnalysis": _quadratic,
    "sklearn.GaussianNB": _normal,
    "ensemble_search.TwoLayerPerceptron": _network,
    "sklearn.MLPClassifier": _perceptron,
    "sklearn.MLPRegressor": _perceptron,
    "ensemble_search.DropoutNetwork": _network,
    "sklearn.SVR": lambda fitted: _machine(fitted, "none"),
    "sklearn.KNeighborsClassifier": _neighbours,
    "sklearn.KNeighborsRegressor": _neighbours,
}  # fmt: skip
