"""by_hand.md suffices to fit any configuration: here its tables are read, and it is done.

The calls of the tables are evaluated as they stand; what the page says in prose is written here a
second time, from the page. Of the project only spaces are imported, for their pipelines and to draw
configurations, ``align``, which lays out what a pipeline predicts, and ``TwoLayerPerceptron``: the
order of its sums decides the last bits.
"""

import ast
import builtins
import contextlib
import inspect
import json
import re
import subprocess
import warnings
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from types import SimpleNamespace

import catboost
import lightgbm
import numpy as np
import pandas as pd
import pyarrow.parquet
import pytest
import scipy.linalg
import scipy.special
import xgboost
from ConfigSpace import UniformIntegerHyperparameter
from sklearn import feature_selection
from sklearn.base import BaseEstimator, clone
from sklearn.datasets import load_breast_cancer, load_digits, load_wine
from sklearn.metrics.pairwise import pairwise_kernels
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import KernelCenterer, PolynomialFeatures
from sklearn.utils import all_estimators
from threadpoolctl import threadpool_limits

from ensemble_search.learners.mlp import TwoLayerPerceptron
from ensemble_search.problems.classification import align
from ensemble_search.spaces._boasf import Boasf, LogisticRegressionHpo, RandomForestHpo
from ensemble_search.spaces._esmbo import GradientBoosting, Mlp, RandomForest, Svm, Svr
from ensemble_search.spaces.autogluon_like import AutogluonLike
from ensemble_search.spaces.divbo import Divbo
from ensemble_search.spaces.divbo_small import DivboSmall
from support import ROOT, forks

pytestmark = pytest.mark.slow

SPACES = {
    "divbo": Divbo(),
    "divbo for regression": Divbo().for_task("regression"),
    "divbo-small": DivboSmall(),
    "autogluon-like": AutogluonLike(),
    "autogluon-like for regression": AutogluonLike().for_task("regression"),
    "svm": Svm(),
    "svr": Svr(),
    "random-forest": RandomForest(),
    "random-forest for regression": RandomForest().for_task("regression"),
    "gradient-boosting": GradientBoosting(),
    "gradient-boosting for regression": GradientBoosting().for_task("regression"),
    "mlp": Mlp(),
    "boasf": Boasf(),
    "random-forest-hpo": RandomForestHpo(),
    "logistic-regression-hpo": LogisticRegressionHpo(),
}
#: Headings of the tables by space and stage, in the order of the steps.
STAGES = {"rescaler": "Rescalers", "preprocessor": "Preprocessors", "algorithm": "Classifiers"}
TABLES = {
    "divbo": STAGES,
    "divbo for regression": STAGES
    | {"preprocessor": "Preprocessors for regression", "algorithm": "Regressors"},
    "divbo-small": STAGES,
    "autogluon-like": {"algorithm": "Learners of `autogluon-like`"},
    "autogluon-like for regression": {"algorithm": "Learners of `autogluon-like` for regression"},
    "boasf": {
        "variance_threshold": "Variance thresholds",
        "rescaler": "Rescalers",
        "balancing": "Balancing",
        "algorithm": "Classifiers of `boasf`",
    },
}
#: Tables that lack what is in another one.
OTHERS = {
    "Preprocessors": "Preprocessors for regression",
    "Classifiers": "Classifiers of `boasf`",
}
#: The spaces without choices, and the heading of their table.
ONE_LEARNER = [space for space in SPACES if space not in TABLES]
LEARNERS = "Learners of one-learner spaces"

# The page


@dataclass(frozen=True)
class Row:
    """A row of a table: what is called for an operator, under a condition if there is one."""

    operator: str
    condition: str
    call: str  # empty: the data are left as they are
    by_name: tuple[str, ...]
    without_effect: tuple[str, ...]

    def hyperparameters(self) -> set[str]:
        """Every hyperparameter that the row speaks of."""
        parsed = (ast.parse(text, mode="eval") for text in (self.condition, self.call or "None"))
        names = {n.id for tree in parsed for n in ast.walk(tree) if isinstance(n, ast.Name)}
        known = {"n", "p", "categorical", "score", "regression_score"}
        named = names - {*vars(builtins), *NAMES, *known}
        return {*named, *self.by_name, *self.without_effect}


@cache
def table(heading: str) -> list[Row]:
    """Read the table under a heading of by_hand.md."""
    page = Path(__file__).with_name("by_hand.md").read_text(encoding="utf-8")
    lines = page.split(f"### {heading}\n", 1)[1].split("\n#", 1)[0].splitlines()
    rows = []
    for line in [line for line in lines if line.startswith("|")][2:]:
        operator, call, by_name, without = (
            re.findall(r"`([^`]+)`", cell) for cell in line.strip("|").split("|")
        )
        assert call or "as it is" in line
        name, condition = (*operator, "True")[:2]
        rows.append(Row(name, condition, *(call or [""]), tuple(by_name), tuple(without)))
    if heading in (others := {v: k for k, v in OTHERS.items()}):
        there = {row.operator for row in rows}
        rows += [row for row in table(others[heading]) if row.operator not in there]
    return rows


# What the page says in prose


