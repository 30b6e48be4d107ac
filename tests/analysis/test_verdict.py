"""The sentence that answers which method wins."""

import numpy as np
import pandas as pd
import pytest

from ensemble_search.analysis import (
    ranks,
    verdict,
)
from support.made_scores import final, frame


def said(table, reference="A", splits=1, single=()) -> verdict.Verdict:
    runs = {(m, d, r): [e] for (d, r), row in table.iterrows() for m, e in row.items()}
    scores = frame(runs)
    splits = [f"repeat-{r % splits}" for r in range(20)]
    return verdict.verdict(ranks.comparison(scores, list(table.columns)), reference, splits, single)


def test_verdict_with_three_repeats_says_that_nothing_can_be_significant():
    answer = said(final({"d": {"A": [0.1, 0.1, 0.1], "B": [0.7, 0.8, 0.9]}}))
    assert answer.summary.index[0] == "A"
    assert "too few" in answer.headline
    text = " ".join(answer.sentences)
    assert "nothing can be significant" in text
    assert "with 3 repeats it is 0.25" in text
    assert "fixed split" in text


def test_data_sets_that_are_too_few_for_so_many_methods_leave_the_repeats():
    """With 2 comparisons, Holm doubles the smallest p-value over 6 data sets, 0.031."""
    steps = np.arange(10) / 1000
    results = {f"d{i}": {"A": 0.1 + steps, "B": 0.2 + steps, "C": 0.3 + steps} for i in range(7)}
    answer = said(final({name: results[name] for name in list(results)[:6]}))
    assert answer.headline.startswith("A ranks best")
    assert "significant on 6 of 6 data sets" in answer.headline
    text = " ".join(answer.sentences)
    assert "with 6 data sets it is 0.03125 (0.0625 by Holm for 2 comparisons). So nothing" in text
    assert "takes at least 7 data sets." in text
    assert "runner-up, is significant." in said(final(results)).headline


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
    assert answer.summary.index[0] == "A"
    assert "is not significant" in answer.headline


def test_a_leader_that_loses_to_the_next_is_not_secure():
    """A is first by its average rank, as B falls far behind on five data sets; B wins on 15."""
    others = [f"C{i}" for i in range(6)]
    worse = {c: [0.2 + i / 100] for i, c in enumerate(others)}
    between = {c: [0.101 + i / 2000] for i, c in enumerate(others)}
    lost = {f"d{i}": {"A": [0.11 + i / 10_000], "B": [0.1], **worse} for i in range(15)}
    won = {f"d{15 + i}": {"A": [0.1], "B": [0.105], **between} for i in range(5)}
    answer = said(final(lost | won))
    assert answer.summary.index[0] == "A"
    assert answer.summary.loc["B", "p_holm"] < 0.05
    assert "A has the lowest average rank (1.75 of 8 methods), but" in answer.headline
    assert "over B, a runner-up, is not significant" in answer.headline  # C0 has the same rank


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
    assert tied.headline.startswith("A and B share the lowest average rank")
    assert tied.sentences[0] == "Their mean test errors over the data sets: A 10.00 %, B 10.00 %."
    assert said(final({"d": {"A": [0.1]}})).headline.startswith("Only A has results")
    nothing = verdict.verdict(ranks.Comparison(pd.DataFrame(), [], ["A"], [], 0), "A", [])
    assert nothing.headline == "There are no results to compare yet."


def test_a_lead_that_may_be_chance_makes_no_method_the_best():
    answer = said(final({"d": {"A": [0.1] * 3, "B": [0.2] * 3}}))
    assert answer.headline == (
        "No method is clearly the best in test error: A has the lowest average rank (1.00 of 2 "
        "methods), but there are too few data sets and repeats to rule out chance."
    )
    steps = np.arange(10) / 1000
    mixed = {"c": {"A": 0.1 + steps, "B": 0.2 + steps}, "d": {"A": 0.1 + steps, "B": 0.2 + steps}}
    mixed["e"] = {"A": 0.2 + steps, "B": 0.1 + steps}
    answer = said(final(mixed))
    assert "No method is clearly the best" in answer.headline
    assert "but against B, the runner-up, the results are mixed" in answer.headline
    del mixed["e"]
    assert said(final(mixed)).headline.startswith("A ranks best in test error (average rank 1.00")


def test_tests_over_repeats_are_adjusted_for_their_number():
    """Of 4 data sets, A is ahead on one: p = 0.03125 over its 6 repeats, 0.125 by Holm."""
    steps = np.arange(6) / 1000
    alike = {"A": 0.1 + steps, "B": 0.1 + steps[::-1]}
    ahead = {f"d{i}": alike for i in range(3)} | {"e": {"A": 0.1 + steps, "B": 0.2 + steps}}
    answer = said(final(ahead))
    assert "too few data sets and repeats" in answer.headline
    assert any("(0.125 by Holm for 4 comparisons)" in s for s in answer.sentences)
    steps = np.arange(9) / 1000
    alike = {"A": 0.1 + steps, "B": 0.1 + steps[::-1]}
    ahead = {f"d{i}": alike for i in range(3)} | {"e": {"A": 0.1 + steps, "B": 0.2 + steps}}
    answer = said(final(ahead))
    assert "is significant on 1 of 4 data sets" in answer.headline
    assert any("0.05 by Holm for 4 tests" in s for s in answer.sentences)


