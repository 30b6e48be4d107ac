"""Diversity of the members of an ensemble: by hand."""

import numpy as np
import pytest

from ensemble_search.papers.divbo import member_diversity


def test_mean_of_pairs_by_hand():
    matrix = np.array([[0, 0.4, 0.1], [0.4, 0, 0.4], [0.1, 0.4, 0]])
    assert member_diversity.mean_of_pairs(matrix) == pytest.approx(0.3)
    assert np.isnan(member_diversity.mean_of_pairs(matrix[:1, :1]))
