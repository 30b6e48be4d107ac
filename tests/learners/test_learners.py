"""The operators: every hyperparameter acts, every trap of current libraries is avoided."""

import warnings
from functools import partial

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.datasets import load_wine, make_classification
from sklearn.decomposition import KernelPCA
from sklearn.feature_selection import SelectKBest, chi2
from sklearn.metrics import mutual_info_score
from sklearn.preprocessing import PolynomialFeatures, StandardScaler
from sklearn.tree import DecisionTreeClassifier

from ensemble_search.learners import classifiers, preprocessors, rescalers
from ensemble_search.learners.kernels import KernelComponents
from ensemble_search.learners.operators import Data, operator
from ensemble_search.learners.pipeline import Pipeline
from ensemble_search.learners.products import CategoricalProducts, ImportantPolynomials
from ensemble_search.learners.samme_r import SammeR
from ensemble_search.learners.scores import ScoreClassifier
from ensemble_search.spaces.divbo import Divbo
from ensemble_search.spaces.divbo_small import DivboSmall

FORMS = {task: Divbo().for_task(task) for task in Divbo.tasks}
SPACE = FORMS["classification"]
OPERATORS = [(stage, o) for stage, operators in SPACE.stages.items() for o in operators]
#: Hyperparameters of all forms, those of an operator that several share once.
HYPERPARAMETERS = {
    (o.build, h.name): (task, f"{o.name}:{h.name}")
    for task, form in reversed(FORMS.items())
    for operators in form.stages.values()
    for o in operators
    for h in o.hyperparameters
}
INERT = classifiers.INERT | preprocessors.INERT

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore:.*:sklearn.exceptions.ConvergenceWarning"),
]


def wine():
    X, y = load_wine(return_X_y=True)
    return StandardScaler().fit_transform(X), y


def defaults(o):
    """Active default values of an operator, by short names."""
    return dict(o.space().get_default_configuration())


def large_data():
    """Data so large that nothing is clipped: zeros that take no memory."""
    X = np.broadcast_to(np.zeros(()), (4999, 2500))
    return Data(X, np.arange(4999) % 300, np.arange(2500) % 2 == 0)


def description(thing):
    """All parameters of an estimator, nested ones too."""
    if isinstance(thing, BaseEstimator):
        own = thing.get_params(deep=False)
        return type(thing).__name__, {k: description(v) for k, v in own.items()}
    if isinstance(thing, partial):
        return thing.func, {k: description(v) for k, v in thing.keywords.items()}
    if isinstance(thing, list | tuple):
        return [description(v) for v in thing]
    return thing.tobytes() if isinstance(thing, np.ndarray) else thing


def variants(space, name):
    """Pairs of configurations of the operator that differ in ``name`` (and what hangs on it)."""
    operators = ((s, o) for s, some in space.stages.items() for o in some)
    stage, o = next((s, o) for s, o in operators if name.split(":")[0] == o.name)
    for seed in range(20):
        rng = np.random.default_rng(seed)
        for c in space.sample(20, rng, {stage: o.name}):
            if name in c:
                for n in space.neighbours(c, rng):
                    if n.get(name, c[name]) != c[name]:
                        yield o, c, n


def own(o, configuration):
    prefix = o.name + ":"
    return {k.removeprefix(prefix): v for k, v in configuration.items() if k.startswith(prefix)}


@pytest.mark.parametrize(("task", "name"), HYPERPARAMETERS.values())
def test_every_hyperparameter_reaches_its_estimator(task, name):
    data = large_data()
    pairs = variants(FORMS[task], name)
    changed = []
    for _ in range(3):
        o, one, other = next(pairs)
        changed.append(
            description(o.build(own(o, one), data)) != description(o.build(own(o, other), data))
        )
    passed_on = name not in INERT or name == "lda:n_components"
    assert all(changed) if passed_on else not any(changed)


