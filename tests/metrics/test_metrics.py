"""Metrics: the contract of every file, and values by hand and by scikit-learn."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn import metrics as reference

from ensemble_search.ensembles.base import Pool
from ensemble_search.ensembles.greedy import round_robin
from ensemble_search.ensembles.greedy.forward_selection import forward_selection
from ensemble_search.ensembles.greedy.running_sums import make_sums
from ensemble_search.ensembles.selection import Selection, select
from ensemble_search.metrics.base import predicted_labels
from ensemble_search.optimizers.base import History, Observation
from ensemble_search.problems.classification import Classification
from ensemble_search.problems.tasks import problem
from ensemble_search.runtime import plugins
from ensemble_search.runtime.names import CLASSIFICATION
from support import toy_space

ALL = {name: plugins.load("metrics", name)() for name in plugins.available("metrics")}
METRICS = {name: metric for name, metric in ALL.items() if metric.task == CLASSIFICATION}
CLASSES = (2, 3, 5)
#: Metrics with numbers of classes that suit them; 0 in regression.
CASES = [(name, n) for name in ALL for n in (CLASSES if name in METRICS else (0,))]
#: Those with values of scikit-learn and by hand below; the contract holds for every file.
KNOWN = (
    "auc",
    "average-precision",
    "balanced-error",
    "brier",
    "error",
    "f1",
    "log-loss",
    "matthews",
)
KNOWN_OF_NUMBERS = ("absolute-error", "pinball-10", "pinball-90", "r2", "rmse", "squared-error")


def draw(n_classes: int, seed: int, n: int = 60, models: int = 1, shares=None):
    """Labels, and predictions of models that are better than chance, as they are stored.

    Numbers, if there are 0 classes.
    """
    rng = np.random.default_rng([n_classes, seed])
    if not n_classes:
        labels = rng.normal(size=n)
        return labels, (labels[:, None] + rng.normal(size=(models, n, 1))).astype(np.float32)
    labels = rng.choice(n_classes, n, p=shares)
    odds = np.exp(rng.normal(size=(models, n, n_classes)) + 1.3 * np.eye(n_classes)[labels])
    probabilities = (odds / odds.sum(axis=2, keepdims=True)).astype(np.float32)
    return labels, Classification().compress(probabilities)


@pytest.mark.parametrize(("name", "n_classes"), CASES)
def test_contract(name, n_classes):
    metric = ALL[name]
    assert metric.title
    for seed in range(20):
        labels, (predictions,) = draw(n_classes, seed)
        loss = metric.loss(labels, predictions)
        assert type(loss) is float
        assert loss >= 0
        if (losses := metric.losses(labels, predictions)) is not None:
            assert losses.shape == labels.shape
            assert losses.mean() == pytest.approx(loss)
        order = np.random.default_rng(seed).permutation(len(labels))
        assert metric.loss(labels[order], predictions[order]) == pytest.approx(loss)
        if not n_classes:
            assert metric.loss(labels, labels[:, None]) == 0
            continue
        assert loss <= metric.worst
        truth = Classification().compress(np.eye(n_classes, dtype=np.float32)[labels])
        assert metric.loss(labels, truth) == pytest.approx(0, abs=1e-6)
        # Always predicting a wrong class is at least as bad as anything else.
        wrong = Classification().compress(np.eye(n_classes, dtype=np.float32)[labels - 1])
        assert loss < metric.loss(labels, wrong) <= metric.worst


@pytest.mark.parametrize("n_classes", CLASSES)
def test_values_of_scikit_learn(n_classes):
    for seed in range(10):
        labels, (stored,) = draw(n_classes, seed)
        full = Classification().expand(stored).astype(float)
        full /= full.sum(axis=1, keepdims=True)
        hard = full.argmax(axis=1)
        expected = {
            "error": 1 - reference.accuracy_score(labels, hard),
            "balanced-error": 1 - reference.balanced_accuracy_score(labels, hard),
            "log-loss": reference.log_loss(labels, full, labels=range(n_classes)),
            "brier": reference.brier_score_loss(
                labels, full, labels=range(n_classes), scale_by_half=True
            ),
            "auc": 1
            - reference.roc_auc_score(
                labels,
                full[:, 1] if n_classes == 2 else full,
                multi_class="ovr",
                labels=range(n_classes),
            ),
            "average-precision": 1
            - (
                reference.average_precision_score(labels, full[:, 1])
                if n_classes == 2
                else reference.average_precision_score(np.eye(n_classes)[labels], full)
            ),
            "f1": 1
            - reference.f1_score(labels, hard, average="binary" if n_classes == 2 else "macro"),
            "matthews": 1 - reference.matthews_corrcoef(labels, hard),
        }
        assert set(expected) == set(KNOWN)
        for name, loss in expected.items():
            assert METRICS[name].loss(labels, stored) == pytest.approx(loss, rel=1e-5), name


def test_values_of_scikit_learn_in_regression():
    for seed in range(10):
        labels, (stored,) = draw(0, seed)
        expected = {
            "absolute-error": reference.mean_absolute_error(labels, stored[:, 0]),
            "squared-error": reference.mean_squared_error(labels, stored[:, 0]),
            "rmse": reference.root_mean_squared_error(labels, stored[:, 0]),
            "r2": 1 - reference.r2_score(labels, stored[:, 0]),
            "pinball-10": reference.mean_pinball_loss(labels, stored[:, 0], alpha=0.1),
            "pinball-90": reference.mean_pinball_loss(labels, stored[:, 0], alpha=0.9),
        }
        assert set(expected) == set(KNOWN_OF_NUMBERS)
        for name, loss in expected.items():
            assert ALL[name].loss(labels, stored) == pytest.approx(loss, rel=1e-6), name


def test_by_hand():
    labels = np.array([0, 0, 0, 1])
    stored = np.array([[0.25], [0.5], [0.75], [0.5]])  # one wrong of each; 0.5 is class 0
    found = {name: metric.loss(labels, stored) for name, metric in METRICS.items()}
    # Above the positive's 0.5: one of three, and one equal.
    assert found["auc"] == pytest.approx((1 + 0.5) / 3)
    assert found["error"] == 0.5
    assert found["balanced-error"] == pytest.approx((1 / 3 + 1) / 2)
    assert found["log-loss"] == pytest.approx(-np.log(0.75 * 0.5 * 0.25 * 0.5) / 4)


def test_classes_that_are_not_there():
    labels = np.array([0, 0, 2])
    stored = np.array([[0.6, 0.2, 0.2], [0.1, 0.8, 0.1], [0.0, 0.0, 1.0]])
    assert METRICS["balanced-error"].loss(labels, stored) == 0.25
    assert METRICS["auc"].loss(labels, stored) == 0
    assert METRICS["auc"].loss(labels[:2], stored[:2]) == 0.5
    assert METRICS["average-precision"].loss(labels, stored) == 0
    # Of class 1: predicted, never there; of class 0: one of two; of class 2: its only one.
    assert METRICS["f1"].loss(labels, stored) == pytest.approx(1 - (2 / 3 + 0 + 1) / 3)
    none = np.array([[0.1], [0.2]])
    for name, loss in (("f1", 1), ("average-precision", 1), ("matthews", 1)):
        assert METRICS[name].loss(np.array([0, 0]), none) == loss, name
    for label, prediction, loss in ((3.0, 3.0, 0), (3.0, 2.0, 1), (0.1, 0.5, 1), (-0.1, -0.1, 0)):
        predictions = np.full((3, 1), prediction, np.float32)
        assert ALL["r2"].loss(np.full(3, label), predictions) == loss
    sure = np.array([[1.0, 0.0, 0.0]])
    assert METRICS["log-loss"].loss(np.array([1]), sure) == METRICS["log-loss"].worst


@given(st.integers(0, 10**6), st.sampled_from(CASES))
def test_sums_have_the_losses_of_their_means(seed, case):
    """Also for the counts and the squared distances, the fast ways."""
    name, n_classes = case
    metric = ALL[name]
    labels, predictions = draw(n_classes, seed, n=25, models=4)
    candidates = make_sums(predictions, labels, metric)
    sums = candidates.add(candidates.add(candidates.zero, 2), 0)
    found = candidates.losses(candidates.scorer(sums, 3).losses(range(4)))
    means = [(predictions[2].astype(float) + predictions[0] + p) / 3 for p in predictions]
    expected = [metric.loss(labels, mean) for mean in means]
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize(("name", "n_classes"), CASES)
def test_greedy_ensembles_minimise_the_metric(name, n_classes):
    """Every step of selection is the best one by brute force."""
    metric = ALL[name]
    labels, predictions = draw(n_classes, 1, n=40, models=7)
    pool = Pool(
        predictions,
        labels,
        np.array([metric.loss(labels, p) for p in predictions]),
        3,
        problem(name),
    )
    members = Selection(size=4).build(pool)
    assert members.same(Selection(size=4).build_prefixes(pool)[-1])
    total, lowest = np.zeros(predictions.shape[1:]), None
    for number in range(1, 5):
        means = [(total + p) / number for p in predictions]
        losses = np.array([metric.loss(labels, mean) for mean in means])
        best = np.flatnonzero(losses <= losses.min() + 1e-6)
        one = select(predictions, labels, number, 3, metric=metric)
        after = metric.loss(labels, one.predict(predictions))
        assert after == pytest.approx(losses.min(), abs=1e-6)
        if len(best) > 1:
            break  # the rest depends on which of them is drawn
        total, lowest = total + predictions[best[0]], losses.min()
    assert lowest is None or lowest <= pool.errors.min() + 1e-6
    chosen = forward_selection(predictions, labels, 1, np.random.default_rng(0), metric)
    assert pool.errors[chosen[0]] == pytest.approx(pool.errors.min(), abs=1e-6)
    *_, slots = round_robin.fillings(predictions, labels, 1, metric)
    assert pool.errors[slots[0]] == pytest.approx(pool.errors.min(), abs=1e-6)


def test_the_metrics_differ_in_what_they_choose():
    labels, predictions = draw(3, 5, n=300, models=60, shares=(0.7, 0.2, 0.1))
    chosen = {
        tuple(select(predictions, labels, 10, 0, metric=METRICS[name]).indices) for name in KNOWN
    }
    assert len(chosen) == len(KNOWN)


@pytest.mark.parametrize(
    ("losses", "expected"),
    [
        ([0.2, 0.9, 1e6], [0.2, 0.9, 1.0]),  # useless ones are alike
        ([1.65, 2.91, 2.0], [1.65, 2.91, 2.0]),  # all are, but some less than others
        ([2.0, 3.0, 1e6], [2.0, 3.0, 4.0]),
        ([0.7, 1.3], [0.7, 1.3]),
    ],
)
def test_losses_above_the_worst_are_told_apart_near_the_best(losses, expected):
    past = History(toy_space.ToySpace(), np.zeros(2), problem=problem("squared-error"))
    rows = [Observation({}, "ok", loss, np.zeros((2, 1))) for loss in losses]
    past = replace(past, observations=(*rows, Observation({}, "crash", np.nan, None)))
    assert past.errors.tolist() == [*expected, max(expected)]


def test_without_a_success_the_worst_loss_counts():
    for metric in METRICS.values():
        rows = tuple(toy_space.history(toy_space.ToySpace(), 2).observations)
        failed = tuple(type(row)(row.configuration, "crash", float("nan"), None) for row in rows)
        past = History(toy_space.ToySpace(), toy_space.LABELS, failed, Classification(metric))
        assert past.errors.tolist() == [metric.worst] * 2


def test_labels_of_ties():
    assert predicted_labels(np.array([[0.5], [0.5 + 1e-14], [0.6]])).tolist() == [0, 0, 1]
    assert predicted_labels(np.array([[0.3, 0.4, 0.4 + 1e-14]])).tolist() == [1]


def test_auc_of_single_precision_is_that_of_double():
    """Neighbouring float32 scores are different ones."""
    low = np.float32(0.9999)
    scores = np.array([[low], [np.nextafter(low, np.float32(1))]])
    for dtype in (np.float32, np.float64):
        assert METRICS["auc"].loss(np.array([0, 1]), scores.astype(dtype)) == 0


@pytest.mark.parametrize(("name", "n_classes"), CASES)
def test_integer_weights_are_repeated_samples(name, n_classes):
    """A metric from outside may compute in float32, as predictions are stored."""
    labels, predictions = draw(n_classes, seed=3)
    predictions = predictions.round(1)  # with ties
    counts = np.random.default_rng(0).integers(1, 5, len(labels))
    often = np.repeat(np.arange(len(labels)), counts)
    weighted = ALL[name].with_weights(counts.astype(float))
    expected = ALL[name].loss(labels[often], predictions[0][often])
    assert weighted.loss(labels, predictions[0]) == pytest.approx(expected, abs=1e-6)
    losses = weighted.losses(labels, predictions[0])
    assert losses is None or np.mean(losses) == pytest.approx(expected, abs=1e-6)
    rows = np.flatnonzero(labels != labels[0]) if n_classes > 2 else np.arange(40)
    part = weighted.on(rows).loss(labels[rows], predictions[0][rows])
    often = np.repeat(rows, counts[rows])
    assert part == pytest.approx(ALL[name].loss(labels[often], predictions[0][often]), abs=1e-6)
    assert ALL[name].with_weights(np.empty(0)) is ALL[name]


@pytest.mark.parametrize(("name", "n_classes"), CASES)
def test_selection_minimises_the_weighted_loss(name, n_classes):
    labels, predictions = draw(n_classes, seed=4, n=25, models=6)
    metric = ALL[name].with_weights(np.random.default_rng(1).uniform(0.1, 9, 25))
    chosen = select(predictions, labels, 1, 0, metric=metric)
    losses = [np.float32(metric.loss(labels, model)) for model in predictions]
    assert losses[chosen.indices[0]] == min(losses)
