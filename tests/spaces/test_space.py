"""The configuration space: what is in it, sampling, encoding, neighbours."""

import copy
import json
import math
import time
from typing import ClassVar

import ConfigSpace
import numpy as np
import pytest
from ConfigSpace import (
    Categorical,
    ConfigurationSpace,
    Float,
    ForbiddenGreaterThanRelation,
    GreaterThanCondition,
    InCondition,
    Integer,
    OrdinalHyperparameter,
)
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from ensemble_search.runtime import plugins
from ensemble_search.runtime.errors import UserError
from ensemble_search.search.results import column_types
from ensemble_search.spaces.base import Space
from ensemble_search.spaces.divbo import Divbo
from ensemble_search.spaces.divbo_small import DivboSmall
from support.paper_domains import DOMAINS, RESCALERS, described, domains

pytestmark = pytest.mark.slow

# Tables 6 and 7 of the paper: hyperparameters of every operator.
TABLE_6 = {
    "adaboost": 4,
    "random_forest": 5,
    "extra_trees": 5,
    "gradient_boosting": 7,
    "knn": 2,
    "lda": 4,
    "qda": 1,
    "logistic_regression": 4,
    "liblinear_svc": 5,
    "libsvm_svc": 7,
    "lightgbm": 6,
}
PREPROCESSORS = {
    "none": 0,
    "cross_features": 1,
    "fast_ica": 4,
    "feature_agglomeration": 4,
    "kernel_pca": 5,
    "kitchen_sinks": 2,
    "lda_decomposer": 1,
    "nystroem": 5,
    "pca": 2,
    "polynomial": 2,
    "random_trees_embedding": 5,
    "svd": 1,
    "select_percentile": 2,
    "select_generic_univariate": 3,
    "extra_trees_selector": 5,
    "liblinear_selector": 5,
}

# The same of the form for regression.
REGRESSORS = {
    "random_forest": 4,
    "adaboost": 4,
    "extra_trees": 4,
    "gradient_boosting": 6,
    "knn": 2,
    "ridge": 1,
    "elastic_net": 3,
    "liblinear_svr": 5,
    "libsvm_svr": 8,
    "lightgbm": 6,
}
REGRESSION_PREPROCESSORS = {
    name: count
    for name, count in PREPROCESSORS.items()
    if name not in ("lda_decomposer", "liblinear_selector")
} | {"select_generic_univariate": 2, "extra_trees_selector": 4}
NODES = {
    "classification": {
        "rescaler": RESCALERS,
        "preprocessor": PREPROCESSORS,
        "algorithm": TABLE_6,
    },
    "regression": {
        "rescaler": RESCALERS,
        "preprocessor": REGRESSION_PREPROCESSORS,
        "algorithm": REGRESSORS,
    },
}

# What operators of the same names do not have for regression, and what is not in the paper.
CLASSIFICATION_ONLY = {
    "adaboost:algorithm",
    "random_forest:criterion",
    "extra_trees:criterion",
    "gradient_boosting:criterion",
    "extra_trees_selector:criterion",
    "select_generic_univariate:score_func",
}
REGRESSION_DOMAINS = """
adaboost:loss {linear,square,exponential} = linear
ridge:alpha logU[1e-05,10] = 1
elastic_net:alpha logU[1e-07,0.1] = 0.0001
elastic_net:l1_ratio U[0.01,1] = 0.15
elastic_net:tol logU[1e-05,0.1] = 0.0001
liblinear_svr:loss {epsilon_insensitive,squared_epsilon_insensitive} = squared_epsilon_insensitive
liblinear_svr:epsilon logU[0.001,1] = 0.1
liblinear_svr:dual {True,False} = True
liblinear_svr:tol logU[1e-05,0.1] = 0.0001
liblinear_svr:C logU[0.03125,32768] = 1
libsvm_svr:C logU[0.03125,32768] = 1
libsvm_svr:epsilon logU[0.001,1] = 0.1
libsvm_svr:kernel {rbf,poly,sigmoid} = rbf
libsvm_svr:degree I[2,5] = 3
libsvm_svr:gamma logU[3.05176e-05,8] = 0.1
libsvm_svr:coef0 U[-1,1] = 0
libsvm_svr:shrinking {True,False} = True
libsvm_svr:tol logU[1e-05,0.1] = 0.001
select_percentile:score_func {f_regression,mutual_info} = f_regression
"""

