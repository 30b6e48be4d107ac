"""What the card measures, says and draws, by hand."""

import re
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binomtest

from ensemble_search.data import cells
from ensemble_search.data.preparation import Categories, Numbers, Preparation, Texts
from ensemble_search.delivery import card, measures, page
from ensemble_search.delivery.figures import Chart, Series, ticks
from ensemble_search.delivery.tested import Tested as OnTestRows
from ensemble_search.delivery.tested import copies, distinct
from ensemble_search.metrics.balanced_error import BalancedError
from ensemble_search.metrics.base import Metric
from ensemble_search.metrics.error import ERROR
from ensemble_search.metrics.squared_error import SQUARED_ERROR
from ensemble_search.results import readers
from ensemble_search.runtime import plugins

COLUMNS = [
    Numbers("size", "numeric", {"size": 0.0}),
    Categories("colour", ["red", "green"], ["blue"], "red"),
    Numbers("new", "boolean", {"new": 0.0}),
    Numbers("day", "date", {"day.days": 3.0}),
]
PREPARATION = Preparation(COLUMNS, [column.name for column in COLUMNS])


def test_scores_are_shown_as_users_know_them():
    labels = np.array([0, 0, 0, 1, 1])
    predictions = np.array([[0.1], [0.2], [0.6], [0.4], [0.9]])
    baseline = np.full((5, 1), 0.4)
    given = {"labels": labels, "predictions": predictions, "baseline": baseline}
    auc = measures.measured("auc", **given, weights=np.empty(0))
    assert (auc.title, auc.value, auc.baseline) == ("AUC", pytest.approx(5 / 6), 0.5)
    assert auc.low <= auc.value <= auc.high
    error = measures.measured("error", **given, weights=np.empty(0))
    assert (error.title, error.value, error.baseline) == ("error", 0.4, 0.4)
    assert not error.beats
    rmse = measures.measured(
        "rmse", np.array([0.0, 2.0]), np.array([[1.0], [1.0]]), np.zeros((2, 1)),
        weights=np.empty(0), std=10.0,
    )  # fmt: skip
    assert (rmse.title, rmse.value) == ("RMSE", 10)


def test_weights_count_as_repeated_rows():
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 2, 400)
    predictions = np.clip(labels + rng.normal(0, 0.7, 400), 0, 1)[:, None]
    weights = rng.integers(1, 4, 400).astype(float)
    often = np.repeat(np.arange(400), weights.astype(int))
    for name in ("error", "auc", "f1"):
        one = measures.measured(name, labels, predictions, predictions, weights=weights)
        two = measures.measured(
            name, labels[often], predictions[often], predictions[often], weights=np.empty(0)
        )
        assert one.value == pytest.approx(two.value)
        assert one.low < one.value < one.high
        assert one.high - one.low > two.high - two.low  # repeated rows are not as many


def test_classes_and_thresholds_by_hand():
    labels, predicted = np.array([0, 0, 0, 1, 1]), np.array([0, 0, 1, 1, 1])
    none, first, second = measures.by_class(labels + 1, predicted + 1, 3)
    assert (none["recall"], none["precision"]) == (None, None)
    assert (first["recall"][0], second["precision"][0]) == (2 / 3, 2 / 3)
    assert first["recall"][1:] == measures.wilson(2, 3)
    low, high = measures.thresholds(labels == 1, np.array([0.1, 0.3, 0.5, 0.5, 0.7]), [0.5, 0.8])
    assert low == {
        "threshold": 0.5, "precision": 2 / 3, "recall": 1, "alarms": 0.6, "false": 0.2, "missed": 0,
    }  # fmt: skip
    assert np.isnan(high["precision"])
    assert (high["recall"], high["missed"]) == (0, 0.4)


def test_classes_count_weights_as_repeated_rows():
    rng = np.random.default_rng(0)
    labels, predicted, weights = rng.integers(0, 3, (3, 60))
    weights += 1
    again = np.repeat(np.arange(60), weights)
    own = measures.by_class(labels, predicted, 3, None, weights.astype(float))
    for one, two in zip(own, measures.by_class(labels[again], predicted[again], 3), strict=True):
        for key in ("recall", "precision"):
            assert one[key][0] == pytest.approx(two[key][0])
            assert one[key][2] - one[key][1] > two[key][2] - two[key][1]  # of 60 rows


def test_thresholds_count_weights_as_repeated_rows():
    rng = np.random.default_rng(0)
    positive, p, weights = rng.random(50) < 0.3, rng.random(50), rng.integers(1, 4, 50)
    again = np.repeat(np.arange(50), weights)
    one = measures.thresholds(positive, p, [0.1, 0.6], weights.astype(float))
    two = measures.thresholds(positive[again], p[again], [0.1, 0.6])
    assert [pytest.approx(row) for row in one] == two


def test_thresholds_of_the_card_are_weighted_and_reach_the_rare():
    rng = np.random.default_rng(0)
    p, weights = rng.random(900), rng.integers(1, 4, 900)
    labels = (rng.random(900) < p**20).astype(int)

    def rows(labels, p, weights):
        of = SimpleNamespace(
            classes=["no", "yes"], labels=labels, probabilities=np.stack([1 - p, p], axis=1),
            weights=weights, groups=None,
        )  # fmt: skip
        part = card._threshold(of)
        codes.append(part.code)
        return [[cell.partition(" (")[0] for cell in row] for row in part.tables[0].rows]

    codes: list[str] = []
    again = np.repeat(np.arange(900), weights)
    weighted = rows(labels, p, weights.astype(float))
    assert weighted == rows(labels[again], p[again], np.empty(0))
    assert weighted != rows(labels, p, np.empty(0))
    rare = rows((np.arange(900) < 2).astype(int), p, np.empty(0))
    assert [row[0] for row in rare[-3:]] == ["50", "100", "200"]
    assert rare[-1][1] == "0.005"
    assert rare[0][-1] == "0.04444", "2 of 900 rows at a fifth of a false alarm each"
    assert {"0.0", "0"}.isdisjoint(row[-1] for row in rare)
    good = np.where(np.arange(900) < 2, 0.03, 1e-4)
    assert rows((np.arange(900) < 2).astype(int), good, np.empty(0))[-1][1] == "0.005"
    assert "--threshold 0.02 " in codes[-1]
    rows((np.arange(900) < 2).astype(int), good / 5, np.empty(0))
    assert "--threshold 0.005 " in codes[-1], "not 0.00"


def test_intervals_at_thresholds_know_groups_and_weights():
    rng = np.random.default_rng(0)
    p, labels = np.repeat(rng.random(60), 5), np.repeat(rng.integers(0, 2, 60), 5)
    of = {"classes": ["no", "yes"], "labels": labels, "probabilities": np.stack([1 - p, p], axis=1)}
    uneven = np.where(np.arange(300) % 5 == 0, 1e3, 1.0)

    def width(**more):
        cell = card._threshold(SimpleNamespace(**of, **more)).tables[0].rows[4][3]
        value, low, high = map(float, re.findall(r"[\d.]+", cell))
        assert low < value < high
        return high - low

    alike = width(groups=None, weights=np.empty(0))
    assert width(groups=np.repeat(np.arange(60), 5), weights=np.empty(0)) > 1.5 * alike
    assert width(groups=None, weights=uneven) > 1.5 * alike
    assert width(groups=None, weights=np.full(300, 7.0)) == alike


