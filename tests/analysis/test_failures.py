"""Failed evaluations by cause: which messages are one cause."""

import numpy as np
import pandas as pd
import pytest

from ensemble_search.analysis import (
    failures,
)
from support.made_scores import observations

nan = np.nan


def test_failures_by_cause_and_algorithm():
    causes = failures.causes(observations())
    assert causes.to_numpy().tolist() == [
        ["crash", "ValueError", 1, 1, 1, "a"],
        ["crash", "ValueError", 1, 1, 1, "b"],
        ["timeout", "–", 1, 1, 1, ""],
    ]
    table = failures.by(observations(), "algorithm")
    expected = [2, 1, 0, 0, 0, 1, 0.5]
    assert table.loc["knn"].tolist() == expected
    assert table.loc["lda", ["evaluations", "crash", "share"]].tolist() == [2, 2, 1]


def same_cause(*messages: str) -> bool:
    return len({failures.cause(message) for message in messages}) == 1


@pytest.mark.parametrize(
    "messages",
    [
        ("n_components=5 must be between 0 and 3", "n_components=12 must be between 0 and 30"),
        ("<lambda> at 0x7f2dd2f2de50 failed", "<lambda> at 0xAB failed"),
        ("(29, 3) instead of (30, 3)", "(30,) instead of (30, 3)", "1 instead of (3)"),
        ("bad [1 2 3]", "bad [  1   2\n 30]", "bad [[1 2] [3 4]]", "bad [0.5, -1e-05,]"),
        ("residual 1.5e-05, step -.5", "residual nan, step 3.", "residual -inf, step +1,000"),
        ("10.0 GiB for an array", "999. MiB for an array", "7 B for an array"),
        ("column_17 is constant", "column_3 is constant"),
        ("3 classes " + "x" * 287, "300 classes " + "x" * 285),
        ("stopped at 5%", "stopped at 99.5%"),
    ],
)  # fmt: skip
def test_messages_that_differ_in_numbers_are_one_cause(messages):
    assert same_cause(*messages), set(map(failures.cause, messages))
    table = observations().iloc[[1] * len(messages)].assign(message=messages)
    causes = failures.causes(pd.concat([table, table.iloc[[-1]]]))
    assert causes[["failures", "message"]].to_numpy().tolist() == [
        [len(messages) + 1, messages[-1]]
    ]


@pytest.mark.parametrize(
    "messages",
    [
        ("too large for dtype('float64')", "too large for dtype('float32')"),
        ("penalty l1 is not supported", "penalty l2 is not supported"),
        ("Input contains NaN", "Input contains infinity"),
        ("more than 4 s of CPU time per thread", "more than 13 s wall-clock"),
        ("the worker was ended by SIGSEGV", "the worker was ended by SIGABRT"),
        ("", "1"),
    ],
)
def test_messages_that_differ_in_words_are_several_causes(messages):
    assert not same_cause(*messages)