class SammeR(BaseEstimator):
    def __init__(self, estimator, n_estimators, learning_rate):
        self.estimator = estimator
        self.n_estimators = n_estimators
        self.learning_rate = learning_rate

    def logarithms(self, tree, X):
        probabilities = np.zeros((len(X), len(self.classes_)))
        probabilities[:, np.searchsorted(self.classes_, tree.classes_)] = tree.predict_proba(X)
        return np.log(np.maximum(probabilities, 2.0**-52))

    def fit(self, X, y, sample_weight=None):
        self.classes_, c = np.unique(y, return_inverse=True)
        K, N = len(self.classes_), len(y)
        seeds = np.random.RandomState(1)
        weights = np.ones(N) / N if sample_weight is None else sample_weight / sample_weight.sum()
        self.trees = []
        while len(self.trees) < self.n_estimators:
            tree = clone(self.estimator).set_params(random_state=seeds.randint(2**31 - 1))
            self.trees.append(tree.fit(X, y, sample_weight=weights))
            wrong = self.logarithms(tree, X).argmax(axis=1) != c
            if not (weights[wrong] > 0).any():
                break
            logs = self.logarithms(tree, X)
            own = logs[np.arange(N), c]
            others = (logs.sum(axis=1) - own) / (K - 1)
            weights = weights * np.exp(-self.learning_rate * (K - 1) / K * (own - others))
            total = weights.sum()
            if total == 0 or not np.isfinite(total):
                break
            weights = weights / total
        return self

    def predict_proba(self, X):
        total = 0
        for tree in self.trees:
            logs = self.logarithms(tree, X)
            total = total + (logs - logs.mean(axis=1, keepdims=True))
        return scipy.special.softmax(total / len(self.trees), axis=1)


class Scores(BaseEstimator):
    def __init__(self, estimator):
        self.estimator = estimator

    def fit(self, X, y, sample_weight=None):
        self.classes_ = self.estimator.fit(X, y, sample_weight=sample_weight).classes_
        return self

    def predict_proba(self, X):
        scores = self.estimator.decision_function(X)
        if len(self.classes_) > 2:
            return scipy.special.softmax(scores, axis=1)
        positive = scipy.special.expit(np.clip(scores, -20, 20))
        positive[positive > 0.999999] = 1
        positive[positive < 1e-7] = 0
        return np.stack([1 - positive, positive], axis=1)


class Selection(BaseEstimator):
    def __init__(self, estimator):
        self.estimator = estimator

    def fit(self, X, y):
        selector = self.estimator.fit(X, y)
        self.selected = selector.get_support(indices=True)
        if not len(self.selected):
            if hasattr(selector, "scores_"):
                scores = np.where(np.isnan(selector.scores_), -np.inf, selector.scores_)
            elif hasattr(selector.estimator_, "coef_"):
                scores = abs(selector.estimator_.coef_).sum(axis=0)
            else:
                scores = selector.estimator_.feature_importances_
            self.selected = [np.argmax(scores)]
        return self

    def transform(self, X):
        return X[:, self.selected]


class KernelComponents(BaseEstimator):
    def __init__(self, n_components=None, kernel=None, gamma=None, degree=3, coef0=1):
        self.n_components = n_components
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0

    def kernels(self, X):
        given = {"gamma": self.gamma, "degree": self.degree, "coef0": self.coef0}
        return pairwise_kernels(X, self.rows, metric=self.kernel, filter_params=True, **given)

    def fit(self, X, y):
        self.rows = X
        if len(X) > 5000:
            chosen = np.random.RandomState(1).choice(len(X), 5000, replace=False)
            self.rows = X[np.sort(chosen)]
        n = len(self.rows)
        self.centerer = KernelCenterer().fit(self.kernels(self.rows))
        values, vectors = scipy.linalg.eigh(
            self.centerer.transform(self.kernels(self.rows)),
            subset_by_index=[n - min(self.n_components, n), n - 1],
        )
        kept = []
        for i in range(len(values))[::-1]:
            if i == len(values) - 1 or values[i] > 1e-12 * max(values):
                vector = vectors[:, i] / np.sqrt(max(values[i], np.finfo(float).tiny))
                kept.append(vector * np.sign(vector[abs(vectors[:, i]).argmax()]))
        self.vectors = np.array(kept, order="C").T
        return self

    def transform(self, X):
        return self.centerer.transform(self.kernels(X)) @ self.vectors


class CategoricalProducts(BaseEstimator):
    def __init__(self, categorical, random_state=None):
        self.categorical = categorical
        self.random_state = random_state

    def fit(self, X, y):
        columns = np.flatnonzero(self.categorical)
        if len(columns) > 200:
            draw = np.random.RandomState(self.random_state)
            columns = sorted(draw.choice(columns, 200, replace=False))
        self.pairs = []
        for place, i in enumerate(columns):
            for j in columns[place + 1 :]:
                product = X[:, i] * X[:, j]
                if np.var(product) > 1e-12 * np.mean(product**2):
                    self.pairs.append((i, j))
        return self

    def transform(self, X):
        return np.column_stack([X, *(X[:, i] * X[:, j] for i, j in self.pairs)])