@pytest.mark.slow
def test_equal_methods_seldom_have_a_winner():
    """In at most 2 of 40 studies; without an adjustment, in 3 of these."""
    rng, won = np.random.default_rng(0), 0
    for _ in range(40):
        errors = 0.2 + 0.01 * rng.standard_normal((9, 18, 10))
        results = {f"d{i}": dict(zip("ABCDEFGHIJKLMNOPQR", row, strict=True))
                   for i, row in enumerate(errors)}  # fmt: skip
        won += "ranks best" in said(final(results)).headline
    assert won <= 2


def test_an_interval_of_all_ranks_says_so():
    """Ranks 1 and 2 on two data sets: Student's t has an interval of 1.5 ± 6.35."""
    first, second = {"A": [0.1], "B": [0.2], "C": [0.3]}, {"A": [0.2], "B": [0.3], "C": [0.1]}
    answer = said(final({"d": first, "e": second}))
    text = " ".join(answer.sentences)
    assert "These 2 data sets cannot narrow down A's average rank over others like them" in text
    assert "average rank is between" not in text


def test_methods_with_the_same_rank_are_named_together():
    """The ranks are 1, 2 and 3, then 1, 3 and 2: B and C share the second."""
    table = final({"c": {"A": [0.1], "B": [0.2], "C": [0.3]}, "d": {"A": [0.1], "B": [0.4],
                   "C": [0.2]}})  # fmt: skip
    answer = said(table)
    assert answer.sentences[0] == (
        "The next average rank is 2.50, shared by B and C. A's mean test error (10.00 %), on "
        "average over 2 data sets, is 20.00 percentage points below that of B (30.00 %; lower on "
        "2, equal on 0, higher on 0) and 15.00 percentage points below that of C (25.00 %; lower "
        "on 2, equal on 0, higher on 0)."
    )
    assert not any("can detect" in s for s in answer.sentences), "no test over two can"
    assert not any("reference method" in s for s in said(table, "C").sentences)
    many = final({d: {"A": [0.1], "B": [0.2], "C": [c], "D": [0.7 - c]}
                  for d, c in (("c", 0.3), ("d", 0.4))})  # fmt: skip
    about = next(s for s in said(many, "D").sentences if "reference method" in s)
    assert "average rank 3.50 (place 3 of 4, shared with C)" in about


def test_runners_up_are_tested_one_by_one():
    steps = np.arange(10) / 1000
    rows = {"A": 0.1 + steps, "B": 0.2 + steps, "C": 0.2 + steps}
    answer = said(final({"d": rows}))
    assert "its lead over B and C, the runners-up, is significant on at least the one" in (
        answer.headline
    )
    # Two data sets: of ten repeats, A has the lower loss in all, or in about half of them.
    unclear = {"c": {**rows, "C": 0.1001 + steps[::-1]}, "d": {**rows, "B": 0.1001 + steps[::-1]}}
    unclear = said(final(unclear | {"d": {**rows, "C": 0.3 + steps, "B": 0.1001 + steps[::-1]}}))
    text = " ".join(unclear.sentences)
    assert "A is better than B on 1, worse on 0, and neither on 1; better than C on 1, " in text
    clear = {f"d{i}": {"A": [0.1], "B": [0.2 + i / 100], "C": [0.2 + i / 100]} for i in range(9)}
    answer = said(final(clear))
    assert "its lead over B and C, the runners-up, is significant." in answer.headline
    seen = next(s for s in answer.sentences if "can detect" in s)
    assert "between A and B of at least" in seen and "between A and C of at" in seen
    # Of equal differences, the deviation is unknown.
    same = {f"d{i}": {"A": [0.1], "B": [0.2]} for i in range(9)}
    assert not any("can detect" in s for s in said(final(same)).sentences)


def test_the_lowest_mean_is_named_if_another_method_has_it():
    losses = {"A": (0.1, 0.1, 0.5), "B": (0.2, 0.2, 0.4), "C": (0.3, 0.3, 0.05)}
    text = "C has the lowest mean test error (21.67 %): data sets on which methods differ much"
    table = {f"d{i}": {m: [own[i]] for m, own in losses.items()} for i in range(3)}
    assert any(s.startswith(text) for s in said(final(table)).sentences)
    table["d2"] = {"A": [0.1], "B": [0.4], "C": [0.5]}
    assert not any("lowest mean" in s for s in said(final(table)).sentences)


def test_a_single_pipeline_is_not_called_an_ensemble():
    table = final({"d": {"A": [0.1], "B": [0.2]}})
    text = "A delivers the single best pipeline of its search, not an ensemble."
    assert text in said(table, single=["A"]).sentences
    assert not any("single best" in s for s in said(table, single=["B"]).sentences)
    tied = said(final({"d": {"A": [0.1], "B": [0.1], "C": [0.1]}}), single=["A", "B"])
    text = "A and B deliver the single best pipeline of their search, not an ensemble."
    assert text in tied.sentences


def test_tied_methods_are_in_the_order_of_the_study():
    """The sums of their ranks differ in the order of adding, not in value."""
    rows = [(1, 2, 3), (2, 3, 1), (3, 1, 2), (3, 2, 1), (2, 1, 3), (1, 3, 2)]
    table = final({f"d{i}": dict(zip("ABC", [[v / 10] for v in row], strict=True))
                   for i, row in enumerate(rows)})  # fmt: skip
    assert said(table).summary.index.tolist() == ["A", "B", "C"]