# The ESMBO paper's spaces, by name and task.
ESMBO_DOMAINS = {
    ("svm", "classification"): """
C logU[0.01,1000] = 1
gamma logU[1e-05,1000] = 0.1
""",
    ("svr", "regression"): """
C logU[0.01,1000] = 1
gamma logU[1e-05,1000] = 0.1
epsilon logU[0.01,1] = 0.1
""",
    ("random-forest", "classification"): """
trees {random_forest,extra_trees} = random_forest
bootstrap {True,False} = True
max_features U[0.0001,1] = 0.5
""",
    ("random-forest", "regression"): """
trees {random_forest,extra_trees} = random_forest
bootstrap {True,False} = True
max_features U[0.0001,1] = 0.5
""",
    ("gradient-boosting", "classification"): """
max_depth I[1,15] = 3
learning_rate logU[0.01,1] = 0.1
max_features U[0.001,1] = 1
""",
    ("gradient-boosting", "regression"): """
max_depth I[1,15] = 3
learning_rate logU[0.01,1] = 0.1
alpha U[0.0001,1] = 0.9
""",
    ("mlp", "classification"): """
units_1 I[1,100] = 50
units_2 I[1,100] = 50
penalty_1 logU[1e-05,100] = 0.001
penalty_2 logU[1e-05,100] = 0.001
penalty_3 logU[1e-05,100] = 0.001
""",
}

# Child: parent and the values under which it is active; all others hang on their operator alone.
CONDITIONS = {
    "lda:shrinkage_factor": ("lda:shrinkage", {"manual"}),
    "libsvm_svc:degree": ("libsvm_svc:kernel", {"poly"}),
    "libsvm_svc:coef0": ("libsvm_svc:kernel", {"poly", "sigmoid"}),
    "libsvm_svr:degree": ("libsvm_svr:kernel", {"poly"}),
    "libsvm_svr:coef0": ("libsvm_svr:kernel", {"poly", "sigmoid"}),
    "fast_ica:n_components": ("fast_ica:whiten", {True}),
    "kernel_pca:gamma": ("kernel_pca:kernel", {"poly", "rbf"}),
    "kernel_pca:degree": ("kernel_pca:kernel", {"poly"}),
    "kernel_pca:coef0": ("kernel_pca:kernel", {"poly", "sigmoid"}),
    "nystroem:gamma": ("nystroem:kernel", {"poly", "rbf", "sigmoid", "chi2"}),
    "nystroem:degree": ("nystroem:kernel", {"poly"}),
    "nystroem:coef0": ("nystroem:kernel", {"poly", "sigmoid"}),
}


class Made(Space):
    """A space whose points are easily computed by hand."""

    def define(self):
        space = ConfigurationSpace()
        space.add(
            Categorical("a", ["x", "y", "z"], default="y"),
            Float("b", (1e-4, 1.0), log=True, default=0.01),
            Integer("c", (0, 10), default=5),
            OrdinalHyperparameter("d", [0.7, 0.8, 0.9, 1.0], default_value=1.0),
            Float("e", (-1.0, 3.0), default=0.0),
        )
        space.add(InCondition(space["b"], space["a"], ["x"]))
        space.add(GreaterThanCondition(space["e"], space["c"], 4))
        return space

    def pipeline(self, values, categorical, threads):
        raise AssertionError("not needed")


class Related(Space):
    """A space with a relation between numbers."""

    def define(self):
        space = ConfigurationSpace()
        space.add(Integer("low", (0, 20)), Integer("high", (0, 20), default=20))
        space.add(ForbiddenGreaterThanRelation(space["low"], space["high"]))
        return space

    pipeline: ClassVar = None


Related.__abstractmethods__ = frozenset()


@pytest.fixture(scope="module")
def space():
    return Divbo()


@pytest.fixture(scope="module")
def drawn(space):
    return space.sample(2000, np.random.default_rng(7))


