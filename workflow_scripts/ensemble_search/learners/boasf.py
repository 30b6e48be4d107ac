"""The learners of the BOASF paper.

Guanghui Zhu, Xin Fang, Lei Wang, Wenzhong Chen, Rong Gu, Chunfeng Yuan and Yihua Huang: *BOASF: A
Unified Framework for Speeding up Automatic Machine Learning via Adaptive Successive Filtering*,
2020. The paper uses auto-sklearn's spaces. Where they equal the DivBO paper's, the operators are
shared; this file defines the others. Hyperparameters without effect, such as auto-sklearn's
``epsilon`` of ``sgd``, are left out.
"""

import warnings
from typing import Any

import numpy as np
from ConfigSpace import Categorical, Float, Integer
from sklearn.base import BaseEstimator

from ensemble_search.learners import classifiers
from ensemble_search.learners.operators import SEED, operator

_SHARE: dict[str, Any] = {"bounds": (0.1, 1.0), "default": 1.0}
_PENALTY: dict[str, Any] = {"bounds": (1e-10, 1e-1), "log": True, "default": 1e-10}
_TOLERANCE: dict[str, Any] = {"bounds": (1e-5, 1e-1), "log": True, "default": 1e-4}
_AVERAGE = Categorical("average", [False, True], default=False)


@operator(
    *classifiers.adaboost.without("max_depth"),
    Integer("max_depth", (1, 10), default=1),
)
def adaboost(values, data):
    """As in the DivBO paper, with stumps by default."""
    return classifiers.adaboost.build(values, data)


@operator(*classifiers.lda.without("n_components"), conditions=classifiers.lda.conditions)
def lda(values, data):
    """As in the DivBO paper; the number of components has no effect."""
    return classifiers.lda.build({**values, "n_components": 1}, data)


@operator(*classifiers.extra_trees.without())
def extra_trees(values, data):
    """100 trees, as in the authors' code."""
    return classifiers.extra_trees.build(values, data).set_params(n_estimators=100)


@operator(
    *classifiers.gradient_boosting.without("criterion", "max_depth"),
    Integer("n_estimators", (50, 500), default=100),
    Integer("max_depth", (1, 10), default=3),
)
def gradient_boosting(values, data):
    """Log loss."""
    from sklearn.ensemble import GradientBoostingClassifier

    return GradientBoostingClassifier(random_state=SEED, **values)


_NAIVE = (
    Float("alpha", (1e-2, 100.0), log=True, default=1.0),
    Categorical("fit_prior", [True, False], default=True),
)


@operator(*_NAIVE)
def bernoulli_nb(values, data):
    """Features above 0 count as present."""
    from sklearn.naive_bayes import BernoulliNB

    return BernoulliNB(**values)


@operator(*_NAIVE)
def multinomial_nb(values, data):
    """Needs non-negative features: the space first scales them to [0, 1]."""
    from sklearn.naive_bayes import MultinomialNB

    return MultinomialNB(**values)


@operator()
def gaussian_nb(values, data):
    """No hyperparameters."""
    from sklearn.naive_bayes import GaussianNB

    return GaussianNB()


@operator(
    Categorical(
        "loss",
        ["log_loss", "hinge", "modified_huber", "squared_hinge", "perceptron"],
        default="log_loss",
    ),
    Categorical("penalty", ["l1", "l2", "elasticnet"], default="l2"),
    Float("alpha", (1e-7, 1e-1), log=True, default=1e-4),
    Float("l1_ratio", (1e-9, 1.0), log=True, default=0.15),
    Categorical("learning_rate", ["optimal", "invscaling", "constant"], default="invscaling"),
    Float("eta0", (1e-7, 1e-1), log=True, default=0.01),
    Float("power_t", (1e-5, 1.0), default=0.5),
    _AVERAGE,
    Float("tol", **_TOLERANCE),
    conditions={
        "l1_ratio": ("penalty", ["elasticnet"]),
        "eta0": ("learning_rate", ["invscaling", "constant"]),
        "power_t": ("learning_rate", ["invscaling"]),
    },
)
def sgd(values, data):
    """Two of the losses provide probabilities; for the others, they are computed from scores."""
    from sklearn.linear_model import SGDClassifier

    from ensemble_search.learners.scores import ScoreClassifier

    model = SGDClassifier(random_state=SEED, n_jobs=data.threads, **values)
    return model if values["loss"] in ("log_loss", "modified_huber") else ScoreClassifier(model)


