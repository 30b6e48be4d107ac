"""Ensemble selection, compared with exact arithmetic in plain loops and by hand."""

import math
from fractions import Fraction
from typing import get_args

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from ensemble_search.ensembles.base import Members, Pool
from ensemble_search.ensembles.greedy import counts
from ensemble_search.ensembles.greedy.running_sums import make_sums
from ensemble_search.ensembles.selection import Selection, Ties, log_losses, paths, select
from ensemble_search.metrics.base import predicted_labels
from ensemble_search.problems.classification import CLASSIFICATION
from ensemble_search.problems.combination import RESOLUTION

pytestmark = pytest.mark.slow


def exact_errors(chosen, predictions, labels):
    """Count wrong labels of the mean of ``chosen``, in exact arithmetic on multiples of 2^-32."""
    wrong = 0
    for sample, label in enumerate(labels):
        sums = [
            sum(Fraction(round(Fraction(float(p)) * 2**32), 2**32) for p in ps)
            for ps in zip(*(predictions[i][sample] for i in chosen), strict=True)
        ]
        if len(sums) == 1:
            predicted = int(sums[0] > Fraction(len(chosen), 2))
        else:
            predicted = sums.index(max(sums))
        wrong += predicted != label
    return wrong


def exact_log_loss(chosen, predictions, labels):
    """Mean negative logarithm, as a float32, of the mean probability of the labels."""
    means = []
    for sample, label in enumerate(labels):
        right = []
        for i in chosen:
            p = predictions[i][sample]
            rounded = Fraction(round(Fraction(float(p[min(label, len(p) - 1)])) * 2**32), 2**32)
            right.append(1 - rounded if len(p) == 1 and label == 0 else rounded)
        means.append(max(sum(right) / len(chosen), Fraction(1, 2**32)))
    return np.float32(-math.fsum(map(math.log, means)) / len(means))


def exact_selection(predictions, labels, size, seed, ties):
    """Select in plain loops: the indices and the errors of all rounds (Caruana et al., 2004)."""
    path, trajectory = [], []
    for number in range(1, size + 1):
        draws = np.random.default_rng([seed, number]).random(len(predictions))
        best = None
        for i in range(len(predictions)):
            wrong = exact_errors([*path, i], predictions, labels)
            second = 0
            if ties == "selected-first":
                second = i not in path
            elif ties == "log-loss" and (best is None or wrong <= best[0]):
                second = exact_log_loss([*path, i], predictions, labels)
            key = (wrong, second, draws[i])
            if best is None or key < best:
                best, winner = key, i
        path.append(winner)
        trajectory.append(best[0])
    return path, trajectory


def members_of(path):
    indices = sorted(set(path))
    return indices, [path.count(i) / len(path) for i in indices]


def single_errors(predictions, labels):
    return [exact_errors([i], predictions, labels) / len(labels) for i in range(len(predictions))]


TIES = get_args(Ties)

#: Probabilities that float64 sums with larger ones hold or lose, depending on the order.
TINY = [1e-23, 8e-23, 1e-17, 1e-16, 3e-16, 1e-13, 1e-12, 2e-12, 5e-11, 1.2e-10, 1e-9, 3e-8]


@st.composite
def pools(draw):
    """Small pools in which nearly everything ties, with failed evaluations in between."""
    n_classes = draw(st.integers(2, 4))
    n_samples = draw(st.integers(1, 7))
    n = draw(st.integers(1, 8))
    if n_classes == 2:
        row = st.sampled_from([*TINY, 0.0, 0.25, 0.5, 0.75, 1.0, 0.1, 0.3, 0.7, 0.9]).map(
            lambda p: [p]
        )
    else:
        cuts = st.lists(st.integers(0, 4), min_size=n_classes - 1, max_size=n_classes - 1)
        more = st.lists(st.sampled_from([0, *TINY]), min_size=n_classes, max_size=n_classes)
        row = st.tuples(cuts, more).map(
            lambda drawn: (np.diff([0, *sorted(drawn[0]), 4]) / 4 + drawn[1]).tolist()
        )
    matrix = st.lists(row, min_size=n_samples, max_size=n_samples)
    predictions = np.array(draw(st.lists(matrix, min_size=n, max_size=n)), dtype=np.float32)
    label = st.integers(0, n_classes - 1)
    labels = np.array(draw(st.lists(label, min_size=n_samples, max_size=n_samples)))
    errors = np.array(single_errors(predictions, labels))
    failed = np.array(draw(st.lists(st.booleans(), min_size=n, max_size=n)))
    predictions[failed] = errors[failed] = np.nan
    return Pool(predictions, labels, errors, draw(st.integers(0, 3)))