#: Spaces and the tasks that they have a form for.
FORMS = [
    (name, task)
    for name in plugins.available("spaces")
    for task in plugins.load("spaces", name).tasks
]


def make(name, task):
    return plugins.load("spaces", name)().for_task(task)


@pytest.fixture(scope="module", params=FORMS, ids=" for ".join)
def form(request):
    return make(*request.param)


def legal(space, configuration):
    """Whether ConfigSpace itself accepts the values: domains, active set, forbidden clauses."""
    ConfigSpace.Configuration(space.configspace, values=dict(configuration))
    return True


@pytest.mark.parametrize(
    ("task", "counts"), [("classification", (50, 101, 104)), ("regression", (43, 86, 89))]
)
def test_operators_have_as_many_hyperparameters_as_the_tables(task, counts):
    configspace = Divbo().for_task(task).configspace
    names = list(configspace)
    for node, table in NODES[task].items():
        assert set(configspace[node].choices) == set(table)
        for operator, count in table.items():
            own = [n for n in names if n.startswith(f"{operator}:")]
            assert len(own) == count, operator
    leaves = [n for n in names if ":" in n]
    assert (sum(NODES[task]["algorithm"].values()), len(leaves), len(names)) == counts
    assert len(DivboSmall().for_task(task).configspace) == 28


def test_domains_and_defaults_match_the_tables(space):
    leaves = {n: described(h) for n, h in space.configspace.items() if ":" in n}
    assert leaves == domains(DOMAINS)


def test_domains_and_defaults_for_regression():
    configspace = Divbo().for_task("regression").configspace
    leaves = {n: described(h) for n, h in configspace.items() if ":" in n}
    operators = set().union(*NODES["regression"].values())
    shared = {
        name: domain
        for name, domain in domains(DOMAINS).items()
        if name.split(":")[0] in operators and name not in CLASSIFICATION_ONLY
    }
    assert leaves == shared | domains(REGRESSION_DOMAINS)


@pytest.mark.parametrize("name", sorted({name for name, _ in ESMBO_DOMAINS}))
def test_spaces_of_the_esmbo_paper(name):
    """Nothing is conditional or forbidden, and draws come close to all bounds."""
    tasks = plugins.load("spaces", name).tasks
    assert set(tasks) == {task for other, task in ESMBO_DOMAINS if other == name}
    for task in tasks:
        form = make(name, task)
        found = {n: described(h) for n, h in form.configspace.items()}
        assert found == domains(ESMBO_DOMAINS[name, task])
        assert not form.configspace.conditions
        assert not form.configspace.forbidden_clauses
        entries = form.encode(form.sample(2000, np.random.default_rng(0)))
        assert (entries.min(axis=0) < 0.01).all()
        assert (entries.max(axis=0) > 0.99).all()
        for i, column in enumerate(form.columns):
            if column.whole and not column.categorical:
                drawn = column.values(entries[:, i])
                assert set(drawn) == set(range(int(column.lower), int(column.upper) + 1))


@pytest.mark.parametrize("task", Divbo.tasks)
def test_conditions_match_the_tables(task):
    space = Divbo().for_task(task)
    nodes = {operator: node for node, table in NODES[task].items() for operator in table}
    for name in space.configspace:
        conditions = space.configspace.parent_conditions_of[name]
        if ":" not in name:
            assert not conditions
            continue
        operator = name.split(":")[0]
        (condition,) = conditions
        values = set(getattr(condition, "values", None) or [condition.value])
        found = (condition.parent.name, values)
        assert found == CONDITIONS.get(name, (nodes[operator], {operator})), name


def test_only_the_legal_triples_of_linear_svms_are_drawn(space):
    for fixed in ({"algorithm": "liblinear_svc"}, {"preprocessor": "liblinear_selector"}):
        prefix = next(iter(fixed.values()))
        names = [f"{prefix}:{k}" for k in ("penalty", "loss", "dual")]
        found = {
            tuple(c[n] for n in names) for c in space.sample(300, np.random.default_rng(0), fixed)
        }
        assert found == {
            ("l1", "squared_hinge", False),
            ("l2", "hinge", True),
            ("l2", "squared_hinge", True),
            ("l2", "squared_hinge", False),
        }


