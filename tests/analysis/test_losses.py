"""How losses are called and written."""

import numpy as np
import pytest

from ensemble_search.analysis import losses, ranks, verdict
from support.made_scores import frame

SHARES = losses.of({"metric": "balanced-error"})
NUMBERS = losses.of({"metric": "log-loss"})


def test_the_metric_of_a_study_gives_title_unit_and_worst_loss():
    assert losses.of({}) == losses.of({"metric": "error"}) == losses.ERROR
    assert (SHARES.title, SHARES.percent, SHARES.worst) == ("balanced error", True, 1)
    assert (NUMBERS.title, NUMBERS.percent) == ("log loss", False)
    assert NUMBERS.worst == pytest.approx(23 * np.log(2))
    assert [found.is_error for found in (losses.ERROR, SHARES, NUMBERS)] == [True, False, False]
    assert losses.of({"metric": "auc"}).title == "1 - AUC"
    assert "squared error of about 1" in losses.of({"metric": "squared-error"}).unit
    assert losses.of({"metric": "absolute-error"}).unit.endswith("their standard deviation.")
    assert NUMBERS.unit == ""


@pytest.mark.parametrize(
    ("what", "shares", "numbers"),
    [
        (lambda x: x.value(0.12345), "12.35", "0.1235"),
        (lambda x: x.value(np.nan), "–", "–"),
        (lambda x: x.spread(0.12345, 0.00216), "12.35 ± 0.22", "0.1235 ± 0.0022"),
        (lambda x: x.spread(0.12345, np.nan), "12.35", "0.1235"),
        (lambda x: x.text(1.5), "150.00 %", "1.5000"),
        (lambda x: x.text(np.nan), "–", "–"),
        (lambda x: x.signed(-0.00216), "−0.22", "−0.0022"),
        (lambda x: x.signed(0.00216), "+0.22", "+0.0022"),
        (lambda x: x.signed(-1e-9), "+0.00", "+0.0000"),
        (lambda x: x.signed(np.nan), "–", "–"),
        (lambda x: x.change(-0.00216), "−0.22 points", "−0.0022"),
        (lambda x: x.size(-0.00216), "0.22 percentage points", "0.0022"),
        (lambda x: x.size(0.00216, "points"), "0.22 points", "0.0022"),
        (lambda x: x.heading("mean"), "mean, %", "mean"),
        (lambda x: x.heading("difference", "points"), "difference, points", "difference"),
        (lambda x: f"a{x.in_percent}, b{x.in_points}", "a in percent, b in percentage points",
         "a, b"),
        (lambda x: x.fill("{loss}, {losses}"), "balanced error, balanced errors",
         "log loss, log loss"),
        (lambda x: x.of_failure, "a balanced error of 100 %", "a log loss of 15.94"),
    ],
)  # fmt: skip
def test_losses_are_written_as_shares_or_as_numbers(what, shares, numbers):
    assert what(SHARES) == shares
    assert what(NUMBERS) == numbers


def test_an_error_takes_another_article():
    assert losses.ERROR.of_failure == "an error of 100 %"


def test_without_a_model_a_regression_is_worse_than_any_model_on_the_data_set():
    squared = losses.of({"metric": "squared-error"})
    scores = frame({
        ("A", "d", 0): [np.nan] * 2, ("B", "d", 0): [9.0, 6.8],
        ("A", "e", 0): [np.nan] * 2, ("B", "e", 0): [0.5, 0.4],
        ("A", "f", 0): [np.nan] * 2, ("B", "f", 0): [np.nan] * 2,
    })  # fmt: skip
    final = ranks.final_errors(ranks.comparison(scores, ["A", "B"], squared))
    assert final.loc[("d", 0)].tolist() == pytest.approx([1.01 * 6.8, 6.8])
    assert final.loc[("e", 0)].tolist() == [1, 0.4]
    assert final.loc[("f", 0)].tolist() == [1, 1]
    assert squared.of_failure.endswith("of 1, or worse than all models on their data set")


def test_a_run_without_a_model_counts_as_the_worst_loss():
    scores = frame({("A", "d", 0): [np.nan, np.nan], ("B", "d", 0): [1.5, 1.2]})
    compared = ranks.comparison(scores, ["A", "B"], NUMBERS)
    assert ranks.final_errors(compared).loc[("d", 0)].tolist() == [NUMBERS.worst, 1.2]
    failed = ranks.comparison(frame({("A", "d", 0): [np.nan], ("B", "d", 0): [np.nan]}),
                              ["A", "B"], NUMBERS)  # fmt: skip
    assert "No method ever had a model" in verdict.verdict(failed, "A", ["fixed"] * 9).headline


def test_losses_above_one_are_those_of_models():
    scores = frame({("A", "d", 0): [1.25], ("B", "d", 0): [1.5]})
    answer = verdict.verdict(ranks.comparison(scores, ["A", "B"], NUMBERS), "B", ["fixed"] * 9)
    assert "in test log loss: A has the lowest average rank (1.00 of 2" in answer.headline
    assert answer.sentences[0] == (
        "The next average rank is 2.00, that of B. A's mean test log loss (1.2500), on the one "
        "data set compared, is 0.2500 below that of B (1.5000)."
    )
