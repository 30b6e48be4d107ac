"""Measures of the diversity of an ensemble's members: by hand, in loops, and at their limits."""

from itertools import combinations

import numpy as np
import pytest
from sklearn.metrics import cohen_kappa_score

from ensemble_search.metrics.brier import Brier
from ensemble_search.metrics.squared_error import SquaredError
from ensemble_search.problems import member_diversity
from ensemble_search.problems.member_diversity import DECOMPOSITIONS, MEASURES


def certain(predicted, n_classes=2):
    """Stored predictions of members that are sure of their labels."""
    p = np.eye(n_classes, dtype=np.float32)[np.array(predicted)]
    return p[:, :, 1:] if n_classes == 2 else p


def test_three_members_on_four_samples_by_hand():
    # Samples right:  1 2 . .  /  1 . 3 .  /  1 2 . 4
    found = member_diversity.measures(
        certain([[0, 0, 0, 0], [0, 1, 1, 0], [0, 0, 0, 1]]), np.array([0, 0, 1, 1])
    )
    assert found == pytest.approx({
        "disagreement": (2 / 4 + 1 / 4 + 3 / 4) / 3,
        "q_statistic": (0 + 1 - 1) / 3,
        "correlation": (0 + 2 / 12**0.5 - 2 / 12**0.5) / 3,
        "kappa": (0 + 0 + (0.25 - 0.5) / 0.5) / 3,
        "double_fault": (1 / 4 + 1 / 4 + 0) / 3,
        "kw_variance": (0 + 2 + 2 + 2) / (4 * 3**2),
        "interrater_agreement": 1 - 6 / 3 / (4 * 2 * 7 / 12 * 5 / 12),
        "entropy": (0 + 1 + 1 + 1) / 4,
        "difficulty": (1 + 4 / 9 + 1 / 9 + 1 / 9) / 4 - (7 / 12) ** 2,
        "generalized_diversity": 1 - (1 / 6) / (5 / 12),
        "coincident_failure_diversity": (1 * 1 / 4 + 1 / 2 * 2 / 4) / (3 / 4),
    })  # fmt: skip
    assert tuple(found) == MEASURES


def test_who_is_right_by_hand():
    # Two classes, one column: the probability of class 1.
    two = np.array([[[0.2], [0.9]], [[0.6], [0.5]], [[0.2], [0.9]]], dtype=np.float32)
    assert member_diversity.predicted(two).tolist() == [[0, 1], [1, 0], [0, 1]]
    three = np.array([[[1, 0, 0], [0, 0.5, 0.5]], [[1, 0, 0], [0, 0, 1]]], dtype=np.float32)
    assert member_diversity.predicted(three).tolist() == [[0, 1], [0, 2]]


def test_disagreement_is_the_mean_over_pairs():
    right = np.random.default_rng(0).random((7, 30)) < 0.7
    pairs = [np.mean(a != b) for a, b in combinations(right, 2)]
    assert member_diversity.disagreement(right) == pytest.approx(np.mean(pairs))
    assert np.isnan(member_diversity.disagreement(right[:1]))


@pytest.mark.parametrize("n_members", [2, 5, 6])
@pytest.mark.parametrize("n_classes", [2, 4])
def test_measures_in_loops(n_members, n_classes):
    rng = np.random.default_rng([n_members, n_classes])
    n = 57
    labels = rng.integers(n_classes, size=n)
    guesses = rng.integers(n_classes, size=(n_members, n))
    predicted = np.where(rng.random((n_members, n)) < 0.6, labels, guesses)
    right = predicted == labels
    tables = []
    for a, b in combinations(right, 2):
        tables.append([np.sum(a & b), np.sum(a & ~b), np.sum(~a & b), np.sum(~a & ~b)])
    faults = (~right).sum(axis=0)
    hit = right.mean(axis=0)
    fail_both = [np.mean(~a & ~b) for a, b in combinations(right, 2)]
    share = [np.mean(faults == i) for i in range(n_members + 1)]
    spread = sum((n_members - i) / (n_members - 1) * share[i] for i in range(1, n_members + 1))
    disagreement = np.mean([(b + c) / n for _, b, c, _ in tables])
    p = right.mean()
    expected = {
        "disagreement": disagreement,
        "q_statistic": np.mean([(a * d - b * c) / (a * d + b * c) for a, b, c, d in tables]),
        "correlation": np.mean([np.corrcoef(a, b)[0, 1] for a, b in combinations(right, 2)]),
        "kappa": np.mean([cohen_kappa_score(a, b) for a, b in combinations(predicted, 2)]),
        "double_fault": np.mean(fail_both),
        # Kohavi and Wolpert's (1 - P(right)^2 - P(wrong)^2) / 2.
        "kw_variance": np.mean(0.5 * (1 - hit**2 - (1 - hit) ** 2)),
        # Kuncheva and Whitaker, Eq. 12: from the mean disagreement.
        "interrater_agreement": 1 - disagreement / (2 * p * (1 - p)),
        "entropy": np.mean(
            [min(f, n_members - f) / (n_members - np.ceil(n_members / 2)) for f in faults]
        ),
        "difficulty": np.var(hit),
        "generalized_diversity": 1 - np.mean(fail_both) / np.mean(~right),
        "coincident_failure_diversity": spread / (1 - share[0]),
    }
    found = member_diversity.measures(certain(predicted, n_classes), labels)
    assert found == pytest.approx(expected, abs=1e-12)


LABELS = np.array([0, 1, 0, 1])