def test_the_absolute_loss_of_linear_svms_is_drawn_with_dual_only():
    form = Divbo().for_task("regression")
    drawn = form.sample(300, np.random.default_rng(0), {"algorithm": "liblinear_svr"})
    assert {(c["liblinear_svr:loss"], c["liblinear_svr:dual"]) for c in drawn} == {
        ("epsilon_insensitive", True),
        ("squared_epsilon_insensitive", True),
        ("squared_epsilon_insensitive", False),
    }


def test_ward_goes_with_euclidean_only(space):
    fixed = {"preprocessor": "feature_agglomeration"}
    drawn = space.sample(300, np.random.default_rng(0), fixed)
    pairs = {
        (c["feature_agglomeration:linkage"], c["feature_agglomeration:affinity"]) for c in drawn
    }
    assert pairs == {("ward", "euclidean")} | {
        (linkage, affinity)
        for linkage in ("complete", "average")
        for affinity in ("euclidean", "manhattan", "cosine")
    }


def test_parents_come_before_children(form):
    names = list(form.configspace)
    for child in names:
        for parent in form.configspace.parents_of[child]:
            assert names.index(parent.name) < names.index(child)


def test_sampling_is_a_function_of_the_generator(form):
    first = form.sample(50, np.random.default_rng([1, 2]))
    form.sample(7, np.random.default_rng(3))
    again = type(form)().for_task(form.task)
    other = again.sample(50, np.random.default_rng([1, 2]))
    assert first == other
    assert first != form.sample(50, np.random.default_rng([1, 3]))
    assert form.encode(first).tobytes() == again.encode(other).tobytes()


def test_samples_are_legal_for_configspace(form):
    drawn = form.sample(300, np.random.default_rng(7))
    assert all(legal(form, c) for c in drawn)
    for node, operators in getattr(form, "stages", {}).items():
        assert {c[node] for c in drawn} == {o.name for o in operators}


