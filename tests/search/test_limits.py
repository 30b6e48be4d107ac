"""Changed limits: which stored evaluations could have ended differently."""

import pytest
from hypothesis import strategies as st

from ensemble_search.search import takeover
from ensemble_search.search.journal import Journal, Record
from ensemble_search.search.limits import FIGURES, could_change, unaffected

OLD = {"seconds": 10, "memory_mb": 2000}


def figures(cpu=1.0, wall=None, memory=500.0):
    return dict(zip(FIGURES, (cpu, cpu if wall is None else wall, memory), strict=True))


@pytest.mark.parametrize(
    ("status", "used", "new", "changes"),
    [
        ("ok", figures(cpu=4), {"seconds": 5}, False),
        ("ok", figures(cpu=6), {"seconds": 5}, True),
        ("ok", figures(cpu=1, wall=11), {"seconds": 5}, True),  # wall-clock: 2 * 5
        ("ok", figures(cpu=9.9), {"seconds": 20}, False),
        ("crash", figures(cpu=6), {"seconds": 5}, True),
        ("timeout", figures(cpu=10.1), {"seconds": 11}, True),
        ("timeout", figures(cpu=10.1), {"seconds": 5}, False),
        ("timeout", figures(cpu=10.1, memory=1500), {"memory_mb": 1000}, True),
        ("ok", figures(memory=1500), {"memory_mb": 1000}, True),
        ("ok", figures(memory=900), {"memory_mb": 1000}, False),
        ("ok", figures(memory=1999), {"memory_mb": 4000}, False),
        ("memory", figures(memory=2001), {"memory_mb": 4000}, True),
        ("memory", figures(memory=2001), {"memory_mb": 1000}, False),
        ("memory", figures(cpu=6, memory=2001), {"seconds": 5}, True),
    ],
)
def test_an_evaluation(status, used, new, changes):
    assert could_change(status, used, OLD, {**OLD, **new}) is changes


def test_every_thread_has_its_share_of_the_cpu_seconds():
    new = {**OLD, "seconds": 5}
    assert could_change("ok", figures(cpu=8, wall=4), OLD, new, threads=1)
    assert not could_change("ok", figures(cpu=8, wall=4), OLD, new, threads=2)


def test_evaluations_count_up_to_the_first_that_could_change():
    evaluations = [("ok", figures(cpu=c)) for c in (1, 2, 7, 1)]
    assert unaffected(evaluations, OLD, {**OLD, "seconds": 5}) == 2
    assert unaffected(evaluations, OLD, OLD) == 4


LIMITS = st.fixed_dictionaries({"seconds": st.integers(1, 20), "memory_mb": st.integers(512, 4000)})


def record(seconds: float) -> Record:
    return Record(
        configuration={"x": seconds},
        status="crash",
        error=None,
        suggest_seconds=0.0,
        fit_seconds=seconds,
        cpu_seconds=seconds,
        predict_seconds=None,
        memory_mb=100.0,
        error_type="ValueError",
        message="",
        why={},
        validation=None,
        test=None,
    )


def fingerprint(seconds: float, data: str = "a") -> dict:
    return {"data": data, "threads": 1, "limits": {"seconds": seconds, "memory_mb": 2000}}


def taken_over(folder, identity) -> list[float]:
    with Journal(folder, identity, ((2, 1), (2, 1))) as journal:
        takeover.take_over(journal)
        return [r.cpu_seconds for r in journal.records]


def test_a_journal_takes_over_what_other_limits_would_not_have_changed(tmp_path, capsys):
    with Journal(tmp_path / "ten", fingerprint(10), ((2, 1), (2, 1))) as journal:
        for seconds in (1, 2, 7, 1):
            journal.append(record(seconds))
    assert taken_over(tmp_path / "five", fingerprint(5)) == [1, 2]
    said = capsys.readouterr().err
    assert "takes over 2 of 4 evaluations" in said
    assert "limits.seconds: 10 there, 5 here" in said
    assert "evaluation 3 could have ended otherwise" in said
    # The journal with most of it serves, and it stays as it was.
    assert taken_over(tmp_path / "twenty", fingerprint(20)) == [1, 2, 7, 1]
    assert taken_over(tmp_path / "other", fingerprint(10, data="b")) == []
    assert "starts over" in capsys.readouterr().err
