"""The classifiers of the DivBO paper (Table 6) with their hyperparameters.

``values`` holds the active hyperparameters by short name. ``INERT`` lists those that the paper
searches but that no current estimator accepts.
"""

from ConfigSpace import Categorical, Float, Integer, OrdinalHyperparameter

from ensemble_search.learners.operators import SEED, operator

LINEAR_SVM_FORBIDDEN = (
    {"penalty": "l1", "loss": "hinge"},
    {"dual": False, "penalty": "l2", "loss": "hinge"},
    {"dual": True, "penalty": "l1"},
)

# Hyperparameters that cannot change the predictions, and why.
INERT = {
    "gradient_boosting:criterion": "both criteria order splits alike; scikit-learn drops it",
    "lda:n_components": "sets the size of the transform only, which classification does not use",
}


def share_of_features(exponent: float, n_features: int) -> int:
    """Return the number of features that a tree tries: n_features ** exponent, at least 1."""
    return max(1, int(n_features**exponent))


def _forest(bootstrap: bool) -> tuple:
    return (
        Categorical("criterion", ["gini", "entropy"], default="gini"),
        Float("max_features", (0.0, 1.0), default=0.5),
        Integer("min_samples_split", (2, 20), default=2),
        Integer("min_samples_leaf", (1, 20), default=1),
        Categorical("bootstrap", [True, False], default=bootstrap),
    )


def forest_arguments(values, data) -> dict:
    """Return the arguments of a forest, except the number of trees."""
    return {
        **values,
        "max_features": share_of_features(values["max_features"], data.n_features),
        "n_jobs": data.threads,
        "random_state": SEED,
    }


@operator(
    Integer("n_estimators", (50, 500), default=50),
    Float("learning_rate", (0.01, 2.0), log=True, default=0.1),
    Categorical("algorithm", ["SAMME.R", "SAMME"], default="SAMME.R"),
    Integer("max_depth", (2, 8), default=3),
)
def adaboost(values, data):
    """scikit-learn removed SAMME.R; samme_r.py implements it."""
    from sklearn.ensemble import AdaBoostClassifier
    from sklearn.tree import DecisionTreeClassifier

    from ensemble_search.learners.samme_r import SammeR

    booster = SammeR if values["algorithm"] == "SAMME.R" else AdaBoostClassifier
    return booster(
        estimator=DecisionTreeClassifier(max_depth=values["max_depth"]),
        n_estimators=values["n_estimators"],
        learning_rate=values["learning_rate"],
        random_state=SEED,
    )


@operator(*_forest(bootstrap=True))
def random_forest(values, data):
    """100 trees."""
    from sklearn.ensemble import RandomForestClassifier

    return RandomForestClassifier(n_estimators=100, **forest_arguments(values, data))


@operator(*_forest(bootstrap=False))
def extra_trees(values, data):
    """512 trees, as in MindWare and auto-sklearn."""
    from sklearn.ensemble import ExtraTreesClassifier

    return ExtraTreesClassifier(n_estimators=512, **forest_arguments(values, data))


@operator(
    Float("learning_rate", (0.01, 1.0), log=True, default=0.1),
    Integer("max_depth", (1, 8), default=3),
    Categorical("criterion", ["friedman_mse", "mse"], default="mse"),
    Integer("min_samples_split", (2, 20), default=2),
    Integer("min_samples_leaf", (1, 20), default=1),
    Float("subsample", (0.01, 1.0), default=1.0),
    Float("max_features", (0.1, 1.0), default=1.0),
)
def gradient_boosting(values, data):
    """100 trees with log loss; ``criterion`` is never passed (see INERT)."""
    from sklearn.ensemble import GradientBoostingClassifier

    return GradientBoostingClassifier(
        n_estimators=100,
        learning_rate=values["learning_rate"],
        max_depth=values["max_depth"],
        min_samples_split=values["min_samples_split"],
        min_samples_leaf=values["min_samples_leaf"],
        subsample=values["subsample"],
        max_features=values["max_features"],
        random_state=SEED,
    )


@operator(
    Integer("n_neighbors", (1, 100), log=True, default=1),
    Categorical("weights", ["uniform", "distance"], default="uniform"),
)
def knn(values, data):
    """Euclidean distance."""
    from sklearn.neighbors import KNeighborsClassifier

    return KNeighborsClassifier(
        n_neighbors=min(values["n_neighbors"], data.n_samples),
        weights=values["weights"],
        p=2,
        n_jobs=data.threads,
    )


@operator(
    Categorical("shrinkage", ["none", "auto", "manual"], default="none"),
    Float("shrinkage_factor", (0.0, 1.0), default=0.5),
    Integer("n_components", (1, 250), default=1),
    Float("tol", (1e-5, 1e-1), log=True, default=1e-4),
    conditions={"shrinkage_factor": ("shrinkage", ["manual"])},
)
def lda(values, data):
    """Solver svd has no shrinkage, and lsqr no tol, so tol only matters without shrinkage."""
    from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

    shrinkage = {
        "none": None,
        "auto": "auto",
        "manual": values.get("shrinkage_factor"),
    }[values["shrinkage"]]
    return LinearDiscriminantAnalysis(
        solver="svd" if shrinkage is None else "lsqr",
        shrinkage=shrinkage,
        n_components=min(values["n_components"], data.n_classes - 1, data.n_features),
        tol=values["tol"],
    )