@operator(
    Categorical("penalty", ["l1", "l2"], default="l2"),
    Float("tol", **_TOLERANCE),
    Float("C", (0.03125, 32768.0), log=True, default=1.0),
)
def liblinear_svc(values, data):
    """The primal problem with squared hinge loss: auto-sklearn's space allows no other."""
    fixed = {"loss": "squared_hinge", "dual": False}
    return classifiers.liblinear_svc.build({**values, **fixed}, data)


@operator(
    Categorical("criterion", ["gini", "entropy"], default="gini"),
    Float("max_depth_factor", (0.0, 2.0), default=0.5),
    Integer("min_samples_split", (2, 20), default=2),
    Integer("min_samples_leaf", (1, 20), default=1),
)
def decision_tree(values, data):
    """The maximum depth is ``max_depth_factor`` times the number of features."""
    from sklearn.tree import DecisionTreeClassifier

    return DecisionTreeClassifier(
        criterion=values["criterion"],
        max_depth=max(1, round(values["max_depth_factor"] * data.n_features)),
        min_samples_split=values["min_samples_split"],
        min_samples_leaf=values["min_samples_leaf"],
        random_state=SEED,
    )


@operator(*classifiers.knn.hyperparameters, Categorical("p", [1, 2], default=2))
def knn(values, data):
    """Manhattan (1) or Euclidean (2) distance."""
    return classifiers.knn.build(values, data).set_params(p=values["p"])


@operator(
    Float("C", (1e-5, 10.0), log=True, default=1.0),
    Categorical("loss", ["hinge", "squared_hinge"], default="hinge"),
    Float("tol", **_TOLERANCE),
    _AVERAGE,
)
def passive_aggressive(values, data):
    """PA-I with the hinge loss, PA-II with its square (Crammer et al., JMLR 2006).

    scikit-learn is replacing its PassiveAggressiveClassifier with this form.
    """
    from sklearn.linear_model import SGDClassifier

    from ensemble_search.learners.scores import ScoreClassifier

    return ScoreClassifier(
        SGDClassifier(
            loss="hinge",
            penalty=None,
            learning_rate="pa1" if values["loss"] == "hinge" else "pa2",
            eta0=values["C"],
            tol=values["tol"],
            average=values["average"],
            random_state=SEED,
            n_jobs=data.threads,
        )
    )


class ConsecutiveLabels(BaseEstimator):
    """Wrap a classifier that requires labels 0, 1, ... without gaps."""

    def __init__(self, estimator):
        self.estimator = estimator

    def fit(self, X, y, sample_weight=None):
        """Fit to the renumbered labels."""
        self.classes_, codes = np.unique(y, return_inverse=True)
        self.estimator.fit(X, codes, sample_weight=sample_weight)
        return self

    def predict_proba(self, X):
        """Return class probabilities, of shape (n_samples, n_classes)."""
        return self.estimator.predict_proba(X)