@pytest.mark.parametrize("task", FORMS)
def test_every_choice_makes_another_pipeline(task):
    for operators in FORMS[task].stages.values():
        data = large_data()
        made = [o.build(defaults(o), data) for o in operators]
        kinds = {repr(description(m)) for m in made}
        assert len(kinds) == len({o.name for o in operators}) == len(operators)


def test_inert_hyperparameters_exist_and_have_a_reason():
    assert set(INERT) <= set(SPACE.configspace)
    assert all(INERT.values())
    assert len(INERT) == 3


def test_lda_components_change_no_prediction():
    X, y = wine()
    values = defaults(classifiers.lda)
    made = []
    for n_components in (1, 2):
        data = Data(X, y, np.zeros(13, bool))
        model = classifiers.lda.build(values | {"n_components": n_components}, data).fit(X, y)
        assert model.transform(X).shape[1] == n_components
        made.append(model.predict_proba(X))
    assert np.array_equal(*made)


@pytest.mark.parametrize("name", [o.name for o in classifiers.CLASSIFIERS])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_classifiers_give_probabilities_of_all_classes(name, n_classes):
    X, y = wine()
    X, y = X[y < n_classes], y[y < n_classes] + 5
    o = next(o for o in classifiers.CLASSIFIERS if o.name == name)
    pipeline = Pipeline([(o, defaults(o))], np.zeros(13, bool), 1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # nothing deprecated is used
        pipeline.fit(X[::2], y[::2])
        probabilities = pipeline.predict_proba(X[1::2])
    assert pipeline.classes_.tolist() == [5, 6, 7][:n_classes]
    assert probabilities.shape == (len(X) // 2, n_classes)
    assert np.allclose(probabilities.sum(axis=1), 1, atol=1e-12)
    assert np.mean(pipeline.classes_[probabilities.argmax(axis=1)] == y[1::2]) > 0.85


@pytest.mark.parametrize(("stage", "name"), [(s, o.name) for s, o in OPERATORS if s != "algorithm"])
@pytest.mark.parametrize("n_features", [1, 13])
def test_transformers_work_on_few_and_on_many_columns(stage, name, n_features):
    X, y = wine()
    X = X[:, :n_features]
    o = next(o for o in SPACE.stages[stage] if o.name == name)
    values = defaults(o) | ({"gamma": 0.01} if name == "kitchen_sinks" else {})
    steps = [(o, values), (classifiers.knn, defaults(classifiers.knn))]
    pipeline = Pipeline(steps, np.zeros(n_features, bool), 1).fit(X[::2], y[::2])
    probabilities = pipeline.predict_proba(X[1::2])
    assert probabilities.shape == (89, 3)
    assert np.mean(probabilities.argmax(axis=1) == y[1::2]) > (0.4 if n_features == 1 else 0.6)
    assert pipeline.learner_.n_features_in_ >= 1


def test_random_configurations_finish_unless_the_data_forbid_it():
    X, y = wine()
    space = DivboSmall()
    failed = []
    for c in space.sample(60, np.random.default_rng(0)):
        try:
            pipeline = space.pipeline(c, np.zeros(13, bool), 1).fit(X[::2], y[::2])
            probabilities = pipeline.predict_proba(X[1::2])
            assert probabilities.shape == (89, 3)
            assert np.allclose(probabilities.sum(axis=1), 1)
        except np.linalg.LinAlgError:
            failed.append(c["algorithm"])
    assert set(failed) <= {"qda"}
    assert len(failed) <= 6


def test_results_depend_on_the_configuration_alone():
    X, y = wine()
    mutual_info = {"percentile": 50.0, "score_func": "mutual_info"}
    selector = (preprocessors.extra_trees_selector, defaults(preprocessors.extra_trees_selector))
    for before, o in (
        ((preprocessors.select_percentile, mutual_info), classifiers.random_forest),
        (selector, classifiers.extra_trees),
        (selector, classifiers.knn),
    ):
        made = []
        for threads in (1, 2):
            np.random.seed(threads)
            pipeline = Pipeline([before, (o, defaults(o))], np.zeros(13, bool), threads)
            made.append(pipeline.fit(X[::2], y[::2]).predict_proba(X[1::2]).tobytes())
        assert made[0] == made[1], o.name
    # LightGBM with few trees, because its threads spin on a busy machine.
    X, y = make_classification(2000, 20, random_state=0)
    arguments = {"n_estimators": 10, "subsample": 0.7, "subsample_freq": 1}
    one, two = (classifiers.lightgbm_classifier(n, **arguments).fit(X, y) for n in (1, 2))
    assert one.predict_proba(X).tobytes() == two.predict_proba(X).tobytes()


def test_step_that_leaves_the_numbers_is_named():
    @operator()
    def exploding(values, data):
        from sklearn.preprocessing import FunctionTransformer

        return FunctionTransformer(lambda X: X / 0.0)

    X, y = wine()
    steps = [(exploding, {}), (classifiers.knn, defaults(classifiers.knn))]
    with np.errstate(all="ignore"), pytest.raises(ValueError, match="exploding made numbers"):
        Pipeline(steps, np.zeros(13, bool), 1).fit(X, y)


def test_steps_come_in_the_order_rescale_preprocess_classify():
    c = SPACE.sample(1, np.random.default_rng(0), {"rescaler": "robust", "preprocessor": "pca"})[0]
    pipeline = SPACE.pipeline(c, np.zeros(3, bool), 1)
    assert [o.name for o, _ in pipeline.steps] == ["robust", "pca", c["algorithm"]]
    assert pipeline.steps[1][1] == {
        "keep_variance": c["pca:keep_variance"],
        "whiten": c["pca:whiten"],
    }


class Fixed(ClassifierMixin, BaseEstimator):
    """A tree with constant predictions that records its sample weights."""

    log = []  # noqa: RUF012

    def __init__(self, probabilities=None, random_state=None):
        self.probabilities = probabilities
        self.random_state = random_state

    def fit(self, X, y, sample_weight=None, check_input=True):
        self.classes_ = np.unique(y)
        self.log.append(sample_weight)
        return self

    def predict_proba(self, X, check_input=True):
        return np.array(self.probabilities)


def test_samme_r_by_hand():
    probabilities = [[0.8, 0.1, 0.1], [0.2, 0.5, 0.3], [0.6, 0.3, 0.1]]
    Fixed.log.clear()
    y = np.array([0, 1, 2])  # the third is wrong
    model = SammeR(Fixed(probabilities), n_estimators=2, learning_rate=0.5).fit(np.zeros((3, 1)), y)
    assert np.allclose(Fixed.log[0], 1 / 3)
    # exp(-0.5 * 2/3 * (log p_c - mean of the log of the other two))
    own = np.array([0.8, 0.5, 0.1])
    others = np.array([0.1 * 0.1, 0.2 * 0.3, 0.6 * 0.3])
    weights = (own / np.sqrt(others)) ** (-1 / 3)
    assert np.allclose(Fixed.log[1], weights / weights.sum())
    # Two equal trees: the softmax of log p - mean(log p) is p again.
    assert np.allclose(model.predict_proba(np.zeros((3, 1))), probabilities)


def test_samme_r_stops_at_a_perfect_tree_and_clips_its_logarithms():
    X = np.array([[0.0], [1.0], [2.0], [3.0]])
    y = np.array([0, 0, 1, 1])
    model = SammeR(DecisionTreeClassifier(), n_estimators=50).fit(X, y)
    assert len(model.estimators_) == 1
    expected = 1 / (1 + np.finfo(float).eps)  # p / (1 - p) = 1 / eps
    assert np.allclose(
        model.predict_proba(X)[:, 1], [1 - expected, 1 - expected, expected, expected]
    )


def test_samme_r_boosts():
    X, y = make_classification(600, 10, n_informative=5, n_classes=3, random_state=0)
    alone = DecisionTreeClassifier(max_depth=2).fit(X[::2], y[::2]).score(X[1::2], y[1::2])
    model = SammeR(DecisionTreeClassifier(max_depth=2), 50, 0.5, random_state=1).fit(X[::2], y[::2])
    assert model.score(X[1::2], y[1::2]) > alone + 0.05
    # A classifier of its own, not SAMME under another name.
    values = defaults(classifiers.adaboost)
    data = Data(X, y, np.zeros(10, bool))
    samme = classifiers.adaboost.build(values | {"algorithm": "SAMME"}, data).fit(X[::2], y[::2])
    real = classifiers.adaboost.build(values | {"algorithm": "SAMME.R"}, data).fit(X[::2], y[::2])
    assert not np.allclose(samme.predict_proba(X), real.predict_proba(X), atol=0.01)


class Scores(BaseEstimator):
    def __init__(self, scores):
        self.scores = scores

    def fit(self, X, y, sample_weight=None):
        self.classes_ = np.unique(y)

    def decision_function(self, X):
        return np.array(self.scores)


def test_probabilities_of_svm_scores():
    y = np.array([0, 1])
    two = ScoreClassifier(Scores([0.0, np.log(3), 15.0, -30.0])).fit(None, y).predict_proba(None)
    assert np.allclose(two, [[0.5, 0.5], [0.25, 0.75], [0, 1], [1, 0]], atol=1e-12)
    three = ScoreClassifier(Scores([[0.0, np.log(2), np.log(5)]])).fit(None, np.arange(3))
    assert np.allclose(three.predict_proba(None), [[1 / 8, 2 / 8, 5 / 8]])


def test_logistic_regression_gives_its_penalty_to_every_scikit_learn(monkeypatch):
    X, y = wine()
    values = defaults(classifiers.logistic_regression)
    data = Data(X, y, np.zeros(13, bool))
    zeros = {}
    for solver in ("liblinear", "saga"):
        for penalty in ("l1", "l2"):
            chosen = values | {"penalty": penalty, "C": 0.05, "solver": solver}
            model = classifiers.logistic_regression.build(chosen, data).fit(X, y)
            zeros[penalty] = sum((e.coef_ == 0).sum() for e in model.estimators_)
        assert zeros["l1"] > 5 > zeros["l2"] == 0
    monkeypatch.setattr("sklearn.__version__", "1.7.2")
    old = classifiers.logistic_regression.build(values | {"penalty": "l1"}, data)
    assert old.estimator.penalty == "l1"


def test_clipping_to_the_data():
    X, y = wine()
    data = Data(X, y, np.zeros(13, bool))
    lda = classifiers.lda.build(defaults(classifiers.lda) | {"n_components": 250}, data)
    assert lda.n_components == 2
    knn = classifiers.knn.build({"n_neighbors": 1000, "weights": "uniform"}, data)
    assert knn.n_neighbors == 178
    quantile = rescalers.quantile.build(defaults(rescalers.quantile), data)
    assert quantile.n_quantiles == 178
    assert preprocessors.svd.build({"target_dim": 128}, data).n_components == 12
    nystroem = preprocessors.nystroem.build(
        {"kernel": "rbf", "gamma": 1.0, "n_components": 5000}, data
    )
    assert nystroem.n_components == 178
    clusters = defaults(preprocessors.feature_agglomeration)
    assert preprocessors.feature_agglomeration.build(clusters, data).n_clusters == 13
    ica = defaults(preprocessors.fast_ica) | {"whiten": True, "n_components": 100}
    ica = preprocessors.fast_ica.build(ica, data)
    assert (ica.n_components, ica.whiten) == (13, "unit-variance")


def test_exponent_of_the_number_of_features():
    data = Data(np.zeros((10, 100)), np.arange(10) % 2, np.zeros(100, bool))
    for exponent, expected in ((0.0, 1), (0.5, 10), (0.75, 31), (1.0, 100)):
        values = defaults(classifiers.random_forest) | {"max_features": exponent}
        assert classifiers.random_forest.build(values, data).max_features == expected


def test_robust_scaler_gets_per_cent():
    made = rescalers.robust.build({"q_min": 0.25, "q_max": 0.75}, None)
    assert made.quantile_range == (25, 75)


def test_qda_of_rank_deficient_data_raises():
    X, y = wine()
    X = np.hstack([X, X[:, :1]])
    with pytest.raises(np.linalg.LinAlgError):
        classifiers.qda.build({"reg_param": 0.0}, None).fit(X, y)


def test_lda_with_shrinkage():
    X, y = wine()
    data = Data(X, y, np.zeros(13, bool))
    values = defaults(classifiers.lda)
    manual = classifiers.lda.build(values | {"shrinkage": "manual", "shrinkage_factor": 0.3}, data)
    assert (manual.solver, manual.shrinkage) == ("lsqr", 0.3)
    auto = preprocessors.lda_decomposer.build({"shrinkage": "auto"}, data)
    assert auto.fit(X, y).transform(X).shape == (178, 2)


@pytest.mark.parametrize("score", ["chi2", "f_classif"])
@pytest.mark.parametrize("mode", ["fpr", "fdr", "fwe"])
def test_selection_keeps_the_best_column_where_none_passes(score, mode):
    rng = np.random.default_rng(2)
    X, y = rng.normal(size=(40, 6)), np.arange(40) % 2
    values = {"alpha": 1e-12, "score_func": score, "mode": mode}
    data = Data(X, y, np.zeros(6, bool))
    selection = preprocessors.select_generic_univariate.build(values, data).fit(X, y)
    assert selection.transform(X).shape == (40, 1)
    assert selection.support_.argmax() == selection.selector.scores_.argmax()


def test_chi2_takes_negative_features_for_zero():
    X, y = wine()
    data = Data(X, y, np.zeros(13, bool))
    values = {"percentile": 40.0, "score_func": "chi2"}
    support = preprocessors.select_percentile.build(values, data).fit(X, y).support_
    assert support.sum() == 5
    best = SelectKBest(chi2, k=5).fit(np.maximum(X, 0), y).get_support()
    assert np.array_equal(support, best)
    kernel = {"kernel": "chi2", "gamma": 0.1, "n_components": 50}
    made = preprocessors.nystroem.build(kernel, data).fit(X)
    assert np.array_equal(made.transform(X), made.transform(np.maximum(X, 0)))


def test_mutual_information_knows_the_categorical_columns():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 300)
    X = np.column_stack([rng.normal(size=300), (y ^ (rng.random(300) < 0.1)) * 1.0])
    data = Data(X, y, np.array([False, True]))
    values = {"percentile": 50.0, "score_func": "mutual_info"}
    selection = preprocessors.select_percentile.build(values, data).fit(X, y)
    assert selection.support_.tolist() == [False, True]
    assert selection.selector.scores_[1] == pytest.approx(mutual_info_score(X[:, 1], y))


@pytest.mark.parametrize("kernel", ["rbf", "poly", "cosine"])
def test_kernel_components_are_those_of_scikit_learn(kernel):
    X, _ = wine()
    arguments = {"kernel": kernel, "gamma": 0.05, "degree": 2, "coef0": 0.5}
    ours = KernelComponents(8, **arguments).fit(X[:100])
    theirs = KernelPCA(8, eigen_solver="dense", **arguments).fit(X[:100])
    assert np.allclose(ours.transform(X), theirs.transform(X), atol=1e-8)


def test_kernel_components_of_indefinite_kernels_and_many_rows():
    X, _ = wine()
    model = KernelComponents(500, kernel="sigmoid", gamma=1.0, coef0=-0.9).fit(X)
    Z = model.transform(X)
    assert np.isfinite(Z).all()
    assert 0 < Z.shape[1] < 178
    # Coordinates of the training rows: eigenvalue n times variance, orthogonal.
    gram = Z.T @ Z
    assert np.allclose(gram, np.diag(np.diag(gram)), atol=1e-6 * gram.max())
    few = KernelComponents(5, kernel="rbf", gamma=0.1, max_rows=50).fit(X)
    assert few.rows_.shape == (50, 13)
    assert few.transform(X).shape == (178, 5)


def test_polynomials_of_the_important_columns():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 40))
    y = (X[:, 38] + X[:, 39] > 0).astype(int)
    numeric = np.ones(40, bool)
    numeric[:5] = False
    data = Data(X, y, ~numeric)
    for degree, n_columns in ((2, 25), (3, 10)):
        values = {"degree": degree, "interaction_only": False}
        made = preprocessors.polynomial.build(values, data).fit(X, y)
        assert len(made.columns_) == n_columns
        assert {38, 39} <= set(made.columns_)
        assert not set(made.columns_) & set(range(5))
        powers = PolynomialFeatures(degree, include_bias=False).fit_transform(X[:, made.columns_])
        expected = np.hstack([X, powers[:, n_columns:]])
        assert np.array_equal(made.transform(X), expected)
    interactions = ImportantPolynomials(None, 25, 2, interaction_only=True).fit(X[:, :4], y)
    assert interactions.transform(X[:, :4]).shape == (400, 4 + 6)