@pytest.mark.parametrize("helps", [True, False])
def test_thresholds_that_all_cost_more_than_no_ensemble_are_said(helps):
    labels = (np.arange(400) % 20 == 0).astype(int)
    p = np.where(labels == helps, 0.9, 0.001)
    of = {"labels": labels, "weights": np.empty(0), "probabilities": np.stack([1 - p, p], axis=1)}
    part = card._threshold(SimpleNamespace(classes=["no", "yes"], groups=None, **of))
    said = part.paragraphs[-1]
    assert ("At none of these thresholds is it cheaper" in said) != helps


def test_thresholds_for_a_positive_class_of_nearly_all_rows():
    labels = (np.arange(1000) >= 4).astype(int)
    p = np.where(labels == 1, 0.999, 0.9)
    of = SimpleNamespace(classes=["bad", "ok"], labels=labels, weights=np.empty(0), groups=None,
                         probabilities=np.stack([1 - p, p], axis=1))  # fmt: skip
    part = card._threshold(of)
    costs, thresholds = zip(*(row[:2] for row in part.tables[0].rows), strict=True)
    assert costs[:5] == ("0.005", "0.01", "0.02", "0.2", "0.5")
    assert thresholds[:5] == ("0.995", "0.9901", "0.98", "0.83", "0.67")
    assert "--threshold 0.995 " in part.code


def test_few_negatives_do_not_widen_scores_of_the_positives():
    """F1 and average precision count negatives only if they are predicted as positives."""
    labels = (np.arange(400) >= 3).astype(int)
    p = np.where(labels == 1, 0.9, 0.2)[:, None]
    p[5:9] = 0.4
    for name in ("f1", "average-precision"):
        found = measures.interval(plugins.load("metrics", name)(), labels, p)
        assert found[1] < 0.05
    low, high = measures.interval(plugins.load("metrics", "auc")(), labels, p)
    assert high > 0.5 and low == 0  # of three


@pytest.mark.parametrize("label", [0, 1])
def test_thresholds_of_test_rows_of_one_class(label, recwarn):
    """A file of test rows may have no other."""
    p = np.linspace(0.01, 0.99, 60)
    both, labels = np.stack([1 - p, p], axis=1), np.full(60, label)
    of = {"labels": labels, "probabilities": both, "weights": np.empty(0), "groups": None}
    part = card._threshold(SimpleNamespace(classes=["no", "yes"], **of))
    assert {row[3] == "–" for row in part.tables[0].rows} == {label == 0}
    assert "nan" not in str(part.tables)
    assert "--threshold 0.83" in part.code
    assert not recwarn.list


def test_lines_of_costs_leave_their_figure_and_do_not_end_in_it():
    p = np.linspace(0.01, 0.99, 100)
    of = SimpleNamespace(classes=["no", "yes"], labels=np.arange(100) % 2, weights=np.empty(0),
                         probabilities=np.stack([1 - p, p], axis=1), groups=None)  # fmt: skip
    costs = card._threshold(of).charts[1]
    assert max(costs.series[-1].y) > costs.y_limits[1] == card.MOST_COST
    for one in costs.series:
        assert np.isfinite(one.y).all() and one.y[-1] == pytest.approx(
            float(one.name.split()[-1]), 0.1
        )


def test_shares_of_no_row_and_of_all_end_there():
    for n in (1, 7, 1500, 123_456):
        assert measures.wilson(0, n)[0] == 0
        assert measures.wilson(n, n)[1] == 1
    found = binomtest(3, 11).proportion_ci(0.95, method="wilson")
    assert measures.wilson(3, 11) == pytest.approx((found.low, found.high))


@pytest.mark.parametrize("groups", [None, np.array([0] * 100 + [1, 1])])
def test_a_perfect_ranking_of_few_rows_is_not_certain(groups):
    """Whichever rows are left out, the loss is 0."""
    labels = np.array([0] * 100 + [1] * 2)
    predictions = np.where(labels, 0.8, 0.2)[:, None]
    n = 2 if groups is None else 1
    for name in ("auc", "average-precision", "f1"):
        metric = plugins.load("metrics", name)()
        low, high = measures.interval(metric, labels, predictions, groups)
        assert (low, high) == measures.wilson(0, n)
        low, high = measures.interval(metric, labels, 1 - predictions, groups)
        assert high > 0.9


@pytest.mark.parametrize("name", ["auc", "average-precision", "f1"])
def test_intervals_of_few_positives_hold_the_true_loss_as_often_as_they_say(name):
    """Of 7 positives, 0.6 of the bootstraps of an AUC did."""
    metric = plugins.load("metrics", name)()
    rng = np.random.default_rng(0)

    def drawn(positives: int, negatives: int) -> tuple[np.ndarray, np.ndarray]:
        labels = np.repeat([1, 0], [positives, negatives])
        scores = rng.normal(size=len(labels)) + 1.5 * labels
        return labels, 1 / (1 + np.exp(1.5 - scores[:, None]))

    true = metric.loss(*drawn(7_000, 70_000))
    found = [measures.interval(metric, *drawn(7, 70)) for _ in range(60)]
    assert np.mean([low <= true <= high for low, high in found]) > 0.9