@settings(max_examples=200)
@given(pools(), st.integers(1, 9), st.sampled_from(TIES))
def test_trace_equals_exact_selection_on_every_prefix(pool, size, ties):
    trace = Selection(size=size, ties=ties).build_prefixes(pool)
    assert len(trace) == len(pool.errors)
    for t, members in enumerate(trace):
        ok = np.flatnonzero(~np.isnan(pool.errors[: t + 1]))
        if not len(ok):
            assert members is None
            continue
        path, _ = exact_selection(pool.predictions[ok], pool.labels, size, pool.seed, ties)
        indices, weights = members_of(path)
        assert members.indices.tolist() == ok[indices].tolist()
        assert members.weights == pytest.approx(weights, abs=1e-15)


@settings(max_examples=150)
@given(pools(), st.integers(1, 9), st.sampled_from(TIES))
def test_paths_and_their_errors_equal_exact_selection(pool, size, ties):
    predictions = pool.predictions[~np.isnan(pool.errors)]
    found = list(paths(predictions, pool.labels, size, pool.seed, ties))
    assert len(found) == len(predictions)
    for n, chosen in enumerate(found, 1):
        assert chosen == exact_selection(predictions[:n], pool.labels, size, pool.seed, ties)


@settings(max_examples=300)
@given(pools(), st.integers(1, 9), st.sampled_from(TIES), st.randoms(use_true_random=False))
def test_errors_are_those_of_the_labels_that_the_ensemble_gives(pool, size, ties, random):
    """Of every beginning of a selection, whatever the order of its models."""
    predictions = pool.predictions[~np.isnan(pool.errors)]
    for path, errors in paths(predictions, pool.labels, size, pool.seed, ties):
        for number, wrong in enumerate(errors, 1):
            chosen = random.sample(path[:number], number)
            members = Members(np.array(chosen), np.full(number, 1 / number))
            assert np.sum(predicted_labels(members.predict(predictions)) != pool.labels) == wrong
        indices, weights = members_of(path)
        members = Members(np.array(indices), np.array(weights))
        assert np.sum(predicted_labels(members.predict(predictions)) != pool.labels) == errors[-1]


@pytest.mark.parametrize("order", [[0, 1], [1, 0]])
def test_a_probability_that_a_sum_cannot_hold_is_no_majority(order):
    """One model is sure of class 1, the other of class 0 but for 8e-23: a tie, so class 0."""
    predictions = np.array([[1, 0, 0], [8e-23, 0, 1]], dtype=np.float32)[order, :, None]
    labels = np.array([0, 0, 1])
    *_, (path, trajectory) = paths(predictions, labels, 2, 0)
    assert trajectory == [exact_errors(path[:n], predictions, labels) for n in (1, 2)]
    votes = make_sums(predictions, labels)
    for first in (0, 1):
        scorer = votes.scorer(votes.add(votes.zero, first), 2)
        assert scorer.losses(range(2))[1 - first] == 1  # only the tied third sample