def test_samples_are_uniform(space, drawn):
    for node in ("algorithm", "rescaler"):
        choices = list(space.configspace[node].choices)
        counts = np.bincount([choices.index(c[node]) for c in drawn], minlength=len(choices))
        if node == "rescaler":
            assert stats.chisquare(counts).pvalue > 1e-4
            continue
        # Half of what is drawn for the linear SVM is forbidden, and drawn again.
        expected = np.array([0.5 if n == "liblinear_svc" else 1.0 for n in choices])
        assert stats.chisquare(counts, expected * counts.sum() / expected.sum()).pvalue > 1e-4
    some = space.sample(1500, np.random.default_rng(1), {"algorithm": "libsvm_svc"})
    log_c = np.log2([c["libsvm_svc:C"] for c in some])
    assert stats.kstest(log_c, stats.uniform(-5, 20).cdf).pvalue > 1e-4
    tolerance = np.log10([c["libsvm_svc:tol"] for c in some])
    assert stats.kstest(tolerance, stats.uniform(-5, 4).cdf).pvalue > 1e-4
    shrinking = [c["libsvm_svc:shrinking"] for c in some]
    assert 0.4 < np.mean(shrinking) < 0.6
    degrees = [c["libsvm_svc:degree"] for c in some if "libsvm_svc:degree" in c]
    assert stats.chisquare(np.bincount(degrees)[2:]).pvalue > 1e-4
    trees = space.sample(1900, np.random.default_rng(1), {"algorithm": "lightgbm"})
    steps = np.bincount([c["lightgbm:n_estimators"] // 50 - 2 for c in trees], minlength=19)
    assert len(steps) == 19
    assert stats.chisquare(steps).pvalue > 1e-4


@pytest.mark.parametrize("sampler", ["ours", "ConfigSpace"])
def test_operators_with_forbidden_combinations_are_drawn_less_often(space, sampler):
    """As in ConfigSpace: the whole configuration is drawn again, the operator included."""
    if sampler == "ours":
        drawn = space.sample(20_000, np.random.default_rng(5))
    else:
        own = copy.deepcopy(space.configspace)
        own.seed(5)
        drawn = own.sample_configuration(20_000)
    # Weights before normalising: the shares of the combinations that are legal.
    legal_shares = {
        "algorithm": {"liblinear_svc": 1 / 2},
        "preprocessor": {"liblinear_selector": 1 / 2, "feature_agglomeration": 7 / 9},
    }
    for node, rarer in legal_shares.items():
        choices = list(space.configspace[node].choices)
        total = len(choices) - len(rarer) + sum(rarer.values())
        for choice in choices:
            share = np.mean([c[node] == choice for c in drawn])
            # Six standard errors. Drawn first, liblinear_svc would have 9.1 % instead of 4.8 %.
            expected = rarer.get(choice, 1) / total
            assert share == pytest.approx(expected, abs=6 * np.sqrt(expected / 20_000)), choice


def test_log_integers_are_uniform_in_the_logarithm(space):
    some = space.sample(3000, np.random.default_rng(5), {"algorithm": "knn"})
    found = np.bincount([c["knn:n_neighbors"] for c in some], minlength=101)[1:]
    edges = np.log(np.arange(0.5, 101))
    expected = np.diff(edges) / (edges[-1] - edges[0]) * len(some)
    grouped = [np.add.reduceat(x, [0, 1, 2, 4, 8, 16, 32, 64]) for x in (found, expected)]
    assert stats.chisquare(*grouped).pvalue > 1e-4


def test_fixed_values_stay(space):
    fixed = {"algorithm": "lda", "lda:shrinkage": "manual", "lda:tol": 0.01}
    drawn = space.sample(20, np.random.default_rng(0), fixed)
    assert all(fixed.items() <= dict(c).items() for c in drawn)
    assert len({c["lda:shrinkage_factor"] for c in drawn}) == 20


def test_values_are_plain_python(form):
    drawn = form.sample(500, np.random.default_rng(7))
    types = {type(v) for c in drawn for v in c.values()}
    assert types == {type(h.default_value) for h in form.configspace.values()}
    assert types <= {bool, int, float, str}


def test_configurations_are_mappings(drawn):
    c = drawn[0]
    assert dict(c) == {name: c[name] for name in c}
    assert len(c) == len(dict(c)) == len(list(c))
    assert "nonsense" not in c
    assert c.get("nonsense") is None


#: Configurations of one are read by the other.
PAIRS = {key: (make(*key), make(*key)) for key in FORMS}


@pytest.mark.parametrize("pair", PAIRS, ids=" for ".join)
@settings(max_examples=15)
@given(seed=st.integers(0, 2**32 - 1))
def test_round_trip_through_json_keeps_every_bit(pair, seed):
    space, other = PAIRS[pair]
    drawn = other.sample(40, np.random.default_rng(seed))
    neighbours = space.neighbours(drawn[0], np.random.default_rng(seed))
    configurations = drawn + neighbours
    again = [space.configuration(json.loads(json.dumps(dict(c)))) for c in configurations]
    assert again == configurations
    assert [hash(c) for c in again] == [hash(c) for c in configurations]
    assert len({*again, *configurations}) == len(set(configurations))
    batch = space.encode(configurations)
    assert batch.tobytes() == space.encode(again).tobytes()
    alone = np.concatenate([space.encode([c]) for c in again])
    assert batch.tobytes() == alone.tobytes()


def test_order_of_the_values_does_not_matter(space, drawn):
    backwards = space.configuration(dict(reversed(list(drawn[0].items()))))
    assert backwards == drawn[0]
    assert hash(backwards) == hash(drawn[0])
    assert list(backwards) == list(drawn[0])


def test_bounds_and_numpy_scalars_round_trip(space):
    hyperparameter = space.configspace["kitchen_sinks:gamma"]
    for gamma in (hyperparameter.lower, np.float64(hyperparameter.upper), 0.1):
        values = {
            "rescaler": "none",
            "preprocessor": "kitchen_sinks",
            "algorithm": "qda",
            "qda:reg_param": 0,
            "kitchen_sinks:gamma": gamma,
            "kitchen_sinks:n_components": np.float64(50.0),  # as Parquet gives integers with nulls
        }
        c = space.configuration(values)
        assert c["kitchen_sinks:gamma"] == gamma
        assert type(c["kitchen_sinks:gamma"]) is type(c["qda:reg_param"]) is float
        assert type(c["kitchen_sinks:n_components"]) is int


def test_numbers_are_rounded_to_eight_digits():
    space = Made()
    c = space.configuration({"a": "x", "b": 0.0123456789123, "c": 5, "d": 0.8, "e": 1 / 3})
    assert c["b"] == 0.012345679
    assert c["e"] == 0.3333333
    assert c == space.configuration(dict(c))


def test_encoding_by_hand():
    space = Made()
    assert [c.name for c in space.columns] == ["a", "c", "d", "b", "e"]
    configurations = [
        space.configuration({"a": "x", "b": 0.1, "c": 10, "d": 0.9, "e": 2.0}),
        space.configuration({"a": "z", "c": 3, "d": 0.7}),
    ]
    expected = [
        [0, 1.0, 2 / 3, 0.75, 0.75],
        [2, 0.3, 0.0, 0.5, 0.25],  # b and e inactive: their defaults, 0.01 and 0
    ]
    assert np.allclose(space.encode(configurations), expected, atol=1e-12)
    assert space.encode([]).shape == (0, 5)
    assert space.categories.tolist() == [3, 0, 0, 0, 0]


def test_encoding_of_an_inactive_category_is_its_default(space):
    values = {"rescaler": "none", "preprocessor": "none", "algorithm": "qda", "qda:reg_param": 0.5}
    (row,) = space.encode([space.configuration(values)])
    starts = dict(zip(space.configspace, range(len(row)), strict=True))
    assert row[starts["libsvm_svc:kernel"]] == 0
    assert row[starts["knn:n_neighbors"]] == 0.0
    assert row[starts["qda:reg_param"]] == 0.5
    log_share = (math.log(0.1) - math.log(0.01)) / (math.log(2) - math.log(0.01))
    assert row[starts["adaboost:learning_rate"]] == pytest.approx(log_share, abs=1e-11)
    assert len(row) == len(space.columns)


def test_encoding_lies_in_the_domain_and_is_injective(form):
    drawn = form.sample(2000, np.random.default_rng(7))
    X = form.encode(drawn)
    assert X.min() >= 0
    assert (X.max(axis=0) <= np.maximum(form.categories - 1, 1)).all()
    assert len(np.unique(X, axis=0)) == len(set(drawn))


def test_neighbours_differ_in_one_hyperparameter(form):
    defaults = {c.name: c.values(np.array([c.default]))[0] for c in form.columns}
    for centre in form.sample(40, np.random.default_rng(7)):
        around = form.neighbours(centre, np.random.default_rng(0))
        assert len(set(around)) == len(around)
        for other in around:
            assert legal(form, other)
            changed = [n for n in centre if n in other and centre[n] != other[n]]
            assert len(changed) == 1, (centre, other)
            added = {n: other[n] for n in other if n not in centre}
            assert added == {n: defaults[n] for n in added}


def test_neighbours_are_all_there(space):
    values = {
        "rescaler": "robust",
        "robust:q_min": 0.2,
        "robust:q_max": 0.8,
        "preprocessor": "none",
        "algorithm": "lda",
        "lda:shrinkage": "none",
        "lda:n_components": 100,
        "lda:tol": 1e-3,
    }
    centre = space.configuration(values)
    around = space.neighbours(centre, np.random.default_rng(3))
    counts = {n: sum(n in c and c[n] != centre[n] for c in around) for n in centre}
    assert counts == {
        "rescaler": 5,
        "robust:q_min": 4,
        "robust:q_max": 4,
        "preprocessor": 15,
        "algorithm": 10,
        "lda:shrinkage": 2,
        "lda:n_components": 4,
        "lda:tol": 4,
    }


def test_neighbours_of_numbers_are_gaussian():
    space = Made()
    centre = space.configuration({"a": "x", "b": 0.01, "c": 5, "d": 0.8, "e": 1.0})
    rng = np.random.default_rng(0)
    found = [n for _ in range(400) for n in space.neighbours(centre, rng)]
    unit = (np.array([n["e"] for n in found if "e" in n and n["e"] != 1.0]) + 1) / 4
    assert len(unit) == 1600
    truncated = stats.truncnorm(-2.5, 2.5, loc=0.5, scale=0.2)
    assert stats.kstest(unit, truncated.cdf).pvalue > 1e-4
    logs = np.log10([n["b"] for n in found if "b" in n and n["b"] != 0.01])
    assert stats.kstest((logs + 4) / 4, truncated.cdf).pvalue > 1e-4
    # Four levels: every other one, each time.
    levels = [n["d"] for n in found if n["d"] != 0.8]
    assert sorted(set(levels)) == [0.7, 0.9, 1.0]
    assert len(levels) == 1200


def test_neighbours_at_a_bound_stay_inside():
    space = Made()
    centre = space.configuration({"a": "x", "b": 1e-4, "c": 10, "d": 0.7, "e": 3.0})
    around = [n for i in range(50) for n in space.neighbours(centre, np.random.default_rng(i))]
    assert all(1e-4 <= n["b"] <= 1 for n in around if "b" in n)
    assert all(-1 <= n["e"] <= 3 for n in around if "e" in n)
    moved = [n["b"] for n in around if "b" in n and n["b"] != 1e-4]
    assert len(moved) == 200


def test_many_neighbourhoods_at_once(form):
    centres = form.sample(30, np.random.default_rng(7))
    points, owners = form.neighbour_points(form.points(centres), np.random.default_rng(0))
    assert (np.diff(owners) >= 0).all()
    assert set(owners) == set(range(30))
    made = form.at(points)
    assert form.encode(made).tobytes() == form.encode_points(points).tobytes()
    for owner, other in zip(owners, made, strict=True):
        shared = [n for n in centres[owner] if n in other]
        assert sum(centres[owner][n] != other[n] for n in shared) == 1
    assert len(form.neighbour_points(form.points([]), np.random.default_rng(0))[0]) == 0


def test_conditions_on_numbers():
    space = Made()
    drawn = space.sample(300, np.random.default_rng(0))
    assert all(("e" in c) == (c["c"] > 4) for c in drawn)
    assert {c["c"] for c in drawn} == set(range(11))
    assert all(legal(space, c) for c in drawn)


def test_relations_between_numbers():
    space = Related()
    drawn = space.sample(500, np.random.default_rng(0))
    assert all(c["low"] <= c["high"] for c in drawn)
    assert any(c["low"] == c["high"] for c in drawn)
    around = space.neighbours(space.configuration({"low": 9, "high": 9}), np.random.default_rng(0))
    assert around
    assert all(c["low"] <= c["high"] for c in around)
    with pytest.raises(UserError, match="forbids"):
        space.configuration({"low": 9, "high": 8})


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"nonsense": 1}, "no hyperparameter 'nonsense'"),
        ({"algorithm": "svm"}, "'algorithm' must be one of"),
        ({"qda:reg_param": 1.5}, r"'qda:reg_param' must be a number in \[0, 1\], not 1.5"),
        ({"qda:reg_param": "0.5"}, "must be a number"),
        ({"qda:reg_param": float("nan")}, "must be a number"),
        ({"knn:n_neighbors": 3}, "'knn:n_neighbors' is inactive"),
        ({"rescaler": "robust"}, "'robust:q_m(in|ax)' is missing"),
    ],
)
def test_bad_values_get_one_line(space, change, message):
    good = {"rescaler": "none", "preprocessor": "none", "algorithm": "qda", "qda:reg_param": 0.5}
    assert dict(space.configuration(good)) == good
    with pytest.raises(UserError, match=message) as caught:
        space.configuration(good | change)
    assert "\n" not in str(caught.value)