def held(name, positives, negatives, gap, spread=0.0, n=60):
    """Return how often intervals hold the true loss, and their median width over the losses'.

    The scores of two normal distributions, ``gap`` apart; ``spread`` is that of the weights' logs.
    """
    metric, rng = plugins.load("metrics", name)(), np.random.default_rng(0)

    def drawn(times):
        labels = np.repeat([1, 0], [positives * times, negatives * times])
        scores = rng.normal(size=len(labels)) + gap * (labels - 0.5)
        return labels, 1 / (1 + np.exp(-scores[:, None]))

    true, ends, losses = metric.loss(*drawn(1 + 60_000 // (positives + negatives))), [], []
    for _ in range(n):
        labels, p = drawn(1)
        weights = rng.lognormal(0, spread, len(labels)) if spread else np.empty(0)
        ends.append(measures.interval(metric.with_weights(weights), labels, p))
        losses.append(metric.with_weights(weights).loss(labels, p))
    low, high = np.transpose(ends)
    width = np.median(high - low) / np.subtract(*np.quantile(losses, [0.975, 0.025]))
    return np.mean((low <= true) & (true <= high)), width


@pytest.mark.parametrize(
    ("positives", "negatives", "gap"),
    [(300, 8, 1.5), (300, 8, 3), (30, 8, 1.5), (300, 30, 3), (30, 30, 3), (100, 30, 3)],
)
def test_an_average_precision_of_few_negatives_is_as_certain_as_it_says(positives, negatives, gap):
    """Bootstraps held the true one in 0.73 to 0.89 of 200 cases."""
    share, width = held("average-precision", positives, negatives, gap)
    assert share > 0.93
    assert width < 8, "and is not useless"


@pytest.mark.parametrize(
    ("name", "positives", "negatives", "gap"),
    [("auc", 60, 60, 3), ("f1", 60, 20, 3), ("average-precision", 60, 20, 1.5)],
)
def test_intervals_of_weighted_scores_count_effective_rows(name, positives, negatives, gap):
    """By the number of rows, 0.79 to 0.86 of 200 intervals held the true score."""
    share, width = held(name, positives, negatives, gap, spread=1)
    assert share > 0.92
    assert width < 5, "and is not useless"


def test_intervals_of_unlimited_scores_are_finite():
    """A user's metric may have no worst value."""
    metric = plugins.load("metrics", "auc")()
    metric.worst = np.inf
    labels = np.arange(200) % 2
    p = np.clip(0.2 * labels + np.random.default_rng(0).random(200), 0, 1)[:, None]
    low, high = measures.interval(metric, labels, p)
    assert 0 < low < metric.loss(labels, p) < high < 1


def test_weights_and_groups_of_a_rare_class_count_by_their_effective_number():
    labels = np.repeat([0, 1], [200, 40])
    p = np.where(labels == 1, 0.9, 0.2)[:, None]
    weights = np.where(np.arange(240) < 210, 1e6, 1.0)  # of the positive ones, 10 count
    groups = np.concatenate([np.arange(200), np.repeat([1000, 1001], [36, 4])])
    for name in ("auc", "f1", "average-precision"):
        metric = plugins.load("metrics", name)()
        found = measures.interval(metric.with_weights(weights), labels, p)
        assert found == pytest.approx(measures.wilson(0, 10), abs=1e-3)
        found = measures.interval(metric, labels, p, groups)
        assert found == pytest.approx(measures.wilson(0, 40**2 / (36**2 + 4**2)))


@pytest.mark.parametrize("name", ["log-loss", "brier"])
@pytest.mark.parametrize("classes", [2, 3])
def test_intervals_with_few_wrong_rows_hold_the_true_loss_as_often_as_they_say(name, classes):
    """In the mean over true losses. If 1 row in 60 is wrong, 0.66 of the bootstraps did."""
    metric = plugins.load("metrics", name)()
    rng = np.random.default_rng(0)

    def drawn(n: int, certain: int) -> tuple[np.ndarray, np.ndarray]:
        top, likely = rng.beta(certain, 1, n), rng.integers(classes, size=n)
        table = np.tile(((1 - top) / (classes - 1))[:, None], classes)
        table[np.arange(n), likely] = top
        other = (likely + rng.integers(1, classes, size=n)) % classes
        labels = np.where(rng.random(n) < top, likely, other)
        return labels, table if classes > 2 else table[:, 1:]

    held = []
    for certain in (8, 20, 40, 60, 80, 100, 200):
        true = metric.loss(*drawn(300_000, certain))
        found = np.array([measures.interval(metric, *drawn(60, certain)) for _ in range(80)])
        held += ((found[:, 0] <= true) & (true <= found[:, 1])).tolist()
        assert (found[:, 0] >= 0).all()
        assert np.median(found[:, 1]) < 20 * true, "and is not useless"
    assert 0.93 < np.mean(held) < 0.98


@pytest.mark.parametrize("spread", [0, 0.5])
def test_intervals_of_weighted_rows_with_few_wrong_hold_the_true_loss(spread):
    """Bootstraps of 60 rows held it in 68 of 100 draws, even if all weights were 1."""
    metric, rng = plugins.load("metrics", "log-loss")(), np.random.default_rng(0)

    def drawn(n: int) -> tuple[np.ndarray, np.ndarray]:
        top, likely = rng.beta(60, 1, n), rng.integers(2, size=n)
        labels = np.where(rng.random(n) < top, likely, 1 - likely)
        return labels, np.where(likely == 1, top, 1 - top)[:, None]

    true, held = metric.loss(*drawn(300_000)), []
    for _ in range(200):
        labels, p = drawn(60)
        weights = rng.lognormal(0, spread, 60)
        low, high = measures.interval(metric.with_weights(weights), labels, p)
        held.append(0 <= low <= true <= high)
        if not spread:
            assert (low, high) == pytest.approx(measures.interval(metric, labels, p))
    assert np.mean(held) > 0.92


def test_intervals_of_a_nearly_perfect_auc_of_three_classes_hold_the_true_one():
    """Of the bootstraps, 87 of 100 did."""
    metric, rng = plugins.load("metrics", "auc")(), np.random.default_rng(1)

    def drawn(n: int) -> tuple[np.ndarray, np.ndarray]:
        labels = np.repeat(np.arange(3), n)
        scores = np.exp(3 * (rng.normal(size=(3 * n, 3)) + 3 * np.eye(3)[labels]))
        return labels, scores / scores.sum(axis=1, keepdims=True)

    true = metric.loss(*drawn(20_000))
    held = [
        low <= true <= high
        for low, high in (measures.interval(metric, *drawn(40)) for _ in range(60))
    ]
    assert np.mean(held) > 0.93


def test_intervals_with_weights_are_those_of_fewer_rows():
    """Of 400 rows, 10 have nearly all of the weight."""
    weights, labels = np.where(np.arange(400) % 40 == 0, 1e6, 1.0), np.arange(400) % 2
    for wrong in (0, 1):
        p = np.where(labels == 1, 0.9, 0.1)[:, None]
        p[1 : 1 + wrong] = 0.2
        low, high = measures.interval(ERROR.with_weights(weights), labels, p)
        assert low < 0.01
        assert high == pytest.approx(measures.wilson(0, 10)[1], abs=0.01)
        few = measures.interval(ERROR, labels, p)
        alike = measures.interval(ERROR.with_weights(np.full(400, 7.0)), labels, p)
        assert alike == pytest.approx(few, rel=1e-9)


@pytest.mark.parametrize("rows", [(360, 6), (50, 50), (360, 6, 20)])
def test_intervals_of_balanced_errors_hold_the_true_one_as_often_as_they_say(rows):
    """As Wilson's do: in the mean over the true shares."""
    metric, rng, classes = BalancedError(), np.random.default_rng(0), np.arange(len(rows))
    labels, found = np.repeat(classes, rows), []
    for wrong in rng.uniform(0, 0.5, (1000, len(rows))):
        predicted = (labels + (rng.random(len(labels)) < np.repeat(wrong, rows))) % len(rows)
        low, high = measures.interval(metric, labels, np.eye(len(rows))[predicted])
        assert 0 <= low < high <= 1
        found.append(low <= np.mean(wrong) <= high)
    assert 0.93 <= np.mean(found) <= 0.98


def test_the_interval_of_a_balanced_error_is_certain_of_classes_with_many_rows():
    labels = np.repeat([0, 1], [360, 6])
    predictions = np.where((np.arange(366) < 5) | (np.arange(366) > 363), 1 - labels, labels)
    low, high = measures.interval(BalancedError(), labels, predictions[:, None].astype(float))
    assert 0.04 < low < 5 / 720 + 2 / 12 < high < 0.36


def test_losses_beyond_the_worst_have_an_interval():
    """``worst`` is a useless model's loss if a metric of a user has no bound."""

    class Cost(Metric):
        title = "cost"

        def loss(self, labels, predictions, weights=None):
            return 5 * float(np.mean(labels != (predictions[:, 0] > 0.5)))

    low, high = measures.interval(Cost(), np.tile([0, 1], 10), np.tile([[0.9], [0.9]], (10, 1)))
    assert 0.5 < low < 2.5 < high < 5


def test_a_regression_has_no_rarest_class():
    """The loss of its mean is extreme, 1, but no label is there twice."""
    labels = np.random.default_rng(0).normal(size=2000)
    constant = np.full((2000, 1), labels.mean())
    low, high = measures.interval(plugins.load("metrics", "r2")(), labels, constant)
    assert 0.99 < low < high < 1.01


def test_importance_finds_the_column_of_a_rare_class():
    """Of 20,000 rows, few of any 500 would be of the class."""
    rng = np.random.default_rng(0)
    X = rng.random((20_000, 2))
    labels = (np.arange(20_000) < 20).astype(int)
    X[:, 0] = labels
    metric = plugins.load("metrics", "average-precision")()
    first, second = measures.importance(Columns(X), np.asarray, X, labels, metric, 0)
    assert (first["column"], second["rise"], second["spread"]) == ("0", 0, 0)
    assert first["rise"] > 0.9
    # They count by their shares: a shuffle errs on 20 rows twice, of 20,000.
    error = measures.importance(Columns(X), np.asarray, X, labels, ERROR, 0)[0]
    assert 0.0005 < error["rise"] < 0.01


@pytest.mark.parametrize("share", [0.01, 0.05, 0.2])
@pytest.mark.parametrize("name", ["error", "log-loss"])
def test_importance_is_that_on_all_rows_however_rare_a_class_is(share, name):
    rng = np.random.default_rng(0)
    labels = (rng.random(20_000) < share).astype(int)
    X = np.column_stack([labels * 0.9 + 0.05, rng.normal(size=20_000)])
    metric, mixed = plugins.load("metrics", name)(), X.copy()
    mixed[:, 0] = X[rng.permutation(len(X)), 0]
    expected = metric.loss(labels, mixed[:, :1]) - metric.loss(labels, X[:, :1])
    found = [
        measures.importance(Columns(X), np.asarray, X, labels, metric, seed)[0]["rise"]
        for seed in range(20)
    ]
    assert np.mean(found) == pytest.approx(expected, rel=0.2)


@pytest.mark.parametrize(("unknown", "cautions"), [(0, 0), (1, 0), (2, 1)])
def test_test_rows_of_unknown_classes_are_errors_left_out(unknown, cautions):
    of, found = of_test_rows([0, 1] * 60, [0.2, 0.7] * 40 + [0.2, 0.3] * 20, ERROR, ("a", "b"))
    of.delivery.own_test, of.copied = SimpleNamespace(name="more.csv", unknown=unknown), 0
    said = [*card._cautions(of, found, {})]
    assert len(said) == cautions
    assert all(f"{unknown} rows of more.csv, with a class that the table lacks" in s for s in said)


def test_a_perfect_ensemble_of_few_rows_is_only_suspicious():
    """One wrong row would cost more in log loss than the baseline does, but no label is wrong."""
    log_loss = plugins.load("metrics", "log-loss")()
    of, found = of_test_rows([0, 1] * 30, [1e-6, 1 - 1e-6] * 30, log_loss, ("a", "b"))
    of.name, of.baseline[:] = "log-loss", 0.5
    given = {"labels": of.labels, "predictions": of.found, "baseline": of.baseline}
    found["log-loss"] = measures.measured("log-loss", **given, weights=np.empty(0))
    assert not found["log-loss"].beats and found["error"].beats
    (said,) = card._cautions(of, found, {})
    assert "almost perfect" in said


def test_importance_is_that_of_the_probabilities_that_are_used():
    X = np.random.default_rng(0).random((400, 2))
    labels = (X[:, 0] > 0.5).astype(int)
    calibrated = measures.importance(Columns(X), np.sqrt, X, labels, SQUARED_ERROR, 0)
    rooted = np.sqrt(X)
    roots = measures.importance(Columns(rooted), np.asarray, rooted, labels, SQUARED_ERROR, 0)
    assert calibrated == roots


def test_importance_of_wide_tables_takes_fewer_rows_and_columns():
    """Of 200 columns the 100 most correlated with the first, which is predicted."""
    X = np.random.default_rng(0).random((1000, 200))
    X[:, 150:] += X[:, :1]
    X[:, 199] = 7.0
    ensemble = Columns(X)
    found = measures.importance(ensemble, np.asarray, X, X[:, :1].ravel(), SQUARED_ERROR, 0)
    assert found[0]["column"] == "0"
    assert ensemble.predicted == measures.FEWEST * (measures.REPEATS * 100 + 1)
    assert len(found) == measures.MOST_COLUMNS == 100
    assert {"0", *map(str, range(150, 199))} <= {row["column"] for row in found}
    assert "199" not in {row["column"] for row in found}


class Columns:
    """An ensemble that predicts the first column, which counts its rows."""

    def __init__(self, X):
        names = [str(i) for i in range(X.shape[1])]
        columns = [Numbers(name, "numeric", {name: 0.0}) for name in names]
        self.preparation, self.predicted = Preparation(columns, names), 0

    def member_predictions(self, X):
        self.predicted += len(X)
        return X[None, :, :1]

    def combine(self, predictions):
        return predictions[0]


def test_rows_are_made_again_from_their_features():
    rows = {"size": [2.0, 3.5], "colour": ["green", None], "new": [True, False], "day": [None] * 2}
    features, _ = PREPARATION.transform(rows)
    features[1, 1:3] = 0  # a category without a feature
    again = measures.as_given(PREPARATION, features)
    assert again == {**rows, "new": [1.0, 0.0]}


def test_dates_that_are_numbers_are_made_again_from_their_features():
    days = Preparation([Numbers("day", "numeric", {"day": 0.0}, cells.DAYS)], ["day"])
    features = np.array([[18284.0], [20000.5]] * 10)
    again, unusual = days.transform(measures.as_given(days, features))
    assert np.array_equal(again, features) and not unusual


@pytest.mark.parametrize(
    ("words", "shown"),
    [
        (["no", "yes", "für", "don't"], ["no", "yes", "für", "don't"]),
        (["no", "yes", "yes "], ["no", "'yes'", "'yes '"]),
        (["no", " yes"], ["no", "' yes'"]),
        (["a  b", "a b"], [r"'a \x20b'", "'a b'"]),
        (["a", "a\u200b"], ["a", r"'a\u200b'"]),
        (["é", "e\u0301"], ["'é'", r"'e\u0301'"]),
        (["très\xa0bon", "mal"], [r"'très\xa0bon'", "mal"]),
        (["東京\u3000都", "京"], [r"'東京\u3000都'", "京"]),
        (["각", "\u1100\u1161\u11a8"], ["'각'", r"'\u1100\u1161\u11a8'"]),
        (["a", "a\xa0"], ["'a'", r"'a\xa0'"]),
    ],
)
def test_words_that_a_page_would_show_alike_are_quoted(words, shown):
    assert distinct(words) == shown


def test_classes_that_differ_in_blanks_are_distinct_on_the_page():
    classes, words = ["no", "yes", "yes "], ["no", "'yes'", "'yes '"]
    given = {"labels": np.array([0, 1, 2] * 4), "found": np.eye(3)[[0, 1, 2] * 4]}
    of = SimpleNamespace(classes=classes, groups=None, weights=np.empty(0), **given)
    each, matrix = card._by_class(of).tables
    assert [row[0] for row in each.rows] == words
    assert [row[0] for row in matrix.rows] == list(matrix.head[1:]) == words
    preparation = Preparation([Categories("x", ["u", "u "], [], "u")], ["x"])
    of.ensemble, of.manifest = SimpleNamespace(preparation=preparation), {"target": "y"}
    chart = card._dependence(of, "x", 1, ["u", "u "], np.full((2, 3), 1 / 3))
    assert [one.name for one in chart.series] == words
    assert chart.words == ["'u'", "'u '"]


def test_partial_dependence_by_hand():
    X = np.column_stack([np.arange(50.0), [1.0] * 30 + [0] * 20, [0.0] * 30 + [1] * 20,
                         np.ones(50), np.arange(50)])  # fmt: skip
    ensemble = SimpleNamespace(
        preparation=PREPARATION,
        member_predictions=lambda X: X,
        combine=lambda X: X[:, :1] + 100 * X[:, 1:2] + 1000 * X[:, 3:4] + 1e4 * X[:, 4:5],
    )
    whole = {c: measures.dependence(ensemble, lambda c: c, X, c, 0) for c in PREPARATION.names}
    values, means = whole["size"]
    assert np.diff(means[:, 0]) == pytest.approx(np.diff(values))
    values, means = whole["colour"]
    assert values == ["red", "green"]
    assert means[0, 0] - means[1, 0] == pytest.approx(100)
    values, means = whole["new"]
    assert (values, means[1, 0] - means[0, 0]) == (["false", "true"], 1000)
    values, means = whole["day"]
    assert (values[0], values[-1]) == ("1970-01-01", "1970-02-18")
    days = np.array(values, "M8[D]").astype(float)
    assert np.diff(means[:, 0]) == pytest.approx(1e4 * np.diff(days))


def test_partial_dependence_of_what_has_no_simple_values():
    column = Texts("note", ["good", "bad", "so"], [1.0, 2.0, 3.0])
    X = np.array([[0.6, 0.8, 0.0]] * 10 + [[1.0, 0.0, 0.0]] * 30)
    ensemble = SimpleNamespace(
        preparation=Preparation([column], ["note"]),
        member_predictions=lambda X: X,
        combine=lambda X: X @ [[1.0], [10.0], [100.0]],
    )
    values, means = measures.dependence(ensemble, lambda c: c, X, "note", 0)
    assert values == ["good", "bad", "so"]
    assert means[:, 0].tolist() == [1, 10, 100]
    # Of many words, those whose predictions differ most: not "said", in each row.
    many = Texts("note", ["said", *(f"w{i}" for i in range(30))], [1.0] * 31)
    X = np.column_stack([np.ones(40), np.zeros((40, 30))])
    ensemble.preparation = Preparation([many], ["note"])
    effects = np.where(np.arange(31) % 3 == 2, np.arange(31), 0.0)[:, None]
    ensemble.combine = lambda X: X @ effects
    values, means = measures.dependence(ensemble, lambda c: c, X, "note", 0)
    assert len(values) == measures.VALUES
    assert values[-9:] == [f"w{i}" for i in range(4, 30, 3)]
    assert means[-9:, 0].tolist() == [*range(5, 31, 3)]
    # Of a date without its days, there are no values to take.
    ensemble.preparation = Preparation([Numbers("day", "date", {"day.month": 1.0})], ["day"])
    assert measures.dependence(ensemble, lambda c: c, X[:, :1], "day", 0) is None


#: Sentences on the quality that depend on the data, and on how the ensemble was made.
SAID = {
    "far": "The 95 % intervals of both do not overlap, so the test rows may also differ",
    "low": "which tends to be too low: it was selected on these rows",
    "groups": "They form 12 groups, one per 'patient', and the intervals reflect the sampling of g",
    "weights": "Rows are weighted here and in the calibration, by class, at thresholds; counts",
    "amounts": "Rows are weighted here and in prediction intervals; counts are of rows.",
    "two": "average precision, F1 and thresholds is 'b'; to change it, search with POSITIVE=a "
    "(positive: a in",
    "other": """search with POSITIVE='it'"'"'s 5$' (positive: it's 5$ in a study)""",
    "more": "Average precision, F1 and AUC are means over the classes",
    "kept": "The tested members are the delivered ones, refitted on the training rows.",
    "again": "Before they were refitted, their ",
    "all": "The delivered ones are refitted on all rows except those train_rows left out",
    "fixed": "The base preparation (imputed values, categories, words of texts) is not fitted ag",
}


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, {"two", "kept", "again"}),
        ({"by": {"time": "day"}, "classes": list("abc")}, {"more", "kept", "again"}),
        ({"classes": ["it's 5$", "b"]}, {"other", "kept", "again"}),
        ({"by": {"group": "patient"}, "groups": np.arange(120) // 10},
         {"groups", "two", "kept", "again"}),
        ({"weights": np.ones(120), "as_found": None}, {"weights", "two", "kept"}),
        ({"validation": 0.0}, {"far", "low", "two", "kept", "again"}),
        ({"validation": 0.9}, {"far", "two", "kept", "again"}),
        ({"validation": 0.0, "metric": "auc"}, {"far", "low", "two", "kept", "again"}),
        ({"metric": "auc"}, {"far", "two", "kept", "again"}),
        ({"rows": "all", "unseen": False, "settings": {"train_rows": {"share": 0.5}}},
         {"two", "all", "fixed"}),
        ({"classes": [], "metric": "rmse", "validation": 0.5}, {"far", "kept", "again"}),
        ({"classes": [], "metric": "rmse", "validation": 0.5, "weights": np.ones(120)},
         {"amounts", "far", "kept", "again"}),
    ],
)  # fmt: skip
def test_what_the_quality_says(changes, expected, monkeypatch):
    """A third of the 120 rows is wrong, by default as on the validation rows."""
    given = {"classes": ["a", "b"], "by": {}, "settings": {}, "metric": "error", "rows": "train",
             "groups": None, "weights": np.empty(0), "unseen": True, "validation": 1 / 3,
             **changes}  # fmt: skip
    labels, found = np.arange(120) % 2, np.tile([0.2, 0.7, 0.6, 0.7, 0.2, 0.3], 20)[:, None]
    given.setdefault("as_found", found)
    metric = plugins.load("metrics", given["metric"])()
    kept = SimpleNamespace(loss=lambda labels, predictions: given["validation"])
    pool = SimpleNamespace(problem=SimpleNamespace(metric=kept), labels=[], predictions=[])
    tested = SimpleNamespace(
        delivery=SimpleNamespace(
            pool=pool, members=SimpleNamespace(predict=lambda p: p), own_test=None, notes=[]
        ),
        labels=labels, groups=given["groups"], weights=given["weights"], metric=metric, scale=1.0,
        name=given["metric"], loss=lambda loss: loss, manifest={"rows": given["rows"]},
        classes=given["classes"], commonest="a", unseen=given["unseen"], as_found=given["as_found"],
        as_used=np.asarray,
    )  # fmt: skip
    measure = measures.measured(tested.name, labels, found, 0 * found, weights=np.empty(0))
    own = given["validation"]
    monkeypatch.setattr(measures, "interval", lambda *of: (own - 0.01, own + 0.01))
    described = {"settings": given["settings"], "by": given["by"]}
    said = " ".join(card._quality(tested, {tested.name: measure}, described).paragraphs)
    assert {key for key, words in SAID.items() if words in said} == expected, said


