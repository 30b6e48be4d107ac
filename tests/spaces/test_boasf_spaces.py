"""The spaces of the BOASF paper: what is in them, and what weights and learners do."""

import warnings

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_wine
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression, PassiveAggressiveClassifier
from sklearn.multiclass import OneVsRestClassifier
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

from ensemble_search.learners import boasf
from ensemble_search.learners.operators import Data
from ensemble_search.runtime import plugins
from support.paper_domains import DOMAINS, RESCALERS, described, domains

pytestmark = pytest.mark.slow

# auto-sklearn's spaces, written down a second time where they differ from the DivBO paper's.
ALGORITHMS = {
    "random_forest": "as in the DivBO paper",
    "adaboost": """
n_estimators I[50,500] = 50
learning_rate logU[0.01,2] = 0.1
algorithm {SAMME.R,SAMME} = SAMME.R
max_depth I[1,10] = 1
""",
    "lda": """
shrinkage {none,auto,manual} = none
shrinkage_factor U[0,1] = 0.5
tol logU[1e-05,0.1] = 0.0001
""",
    "qda": "as in the DivBO paper",
    "extra_trees": "as in the DivBO paper",
    "gradient_boosting": """
learning_rate logU[0.01,1] = 0.1
n_estimators I[50,500] = 100
max_depth I[1,10] = 3
min_samples_split I[2,20] = 2
min_samples_leaf I[1,20] = 1
subsample U[0.01,1] = 1
max_features U[0.1,1] = 1
""",
    "bernoulli_nb": "alpha logU[0.01,100] = 1\nfit_prior {True,False} = True",
    "multinomial_nb": "alpha logU[0.01,100] = 1\nfit_prior {True,False} = True",
    "gaussian_nb": "",
    "sgd": """
loss {log_loss,hinge,modified_huber,squared_hinge,perceptron} = log_loss
penalty {l1,l2,elasticnet} = l2
alpha logU[1e-07,0.1] = 0.0001
l1_ratio logU[1e-09,1] = 0.15
learning_rate {optimal,invscaling,constant} = invscaling
eta0 logU[1e-07,0.1] = 0.01
power_t U[1e-05,1] = 0.5
average {False,True} = False
tol logU[1e-05,0.1] = 0.0001
""",
    "libsvm_svc": "as in the DivBO paper",
    "liblinear_svc": """
penalty {l1,l2} = l2
tol logU[1e-05,0.1] = 0.0001
C logU[0.03125,32768] = 1
""",
    "decision_tree": """
criterion {gini,entropy} = gini
max_depth_factor U[0,2] = 0.5
min_samples_split I[2,20] = 2
min_samples_leaf I[1,20] = 1
""",
    "knn": """
n_neighbors logI[1,100] = 1
weights {uniform,distance} = uniform
p {1,2} = 2
""",
    "passive_aggressive": """
C logU[1e-05,10] = 1
loss {hinge,squared_hinge} = hinge
tol logU[1e-05,0.1] = 0.0001
average {False,True} = False
""",
    "xgboost": """
max_depth I[1,20] = 3
learning_rate logU[0.001,1] = 0.1
booster {gbtree,dart} = gbtree
subsample U[0.01,1] = 1
min_child_weight I[0,20] = 1
colsample_bytree U[0.1,1] = 1
colsample_bylevel U[0.1,1] = 1
reg_alpha logU[1e-10,0.1] = 1e-10
reg_lambda logU[1e-10,0.1] = 1e-10
sample_type {uniform,weighted} = uniform
normalize_type {tree,forest} = tree
rate_drop U[1e-10,1] = 0.5
""",
}
LOGISTIC = """
penalty {l1,l2} = l2
C U[0.0001,10000] = 1
max_iter I[50,500] = 100
"""
FOREST = """
criterion {gini,entropy} = gini
max_features U[0.5,1] = 0.5
min_samples_split I[2,21] = 2
min_samples_leaf I[1,21] = 1
bootstrap {True,False} = True
"""
CONDITIONS = {
    "lda:shrinkage_factor": ("lda:shrinkage", {"manual"}),
    "libsvm_svc:degree": ("libsvm_svc:kernel", {"poly"}),
    "libsvm_svc:coef0": ("libsvm_svc:kernel", {"poly", "sigmoid"}),
    "sgd:l1_ratio": ("sgd:penalty", {"elasticnet"}),
    "sgd:eta0": ("sgd:learning_rate", {"invscaling", "constant"}),
    "sgd:power_t": ("sgd:learning_rate", {"invscaling"}),
    "xgboost:sample_type": ("xgboost:booster", {"dart"}),
    "xgboost:normalize_type": ("xgboost:booster", {"dart"}),
    "xgboost:rate_drop": ("xgboost:booster", {"dart"}),
}


