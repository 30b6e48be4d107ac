"""How searches spent their time."""

import numpy as np
import pandas as pd
import pytest

from ensemble_search.analysis import (
    times,
)
from support.made_scores import observations

nan = np.nan


def test_time_spent_by_hand():
    made = pd.DataFrame({"search": ["s"] * 3, "rest_seconds": [10.0, 6.0, 4.0]})
    row = times.time_spent(observations(), made).loc["s"]
    assert row["runs"] == 3
    assert (row["fit"], row["suggest"], row["rest"]) == pytest.approx((22 / 3, 8 / 3, 20 / 3))
    assert row["outside"] == pytest.approx(28 / 50)
    assert (row["hours"], row["cpu_hours"]) == pytest.approx((50 / 3600, 15 / 3600))
    growth = times.suggest_curves(observations())
    assert growth["seconds"].tolist() == [2.0, 2.0]


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.0123, "0.012 s"), (3.04, "3.0 s"), (35.2, "35 s"), (600, "10 min"), (12_240, "3.4 h"),
     (720_000, "200.0 h"), (nan, "–")],
)  # fmt: skip
def test_duration(seconds, text):
    assert times.duration(seconds) == text


def test_recorded_time_is_not_that_of_a_replay():
    made = pd.DataFrame({"search": ["s"] * 3, "rest_seconds": [10.0, 6.0, 4.0]})
    spent = times.time_spent(observations(), made)  # 22 s of fitting, 8 of suggesting, 20 of rest
    assert times.total(spent, "") == "50 s of search in total (wall-clock time)"
    partly = "50 s of search in total (wall-clock time, partly recorded)"
    assert times.total(spent, "partly recorded") == partly
    assert times.total(spent, "recorded") == (
        "28 s of replaying in total, and 22 s of fitting recorded when the tables were made "
        "(wall-clock time)"
    )