@operator(
    Integer("max_depth", (1, 20), default=3),
    Float("learning_rate", (1e-3, 1.0), log=True, default=0.1),
    Categorical("booster", ["gbtree", "dart"], default="gbtree"),
    Float("subsample", (0.01, 1.0), default=1.0),
    Integer("min_child_weight", (0, 20), default=1),
    Float("colsample_bytree", **_SHARE),
    Float("colsample_bylevel", **_SHARE),
    Float("reg_alpha", **_PENALTY),
    Float("reg_lambda", **_PENALTY),
    Categorical("sample_type", ["uniform", "weighted"], default="uniform"),
    Categorical("normalize_type", ["tree", "forest"], default="tree"),
    Float("rate_drop", (1e-10, 1 - 1e-10), default=0.5),
    conditions={
        child: ("booster", ["dart"]) for child in ("sample_type", "normalize_type", "rate_drop")
    },
)
def xgboost(values, data):
    """512 histogram trees."""
    from xgboost import XGBClassifier

    return ConsecutiveLabels(
        XGBClassifier(
            n_estimators=512,
            tree_method="hist",
            device="cpu",
            n_jobs=data.threads,
            random_state=SEED,
            verbosity=0,
            **values,
        )
    )


class OneVsRest(BaseEstimator):
    """One binary classifier per class against the others; all must converge.

    scikit-learn's version takes no sample weights, and only warns if one does not converge.
    """

    def __init__(self, estimator):
        self.estimator = estimator

    def fit(self, X, y, sample_weight=None):
        """Fit one classifier per class, or a single one for two classes.

        Raises
        ------
        ConvergenceWarning
            If one reaches its maximum number of iterations.
        """
        from sklearn.base import clone
        from sklearn.exceptions import ConvergenceWarning

        self.classes_ = np.unique(y)
        positive = self.classes_[1:] if len(self.classes_) == 2 else self.classes_
        with warnings.catch_warnings():
            warnings.simplefilter("error", ConvergenceWarning)
            self.estimators_ = [
                clone(self.estimator).fit(X, y == label, sample_weight=sample_weight)
                for label in positive
            ]
        return self

    def predict_proba(self, X):
        """Return class probabilities, of shape (n_samples, n_classes)."""
        found = np.column_stack([e.predict_proba(X)[:, 1] for e in self.estimators_])
        if len(self.classes_) == 2:
            return np.column_stack([1 - found, found])
        return found / found.sum(axis=1, keepdims=True)


@operator(
    Categorical("penalty", ["l1", "l2"], default="l2"),
    Float("C", (1e-4, 1e4), default=1.0),
    Integer("max_iter", (50, 500), default=100),
)
def logistic_regression(values, data):
    """One-vs-rest by liblinear, which has both penalties; a fit that does not converge fails."""
    from sklearn.linear_model import LogisticRegression

    return OneVsRest(
        LogisticRegression(
            C=values["C"],
            max_iter=values["max_iter"],
            solver="liblinear",
            random_state=SEED,
            **classifiers.logistic_penalty(values["penalty"]),
        )
    )


@operator(
    *classifiers.random_forest.without("max_features", "min_samples_split", "min_samples_leaf"),
    Float("max_features", (0.5, 1.0), default=0.5),
    Integer("min_samples_split", (2, 21), default=2),
    Integer("min_samples_leaf", (1, 21), default=1),
)
def random_forest(values, data):
    """100 trees with the ranges of the tuning experiment; ``max_features`` is a share."""
    share = values["max_features"]
    return classifiers.random_forest.build(values, data).set_params(max_features=share)


#: The algorithms, in the order of the authors' code; the last one differs between paper and code.
COMMON = (
    classifiers.random_forest,
    adaboost,
    lda,
    classifiers.qda,
    extra_trees,
    gradient_boosting,
    bernoulli_nb,
    multinomial_nb,
    gaussian_nb,
    sgd,
    classifiers.libsvm_svc,
    liblinear_svc,
    decision_tree,
    knn,
    passive_aggressive,
)


@operator()
def none(values, data):
    """Use no weights, or keep all columns."""
    return None


@operator()
def weights(values, data):
    """No separate step: the learner weights rows; see :class:`Pipeline`."""
    return None


@operator()
def zero(values, data):
    """Drop columns that are constant in the training rows."""
    from sklearn.feature_selection import VarianceThreshold

    return VarianceThreshold()