class ImportantPolynomials(BaseEstimator):
    def __init__(
        self, n_columns, ranker=None, categorical=None, degree=None, interaction_only=None
    ):
        self.n_columns = n_columns
        self.ranker = ranker
        self.categorical = categorical
        self.degree = degree
        self.interaction_only = interaction_only

    def fit(self, X, y):
        self.columns = np.flatnonzero(~self.categorical)
        if self.categorical.all():
            self.columns = np.arange(X.shape[1])
        if len(self.columns) > self.n_columns:
            ranker = self.ranker or NAMES["LGBMClassifier"](random_state=1)
            ranker.fit(X[:, self.columns], y)
            order = sorted(
                range(len(self.columns)), key=lambda i: (-ranker.feature_importances_[i], i)
            )
            self.columns = self.columns[sorted(order[: self.n_columns])]
        return self

    def transform(self, X):
        powers = PolynomialFeatures(
            self.degree, interaction_only=self.interaction_only, include_bias=False
        ).fit_transform(X[:, self.columns])
        return np.column_stack([X, powers[:, len(self.columns) :]])


class ConsecutiveLabels(BaseEstimator):
    def __init__(self, estimator):
        self.estimator = estimator

    def fit(self, X, y, sample_weight=None):
        self.classes_ = np.unique(y)
        self.estimator.fit(X, np.searchsorted(self.classes_, y), sample_weight=sample_weight)
        return self

    def predict_proba(self, X):
        return self.estimator.predict_proba(X)


class OneVsRest(BaseEstimator):
    def __init__(self, estimator):
        self.estimator = estimator

    def fit(self, X, y, sample_weight=None):
        self.classes_, self.models = np.unique(y), []
        for label in self.classes_[len(self.classes_) == 2 :]:
            model = clone(self.estimator).fit(X, y == label, sample_weight=sample_weight)
            if model.n_iter_.max() == model.max_iter:
                raise ValueError("it does not converge")
            self.models.append(model)
        return self

    def predict_proba(self, X):
        shares = np.transpose([model.predict_proba(X)[:, 1] for model in self.models])
        if len(self.classes_) == 2:
            shares = np.hstack([1 - shares, shares])
        return shares / shares.sum(axis=1, keepdims=True)


class EarlyStopping(BaseEstimator):
    def __init__(self, estimator):
        self.estimator = estimator

    def fit(self, X, y):
        codes = np.zeros(len(y), dtype=int)
        if hasattr(self.estimator, "predict_proba"):
            self.classes_, codes = np.unique(y, return_inverse=True)
            y = codes
        rng = np.random.default_rng(1)
        held: list[int] = []
        for code in range(codes.max() + 1):
            rows = np.flatnonzero(codes == code)
            drawn = rng.permutation(rows)
            if len(rows) > 1:
                held.extend(drawn[: max(1, round(0.1 * len(rows)))])
        held.sort()
        left = np.delete(np.arange(len(y)), held)
        quiet = {} if "LGBM" in type(self.estimator).__name__ else {"verbose": False}
        self.estimator.fit(X[left], y[left], eval_set=[(X[held], y[held])], **quiet)
        return self

    def predict(self, X):
        return self.estimator.predict(X)

    def predict_proba(self, X):
        return self.estimator.predict_proba(X)


def positive_part(X):
    return np.maximum(X, 0)


LIGHTGBM = {"deterministic": True, "force_col_wise": True, "n_jobs": 1, "verbosity": -1}
CATBOOST = {"thread_count": 1, "allow_writing_files": False}
#: What the calls of the tables may name, besides hyperparameters and the data's n, p, categorical.
NAMES = dict(all_estimators()) | {
    "LGBMClassifier": partial(lightgbm.LGBMClassifier, **LIGHTGBM),
    "LGBMRegressor": partial(lightgbm.LGBMRegressor, **LIGHTGBM),
    "XGBClassifier": partial(xgboost.XGBClassifier, n_jobs=1),
    "XGBRegressor": partial(xgboost.XGBRegressor, n_jobs=1),
    "CatBoostClassifier": partial(catboost.CatBoostClassifier, **CATBOOST),
    "CatBoostRegressor": partial(catboost.CatBoostRegressor, **CATBOOST),
    "make_pipeline": make_pipeline,
    "positive_part": positive_part,
    "f_regression": feature_selection.f_regression,
    "np": np,
    **{c.__name__: c for c in (SammeR, Scores, Selection, KernelComponents)},
    **{c.__name__: c for c in (CategoricalProducts, ImportantPolynomials, EarlyStopping)},
    "ConsecutiveLabels": ConsecutiveLabels,
    "OneVsRest": OneVsRest,
    "TwoLayerPerceptron": TwoLayerPerceptron,
}


def score_functions(categorical):
    return {
        "chi2": lambda X, y: feature_selection.chi2(positive_part(X), y),
        "f_classif": feature_selection.f_classif,
        "mutual_info": lambda X, y: feature_selection.mutual_info_classif(
            X, y, discrete_features=categorical, random_state=1
        ),
    }


def regression_score_functions(categorical):
    return {
        "f_regression": feature_selection.f_regression,
        "mutual_info": lambda X, y: feature_selection.mutual_info_regression(
            X, y, discrete_features=categorical, random_state=1
        ),
    }


def innermost(estimator):
    if hasattr(estimator, "steps"):
        return innermost(estimator.steps[-1][1])
    inner = estimator.get_params(deep=False).get("estimator")
    return estimator if inner is None else innermost(inner)


