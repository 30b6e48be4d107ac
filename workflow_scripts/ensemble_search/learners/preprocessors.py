"""The preprocessors of the DivBO paper (Table 7) with their hyperparameters."""

from functools import partial

import numpy as np
from ConfigSpace import Categorical, Float, Integer, OrdinalHyperparameter

from ensemble_search.learners.classifiers import (
    LINEAR_SVM_FORBIDDEN,
    forest_arguments,
    lightgbm_classifier,
    linear_svm,
)
from ensemble_search.learners.operators import SEED, operator

# Hyperparameters that cannot change the data, and why.
INERT = {
    "random_trees_embedding:bootstrap": "no parameter of scikit-learn's class",
}

GAMMA = (2.0**-15, 8.0)


@operator()
def none(values, data):
    """Leave the features as they are."""
    return None


@operator(Integer("random_state", (1, 100_000), default=1))
def cross_features(values, data):
    """Products of categorical columns; leaves data with fewer than two of them unchanged."""
    from ensemble_search.learners.products import CategoricalProducts

    if data.categorical.sum() < 2:
        return None
    return CategoricalProducts(data.categorical, random_state=values["random_state"])


@operator(
    Categorical("algorithm", ["parallel", "deflation"], default="parallel"),
    Categorical("whiten", [False, True], default=False),
    Categorical("fun", ["logcosh", "exp", "cube"], default="logcosh"),
    Integer("n_components", (10, 2000), default=100),
    conditions={"n_components": ("whiten", [True])},
)
def fast_ica(values, data):
    """Without whitening, all components are kept."""
    from sklearn.decomposition import FastICA

    n_components = None
    if values["whiten"]:
        n_components = min(values["n_components"], data.n_samples, data.n_features)
    return FastICA(
        n_components=n_components,
        algorithm=values["algorithm"],
        whiten="unit-variance" if values["whiten"] else False,
        fun=values["fun"],
        random_state=SEED,
    )


@operator(
    Integer("n_clusters", (2, 400), default=25),
    Categorical("affinity", ["euclidean", "manhattan", "cosine"], default="euclidean"),
    Categorical("linkage", ["ward", "complete", "average"], default="ward"),
    Categorical("pooling_func", ["mean", "median", "max"], default="mean"),
    forbidden=[
        {"linkage": "ward", "affinity": "manhattan"},
        {"linkage": "ward", "affinity": "cosine"},
    ],
)
def feature_agglomeration(values, data):
    """Leaves a single feature unchanged."""
    from sklearn.cluster import FeatureAgglomeration

    if data.n_features < 2:
        return None
    return FeatureAgglomeration(
        n_clusters=min(values["n_clusters"], data.n_features),
        metric=values["affinity"],
        linkage=values["linkage"],
        pooling_func={"mean": np.mean, "median": np.median, "max": np.max}[values["pooling_func"]],
    )


@operator(
    Integer("n_components", (10, 2000), default=100),
    Categorical("kernel", ["poly", "rbf", "sigmoid", "cosine"], default="rbf"),
    Float("gamma", GAMMA, log=True, default=1.0),
    Integer("degree", (2, 5), default=3),
    Float("coef0", (-1.0, 1.0), default=0.0),
    conditions={
        "gamma": ("kernel", ["poly", "rbf"]),
        "degree": ("kernel", ["poly"]),
        "coef0": ("kernel", ["poly", "sigmoid"]),
    },
)
def kernel_pca(values, data):
    """Fitted on 5000 rows at most; components without a positive eigenvalue are dropped."""
    from ensemble_search.learners.kernels import KernelComponents

    optional = {name: values[name] for name in ("gamma", "degree", "coef0") if name in values}
    return KernelComponents(
        n_components=values["n_components"], kernel=values["kernel"], random_state=SEED, **optional
    )


@operator(
    Float("gamma", GAMMA, log=True, default=1.0),
    Integer("n_components", (50, 5000), log=True, default=100),
)
def kitchen_sinks(values, data):
    """Random Fourier features of the RBF kernel."""
    from sklearn.kernel_approximation import RBFSampler

    return RBFSampler(gamma=values["gamma"], n_components=values["n_components"], random_state=SEED)


@operator(Categorical("shrinkage", ["none", "auto"], default="none"))
def lda_decomposer(values, data):
    """With shrinkage, solver eigen is used, because lsqr has no transform."""
    from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

    if values["shrinkage"] == "none":
        return LinearDiscriminantAnalysis(solver="svd")
    return LinearDiscriminantAnalysis(solver="eigen", shrinkage="auto")


@operator(
    Categorical("kernel", ["poly", "rbf", "sigmoid", "cosine", "chi2"], default="rbf"),
    Integer("n_components", (50, 5000), log=True, default=100),
    Float("gamma", GAMMA, log=True, default=0.1),
    Integer("degree", (2, 5), default=3),
    Float("coef0", (-1.0, 1.0), default=0.0),
    conditions={
        "gamma": ("kernel", ["poly", "rbf", "sigmoid", "chi2"]),
        "degree": ("kernel", ["poly"]),
        "coef0": ("kernel", ["poly", "sigmoid"]),
    },
)
def nystroem(values, data):
    """For chi2, negative features are set to 0."""
    from sklearn.kernel_approximation import Nystroem
    from sklearn.pipeline import make_pipeline

    optional = {name: values[name] for name in ("gamma", "degree", "coef0") if name in values}
    approximation = Nystroem(
        kernel=values["kernel"],
        n_components=min(values["n_components"], data.n_samples),
        random_state=SEED,
        **optional,
    )
    if values["kernel"] == "chi2":
        return make_pipeline(_not_negative(), approximation)
    return approximation