def test_unsupported_hyperparameters_are_rejected():
    class Odd(Made):
        def define(self):
            return ConfigurationSpace({"k": ConfigSpace.Constant("k", 1)})

    with pytest.raises(UserError, match="'k': Constant is not supported"):
        Odd().sample(1, np.random.default_rng(0))


def test_integers_that_floats_do_not_hold_are_rejected():
    class Wide(Made):
        def define(self):
            return ConfigurationSpace([Integer("k", (0, self.most))])

    Wide.most = 2**53 - 1
    assert Wide().columns[0].upper == 2**53 - 1
    Wide.most = 2**53
    with pytest.raises(UserError, match="'k': integers beyond 2\\^53 are not supported"):
        Wide().columns[0]


def test_results_store_integers_beside_floats_as_floats():
    class Leaf(Made):
        def define(self):
            return ConfigurationSpace([Categorical("leaf", [1, 2.5]), Categorical("k", [1, 2])])

    types = {name: str(type_) for name, type_ in column_types(Leaf()).items()}
    assert types == {"leaf": "double", "k": "int64"}
    assert Leaf().configuration({"leaf": 1.0, "k": 2})["leaf"] == 1


@pytest.mark.parametrize(("task", "clauses"), [("classification", 3), ("regression", 1)])
def test_the_small_space_is_a_part_of_the_large_one(task, clauses):
    small, space = DivboSmall().for_task(task), Divbo().for_task(task)
    assert set(small.configspace) <= set(space.configspace)
    assert len(small.configspace.forbidden_clauses) == clauses
    drawn = small.sample(100, np.random.default_rng(0))
    assert all(legal(small, c) and space.configuration(c) == c for c in drawn)
    assert {c["algorithm"] for c in drawn} == set(small.configspace["algorithm"].choices)