def build(rows, name, values, X, categorical):
    """Build the estimator of an operator by its rows; None if the data stay as they are."""
    n, p = X.shape
    data = {"n": n, "p": p, "categorical": categorical, "score": score_functions(categorical)}
    data["regression_score"] = regression_score_functions(categorical)
    known = NAMES | data | values
    (row,) = (r for r in rows if r.operator == name and eval(r.condition, known))
    assert values.keys() <= row.hyperparameters()
    if not row.call:
        return None
    estimator = eval(row.call, known)
    parameters = estimator.get_params()
    seeded = [key for key in parameters if key.split("__")[-1] == "random_state"]
    estimator.set_params(**dict.fromkeys(seeded, 1))
    if "categorical" in parameters:
        estimator.set_params(categorical=categorical)
    by_name = {key: values[key] for key in row.by_name if key in values}
    innermost(estimator).set_params(**by_name)
    return estimator


def fit_by_hand(space, configuration, X, y, categorical, parts, n_classes):
    """Fit to X and y; return what is stored of the predictions of the parts.

    Of a regression, which has no ``n_classes``, the predictions themselves.
    """
    parts = list(parts)
    *before, learner = steps(space, configuration)
    for heading, name, values in before:
        step = build(table(heading), name, values, X, categorical)
        if step is not None:
            step.fit(X, y)
            X, *parts = (plain(step.transform(part)) for part in (X, *parts))
            if not all(np.isfinite(part).all() for part in (X, *parts)):
                raise ValueError("not finite")
    heading, name, values = learner
    step = build(table(heading), name, values, X, categorical)
    step.fit(X, y, **weights(step, y) if configuration.get("balancing") == "weights" else {})
    if n_classes is None:
        return [step.predict(part).astype(np.float64) for part in parts]
    return [stored(step.predict_proba(part), step.classes_, n_classes) for part in parts]


def weights(step, y):
    """What fit is given so that classes have the same total weight, if it takes weights."""
    last = step.steps[-1] if hasattr(step, "steps") else ("", step)
    if "sample_weight" not in inspect.signature(last[1].fit).parameters:
        return {}
    of_rows = np.array([len(y) / (len(np.unique(y)) * np.sum(y == label)) for label in y])
    return {f"{last[0]}__sample_weight".removeprefix("__"): of_rows}


def steps(space, configuration):
    """Headings of the tables, operators and their values by short names, in order."""
    if space in ONE_LEARNER:
        return [(LEARNERS, space, dict(configuration))]
    found: list = []
    for stage, heading in TABLES[space].items():
        prefix = f"{configuration[stage]}:"
        values = {k.split(":")[1]: v for k, v in configuration.items() if k.startswith(prefix)}
        found.append((heading, configuration[stage], values))
    return found


def plain(X):
    X = X.toarray() if hasattr(X, "toarray") else X
    return np.array(X, dtype=np.float64, order="C")


def stored(given, classes, n_classes):
    given = np.array(given, dtype=np.float64)
    given = given / given.sum(axis=1, keepdims=True)
    full = np.zeros((len(given), n_classes))
    full[:, classes] = given
    full = full / full.max(axis=1, keepdims=True)
    full = (full / full.sum(axis=1, keepdims=True)).astype(np.float32)
    return full[:, 1:] if n_classes == 2 else full


# The comparison


@cache
def data(name):
    """X and y of training rows, two parts to predict, which columns are categorical, classes."""
    rng = np.random.default_rng(0)
    source = {"binary": load_breast_cancer, "coin": load_breast_cancer, "digits": load_digits}
    X, y = source.get(name, load_wine)(return_X_y=True)
    n, size = (
        len(y),
        {"large": 5100, "deep": 1000, "huge": 10100, "digits": 160, "lacking": 60}.get(name, 100),
    )
    order, numeric = rng.permutation(n), X.shape[1]
    if name in ("noise", "coin"):  # labels that columns say little of: boosters stop early,
        X = rng.normal(size=(n, 8)) if name == "noise" else X[:, :8]  # and selections are empty
        y = np.where(rng.random(n) < 0.5, rng.permutation(y), y)
    elif name == "digits":
        X = X[:, X.var(axis=0) > 1]
    elif name in ("mixed", "categorical"):  # five numbers, and the others in thirds, one-hot
        thirds = [np.digitize(x, np.quantile(x, [0.3, 0.7])) for x in X[:, 5:].T]
        numeric = 5 if name == "mixed" else 0
        X = np.column_stack([X[:, :numeric], *(x == k for x in thirds for k in range(3))])
    elif name == "wide":  # more than 200 categorical columns
        X = np.column_stack([X, rng.random((n, 205)) < 0.5])
    elif name in ("single", "couple"):
        X, numeric = (X[:, 6:7], 1) if name == "single" else (X[:, 5:7], 0)
    elif name == "deep":  # trees peel off class by class, and would be deeper than is allowed
        order, numeric = rng.permutation(size + 200), 1
        X, y = np.sort(order)[:, None], np.sort(order) // 10 % 2
    elif name in ("large", "huge"):
        drawn = rng.integers(n, size=size + 100)
        X, y, order = X[drawn] * rng.normal(1, 0.2, (len(drawn), numeric)), y[drawn], slice(None)
    elif name == "lacking":  # training rows: none of class 1, one of class 3, two of class 4
        y = y.copy()
        y[0], y[1:3] = 3, 4
        order = np.concatenate([[0, 1, 2], order[(y[order] != 1) & (order > 2)]])
    X, y, categorical = X[order].astype(float), y[order], np.arange(X.shape[1]) >= numeric
    parts = X[size - 10 : size + 10], X[size + 10 : size + 200]
    return X[:size], y[:size], parts, categorical, y.max() + 1


