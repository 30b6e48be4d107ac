"""Gaps between validation and test error."""

import numpy as np
import pandas as pd
import pytest

from ensemble_search.report.pages import statistics
from support.made_scores import final

nan = np.nan


def test_gaps_are_of_the_same_ensemble_and_nan_until_all_runs_have_one():
    scores = pd.DataFrame(
        {
            "method": "m",
            "dataset": "d",
            "repeat": [0, 0, 0, 1, 1, 1],
            "iteration": [1, 2, 3] * 2,
            # The last ensemble of repeat 0 is worse on validation than the one before.
            "validation_error": [0.3, 0.1, 0.2, nan, 0.2, 0.2],
            "test_error": [0.4, 0.3, 0.3, nan, 0.25, 0.2],
            "members": [1, 2, 3, 0, 1, 1],
        }
    )
    found = statistics.gaps(scores)
    assert found["gap"].tolist() == pytest.approx([nan, 0.125, 0.05], nan_ok=True)
    assert found["members"].tolist() == pytest.approx([nan, 1.5, 2], nan_ok=True)
    assert found["runs"].tolist() == [2, 2, 2]


def test_resolution_has_the_standard_error_of_a_share():
    table = statistics.resolution(
        final({"d": {"m": [0.1, 0.3]}, "e": {"m": [0.5, 0.5]}}), pd.Series({"d": 100, "e": 400})
    )
    assert table["of_the_test_part"].tolist() == pytest.approx([0.04, 0.025])
    assert table["over_repeats"].tolist() == pytest.approx([0.1 * 2**0.5, 0])