@pytest.mark.parametrize("name", ["error", "log-loss"])
def test_losses_of_calibrated_predictions_are_compared(name):
    """Calibration halves the log odds, on validation rows and test rows alike."""
    tested = object.__new__(OnTestRows)
    labels, stored = np.arange(120) % 2, np.tile([0.1, 0.9, 0.8, 0.9], 30)[:, None]
    metric = plugins.load("metrics", name)()
    problem = SimpleNamespace(metric=metric, compress=lambda p: p)
    tested.delivery = SimpleNamespace(
        pool=SimpleNamespace(problem=problem, labels=labels, predictions=stored),
        members=SimpleNamespace(predict=lambda p: p),
    )
    tested.name, tested.classes, tested.metric = name, ["a", "b"], metric
    tested.squared, tested.scale, tested.groups = False, 1.0, None
    tested.ensemble = SimpleNamespace(probabilities=lambda p: 1 / (1 + np.sqrt(1 / p - 1)))
    used = tested.as_used(stored, name)
    # The log odds of 0.9 are log(9), so 0.75 is left.
    assert used[1, 0] == pytest.approx(0.75 if name == "log-loss" else 0.9)
    assert card._validation_loss(tested) == metric.loss(labels, used)
    own = measures.measured(name, labels, used, used, weights=np.empty(0))
    assert not card._apart(tested, own)