def regression_data(name):
    """The same, with noisy classes for a target, and no classes."""
    X, y, parts, categorical, _ = data(name)
    y = y + np.random.default_rng(1).normal(0, 0.3, len(y))
    return X, (y - y.mean()) / y.std(), parts, categorical, None


@contextlib.contextmanager
def quietly():
    """Compute on one thread, and without warnings."""
    with threadpool_limits(1), warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        yield


def for_regression(space):
    return SPACES[space].task == "regression"


def compare(space, configuration, name):
    """Fit by the project and by hand; whether the pipeline fits at all."""
    of_task = regression_data if for_regression(space) else data
    X, y, parts, categorical, n_classes = of_task(name)
    np.random.seed(7)  # nothing may depend on it, nor draw from it
    before = np.random.get_state()[1:3]
    with quietly():
        try:
            pipeline = SPACES[space].pipeline(configuration, categorical, 1).fit(X.copy(), y.copy())
            theirs = [
                pipeline.predict(part)
                if n_classes is None
                else align(pipeline.predict_proba(part), pipeline.classes_, len(part), n_classes)
                for part in parts
            ]
        except (ValueError, np.linalg.LinAlgError) as error:
            with pytest.raises(type(error)):
                fit_by_hand(space, configuration, X, y, categorical, parts, n_classes)
            return False
        after = np.random.get_state()[1:3]
        ours = fit_by_hand(space, configuration, X, y, categorical, parts, n_classes)
    assert np.array_equal(before[0], after[0]) and before[1] == after[1], "draws from numpy"
    for mine, other in zip(ours, theirs, strict=True):
        kept = other[:, 1:] if n_classes == 2 else other
        np.testing.assert_array_equal(mine, kept, err_msg=f"{name}: {dict(configuration)}")
    return True


def draws(space, stage, operator, fixed, least):
    """Draw configurations until every choice of the operator's hyperparameters has occurred.

    Integers (of which many are clipped by the data) have occurred at their lower end, too.
    """
    rng = np.random.default_rng(5)
    own = {n: h for n, h in SPACES[space].configspace.items() if n.startswith(f"{operator}:")}
    missing = {(name, choice) for name, h in own.items() for choice in getattr(h, "choices", ())}
    found = []
    for configuration in SPACES[space].sample(200, rng, {**fixed, stage: operator}):
        new = missing & set(configuration.items())
        if new or len(found) < least:
            found.append(configuration)
            missing -= new
    assert not missing
    for name in [name for name, h in own.items() if isinstance(h, UniformIntegerHyperparameter)]:
        lowest = SPACES[space].sample(50, rng, {**fixed, stage: operator, name: own[name].lower})
        found += [c for c in lowest if name in c][:1]
    return found


#: Of a rescaler or preprocessor the learner; it follows the data steadily and is quick.
STEADY = {
    "algorithm": "logistic_regression",
    "logistic_regression:solver": "liblinear",
    "logistic_regression:penalty": "l2",
}
LINEAR = {**STEADY, "rescaler": "standard"}
RIDGE = {"algorithm": "ridge", "rescaler": "standard"}
#: Not fitted again for regression: what builds the same operator for classification.
SHARED = {o.build for operators in SPACES["divbo"].stages.values() for o in operators}
CASES = [
    (space, stage, operator)
    for space in TABLES
    if space != "divbo-small"
    for stage, operators in SPACES[space].stages.items()
    if stage in STAGES
    for operator in (o.name for o in operators if space == "divbo" or o.build not in SHARED)
]
#: Many trees or rounds: cheap values, other than the defaults of the libraries.
CHEAP = {
    "adaboost": {"adaboost:n_estimators": 60},
    "catboost": {"catboost:learning_rate": 0.2},
}
#: Boosters of `boasf`, many trees: cheap values of theirs, instead of all.
BOOSTERS = {
    "adaboost": {"adaboost:n_estimators": 50},
    "gradient_boosting": {"gradient_boosting:n_estimators": 50},
    "xgboost": {"xgboost:max_depth": 3, "xgboost:booster": "gbtree"},
}


@pytest.mark.parametrize(
    ("space", "stage", "operator"),
    [c for c in CASES if (c[0], c[2] in BOOSTERS) != ("boasf", True)],
)
def test_every_operator(space, stage, operator):
    fixed = {
        "rescaler": STEADY | {"preprocessor": "none"},
        "preprocessor": RIDGE if for_regression(space) else LINEAR,
        "algorithm": CHEAP.get(operator, {})
        | ({"preprocessor": "none"} if "preprocessor" in TABLES[space] else {}),
    }[stage]
    autogluon = space.startswith("autogluon-like")
    sets = ("noise", "coin") if autogluon else ("wine", "binary", "mixed", "digits")
    slow = {"extra_trees", "catboost"} | ({"random_forest"} if autogluon else set())
    configurations = draws(space, stage, operator, fixed, 2 if operator in slow else len(sets))
    fitted = [compare(space, c, sets[i % len(sets)]) for i, c in enumerate(configurations)]
    assert sum(fitted) >= 0.6 * len(fitted)


