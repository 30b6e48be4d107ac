"""The sentence that answers which method wins."""

import numpy as np
import pandas as pd
import pytest

from ensemble_search.analysis import (
    ranks,
    verdict,
)
from support.made_scores import final, frame


def said(table, reference="A", splits=1) -> verdict.Verdict:
    runs = {(m, d, r): [e] for (d, r), row in table.iterrows() for m, e in row.items()}
    scores = frame(runs)
    splits = [f"repeat-{r % splits}" for r in range(20)]
    return verdict.verdict(ranks.comparison(scores, list(table.columns)), reference, splits)


def test_verdict_with_three_repeats_says_that_nothing_can_be_significant():
    answer = said(final({"d": {"A": [0.1, 0.1, 0.1], "B": [0.7, 0.8, 0.9]}}))
    assert answer.leader == "A"
    assert "too few" in answer.headline
    text = " ".join(answer.sentences)
    assert "nothing can be significant" in text
    assert "with 3 repeats it is 0.25" in text
    assert "fixed split" in text


def test_verdict_over_many_data_sets():
    clear = {f"d{i}": {"A": [0.1, 0.1], "B": [0.2 + i / 100, 0.3]} for i in range(8)}
    answer = said(final(clear))
    assert "is significant" in answer.headline
    assert answer.summary.loc["B", "p"] == pytest.approx(2 / 2**8)
    clear |= {f"more{i}": {"A": [0.1, 0.1], "B": [0.3 + i / 100, 0.3]} for i in range(8)}
    assert any("; against B p < 0.0001." in sentence for sentence in said(final(clear)).sentences)
    noisy = {
        f"d{i}": {"A": [0.2 - (i % 3 > 0) / 100], "B": [0.2 - (i % 3 == 0) / 50]} for i in range(9)
    }
    answer = said(final(noisy), "B")
    assert answer.leader == "A"
    assert "is not significant" in answer.headline


def test_a_leader_that_loses_to_the_next_is_not_secure():
    """A is first by its average rank, as B falls far behind on five data sets; B wins on 15."""
    others = [f"C{i}" for i in range(6)]
    worse = {c: [0.2 + i / 100] for i, c in enumerate(others)}
    between = {c: [0.101 + i / 2000] for i, c in enumerate(others)}
    lost = {f"d{i}": {"A": [0.11 + i / 10_000], "B": [0.1], **worse} for i in range(15)}
    won = {f"d{15 + i}": {"A": [0.1], "B": [0.105], **between} for i in range(5)}
    answer = said(final(lost | won))
    assert answer.leader == "A"
    assert answer.summary.loc["B", "p_holm"] < 0.05
    assert "over B, the runner-up, is not significant" in answer.headline


def test_verdict_says_that_methods_are_left_out():
    scores = frame({("A", "d", 0): [0.1], ("B", "d", 0): [0.2]})
    compared = ranks.comparison(scores, ["A", "B", "C"])
    headline = verdict.verdict(compared, "C", ["fixed"]).headline
    assert "of 2 methods compared so far, 1 left out" in headline


def test_verdict_names_a_reference_that_is_next_only_once():
    answer = said(final({"d": {"A": [0.1], "B": [0.2], "C": [0.3]}}), "B")
    assert not any("reference method" in s for s in answer.sentences)
    answer = said(final({"d": {"A": [0.1], "B": [0.2], "C": [0.3]}}), "C")
    assert any(s.startswith("C, the reference method") for s in answer.sentences)


def test_verdict_on_one_data_set_tests_its_repeats():
    steps = np.arange(10) / 1000
    results = final({"d": {"A": 0.1 + 0 * steps, "B": 0.2 + steps}})
    answer = said(results, splits=10)
    assert "significant on the one data set" in answer.headline
    assert any("own split" in s for s in answer.sentences)
    text = " ".join(said(results, splits=3).sentences)
    assert "The 10 repeats of a data set cycle through 3 splits." in text
    assert "own split" not in text
    assert "fixed split" not in text


def test_verdict_of_repeats_that_happen_to_share_a_split():
    """Repeats 0 and 2 of 4 are finished; of two splits, they use one."""
    table = final({"d": {"A": [0.1] * 3, "B": [0.2] * 3}}).drop(index=("d", 1))
    assert any("one fixed split" in s for s in said(table, splits=2).sentences)
    assert any("own split" in s for s in said(table, splits=3).sentences)


def test_verdict_of_ties_of_one_method_and_of_none():
    tied = said(final({"d": {"A": [0.1], "B": [0.1]}}))
    assert tied.leader is None
    assert tied.headline.startswith("A and B share the lowest average rank")
    assert said(final({"d": {"A": [0.1]}})).headline.startswith("Only A has results")
    nothing = verdict.verdict(ranks.Comparison(pd.DataFrame(), [], ["A"], [], 0), "A", [])
    assert nothing.headline == "There are no results to compare yet."