@pytest.mark.parametrize(
    ("commit", "dirty", "said"),
    [
        ("ab" * 20, False, "of this project at commit abababababab."),
        ("ab" * 20, True, "at commit abababababab, which had uncommitted changes."),
        (None, None, "in a checkout of this project."),
    ],
)
def test_the_checkout_that_repeats_the_search_is_named(commit, dirty, said, monkeypatch):
    made = {"made/search": {"commit": commit, "dirty": dirty}}
    monkeypatch.setattr(card.readers, "search", made.get)
    monkeypatch.setattr(card.readers, "failures", {"made/search": "1 of 2 failed"}.get)
    kept = SimpleNamespace(loss=lambda labels, predictions: 0.25)
    tested = SimpleNamespace(
        delivery=SimpleNamespace(
            pool=SimpleNamespace(
                problem=SimpleNamespace(metric=kept), labels=[], predictions=[], errors=[0.5, 0.25]
            ),
            members=SimpleNamespace(predict=lambda p: p), settings={"repeat": 0},
            source=SimpleNamespace(search="made/search", space="divbo"),
        ),
        loss=lambda losses: losses, metric=ERROR, name="error", as_used=np.asarray,
    )  # fmt: skip
    about = {"method": "RS", "study": "s", "command": "snakemake"}
    part = card._search(tested, about)
    assert [series.name for series in part.charts[0].series] == ["best pipeline so far", "ensemble"]
    failed, searched = part.paragraphs
    assert failed == "1 of 2 failed." and searched.endswith(said)