@pytest.mark.parametrize("balancing", ["none", "weights"])
@pytest.mark.parametrize("booster", BOOSTERS)
def test_boosters_of_boasf(booster, balancing):
    fixed = {"algorithm": booster, "balancing": balancing, **BOOSTERS[booster]}
    (configuration,) = SPACES["boasf"].sample(1, np.random.default_rng(5), fixed)
    assert compare("boasf", configuration, "binary")


def test_dart():
    """Fitting takes seconds: here what is built is compared."""
    fixed = {"algorithm": "xgboost", "xgboost:booster": "dart"}
    (configuration,) = SPACES["boasf"].sample(1, np.random.default_rng(5), fixed)
    heading, name, values = steps("boasf", configuration)[-1]
    ours = build(table(heading), name, values, np.zeros((3, 2)), np.zeros(2, bool))
    theirs = SPACES["boasf"].stages["algorithm"][-1].build(values, SimpleNamespace(threads=1))
    expected = theirs.estimator.get_params() | {"verbosity": None}
    np.testing.assert_equal(ours.estimator.get_params(), expected)


@pytest.mark.parametrize("space", ONE_LEARNER)
def test_every_space_of_one_learner(space):
    sets = ("wine", "binary", "mixed", "digits", "single")
    drawn = SPACES[space].sample(10, np.random.default_rng(5))
    for column in SPACES[space].columns:
        assert not column.categorical or {c[column.name] for c in drawn} == set(column.choices)
    fitted = len(sets) if "boosting" in space else 2 if "hpo" in space else 10
    for i, configuration in enumerate(drawn[:fitted]):
        assert compare(space, configuration, sets[i % len(sets)])


#: What the operators do at the limits of the data: data, fixed values.
LIMITS = {
    "svd of one column": ("single", LINEAR | {"preprocessor": "svd"}),
    "clusters of one column": ("single", LINEAR | {"preprocessor": "feature_agglomeration"}),
    "svd of two columns": ("couple", LINEAR | {"preprocessor": "svd"}),
    "clusters of two columns": ("couple", LINEAR | {"preprocessor": "feature_agglomeration"}),
    "product of two categories": ("couple", LINEAR | {"preprocessor": "cross_features"}),
    "more than 200 categories": ("wide", LINEAR | {"preprocessor": "cross_features"}),
    "polynomials without numbers": ("categorical", LINEAR | {"preprocessor": "polynomial"}),
    "embedding of many rows": (
        "large",
        LINEAR
        | {"preprocessor": "random_trees_embedding", "random_trees_embedding:n_estimators": 10}
        | {"random_trees_embedding:max_depth": 9, "logistic_regression:C": 0.1},
    ),
    "nothing selected": (
        "noise",
        LINEAR
        | {"preprocessor": "select_generic_univariate", "select_generic_univariate:mode": "fwe"}
        | {"select_generic_univariate:alpha": 0.01},
    ),
    "largest of clusters": (
        "digits",
        LINEAR
        | {"preprocessor": "feature_agglomeration", "feature_agglomeration:n_clusters": 4}
        | {"feature_agglomeration:pooling_func": "max"},
    ),
    "medians of clusters": (
        "digits",
        LINEAR
        | {"preprocessor": "feature_agglomeration", "feature_agglomeration:n_clusters": 4}
        | {"feature_agglomeration:pooling_func": "median"},
    ),
    "directions that lda drops": (
        "binary",
        {"algorithm": "lda", "rescaler": "standard", "preprocessor": "none"}
        | {"lda:shrinkage": "none", "lda:tol": 0.09},
    ),
    "quantiles of many rows": (
        "huge",
        {"algorithm": "lda", "lda:shrinkage": "auto", "preprocessor": "none"}
        | {"rescaler": "quantile", "quantile:n_quantiles": 50},
    ),
    "iterations of libsvm": (
        "wine",
        {"algorithm": "libsvm_svc", "rescaler": "none", "preprocessor": "none"}
        | {"libsvm_svc:kernel": "poly", "libsvm_svc:degree": 2, "libsvm_svc:C": 30000.0}
        | {"libsvm_svc:gamma": 1e-4, "libsvm_svc:tol": 1e-5},
    ),
    "iterations of saga": (
        "wine",
        {"algorithm": "logistic_regression", "rescaler": "none", "preprocessor": "none"}
        | {"logistic_regression:solver": "saga", "logistic_regression:tol": 1e-5},
    ),
    "probabilities of 0 and 1": (
        "binary",
        {"algorithm": "liblinear_svc", "rescaler": "quantile", "preprocessor": "none"}
        | {"liblinear_svc:C": 1000.0},
    ),
    "depth of LightGBM": (
        "deep",
        {"algorithm": "lightgbm", "rescaler": "none", "preprocessor": "none"}
        | {"lightgbm:num_leaves": 200, "lightgbm:min_child_samples": 5}
        | {"lightgbm:n_estimators": 100, "lightgbm:learning_rate": 0.001},
    ),
    "mutual information with categories": (
        "mixed",
        LINEAR
        | {"preprocessor": "select_percentile", "select_percentile:percentile": 60.0}
        | {"select_percentile:score_func": "mutual_info"},
    ),
    "nothing selected for regression": (
        "noise",
        RIDGE
        | {"preprocessor": "select_generic_univariate", "select_generic_univariate:mode": "fwe"}
        | {"select_generic_univariate:alpha": 0.01},
    ),
    "mutual information for regression": (
        "mixed",
        RIDGE
        | {"preprocessor": "select_percentile", "select_percentile:percentile": 60.0}
        | {"select_percentile:score_func": "mutual_info"},
    ),
    "iterations of libsvm for regression": (
        "wine",
        {"algorithm": "libsvm_svr", "rescaler": "none", "preprocessor": "none"}
        | {"libsvm_svr:kernel": "poly", "libsvm_svr:degree": 2, "libsvm_svr:C": 30000.0}
        | {"libsvm_svr:gamma": 1e-4, "libsvm_svr:tol": 1e-5},
    ),
    "depth of LightGBM for regression": (
        "deep",
        {"algorithm": "lightgbm", "rescaler": "none", "preprocessor": "none"}
        | {"lightgbm:num_leaves": 200, "lightgbm:min_child_samples": 5}
        | {"lightgbm:n_estimators": 100, "lightgbm:learning_rate": 0.001},
    ),
    "more components than dimensions": (
        "single",
        {"algorithm": "lda", "lda:shrinkage": "none", "lda:tol": 1e-4, "rescaler": "standard"}
        | {"preprocessor": "kernel_pca", "kernel_pca:kernel": "poly", "kernel_pca:degree": 2}
        | {"kernel_pca:n_components": 50},
    ),
}