def _not_negative():
    from sklearn.preprocessing import FunctionTransformer

    return FunctionTransformer(partial(np.maximum, 0.0))


@operator(
    Float("keep_variance", (0.5, 0.9999), default=0.9999),
    Categorical("whiten", [False, True], default=False),
)
def pca(values, data):
    """Keep a share of the variance."""
    from sklearn.decomposition import PCA

    return PCA(n_components=values["keep_variance"], whiten=values["whiten"], random_state=SEED)


@operator(
    Integer("degree", (2, 3), default=2),
    Categorical("interaction_only", [False, True], default=False),
)
def polynomial(values, data):
    """Products of the 25 (degree 2) or 10 (degree 3) columns most important to LightGBM."""
    return important_polynomials(values, data, lightgbm_classifier(data.threads))


def important_polynomials(values, data, ranker):
    """Return the transformer that ranks columns with ``ranker``."""
    from ensemble_search.learners.products import ImportantPolynomials

    return ImportantPolynomials(
        ranker=ranker,
        n_columns={2: 25, 3: 10}[values["degree"]],
        degree=values["degree"],
        interaction_only=values["interaction_only"],
        candidates=~data.categorical if (~data.categorical).any() else None,
    )


@operator(
    Integer("n_estimators", (10, 100), default=10),
    Integer("max_depth", (2, 10), default=5),
    Integer("min_samples_split", (2, 20), default=2),
    Integer("min_samples_leaf", (1, 20), default=1),
    Categorical("bootstrap", [True, False], default=True),
)
def random_trees_embedding(values, data):
    """Depth at most 6 on more than 5000 rows, as in MindWare, because the output is dense."""
    from sklearn.ensemble import RandomTreesEmbedding

    return RandomTreesEmbedding(
        n_estimators=values["n_estimators"],
        max_depth=min(values["max_depth"], 6) if data.n_samples > 5000 else values["max_depth"],
        min_samples_split=values["min_samples_split"],
        min_samples_leaf=values["min_samples_leaf"],
        n_jobs=data.threads,
        random_state=SEED,
    )


@operator(Integer("target_dim", (10, 256), default=128))
def svd(values, data):
    """At most n_features - 1 dimensions; leaves a single feature unchanged."""
    from sklearn.decomposition import TruncatedSVD

    if data.n_features < 2:
        return None
    n_components = min(values["target_dim"], data.n_features - 1)
    return TruncatedSVD(n_components=n_components, random_state=SEED)


@operator(
    Float("percentile", (5.0, 99.0), default=50.0),
    Categorical("score_func", ["chi2", "f_classif", "mutual_info"], default="chi2"),
)
def select_percentile(values, data):
    """Keep the best share of columns by a univariate score."""
    from sklearn.feature_selection import SelectPercentile

    from ensemble_search.learners.selection import Selection

    score = _score(values["score_func"], data)
    return Selection(SelectPercentile(score, percentile=values["percentile"]))


@operator(
    Float("alpha", (0.01, 0.5), default=0.1),
    Categorical("score_func", ["chi2", "f_classif"], default="chi2"),
    Categorical("mode", ["fpr", "fdr", "fwe"], default="fpr"),
)
def select_generic_univariate(values, data):
    """Keep columns whose test rejects independence of the class at level alpha."""
    from sklearn.feature_selection import GenericUnivariateSelect

    from ensemble_search.learners.selection import Selection

    score = _score(values["score_func"], data)
    return Selection(GenericUnivariateSelect(score, mode=values["mode"], param=values["alpha"]))


def _score(name: str, data):
    from sklearn.feature_selection import f_classif, mutual_info_classif

    from ensemble_search.learners.selection import chi2_of_positive_part

    mutual_info = partial(
        mutual_info_classif, discrete_features=data.categorical, random_state=SEED
    )
    return {"chi2": chi2_of_positive_part, "f_classif": f_classif, "mutual_info": mutual_info}[name]


@operator(
    Categorical("criterion", ["gini", "entropy"], default="gini"),
    OrdinalHyperparameter(
        "max_features", [round(0.05 * i, 2) for i in range(21)], default_value=0.5
    ),
    Integer("min_samples_split", (2, 20), default=2),
    Integer("min_samples_leaf", (1, 20), default=1),
    Categorical("bootstrap", [True, False], default=False),
)
def extra_trees_selector(values, data):
    """Keep columns of at least mean importance in 100 trees."""
    from sklearn.ensemble import ExtraTreesClassifier
    from sklearn.feature_selection import SelectFromModel

    from ensemble_search.learners.selection import Selection

    trees = ExtraTreesClassifier(n_estimators=100, **forest_arguments(values, data))
    return Selection(SelectFromModel(trees, threshold="mean"))


@operator(
    Categorical("penalty", ["l1", "l2"], default="l1"),
    Categorical("loss", ["hinge", "squared_hinge"], default="squared_hinge"),
    Categorical("dual", [True, False], default=False),
    Float("tol", (1e-5, 1e-1), log=True, default=1e-4),
    Float("C", (0.03125, 32768.0), log=True, default=1.0),
    forbidden=LINEAR_SVM_FORBIDDEN,
)
def liblinear_selector(values, data):
    """Keep columns with coefficients of at least the mean."""
    from sklearn.feature_selection import SelectFromModel

    from ensemble_search.learners.selection import Selection

    return Selection(SelectFromModel(linear_svm(values), threshold="mean"))


PREPROCESSORS = (
    none,
    cross_features,
    fast_ica,
    feature_agglomeration,
    kernel_pca,
    kitchen_sinks,
    lda_decomposer,
    nystroem,
    pca,
    polynomial,
    random_trees_embedding,
    svd,
    select_percentile,
    select_generic_univariate,
    extra_trees_selector,
    liblinear_selector,
)