def test_reasons_of_failures_are_counted(tmp_path):
    late, twice = ("timeout", "TimeoutError", "more than 10 s"), ("crash", "LinAlgError", "a\nb")
    rows = [("ok", None, None), twice, late, late, ("memory", "MemoryError", "more than 9 MiB")]
    rows += [("crash", "ValueError", "x" * 999)]
    columns = {"iteration": range(1, 7)}
    columns |= dict(zip(("status", "error_type", "message"), zip(*rows, strict=True), strict=True))
    made = pd.DataFrame({name: [*values] for name, values in columns.items()})
    made.to_parquet(tmp_path / "observations.parquet", index=False)
    assert readers.failures(tmp_path) == (
        "5 of 6 pipelines failed: 2 × TimeoutError: more than 10 s; 1 × LinAlgError: a\\nb; "
        "1 × MemoryError: more than 9 MiB; other reasons"
    )
    made[5:].assign(iteration=1).to_parquet(tmp_path / "observations.parquet", index=False)
    said = readers.failures(tmp_path)
    assert said.endswith("x…") and len(said.partition("1 × ")[2]) == readers.LONGEST_REASON
    made[:1].to_parquet(tmp_path / "observations.parquet", index=False)
    assert readers.failures(tmp_path) == ""


@pytest.mark.parametrize("n", [4, 6])
def test_classes_that_the_figures_leave_out_are_said(n):
    rng = np.random.default_rng(0)
    labels = np.repeat(np.arange(n), np.arange(n, 0, -1) + 9)
    words = np.eye(2)[rng.integers(0, 2, len(labels))]
    X = np.column_stack([labels - 0.6 * words[:, 0], words])
    ensemble = SimpleNamespace(
        preparation=Preparation([COLUMNS[0], Categories("c", ["x", "y"], [], "x")], ["size", "c"]),
        member_predictions=lambda X: X,
        combine=lambda X: np.exp(-np.abs(X[:, :1] + 0.6 * X[:, 1:2] - np.arange(n))),
    )
    tested = SimpleNamespace(
        ensemble=ensemble, X=X, labels=labels, metric=ERROR, scale=1.0, unseen=True,
        classes=list("abcdef")[:n], manifest={"target": "y"}, outputs=lambda p: p,
        as_used=np.asarray,
        delivery=SimpleNamespace(source=SimpleNamespace(seed=0)),
    )  # fmt: skip
    part = card._columns(tested)
    assert [one.name for one in part.charts[0].series] == ["a", "b", "c", "d"]
    forms = {chart.x: {one.form for one in chart.series} for chart in part.charts}
    assert forms == {"size": {"both"}, "c": {"points"}}
    said = f"Of the {n} classes, they show the 4 that have the most test rows."
    assert (said in part.paragraphs) == (n > 4)
    seen = "The members were also fitted on these rows, so columns that distinguish rows seem"
    assert seen not in part.paragraphs[0]
    tested.unseen = False
    assert seen in card._columns(tested).paragraphs[0]
    none = "No shuffle changes the error: for it, the columns make no difference here."
    assert none not in part.paragraphs
    ensemble.combine = lambda X: np.ones((len(X), n))
    assert none in card._columns(tested).paragraphs


