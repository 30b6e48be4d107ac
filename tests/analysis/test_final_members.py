"""Diversity of the members of an ensemble: by hand."""

from itertools import combinations

import numpy as np
import pytest

from ensemble_search.analysis import final_members


def test_disagreement_of_three_members_on_four_samples_by_hand():
    # Samples right:  1 2 . .  /  1 . 3 .  /  1 2 . 4;  pairs differ on 2, 1 and 3 of 4 samples.
    right = np.array([[1, 1, 0, 0], [1, 0, 1, 0], [1, 1, 0, 1]], dtype=bool)
    assert final_members.disagreement(right) == pytest.approx((2 / 4 + 1 / 4 + 3 / 4) / 3)
    assert np.isnan(final_members.disagreement(right[:1]))
    matrix = np.array([[0, 0.4, 0.1], [0.4, 0, 0.4], [0.1, 0.4, 0]])
    assert final_members.mean_of_pairs(matrix) == pytest.approx(0.3)
    assert np.isnan(final_members.mean_of_pairs(matrix[:1, :1]))


def test_who_is_right_by_hand():
    # Two classes, one column: the probability of class 1.
    two = np.array([[[0.2], [0.9]], [[0.6], [0.5]], [[0.2], [0.9]]], dtype=np.float32)
    assert final_members.correct(two, np.array([0, 1])).tolist() == [
        [True, True], [False, False], [True, True]]  # fmt: skip
    three = np.array([[[1, 0, 0], [0, 1, 0]], [[1, 0, 0], [0, 0, 1]]], dtype=np.float32)
    assert final_members.correct(three, np.array([0, 2])).tolist() == [[True, False], [True, True]]


def test_disagreement_is_the_mean_over_pairs():
    right = np.random.default_rng(0).random((7, 30)) < 0.7
    pairs = [np.mean(a != b) for a, b in combinations(right, 2)]
    assert final_members.disagreement(right) == pytest.approx(np.mean(pairs))