def test_forms_are_spaces_of_their_own():
    space = Divbo()
    names, stages = list(space.configspace), space.stages  # cached before there is another form
    form = space.for_task("regression")
    assert (space.task, form.task) == ("classification", "regression")
    assert "ridge" in form.configspace["algorithm"].choices
    assert "lda" not in form.configspace["algorithm"].choices
    assert list(space.configspace) == names != list(form.configspace)
    assert space.stages is stages
    assert space.for_task("classification") is space
    assert form.for_task("regression") is form
    assert list(form.for_task("classification").configspace) == names


def test_forms_keep_what_is_fixed():
    part = Divbo().restricted({"rescaler": "minmax"}).for_task("regression")
    assert {c["rescaler"] for c in part.sample(20, np.random.default_rng(0))} == {"minmax"}
    with pytest.raises(UserError, match="'algorithm' must be one of"):
        Divbo().restricted({"algorithm": "lda"}).for_task("regression")


@pytest.mark.parametrize(
    ("made", "task", "message"),
    [
        (DivboSmall(), "ranking", "^space 'divbo-small' has no ranking form; "),
        (Made(), "regression", "has no regression form; use .* 'divbo', .* class Made .*'tasks'"),
    ],
)
def test_forms_that_do_not_exist_get_one_line(made, task, message):
    with pytest.raises(UserError, match=message) as caught:
        made.for_task(task)
    assert "\n" not in str(caught.value)


def test_spaces_are_found_by_name():
    assert plugins.load("spaces", "divbo") is Divbo
    assert plugins.load("spaces", "divbo-small") is DivboSmall
    assert {"autogluon-like", "divbo", "divbo-small"} <= set(plugins.available("spaces"))


def test_thousands_of_configurations_take_a_moment(space):
    rng = np.random.default_rng(0)
    space.sample(10, rng)
    start = time.process_time()
    drawn = space.sample(5000, rng)
    space.encode(drawn)
    space.neighbour_points(space.points(drawn[:50]), rng)
    assert time.process_time() - start < 1.0  # about 0.1 s on a quiet machine


def test_many_configurations_are_made_as_one_by_one():
    space = plugins.load("spaces", "divbo")()
    drawn = [dict(c) for c in space.sample(50, np.random.default_rng(0))]
    made = space.configurations(drawn)
    assert made == [space.configuration(values) for values in drawn]
    assert space.configurations([]) == []
    bad = dict(drawn[7])
    del bad["algorithm"]
    with pytest.raises(UserError, match="'algorithm' is missing"):
        space.configurations([*drawn[:7], bad])