def test_the_coverage_of_prediction_intervals_is_weighted():
    """A row of weight 9 counts as nine, and 10 such rows of 100 as few."""
    of, _ = of_test_rows([0.0] * 100, [5.0] * 10 + [0.1] * 90, SQUARED_ERROR)
    of.weights = np.where(np.arange(100) < 10, 9.0, 1.0)
    _, _, covered, low, high = card._coverages(of)[0]
    assert covered == 0.5
    rows = 180**2 / (10 * 81 + 90)
    assert (low, high) == pytest.approx(measures.wilson(rows / 2, rows))
    assert "weighted share of test rows" in card._intervals(of).paragraphs[0]
    of.weights = np.empty(0)
    assert card._coverages(of)[0][2:] == (0.9, *measures.wilson(90, 100))
    assert "weighted" not in card._intervals(of).paragraphs[0]


def of_test_rows(labels, found, metric, classes=(), warning=""):
    """As the card has it, of predictions and a baseline."""
    baseline = np.full((len(labels), 1), 0.1 if classes else 0.0)
    made = SimpleNamespace(
        labels=np.array(labels), found=np.array(found)[:, None], baseline=baseline, metric=metric,
        classes=list(classes), name="error" if classes else "rmse",
        delivery=SimpleNamespace(warning=warning, own_test=None), groups=None, std=1.0,
        ensemble=SimpleNamespace(half_width=lambda coverage: 1.2), weights=np.empty(0),
        as_used=np.asarray,
    )  # fmt: skip
    given = {"labels": made.labels, "predictions": made.found, "baseline": baseline}
    names = [made.name] if classes else [made.name, "r2"]
    return made, {name: measures.measured(name, **given, weights=np.empty(0)) for name in names}


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (([0, 1] * 60, [0.2, 0.7] * 40 + [0.2, 0.3] * 20, ERROR, ("a", "b")), []),
        (([0, 1] * 60, [0.1] * 120, ERROR, ("a", "b")),
         ["not clearly better than the baseline, which uses no column",
          "It predicts no test row of 'b' correctly"]),
        (([0] * 110 + [1] * 10, [0.1] * 110 + [0.7] * 2 + [0.3] * 8, ERROR, ("a", "b")),
         ["search by another metric, such as balanced-error"]),
        (([0] * 112 + [1] * 8, [0.1] * 112 + [0.7] * 2 + [0.3] * 6, ERROR, ("a", "b")),
         ["With so few rows of a class, another metric would hardly help",
          "Fewer than 10 test rows per class: 'b'"]),
        (([0, 1] * 60, [0.1, 0.9] * 60, ERROR, ("a", "b")), ["almost perfect"]),
        (([0, 1] * 10, [0.1, 0.9] * 9 + [0.1, 0.2], ERROR, ("a", "b")), ["only 20 test rows"]),
        (([0] * 95 + [1] * 5, [0.2] * 94 + [0.7] * 4 + [0.3] * 2, ERROR, ("a", "b")),
         ["Fewer than 10 test rows per class: 'b'"]),
        (([0, 1] * 60, [0.2, 0.7] * 40 + [0.2, 0.3] * 20, ERROR, ("a", "b"), "5 of 6 failed"),
         ["5 of 6 failed."]),
        (([0.0, 1.0, -1.0] * 20, [0.1, 0.1, 0.1] * 20, SQUARED_ERROR), ["not clearly better"]),
        (([2.0, 2.5, 3.0] * 20, [1.0, 1.1, 1.2] * 20, SQUARED_ERROR),
         ["The test rows differ from the training rows",
          "the test rows contain only 0.333: the intervals"]),
    ],
)  # fmt: skip
def test_cautions(given, said):
    found = list(card._cautions(*of_test_rows(*given), {}))
    some = [words for words in said if any(words in caution for caution in found)]
    assert some == said, found
    assert len(found) >= len(said)
    assert bool(found) == bool(said)


def test_later_rows_may_differ():
    tested = of_test_rows([0, 1] * 60, [0.2, 0.7] * 40 + [0.2, 0.3] * 20, ERROR, ("a", "b"))
    assert [*card._cautions(*tested, {"weight": "w"})] == []
    (said,) = card._cautions(*tested, {"time": "day"})
    assert said.startswith("Rows close in time may be alike")


def test_predictions_of_a_target_of_noise_do_not_make_the_test_rows_others():
    labels, found = np.random.default_rng(0).normal(size=(2, 2000))
    said = " ".join(card._cautions(*of_test_rows(labels, found / 2, SQUARED_ERROR), {}))
    assert "R² is below 0: the mean of the test rows themselves would be closer." in said
    assert "differ" not in said


def test_the_page_has_one_unit_of_shares():
    tested, found = of_test_rows([0, 1] * 60, [0.2, 0.7] * 40 + [0.2, 0.3] * 20, ERROR, ("a", "b"))
    tested.commonest = "a"
    said = card._headline(tested, found)
    assert said.startswith("Error on the test rows: 0.1667 (95 % interval 0.1106 to ")
    assert said.endswith("; always predicting 'a' would have 0.5.")


def test_the_data_of_a_table_are_named(tmp_path):
    table = page.Table(["column"], [["x"]], csv="column,rise\n", name="importance")
    page.write(page.Card("t", parts=[page.Part("p", tables=[table])]), tmp_path)
    for name in ("card.html", "card.md"):
        assert "All rows of this table as CSV" in (tmp_path / name).read_text(encoding="utf-8")


def test_copies_are_more_than_rows_that_are_alike_by_chance():
    rng = np.random.default_rng(0)

    def found(of, table, folds=0):
        zeros = [np.zeros(len(part)) for part in (*table, of)]
        inputs = SimpleNamespace(
            X_train=table[0], y_train=zeros[0], X_validation=table[1], y_validation=zeros[1],
            X_test=table[2], folds=np.zeros(folds),
        )  # fmt: skip
        delivery = SimpleNamespace(inputs=inputs, test_labels=zeros[2])
        return copies(SimpleNamespace(X=of, labels=zeros[3], delivery=delivery))

    table, new = rng.random((3, 50, 2)), rng.random((100, 2))
    assert found(new, table) == 0
    for part in table:
        new[:10] = -0.0 + part[:10]
        assert found(new, table) == 10
    new[:10] = table[1, :10]
    assert found(np.concatenate([new[:1], rng.random((200, 2))]), table) == 0  # a single one
    few = rng.integers(0, 3, (3, 50, 2)).astype(float)
    assert found(few[0], few) == 0


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (0.12345, "0.1235"),
        (9999.4, "9999"),
        (31370.2, "31,370"),
        (-1234567, "-1,235,000"),
        (0, "0"),
    ],
)
def test_amounts_have_no_exponent(number, text):
    assert card.amount(number) == text


def test_ticks_are_round_numbers():
    assert ticks(0, 1) == [0, 0.2, 0.4, 0.6, 0.8, 1]
    assert ticks(-3.2, 17) == [0, 5, 10, 15]
    for low, high in ((1e-9, 3e-9), (-1e7, 1e7), (0.999, 1.0001)):
        assert 2 <= len(ticks(low, high)) <= 7


