"""Curves of errors: running minimum, mean, deviation, and speed-up."""

import numpy as np
import pytest

from ensemble_search.analysis import (
    curves,
)
from support.made_scores import frame

nan = np.nan


def test_curves_are_running_minimum_mean_and_sample_deviation():
    runs = {("A", "d", 0): [nan, 0.5, 0.3, 0.4], ("A", "d", 1): [0.4, 0.6, nan, 0.2]}
    curve = curves.error_curves(frame(runs), "validation_error")
    assert curve["mean"].tolist() == pytest.approx([nan, 0.45, 0.35, 0.25], nan_ok=True)
    # best so far: (-, .5, .3, .3) and (.4, .4, .4, .2)
    deviation = 0.1 / 2**0.5
    assert curve["std"].tolist() == pytest.approx([nan, *[deviation] * 3], nan_ok=True)
    assert curve["repeats"].tolist() == [2, 2, 2, 2]


def test_test_error_curves_are_not_minimised():
    runs = {("A", "d", 0): [0.2, 0.5], ("A", "d", 1): [0.4, 0.3]}
    curve = curves.error_curves(frame(runs), "test_error")
    assert curve["mean"].tolist() == pytest.approx([0.3, 0.4])


def test_one_repeat_has_no_deviation():
    curve = curves.error_curves(frame({("A", "d", 0): [0.2, 0.5]}), "test_error")
    assert curve["std"].isna().all()


def test_speed_up_by_hand():
    runs = {
        ("ref", "d", 0): [0.5, 0.3, 0.2, 0.1],
        ("slow", "d", 0): [0.5, 0.5, 0.4, 0.3],
        ("best", "d", 0): [0.5, 0.5, 0.4, 0.05],
    }
    curve = curves.error_curves(frame(runs), "validation_error")
    speed = curves.speed_up(curve, "ref").set_index("method")
    assert speed.loc["slow", ["iteration", "speed_up"]].tolist() == [2, 2.0]
    assert speed.loc["best", ["iteration", "speed_up"]].isna().all()


def test_a_method_without_a_model_is_level_with_the_first_model_of_the_reference():
    nan = float("nan")
    runs = {
        ("ref", "d", 0): [nan, 0.3, 0.2, 0.1],
        ("none", "d", 0): [nan] * 4,
        ("ref", "e", 0): [nan] * 4,
        ("none", "e", 0): [nan] * 4,
    }
    speed = curves.speed_up(curves.error_curves(frame(runs), "validation_error"), "ref")
    assert speed["iteration"].tolist()[0] == 2
    assert speed["iteration"].isna().tolist() == [False, True]