@pytest.mark.parametrize("limit", LIMITS)
def test_limits(limit):
    name, fixed = LIMITS[limit]
    space = "divbo for regression" if "regression" in limit else "divbo"
    for configuration in SPACES[space].sample(2, np.random.default_rng(1), fixed):
        assert compare(space, configuration, name)


def test_kernel_pca_of_many_rows(monkeypatch):
    """Decomposing its matrix would take long: here the columns of the matrix are the vectors."""

    def eigh(matrix, subset_by_index):
        first, last = subset_by_index
        assert len(matrix) == 5000 == last + 1
        return np.linspace(0.1, 1, last - first + 1), matrix[:, first : last + 1].copy()

    monkeypatch.setattr(scipy.linalg, "eigh", eigh)
    monkeypatch.setattr("ensemble_search.learners.kernels.eigh", eigh)
    fixed = LINEAR | {"preprocessor": "kernel_pca", "kernel_pca:n_components": 10}
    (configuration,) = SPACES["divbo"].sample(1, np.random.default_rng(1), fixed)
    assert compare("divbo", configuration, "large")


@pytest.mark.parametrize(
    ("space", "operator"),
    [(s, o) for s, k, o in CASES if k == "algorithm" and not for_regression(s)],
)
def test_classes_that_the_training_rows_lack(space, operator):
    fixed = {"algorithm": operator}
    if space == "divbo":
        fixed |= {"rescaler": "standard", "preprocessor": "none"}
    rng = np.random.default_rng(1)
    if operator == "qda":  # fails, as a class has one row
        assert not compare(space, *SPACES[space].sample(1, rng, fixed), "lacking")
    else:
        fixed |= (BOOSTERS if space == "boasf" else CHEAP).get(operator, {})
        assert compare(space, *SPACES[space].sample(1, rng, fixed), "lacking")


@pytest.mark.parametrize("space", [s for s in ONE_LEARNER if not for_regression(s)])
def test_classes_that_the_training_rows_of_one_learner_lack(space):
    assert compare(space, *SPACES[space].sample(1, np.random.default_rng(1)), "lacking")


def test_tables_name_what_the_spaces_have():
    """An operator or hyperparameter that is added, taken away or renamed is noticed."""
    assert {row.operator for row in table(LEARNERS)} == set(ONE_LEARNER)
    for space in ONE_LEARNER:
        rows = [row for row in table(LEARNERS) if row.operator == space]
        described = set().union(*(row.hyperparameters() for row in rows))
        assert described == set(SPACES[space].configspace), space
    for space, stages in TABLES.items():
        names = SPACES[space].configspace
        assert set(stages) == {name for name in names if ":" not in name}
        for stage, heading in stages.items():
            described = {row.operator for row in table(heading)}
            if space == "divbo-small":
                assert set(names[stage].choices) < described
            elif heading in OTHERS.values():
                missing = described - set(names[stage].choices)
                assert missing in (
                    {"lda_decomposer", "liblinear_selector"},  # need classes
                    {"lightgbm", "logistic_regression"},
                )
            else:
                assert set(names[stage].choices) == described
            for operator in names[stage].choices:
                theirs = {n.split(":")[1] for n in names if n.startswith(f"{operator}:")}
                rows = [row for row in table(heading) if row.operator == operator]
                assert theirs == set().union(*(row.hyperparameters() for row in rows)), operator


# From the data to the files of a search