@pytest.fixture(scope="module")
def space():
    return plugins.load("spaces", "boasf")()


def expected(algorithms):
    """Domains of the algorithms and rescalers, with their prefixes."""
    found = {
        name: domain
        for name, domain in domains(DOMAINS).items()
        if algorithms.get(name.split(":")[0], "").startswith("as in") or name[:6] in PREFIXES
    }
    for algorithm, text in algorithms.items():
        if not text.startswith("as in"):
            own = domains(text) if text else {}
            found |= {f"{algorithm}:{name}": domain for name, domain in own.items()}
    return found


#: First letters of the rescalers with hyperparameters.
PREFIXES = {name[:6] for name, count in RESCALERS.items() if count}


@pytest.mark.parametrize("name", ["boasf", "boasf-logistic"])
def test_the_sixteen_algorithms(name):
    algorithms = dict(ALGORITHMS)
    if name == "boasf-logistic":
        del algorithms["xgboost"]
        algorithms["logistic_regression"] = LOGISTIC
    configspace = plugins.load("spaces", name)().configspace
    assert list(configspace["algorithm"].choices) == list(algorithms)
    assert set(configspace["rescaler"].choices) == set(RESCALERS)
    assert configspace["variance_threshold"].choices == ("none", "zero")
    assert configspace["balancing"].choices == ("none", "weights")
    leaves = {n: described(h) for n, h in configspace.items() if ":" in n}
    assert leaves == expected(algorithms)
    for leaf in leaves:
        (condition,) = configspace.parent_conditions_of[leaf]
        values = set(getattr(condition, "values", None) or [condition.value])
        operator = leaf.split(":")[0]
        node = "algorithm" if operator in algorithms else "rescaler"
        found = (condition.parent.name, values)
        assert found == CONDITIONS.get(leaf, (node, {operator})), leaf
    first = dict(configspace.get_default_configuration())
    nodes = ("variance_threshold", "rescaler", "balancing", "algorithm")
    assert [first[n] for n in nodes] == ["none", "standard", "none", "random_forest"]


@pytest.mark.parametrize(
    ("name", "text"), [("random-forest-hpo", FOREST), ("logistic-regression-hpo", LOGISTIC)]
)
def test_spaces_of_one_learner(name, text):
    configspace = plugins.load("spaces", name)().configspace
    assert {n: described(h) for n, h in configspace.items()} == domains(text)
    assert not configspace.conditions and not configspace.forbidden_clauses


def fitted(space, algorithm, X, y, **changed):
    """Fit the default of an algorithm, with other values of some hyperparameters."""
    part = space.restricted({"algorithm": algorithm})
    (drawn,) = part.at(part.compose(lambda i: space.columns[i].default)[None])
    values = {**drawn, **{name.replace("__", ":"): value for name, value in changed.items()}}
    configuration = space.configuration(values)
    return space.pipeline(configuration, np.zeros(X.shape[1], bool), 1).fit(X, y)


@pytest.fixture(scope="module")
def rows():
    """60 rows, two thirds of one class."""
    X, y = load_breast_cancer(return_X_y=True)
    return X[:60, :5], 3 * y[:60] + 2


def test_weights_are_those_of_balanced_classes(space, rows):
    """As scikit-learn's own option, where there is one."""
    X, y = rows
    tree = fitted(space, "decision_tree", X, y, rescaler="none", balancing="weights")
    theirs = DecisionTreeClassifier(max_depth=2, class_weight="balanced", random_state=1)
    np.testing.assert_allclose(tree.predict_proba(X), theirs.fit(X, y).predict_proba(X))
    plain = fitted(space, "decision_tree", X, y, rescaler="none")
    assert not np.allclose(plain.predict_proba(X), tree.predict_proba(X))
    svm = fitted(space, "liblinear_svc", X, y, balancing="weights")
    scaled = StandardScaler().fit_transform(X)
    other = LinearSVC(dual=False, class_weight="balanced", random_state=1).fit(scaled, y)
    mine = svm.learner_.estimator.decision_function(scaled)
    np.testing.assert_allclose(mine, other.decision_function(scaled), rtol=1e-4)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_weights_count_but_for_three_learners(space, rows, algorithm):
    X, y = rows
    few = {"xgboost": {"xgboost__learning_rate": 0.01}}.get(algorithm, {})
    if algorithm in ("random_forest", "extra_trees"):
        few = {f"{algorithm}__min_samples_leaf": 10}
    if algorithm == "adaboost":
        few = {"adaboost__learning_rate": 0.05}
    one, other = (
        fitted(space, algorithm, X, y, balancing=balancing, **few).predict_proba(X)
        for balancing in ("none", "weights")
    )
    assert np.allclose(one, other) == (algorithm in ("knn", "lda", "qda"))


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_passive_aggressive_is_scikit_learns(space, loss):
    X, y = load_wine(return_X_y=True)
    model = fitted(space, "passive_aggressive", X, y, passive_aggressive__loss=loss)
    scaled = StandardScaler().fit_transform(X)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        theirs = PassiveAggressiveClassifier(loss=loss, tol=1e-4, random_state=1).fit(scaled, y)
    ours = model.learner_.estimator
    np.testing.assert_array_equal(ours.decision_function(scaled), theirs.decision_function(scaled))