@operator(Float("reg_param", (0.0, 1.0), default=0.0))
def qda(values, data):
    """Raises on rank-deficient data unless reg_param is large enough: a failed evaluation."""
    from sklearn.discriminant_analysis import QuadraticDiscriminantAnalysis

    return QuadraticDiscriminantAnalysis(reg_param=values["reg_param"])


@operator(
    Float("C", (0.03125, 10.0), log=True, default=1.0),
    Float("tol", (1e-6, 1e-2), log=True, default=1e-4),
    Categorical("penalty", ["l1", "l2"], default="l2"),
    Categorical("solver", ["liblinear", "saga"], default="liblinear"),
)
def logistic_regression(values, data):
    """One-vs-rest."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.multiclass import OneVsRestClassifier

    model = LogisticRegression(
        C=values["C"],
        tol=values["tol"],
        solver=values["solver"],
        max_iter=3000,
        random_state=SEED,
        **logistic_penalty(values["penalty"]),
    )
    return OneVsRestClassifier(model)


def logistic_penalty(name: str) -> dict:
    """Return the penalty l1 or l2 as an argument; from scikit-learn 1.8 on it is l1_ratio."""
    import sklearn

    version = tuple(int(part) for part in sklearn.__version__.split(".")[:2])
    return {"l1_ratio": float(name == "l1")} if version >= (1, 8) else {"penalty": name}


@operator(
    Categorical("penalty", ["l1", "l2"], default="l2"),
    Categorical("loss", ["hinge", "squared_hinge"], default="squared_hinge"),
    Categorical("dual", [True, False], default=True),
    Float("tol", (1e-5, 1e-1), log=True, default=1e-4),
    Float("C", (0.03125, 32768.0), log=True, default=1.0),
    forbidden=LINEAR_SVM_FORBIDDEN,
)
def liblinear_svc(values, data):
    """One-vs-rest by default."""
    from ensemble_search.learners.scores import ScoreClassifier

    return ScoreClassifier(linear_svm(values))


def linear_svm(values):
    """Return liblinear's SVM with the five hyperparameters."""
    from sklearn.svm import LinearSVC

    return LinearSVC(
        penalty=values["penalty"],
        loss=values["loss"],
        dual=values["dual"],
        tol=values["tol"],
        C=values["C"],
        random_state=SEED,
    )


@operator(
    Float("C", (0.03125, 32768.0), log=True, default=1.0),
    Categorical("kernel", ["rbf", "poly", "sigmoid"], default="rbf"),
    Integer("degree", (2, 5), default=3),
    Float("gamma", (2.0**-15, 8.0), log=True, default=0.1),
    Float("coef0", (-1.0, 1.0), default=0.0),
    Categorical("shrinking", [True, False], default=True),
    Float("tol", (1e-5, 1e-1), log=True, default=1e-3),
    conditions={"degree": ("kernel", ["poly"]), "coef0": ("kernel", ["poly", "sigmoid"])},
)
def libsvm_svc(values, data):
    """At most 10000 iterations."""
    from sklearn.svm import SVC

    from ensemble_search.learners.scores import ScoreClassifier

    optional = {name: values[name] for name in ("degree", "coef0") if name in values}
    return ScoreClassifier(
        SVC(
            C=values["C"],
            kernel=values["kernel"],
            gamma=values["gamma"],
            shrinking=values["shrinking"],
            tol=values["tol"],
            max_iter=10_000,
            random_state=SEED,
            **optional,
        )
    )


@operator(
    OrdinalHyperparameter("n_estimators", list(range(100, 1001, 50)), default_value=500),
    Integer("num_leaves", (31, 2047), default=128),
    Float("learning_rate", (1e-3, 0.3), log=True, default=0.1),
    Integer("min_child_samples", (5, 30), default=20),
    OrdinalHyperparameter("subsample", [0.7, 0.8, 0.9, 1.0], default_value=1.0),
    OrdinalHyperparameter("colsample_bytree", [0.7, 0.8, 0.9, 1.0], default_value=1.0),
)
def lightgbm(values, data):
    """Depth at most 15; without subsample_freq, subsample would have no effect."""
    return lightgbm_classifier(data.threads, subsample_freq=1, max_depth=15, **values)


def lightgbm_classifier(threads: int, **arguments):
    """Return a quiet LightGBM classifier whose trees do not depend on the number of threads."""
    from lightgbm import LGBMClassifier

    return LGBMClassifier(**lightgbm_arguments(threads), **arguments)


def lightgbm_arguments(threads: int) -> dict:
    """Return the arguments for a quiet LightGBM with trees independent of the number of threads."""
    return {
        "n_jobs": threads,
        "random_state": SEED,
        "deterministic": True,
        "force_col_wise": True,  # sums by columns do not depend on the distribution of rows
        "verbosity": -1,
    }


CLASSIFIERS = (
    random_forest,
    adaboost,
    extra_trees,
    gradient_boosting,
    knn,
    lda,
    qda,
    logistic_regression,
    liblinear_svc,
    libsvm_svc,
    lightgbm,
)