def test_products_of_categorical_columns():
    rng = np.random.default_rng(0)
    color = np.eye(3)[rng.integers(0, 3, 200)]  # products of one variable's columns are constant
    flag = rng.integers(0, 2, (200, 1)).astype(float)
    X = np.hstack([rng.normal(size=(200, 2)), color, flag])
    categorical = np.array([False, False, True, True, True, True])
    values = {"random_state": 1}
    data = Data(X, np.zeros(200, int), categorical)
    made = preprocessors.cross_features.build(values, data).fit(X)
    assert np.array_equal(made.transform(X), np.hstack([X, color * flag]))
    numeric = Data(X, np.zeros(200, int), np.zeros(6, bool))
    assert preprocessors.cross_features.build(values, numeric) is None


def test_products_draw_columns_by_their_seed():
    X = np.random.default_rng(0).integers(0, 2, (50, 30)).astype(float)
    made = [
        CategoricalProducts(np.ones(30, bool), n_columns=5, random_state=seed).fit(X)
        for seed in (1, 1, 2)
    ]
    used = [set(m.first_) | set(m.second_) for m in made]
    assert [len(u) for u in used] == [5, 5, 5]
    assert used[0] == used[1] != used[2]
    assert made[0].transform(X).shape == (50, 40)


def test_random_trees_embedding_is_dense_and_shallow_on_many_rows():
    values = defaults(preprocessors.random_trees_embedding) | {"max_depth": 10}
    small, large = (
        preprocessors.random_trees_embedding.build(
            values, Data(np.zeros((n, 2)), np.zeros(n), np.zeros(2, bool))
        )
        for n in (5000, 5001)
    )
    assert (small.max_depth, large.max_depth) == (10, 6)
    X, y = wine()
    steps = [
        (preprocessors.random_trees_embedding, values),
        (classifiers.liblinear_svc, defaults(classifiers.liblinear_svc)),
    ]
    pipeline = Pipeline(steps, np.zeros(13, bool), 1).fit(X, y)
    assert pipeline.predict_proba(X).shape == (178, 3)


def test_lightgbm_draws_rows():
    X, y = make_classification(400, 10, random_state=0)
    data = Data(X, y, np.zeros(10, bool))
    values = defaults(classifiers.lightgbm) | {"n_estimators": 100}
    made = [
        classifiers.lightgbm.build(values | {"subsample": share}, data).fit(X, y).predict_proba(X)
        for share in (0.7, 1.0)
    ]
    assert not np.array_equal(*made)