@pytest.mark.parametrize("size", [2, 24, 100, 1000])
def test_the_smallest_majority_counts_in_the_largest_ensembles(size):
    """Half of the votes and one multiple of the resolution more, in scores as in selection."""
    for p, label in ((RESOLUTION, 1), (RESOLUTION / 4, 0)):
        predictions = np.array([p, 0, 1], dtype=np.float32)[:, None, None]
        weights = np.array([1, size // 2 - 1, size // 2]) / size
        members = Members(np.arange(3), weights)
        assert predicted_labels(members.predict(predictions)).tolist() == [label]
        votes = make_sums(predictions, np.array([1]))
        sums = votes.zero
        for _ in range(size // 2):
            sums = votes.add(sums, 2)
        assert votes.scorer(sums, size).losses(range(1)).tolist() == [1 - label]


def noisy_pool(seed, n, n_samples, n_classes):
    """A pool of realistic, confident models that share part of their mistakes."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, n_classes, n_samples)
    common = rng.normal(size=(n_samples, n_classes)) + np.eye(n_classes)[labels]
    noise = rng.normal(size=(n, n_samples, n_classes)) * rng.choice([0.3, 1, 2], (n, 1, 1))
    odds = np.exp((common + noise) * rng.choice([0.5, 2, 8], (n, 1, 1)))
    predictions = (odds / odds.sum(axis=2, keepdims=True)).astype(np.float32)
    if n_classes == 2:
        predictions = predictions[:, :, 1:]
    single = Members(np.array([0]), np.array([1.0]))
    errors = [np.mean(predicted_labels(single.predict(p[None])) != labels) for p in predictions]
    return Pool(predictions, labels, np.array(errors), seed)


@pytest.mark.parametrize("n_classes", [2, 3, 6])
@pytest.mark.parametrize(
    ("size", "ties"), [(25, "random"), (100, "random"), *((25, t) for t in TIES[1:])]
)
def test_trace_equals_select_on_realistic_pools(n_classes, size, ties):
    pool = noisy_pool(n_classes, 60, 150, n_classes)
    trace = Selection(size=size, ties=ties).build_prefixes(pool)
    for t, members in enumerate(trace, 1):
        expected = select(pool.predictions[:t], pool.labels, size, pool.seed, ties=ties)
        assert members.indices.tolist() == expected.indices.tolist()
        assert members.weights.tolist() == expected.weights.tolist()
    assert 5 < len(set(map(id, trace))) < 60  # some iterations change it, and some do not


@pytest.mark.parametrize("n_classes", [2, 5])
@pytest.mark.parametrize("ties", TIES)
def test_select_equals_loops_in_float64_on_a_realistic_pool(n_classes, ties):
    """All candidates of a round at once, by argmax over whole arrays, nothing left out."""
    pool = noisy_pool(7, 40, 300, n_classes)
    probabilities = CLASSIFICATION.expand(pool.predictions.astype(float))
    total, path = np.zeros(probabilities.shape[1:]), []
    for number in range(1, 31):
        mean = (total + probabilities) / number
        wrong = (mean.argmax(axis=2) != pool.labels).sum(axis=1)
        right = np.maximum(mean[:, np.arange(300), pool.labels], 2**-32)
        second = {
            "random": np.zeros(40),
            "selected-first": [i not in path for i in range(40)],
            "log-loss": -np.log(right).mean(axis=1),
        }[ties]
        draws = np.random.default_rng([7, number]).random(40)
        path.append(min(range(40), key=lambda i: (wrong[i], second[i], draws[i])))
        total += probabilities[path[-1]]
    members = select(pool.predictions, pool.labels, 30, 7, ties=ties)
    indices, weights = members_of(path)
    assert members.indices.tolist() == indices
    assert members.weights == pytest.approx(weights, abs=1e-15)


@pytest.mark.parametrize("n_classes", [2, 3, 6])
@pytest.mark.parametrize("block", [1, 70, 333, counts.BLOCK])
def test_errors_are_counted_in_blocks_of_samples(block, n_classes, monkeypatch):
    """Of two models and each third one, against the labels of their mean."""
    monkeypatch.setattr(counts, "BLOCK", block)
    monkeypatch.setattr(counts, "STAGED", 7 * block)
    pool = noisy_pool(3, 20, 90, n_classes)
    sums = make_sums(pool.predictions, pool.labels)
    scorer = sums.scorer(sums.add(sums.add(sums.zero, 4), 9), 3)
    means = (pool.predictions[4] + pool.predictions[9] + pool.predictions) / 3
    expected = [np.sum(predicted_labels(mean) != pool.labels) for mean in means]
    assert len(set(expected)) > 3
    assert scorer.losses(range(20)).tolist() == expected
    assert scorer.losses(range(7, 8)).tolist() == expected[7:8]


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("n", [1, 2, 3])
def test_many_errors_are_counted(n_classes, n):
    """More errors than 16 bits hold."""
    labels, models = np.ones(140_000, dtype=int), np.arange(n)
    wrong = models[:, None] == np.arange(len(labels)) % 10  # a tenth each; then the other way round
    wrong[-1] = ~wrong[-1]
    predictions = CLASSIFICATION.expand(np.where(wrong, 0.25, 0.75).astype(np.float32)[..., None])
    predictions = (
        predictions[..., 1:] if n_classes == 2 else np.pad(predictions, [(0, 0)] * 2 + [(0, 1)])
    )
    sums = make_sums(predictions, labels)
    scorer = sums.scorer(sums.zero, 1)
    expected = [14_000] * (n - 1) + [126_000]
    assert scorer.losses(range(n)).tolist() == expected
    assert scorer.losses(range(n - 1, n)).tolist() == expected[-1:]


# Sixteenths of the probability of class 1 for three models on four samples.
A, B, C = [14, 14, 4, 6], [4, 10, 14, 10], [6, 6, 10, 2]
HAND = np.array([A, B, C], dtype=np.float32)[:, :, None] / 16
HAND_LABELS = np.array([1, 1, 1, 0])
HAND_ERRORS = np.array([0.25, 0.5, 0.5])


def scored_selection(predictions, labels, size, seed):
    """Select by AutoGluon's published rule, without its end: a score for every model and round.

    The scores of a round are accuracies of running means in float64. Of the models within 1e-12 of
    the best score, those already selected come first. It leaves the rest to chance: here, to our
    draws. (AutoGluon then drops what follows the first of the best ensembles.)
    """
    path, mean = [], np.zeros(predictions.shape[1:])
    for number in range(1, size + 1):
        found = []
        for model in predictions:
            with_it = mean * ((number - 1) / number) + model / number
            binary = with_it.shape[1] == 1
            predicted = with_it[:, 0] > 0.5 if binary else with_it.argmax(axis=1)
            found.append(np.mean(predicted == labels))
        tied = np.flatnonzero(np.isclose(found, max(found), rtol=1e-12, atol=0))
        tied = [i for i in tied if i in path] or tied
        draws = np.random.default_rng([seed, number]).random(len(predictions))
        path.append(int(min(tied, key=lambda i: draws[i])))
        mean = mean * ((number - 1) / number) + predictions[path[-1]] / number
    return path


@pytest.mark.parametrize("n_classes", [2, 3, 6])
@pytest.mark.parametrize("seed", range(4))
def test_picks_are_those_of_the_rule_of_autogluon(seed, n_classes):
    """Few samples, so that many models tie in every round."""
    pool = noisy_pool(seed, 40, 60, n_classes)
    expected = scored_selection(pool.predictions, pool.labels, 25, pool.seed)
    members = Selection(size=25, ties="selected-first").build(pool)
    indices, weights = members_of(expected)
    assert members.indices.tolist() == indices
    np.testing.assert_allclose(members.weights, weights)
    assert len(set(expected)) > 1


def test_trajectory_computed_by_hand():
    """Sums of the selected, to be above 8, 16, 24, 32, 40 for class 1 (a tie is class 0).

    1. A errs once, B and C twice: A.
    2. AA 28 28 8 12 errs once; AB 18 24 18 16 never; AC 20 20 14 8 once: B.
    3. ABA 32 38 22 22 errs once, ABB 22 34 32 26 twice, ABC 24 30 28 18 once: A, if selected ones
       win ties (a random draw takes C as often).
    4. ABAA 46 52 26 28 errs once; ABAB 36 48 36 32 never; ABAC 38 44 32 24 once: B.
    5. ABABA 50 62 40 38 errs once, ABABB 40 58 50 42 twice, ABABC 42 54 46 34 never: C.
    """
    arguments = {"seed": 0, "ties": "selected-first"}
    *_, (path, errors) = paths(HAND, HAND_LABELS, 5, **arguments)
    assert path == [0, 1, 0, 1, 2]
    assert errors == [1, 0, 1, 0, 0]
    members = select(HAND, HAND_LABELS, 5, **arguments)
    assert members.indices.tolist() == [0, 1, 2]
    assert members.weights.tolist() == [0.4, 0.4, 0.2]


def test_hand_computed_pool_as_a_trace_with_failures():
    predictions = np.full((6, 4, 1), np.nan, dtype=np.float32)
    errors = np.full(6, np.nan)
    predictions[[1, 2, 4]], errors[[1, 2, 4]] = HAND, HAND_ERRORS
    trace = Selection(size=5, ties="selected-first").build_prefixes(
        Pool(predictions, HAND_LABELS, errors, 0)
    )
    assert trace[0] is None
    assert (trace[1].indices.tolist(), trace[1].weights.tolist()) == ([1], [1.0])
    # With A and B alone: A, B, A, B, and A errs less than B in round five.
    assert (trace[2].indices.tolist(), trace[2].weights.tolist()) == ([1, 2], [0.6, 0.4])
    assert trace[3] is trace[2]
    assert (trace[4].indices.tolist(), trace[4].weights.tolist()) == ([1, 2, 4], [0.4, 0.4, 0.2])
    assert trace[5] is trace[4]


def test_exact_ties_of_three_classes_go_to_the_first():
    """Two opposite models tie between classes 0 and 2, which is right for label 0 only."""
    predictions = np.array([[[1, 0, 0]] * 2, [[0, 0, 1]] * 2], dtype=np.float32)
    for true, wrong in (([0, 2], 1), ([0, 0], 0), ([2, 2], 0), ([1, 1], 2)):
        labels = np.array(true)
        *_, (path, errors) = paths(predictions, labels, 2, 0)
        assert errors[-1] == wrong
        assert exact_errors(path, predictions, labels) == wrong


def test_ties_of_the_hand_computation():
    """The third of its rounds is a tie of A and C, and each rule decides it its own way.

    Log losses there: the labels' probabilities, in 48ths, are 32 38 22 26 of ABA (logarithms
    .4055 .2336 .7802 .6131, mean .5081) and 24 30 28 30 of ABC (.6931 .4700 .5390 .4700, mean
    .5430); so A wins by log loss.
    """
    drawn = {tuple(paths_of(HAND, HAND_LABELS, 3, seed)) for seed in range(40)}
    assert drawn == {(0, 1, 0), (0, 1, 2)}
    for seed in range(40):
        assert paths_of(HAND, HAND_LABELS, 3, seed, "selected-first") == [0, 1, 0]
        assert paths_of(HAND, HAND_LABELS, 3, seed, "log-loss") == [0, 1, 0]
    sums = np.array([[32, 38, 22, 26], [24, 30, 28, 30]])
    np.testing.assert_allclose(log_losses(sums / 48), [0.5081, 0.5430], atol=5e-5)


def paths_of(predictions, labels, size, seed, ties="random"):
    *_, (path, _) = paths(predictions, labels, size, seed, ties)
    return path


def test_log_loss_by_hand():
    """Three models that never err, so only the log loss decides, and then the mean's.

    1. B has the highest probabilities, .8 and .8: loss .2231; A .95 and .6: .2811; C as A.
    2. BB .8 .8 again .2231; BA .875 .7: .2451. So B again, and always.
    With a sample more, of which B is unsure (.51): A .95 .6 .9, loss .2225; B .8 .8 .51, .3732.
    AA again .2225, AB .875 .7 .705, .2799; so A for ever, though it is the mean that counts.
    """
    two = np.array([[0.95, 0.6], [0.8, 0.8], [0.95, 0.6]], dtype=np.float32)[:, :, None]
    assert paths_of(two, np.array([1, 1]), 4, 0, "log-loss") == [1, 1, 1, 1]
    assert paths_of(1 - two, np.array([0, 0]), 4, 0, "log-loss") == [1, 1, 1, 1]
    np.testing.assert_allclose(
        log_losses(two[:, :, 0].astype(float)), [0.2811, 0.2231, 0.2811], atol=5e-5
    )
    three = np.array([[0.95, 0.6, 0.9], [0.8, 0.8, 0.51]], dtype=np.float32)[:, :, None]
    assert paths_of(three, np.ones(3, dtype=int), 3, 0, "log-loss") == [0, 0, 0]


def test_log_loss_is_that_of_the_mean():
    """Neither errs nor is alone the better one (.9 .55 against .55 .9), but together they are.

    .9 .55: loss .3516, as the other; their mean .725 .725: .3216. So each is in half of the rounds.
    """
    both = np.array([[0.9, 0.55], [0.55, 0.9]], dtype=np.float32)[:, :, None]
    for seed in range(10):
        path = paths_of(both, np.array([1, 1]), 4, seed, "log-loss")
        assert sorted(path[:2]) == sorted(path[2:]) == [0, 1]
    firsts = {paths_of(both, np.array([1, 1]), 1, seed, "log-loss")[0] for seed in range(20)}
    assert firsts == {0, 1}  # equal losses are drawn at random


def test_a_probability_of_zero_costs_32_binary_digits():
    np.testing.assert_allclose(log_losses(np.array([[0.0, 1.0]])), [16 * np.log(2)])
    assert log_losses(np.array([[0.0]])) == log_losses(np.array([[1e-12]]))


def test_random_ties_are_uniform_in_every_round():
    """Six equal models: every round draws each of them equally often, whatever came before.

    Chi-square over the 6 models of round 1, over the 36 pairs of rounds 1 and 2, and over those of
    4 and 9; 5 degrees of freedom exceed 20.5 and 35 degrees 66.6 once in 1000 times. Were selected
    ones first, or one order for all rounds, the pairs would all be equal ones.
    """
    predictions = np.tile(HAND[:1], (6, 1, 1))
    drawn = np.array([paths_of(predictions, HAND_LABELS, 9, seed) for seed in range(720)])
    once = np.bincount(drawn[:, 0], minlength=6)
    assert ((once - 120) ** 2 / 120).sum() < 20.5
    for i, j in ((0, 1), (3, 8)):
        pairs = np.bincount(6 * drawn[:, i] + drawn[:, j], minlength=36)
        assert ((pairs - 20) ** 2 / 20).sum() < 66.6
    # Later models win sometimes, but do not change the choice among the others.
    shorter = np.array([paths_of(predictions[:5], HAND_LABELS, 9, seed) for seed in range(720)])
    kept = drawn < 5
    assert abs(kept.mean() - 5 / 6) < 0.015
    assert (shorter[kept] == drawn[kept]).all()


def test_random_ties_take_no_model_that_errs_more():
    """A third of the models errs once more, and the error alone counts, not how sure they are."""
    sure = np.tile(np.float32([1, 1, 1, 0]), (6, 1))
    sure[2:4] = 0.51, 0.51, 0.51, 0.49
    sure[4:, 3] = 1
    firsts = {paths_of(sure[:, :, None], HAND_LABELS, 1, seed)[0] for seed in range(100)}
    assert firsts == {0, 1, 2, 3}


def test_a_majority_below_the_resolution_of_float32_counts():
    """Model 0 gives class 1 a billionth on the first sample, so the mean with 1 is above 0.5."""
    predictions = np.array([[1e-9, 1, 1], [1, 0.25, 0.25]], dtype=np.float32)[:, :, None]
    labels = np.ones(3, dtype=int)
    assert exact_errors([0, 1], predictions, labels) == 0
    *_, (path, trajectory) = paths(predictions, labels, 2, 0)
    assert (path, trajectory) == ([0, 1], [1, 0])


@pytest.mark.parametrize("ties", TIES)
def test_one_and_two_columns_give_the_same_ensemble(ties):
    pool = noisy_pool(3, 30, 101, 2)
    one = select(pool.predictions, pool.labels, 25, 5, ties=ties)
    two = select(CLASSIFICATION.expand(pool.predictions), pool.labels, 25, 5, ties=ties)
    assert one.indices.tolist() == two.indices.tolist()
    assert one.weights.tolist() == two.weights.tolist()


def test_a_single_model_and_a_single_round():
    pool = noisy_pool(4, 20, 100, 3)
    alone = select(pool.predictions[:1], pool.labels, 25, 0)
    assert (alone.indices.tolist(), alone.weights.tolist()) == ([0], [1.0])
    first = select(pool.predictions, pool.labels, 1, 0)
    assert pool.errors[first.indices[0]] == pool.errors.min()


def test_weak_models_make_a_perfect_ensemble():
    """Each errs on a third of its own, and the others are surer than it is there."""
    labels = np.ones(12, dtype=int)
    predictions = np.full((3, 12, 1), 0.9, dtype=np.float32)
    for i in range(3):
        predictions[i, 4 * i : 4 * i + 4] = 0.2
    members = select(predictions, labels, 25, 0)
    assert len(members.indices) > 1
    assert np.array_equal(predicted_labels(members.predict(predictions)), labels)


def test_random_ties_leave_a_plateau_that_selected_ones_stay_on():
    """The best errs surely on three samples, so no one model can better it, though two can."""
    labels = np.ones(12, dtype=int)
    predictions = np.full((3, 12, 1), 0.9, dtype=np.float32)
    predictions[0, :3] = 0.0
    predictions[1, 4:8] = predictions[2, 8:12] = 0.4
    assert exact_errors([0, 1], predictions, labels) == exact_errors([0], predictions, labels)
    assert exact_errors([0, 1, 2], predictions, labels) == 0
    for seed in range(10):
        stays = select(predictions, labels, 25, seed, ties="selected-first")
        assert stays.indices.tolist() == [0]
        leaves = select(predictions, labels, 25, seed)
        assert leaves.indices.tolist() == [0, 1, 2]
        assert np.array_equal(predicted_labels(leaves.predict(predictions)), labels)


@pytest.mark.parametrize("ties", TIES)
def test_golden_pool(ties):
    """A pool of a fixed seed; the numbers are those of the loops above, written down."""
    pool = noisy_pool(11, 12, 60, 3)
    path, errors = exact_selection(pool.predictions, pool.labels, 10, 11, ties)
    assert (path, errors) == GOLDEN[ties]
    assert list(paths(pool.predictions, pool.labels, 10, 11, ties))[-1] == (path, errors)


GOLDEN = {
    "random": ([9, 5, 2, 10, 9, 9, 0, 10, 5, 10], [22, 22, 21, 18, 16, 16, 17, 16, 16, 16]),
    "selected-first": ([9, 9, 2, 9, 1, 10, 10, 0, 9, 2], [22, 22, 20, 19, 16, 16, 17, 17, 17, 18]),
    "log-loss": ([9, 2, 7, 11, 9, 1, 10, 2, 10, 1], [22, 22, 19, 19, 18, 18, 19, 18, 17, 17]),
}


def test_settings_are_checked():
    assert Selection().size == 25
    assert Selection().ties == "random"
    with pytest.raises(ValidationError, match="'random', 'selected-first' or 'log-loss'"):
        Selection(ties="first")
    with pytest.raises(ValidationError):
        Selection(size=0)
    with pytest.raises(ValidationError):
        Selection(rounds=25)
    with pytest.raises(ValidationError, match="no metric is called 'brior'; did you mean 'brier'"):
        Selection(metric="brior")


@pytest.mark.parametrize("n_classes", [2, 3])
def test_the_rounds_minimise_a_metric_of_their_own(n_classes):
    """Plain loops with the Brier score in exact arithmetic, whatever the metric of the pool."""
    pool = noisy_pool(5, 12, 30, n_classes)
    truth = np.eye(n_classes)[pool.labels]
    if n_classes == 2:
        truth = truth[:, 1:]
    path: list[int] = []
    for _ in range(8):
        scores = [
            ((pool.predictions[[*path, i]].astype(float).mean(axis=0) - truth) ** 2).sum()
            for i in range(len(pool.predictions))
        ]
        path.append(int(np.argmin(scores)))
    indices, weights = members_of(path)
    by_brier = Selection(size=8, metric="brier")
    members = by_brier.build(pool)
    assert members.indices.tolist() == indices
    np.testing.assert_allclose(members.weights, weights)
    assert by_brier.build_prefixes(pool)[-1].same(members)
    assert not Selection(size=8).build(pool).same(members)
    assert by_brier.modules == ["ensemble_search.metrics.brier"]


def test_members_predict_ties_to_the_first_class():
    """Seven times 1/7 of the class's votes: the mean is 0.5 but for rounding."""
    predictions = np.array([[[0.0]], [[1.0]]], dtype=np.float32)
    for size in range(2, 60, 2):
        weights = np.array([size // 2, size // 2]) / size
        assert predicted_labels(
            Members(np.array([0, 1]), weights).predict(predictions)
        ).tolist() == [0]
        two = predicted_labels(
            Members(np.array([0, 1]), weights).predict(CLASSIFICATION.expand(predictions))
        )
        assert two.tolist() == [0]
    rng = np.random.default_rng(0)
    for _ in range(300):  # opposite models of weights k/50 each: no rounding may decide
        counts = rng.integers(1, 9, 3)
        weights = np.array([*counts, counts.sum()]) / (2 * counts.sum())
        votes = np.array([1, 1, 1, 0], dtype=np.float32)[:, None, None]
        assert predicted_labels(Members(np.arange(4), weights).predict(votes)).tolist() == [0]
        assert predicted_labels(Members(np.arange(4), weights).predict(1 - votes)).tolist() == [0]
        assert predicted_labels(
            Members(np.arange(4), weights).predict(CLASSIFICATION.expand(votes))
        ).tolist() == [0]


def test_expand():
    one = np.array([[0.25], [1.0]], dtype=np.float32)
    assert CLASSIFICATION.expand(one).tolist() == [[0.75, 0.25], [0.0, 1.0]]
    assert CLASSIFICATION.expand(one).dtype == np.float32
    three = np.eye(3)
    assert CLASSIFICATION.expand(three) is three