def test_shares_do_not_wrap_on_the_page(tmp_path):
    table = page.Table(("class", "95 % interval"), [("a", "7 % to 8 %")])
    part = page.Part("p", ["A 95 % interval."], [table], code="python predict.py 'a 5 % b.csv'")
    page.write(page.Card("t", parts=[part]), tmp_path)
    html = (tmp_path / "card.html").read_text(encoding="utf-8")
    for said in ("A 95\xa0% interval.", "95\xa0% interval", "7\xa0% to 8\xa0%", "a 5 % b.csv"):
        assert said in html
    assert "A 95 % interval." in (tmp_path / "card.md").read_text(encoding="utf-8")


def test_a_chart_draws_all_its_numbers(tmp_path):
    chart = Chart("c", "<b>", "=x", "y", [Series("one", [0, 1, 2], [1.0, np.nan, 3.0]),
                                          Series("two", [0, 1], [2.0, 2.0], "points")],
                  ["a", "b", "a very long word indeed"])  # fmt: skip
    drawn = chart.drawn()
    assert re.fullmatch(r"M\S+ \S+ M\S+ \S+", drawn["series"][0]["path"]), "NaN interrupts"
    assert len(drawn["series"][1]["dots"]) == 2
    assert [word for _, word in drawn["across"]] == ["a", "b", "a very long w…"]
    assert chart.csv().splitlines()[:3] == ["series,'=x,y", "one,a,1", "one,b,nan"]
    page.write(page.Card("t <i>", "h", ["<u>"], [page.Part("p", charts=[chart])]), tmp_path)
    text = (tmp_path / "card.html").read_text(encoding="utf-8")
    assert not re.search("<[biu]>", text)
    line, points = re.findall("<li>(.*)</li>", text)
    assert "<path" in line and "<circle" not in line
    assert "<circle" in points and "<path" not in points
    assert (tmp_path / "figures/c.csv").read_text(encoding="utf-8") == chart.csv()
    inner = re.findall(r'<svg x="-4".*?</svg>', text, re.DOTALL)
    assert len(inner) == 1 and "<circle" in inner[0] and "<text" not in inner[0], "it is clipped"
    constant = Chart("c", "", "x", "y", [Series("one", [5], [7.0], "both")])
    assert len(constant.drawn()["series"][0]["dots"]) == 1


def test_the_line_of_the_ensemble_is_not_calibrated_as_those_of_pipelines(monkeypatch):
    monkeypatch.setattr(card.readers, "search", lambda folder: {"commit": "", "dirty": False})
    monkeypatch.setattr(card.readers, "failures", lambda folder: "1 of 2 failed: x.")
    loss = SimpleNamespace(loss=lambda labels, predictions: float(np.mean(predictions)))
    pool = SimpleNamespace(problem=SimpleNamespace(metric=loss), labels=[], predictions=[0.5, 0.3],
                           errors=[0.5, 0.25])  # fmt: skip
    tested = SimpleNamespace(
        delivery=SimpleNamespace(pool=pool, members=SimpleNamespace(predict=np.asarray),
                                 settings={"repeat": 0},
                                 source=SimpleNamespace(search="made/search", space="divbo")),
        # NumPy's numbers, as roots of squared errors are.
        loss=lambda losses: np.float64(1) * losses, metric=ERROR, as_used=lambda stored: stored / 2,
    )  # fmt: skip
    part = card._search(tested, {"method": "RS", "study": "s", "command": "snakemake"})
    _, ensemble = part.charts[0].series
    assert (ensemble.name, ensemble.y) == ("ensemble, not calibrated", [0.4, 0.4])
    assert part.paragraphs[0] == "1 of 2 failed: x."


def test_text_from_data_has_no_control_characters(tmp_path):
    """A line break would end the comment of a command that readers paste."""
    name = "a'\nrm -rf . #\x1b[2J"
    labels = np.arange(60) % 2
    p = np.linspace(0.01, 0.99, 60)
    of = SimpleNamespace(classes=["no", name], labels=labels, weights=np.empty(0), groups=None,
                         probabilities=np.stack([1 - p, p], axis=1))  # fmt: skip
    part = card._threshold(of)
    assert len(part.code.splitlines()) == 1
    table = page.Table((name,), [(name,)])
    made = page.Card(name, name, [name], [part, page.Part("p", [name], [table])])
    page.write(made, tmp_path)
    for file in ("card.html", "card.md"):
        text = (tmp_path / file).read_text(encoding="utf-8")
        assert "\x1b" not in text
        assert "\\x1b" in text.replace("\\\\", "\\")
    assert "\nrm" not in text, "Markdown"


def grouped(rng, groups, size):
    """Rows of groups, some harder than others: whether each is wrong, and its group."""
    hard = rng.beta(1, 3, groups)
    codes = np.repeat(np.arange(groups), size)
    return (rng.random(groups * size) < hard[codes]).astype(int), codes


def test_intervals_of_groups_hold_the_true_loss_as_often_as_they_say():
    """A quarter of the rows is wrong, but whole groups at a time."""
    rng = np.random.default_rng(0)
    held = {"rows": 0, "groups": 0, "brier": 0}
    n = 300
    for _ in range(n):
        labels, codes = grouped(rng, 15, 20)
        predictions = np.zeros((len(labels), 1))
        for name, own in (("rows", None), ("groups", codes)):
            low, high = measures.interval(ERROR, labels, predictions, own)
            held[name] += low <= 0.25 <= high
        # The squared error of predicting 0.25 has the mean 2 x 0.25 x 0.75.
        low, high = measures.interval(SQUARED_ERROR, labels, predictions + 0.25, codes)
        held["brier"] += low <= 0.25 * 0.75 <= high
    assert held["rows"] / n < 0.75
    assert held["groups"] / n > 0.9
    assert held["brier"] / n > 0.85


def test_intervals_of_groups_without_any_variation():
    codes = np.repeat(np.arange(10), 30)
    low, high = measures.share(np.zeros(300, bool), codes)
    assert low == 0
    assert high == pytest.approx(0.34, abs=0.01)  # of ten rows, with Student's t
    assert measures.share(np.ones(300, bool), codes) == pytest.approx((1 - high, 1))
    assert measures.share(np.ones(5, bool), np.zeros(5, int)) == (0, 1)
    alone = measures.interval(SQUARED_ERROR, np.zeros(5), np.full((5, 1), 0.5), np.zeros(5))
    assert alone == (0, np.inf)


def test_many_groups_are_put_together():
    rng = np.random.default_rng(0)
    labels, codes = grouped(rng, 3000, 2)
    calls = []

    class Counted(type(SQUARED_ERROR)):
        def loss(self, *given):
            calls.append(given)
            return super().loss(*given)

    low, high = measures.interval(Counted(), labels, np.full((len(labels), 1), 0.25), codes)
    assert len(calls) == measures.BLOCKS + 1
    assert low < SQUARED_ERROR.loss(labels, np.full((len(labels), 1), 0.25)) < high < low + 0.04
