"""Budgets in full fits: sums of fidelities, by exact fractions."""

from dataclasses import replace
from fractions import Fraction

import pytest

from ensemble_search.search.budget import Budget
from ensemble_search.search.progress import amount, most_failed, summary
from support.made_journal import record

#: Of each evaluation.
CPU = record(0).cpu_seconds


def records(fidelities, origin="fitted"):
    """Records at these fidelities; every third one has failed."""
    return [replace(record(i), fidelity=float(f), origin=origin) for i, f in enumerate(fidelities)]


@pytest.mark.parametrize("part", [2, 3, 7, 9, 10, 27, 49, 81, 961])
@pytest.mark.parametrize("fits", [1, 2, 10])
def test_parts_add_up_to_fits(part, fits):
    """Whatever the rounding of their sum, which is below 1 for 10 times 1/10."""
    made = records([Fraction(1, part)] * (part * fits))
    budget = Budget(fits=fits)
    assert budget.end(made) == len(made)
    assert budget.end(made[:-1]) is None
    assert budget.allows([r.fidelity for r in made[:-1]])
    assert not budget.allows([r.fidelity for r in made])


def test_the_last_evaluation_may_go_beyond_and_the_minimum_is_made():
    made = records([1, Fraction(1, 3), 1, 1, 1, 1])
    assert Budget(fits=2).end(made) == 3
    assert Budget(fits=2, minimum=5).end(made) == 5
    assert Budget(fits=9, most=4).end(made) == 4
    assert not Budget(fits=9, most=4).allows([1.0] * 4)


def test_given_evaluations_do_not_count():
    made = [*records([1, 1, 1], "given"), *records([Fraction(1, 2)] * 4)]
    assert Budget(fits=2).end(made) == 7
    assert Budget(evaluations=2).end(made) == 5
    assert Budget(seconds=3).end(made) == 5, "of 1.5 s each"
    assert Budget(cpu_seconds=CPU * 2.5).end(made) == 6
    assert Budget(fits=2).end(made[:3]) is None
    state = summary(made, Budget(fits=3))
    assert amount(state) == "4 in 2/3 fits"
    assert (state["failed"], state["seconds"]) == (1, 4 * 1.6)


def test_cpu_seconds_count_instead_of_seconds():
    made = [replace(r, fit_seconds=100.0) for r in records([1] * 4)]
    budget = Budget(cpu_seconds=3 * CPU)
    assert budget.end(made) == 3
    assert budget.end(made[:2]) is None
    assert budget.allows([1.0] * 9)
    assert amount(summary(made[:2], budget)) == f"2 in {2 * CPU:.0f}/{3 * CPU:.10g} CPU s"


def test_a_search_in_which_most_evaluations_fail_says_what_to_do():
    assert most_failed({}) == most_failed({"ok": 5, "timeout": 5}) == ""
    assert most_failed({"ok": 1, "timeout": 12, "crash": 1}) == (
        "13 of 14 pipelines failed, 12 by timeout: raise limits.seconds of the study, or set or "
        "lower split.train_rows.share"
    )
    assert "2 by memory: raise limits.memory_mb" in most_failed({"memory": 2, "timeout": 1})
    assert "by crash: the column message" in most_failed({"crash": 1})