def test_multinomial_bayes_takes_any_features(space, rows):
    X, y = rows
    model = fitted(space, "multinomial_nb", X - 1e3, y, rescaler="none")
    assert [name for name, _ in model.transformers_] == ["minmax"]
    np.testing.assert_allclose(model.predict_proba(X - 2e3).sum(axis=1), 1)


def test_labels_of_xgboost_may_have_gaps(space, rows):
    X, y = rows
    model = fitted(space, "xgboost", X, y)
    assert model.classes_.tolist() == [2, 5]
    assert np.mean(model.classes_[model.predict_proba(X).argmax(axis=1)] == y) > 0.9


@pytest.mark.parametrize("algorithm", ["random_forest", "extra_trees"])
def test_forests_have_100_trees(space, rows, algorithm):
    assert len(fitted(space, algorithm, *rows).learner_.estimators_) == 100


def test_constant_columns_are_dropped(space, rows):
    X, y = rows
    X = np.column_stack([np.full(len(X), 7.0), X])
    model = fitted(space, "gaussian_nb", X, y, variance_threshold="zero", rescaler="none")
    assert model.learner_.n_features_in_ == X.shape[1] - 1
    assert fitted(space, "gaussian_nb", X, y).learner_.n_features_in_ == X.shape[1]


def test_logistic_regressions_converge_or_fail():
    """Whatever the scale of the features; saga stops at all maxima of iterations on these."""
    space, (X, y) = (
        plugins.load("spaces", "logistic-regression-hpo")(),
        load_breast_cancer(return_X_y=True),
    )
    X = X[:, :5] * [1, 10, 100, 1000, 1]
    for values in space.sample(12, np.random.default_rng(0)):
        model = space.pipeline(values, np.zeros(5, bool), 1).fit(X, y).learner_
        assert all(e.n_iter_.max() < values["max_iter"] for e in model.estimators_)
    with pytest.raises(ConvergenceWarning, match="failed to converge"):
        space.pipeline(dict(values) | {"max_iter": 1}, np.zeros(5, bool), 1).fit(X, y)


@pytest.mark.parametrize("classes", [2, 3])
def test_logistic_regression_is_scikit_learns(classes):
    X, y = load_wine(return_X_y=True)
    X, y = StandardScaler().fit_transform(X[y < classes]), y[y < classes]
    weights = np.linspace(0.5, 2, len(y))
    values = {"penalty": "l2", "C": 1.0, "max_iter": 100}
    ours = boasf.logistic_regression.build(values, Data(X, y, np.zeros(13, bool)))
    model = LogisticRegression(solver="liblinear", random_state=1)
    theirs = (model if classes == 2 else OneVsRestClassifier(model)).fit(X, y)
    np.testing.assert_allclose(ours.fit(X, y).predict_proba(X), theirs.predict_proba(X))
    ours.fit(X, y, sample_weight=weights)
    first = model.fit(X, y == ours.classes_[-1], sample_weight=weights)
    np.testing.assert_allclose(ours.estimators_[-1].coef_, first.coef_)


def test_the_forests_features_are_a_share(rows):
    space, (X, y) = plugins.load("spaces", "random-forest-hpo")(), rows
    values = dict(space.configspace.get_default_configuration()) | {"max_features": 0.6}
    forest = space.pipeline(values, np.zeros(5, bool), 1).fit(X, y).learner_
    assert forest.max_features == 0.6
    assert forest.estimators_[0].max_features_ == 3  # as an exponent 2