def mixed_file(folder):
    """A CSV with numbers, booleans, words, missing values, and columns that are dropped."""
    X, y = load_wine(return_X_y=True)
    rng = np.random.default_rng(3)
    frame = pd.DataFrame({"place": np.arange(len(y)) / 7, "one": 1.5})
    frame["grape"] = np.where(rng.random(len(y)) < 0.2, None, np.digitize(X[:, 9], [3, 5, 8]))
    frame["grape"] = frame["grape"].map({0: "pinot", 1: "arneis", 2: "merlot", 3: "shiraz"})
    for i in (0, 6, 11):
        frame[f"x{i}"] = np.where(rng.random(len(y)) < 0.1, np.nan, X[:, i])
    frame["sweet"] = rng.random(len(y)) < 0.3 + 0.3 * (y == 1)
    frame["soil"] = np.where(rng.random(len(y)) < 0.5, "clay", "sand")
    frame.loc[4, "soil"] = "rock"
    frame["label"] = np.where(y == 1, "red", "blue")
    frame.to_csv(folder / "mixed.csv", index=False)
    return {"file": "mixed.csv", "target": "label"}


def by_hand(frame, train):
    """Base preparation of the numbers, booleans and words of a frame."""
    kinds = [frame.columns[frame.dtypes == kind] for kind in (float, bool)]
    columns = {name: frame[name].fillna(frame.loc[train, name].median()) for name in kinds[0]}
    columns |= {name: frame[name].astype(float) for name in kinds[1]}
    for name in frame.columns.difference([*kinds[0], *kinds[1]], sort=False):
        counts = frame.loc[train, name].value_counts().sort_index()
        values = frame[name].fillna(counts.idxmax())
        columns |= {f"{name}={value}": (values == value).astype(float) for value in counts.index}
    made = pd.DataFrame(columns)
    return made.loc[:, made.loc[train].var(ddof=0) > 1e-7]


def script(folder, name, **arguments):
    words = [word for key, value in arguments.items() for word in (f"--{key}", str(value))]
    command = ["python", str(ROOT / f"workflow_scripts/{name}.py"), *words]
    environment = forks.environment(folder)
    done = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def reproduced(space, inputs, search):
    """Fit all evaluations of a search that succeeded; return their number."""
    parts = [inputs[f"X_{part}"] for part in ("validation", "test")]
    runs = pyarrow.parquet.read_table(search / "observations.parquet").to_pylist()
    theirs = [np.load(search / f"predictions-{part}.npy") for part in ("validation", "test")]
    done = [run for run in runs if run["status"] == "ok"]
    for run in done:
        values = {k.removeprefix("config."): v for k, v in run.items() if k.startswith("config.")}
        values = {k: v for k, v in values.items() if v is not None}
        with quietly():
            ours = fit_by_hand(
                *(space, values, inputs["X_train"], inputs["y_train"], inputs["categorical"]),
                *(parts, len(inputs["classes"])),
            )
        for mine, other in zip(ours, theirs, strict=True):
            np.testing.assert_array_equal(mine, other[run["iteration"] - 1], err_msg=str(values))
    return len(done)


@pytest.mark.parametrize(
    ("source", "space", "evaluations"),
    [
        ({"sklearn": "wine"}, "divbo", 20),
        ("mixed", "divbo", 15),
        ({"sklearn": "breast_cancer"}, "divbo-small", 10),
        ("mixed", "autogluon-like", 3),
    ],
)
def test_stored_predictions(tmp_path, source, space, evaluations):
    """A search as a user runs it, and its files; there is nothing else to know."""
    if source == "mixed":
        source = mixed_file(tmp_path)
    shares = {"train": 0.6, "validation": 0.2, "test": 0.2, "seed": 1}
    script(tmp_path, "fetch", source=json.dumps(source), output="data")
    script(tmp_path, "split", dataset="data", output="split", settings=json.dumps(shares))
    job = {"dataset": "d", "search": "s", "repeat": 0, "seed": 1, "space": space}
    job |= {"metric": "error"}
    job |= {"budget": {"evaluations": evaluations}, "optimizer": {"optimizer": "random"}}
    job |= {"limits": {"seconds": 60, "memory_mb": 4096}}
    places = {"split": "split", "checkpoints": "checkpoints", "output": "search"}
    script(tmp_path, "search", job=json.dumps(job), **places)

    with np.load(tmp_path / "split/inputs.npz", allow_pickle=False) as arrays:
        inputs = dict(arrays)
    parts = [inputs[f"X_{part}"] for part in ("validation", "test")]
    if "file" in source:
        frame = pd.read_csv(tmp_path / "mixed.csv").drop(columns="label")
        rows = [np.rint(X[:, 0] * 7).astype(int) for X in (inputs["X_train"], *parts)]
        made = by_hand(frame, rows[0])
        assert list(made.columns) == list(inputs["features"])
        for row, X in zip(rows, (inputs["X_train"], *parts), strict=True):
            np.testing.assert_array_equal(made.loc[row], X)
        boolean_or_word = [name == "sweet" or "=" in name for name in made.columns]
        np.testing.assert_array_equal(inputs["categorical"], boolean_or_word)

    assert reproduced(space, inputs, tmp_path / "search") >= 0.8 * evaluations