@pytest.mark.parametrize(
    ("predicted", "expected"),
    [
        # The same labels, right on a part of the samples: as alike as can be.
        (
            [[0, 1, 0, 0]] * 3,
            {"disagreement": 0, "q_statistic": 1, "correlation": 1, "kappa": 1, "entropy": 0,
             "double_fault": 1 / 4, "kw_variance": 0, "interrater_agreement": 1,
             "difficulty": 3 / 16, "generalized_diversity": 0, "coincident_failure_diversity": 0},
        ),
        # All right on all samples: nothing varies.
        (
            [[0, 1, 0, 1]] * 2,
            {"disagreement": 0, "q_statistic": 0, "correlation": 0, "kappa": 1, "entropy": 0,
             "double_fault": 0, "kw_variance": 0, "interrater_agreement": 1,
             "difficulty": 0, "generalized_diversity": 0, "coincident_failure_diversity": 0},
        ),
        # All wrong on all samples.
        (
            [[1, 0, 1, 0]] * 2,
            {"disagreement": 0, "q_statistic": 0, "correlation": 0, "kappa": 1, "entropy": 0,
             "double_fault": 1, "kw_variance": 0, "interrater_agreement": 1,
             "difficulty": 0, "generalized_diversity": 0, "coincident_failure_diversity": 0},
        ),
        # The same single label.
        ([[0, 0, 0, 0]] * 2, {"kappa": 1, "interrater_agreement": 1, "q_statistic": 1}),
        # Two that complement each other: as different as can be.
        (
            [[0, 0, 0, 0], [1, 1, 1, 1]],
            {"disagreement": 1, "q_statistic": -1, "correlation": -1, "kappa": 0, "entropy": 1,
             "double_fault": 0, "kw_variance": 1 / 4, "interrater_agreement": -1,
             "difficulty": 0, "generalized_diversity": 1, "coincident_failure_diversity": 1},
        ),
        # One of them is right everywhere.
        ([[0, 1, 0, 1], [0, 0, 0, 0]], {"q_statistic": 0, "correlation": 0, "double_fault": 0}),
    ],
)  # fmt: skip
def test_limits(predicted, expected):
    found = member_diversity.measures(certain(predicted), LABELS)
    assert {name: found[name] for name in expected} == pytest.approx(expected, abs=1e-15)


def test_a_single_member_has_none():
    found = member_diversity.measures(certain([[0, 1, 0, 0]]), LABELS)
    assert tuple(found) == MEASURES and np.isnan(list(found.values())).all()


@pytest.mark.parametrize("n_classes", [0, 2, 4])
@pytest.mark.parametrize("equal", [True, False])
def test_decompositions_by_their_definitions(n_classes, equal):
    """Brier score, and squared error of a regression (0 classes), with weights."""
    rng = np.random.default_rng([n_classes, equal])
    members, n = 5, 40
    weights = np.full(members, 1 / members) if equal else rng.dirichlet(np.ones(members))
    if n_classes:
        labels, loss, task = rng.integers(n_classes, size=n), Brier(), "classification"
        p = rng.dirichlet(np.ones(n_classes), size=(members, n)).astype(np.float32)
        p = p[:, :, 1:] if n_classes == 2 else p
        targets = labels[:, None] if n_classes == 2 else np.eye(n_classes)[labels]
        factor = 1 if n_classes == 2 else 0.5
    else:
        labels, loss, task = rng.normal(size=n), SquaredError(), "regression"
        p = (labels + rng.normal(0.3, 1, (members, n)))[:, :, None]
        targets, factor = labels[:, None], 1
    found = member_diversity.decompositions(p, labels, weights, task)
    assert tuple(found) == DECOMPOSITIONS
    mean = np.tensordot(weights, p, 1)
    assert found["loss"] == pytest.approx(loss.loss(labels, mean))
    assert found["member_loss"] == pytest.approx(
        np.average([loss.loss(labels, one) for one in p], weights=weights)
    )
    squares = [factor * np.mean(np.sum((one - mean) ** 2, axis=1)) for one in p]
    assert found["ambiguity"] == pytest.approx(np.average(squares, weights=weights))
    assert found["loss"] == pytest.approx(found["member_loss"] - found["ambiguity"], abs=1e-14)

    residuals = (p - targets).transpose(2, 0, 1)  # class, member, sample
    variance = covariance = bias = 0.0
    for one in residuals:
        bias += factor * (weights @ one.mean(axis=1)) ** 2
        matrix = factor * np.cov(one, bias=True)
        for i, j in np.ndindex(members, members):
            if i == j:
                variance += weights[i] ** 2 * matrix[i, i]
            else:
                covariance += weights[i] * weights[j] * matrix[i, j]
    expected = {"bias": bias, "variance": variance, "covariance": covariance}
    assert {name: found[name] for name in expected} == pytest.approx(expected, abs=1e-12)
    assert found["loss"] == pytest.approx(sum(expected.values()))
    if equal:  # as Ueda and Nakano write it
        matrices = factor * np.sum([np.cov(one, bias=True) for one in residuals], axis=0)
        assert found["variance"] == pytest.approx(matrices.diagonal().mean() / members)
        others = matrices[~np.eye(members, dtype=bool)].mean()
        assert found["covariance"] == pytest.approx((1 - 1 / members) * others)


def test_decompositions_of_a_single_member():
    p = np.array([[[0.5], [0.5], [0.5], [1.0]]])
    found = member_diversity.decompositions(p, LABELS, np.ones(1))
    assert found["loss"] == found["member_loss"] == pytest.approx(3 / 16)
    assert found["ambiguity"] == pytest.approx(0, abs=1e-15) == found["covariance"]
    assert found["bias"] == pytest.approx((0.5 / 4) ** 2)
