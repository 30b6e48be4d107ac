"""Where results come from: every difference is listed, and what the report says of replays."""

import pandas as pd
import pytest

from ensemble_search.analysis import origins
from ensemble_search.analysis.origins import caveat


def test_origins_tell_apart_what_differs():
    one = {"commit": "abc", "dirty": False, "versions": {"numpy": "2.4.6"}}
    other = {"commit": "abc", "dirty": True, "versions": {"numpy": "2.4.6"}}
    table = origins.origins(pd.DataFrame([one, other])).set_index(["what", "value"])["searches"]
    assert table["git commit", "abc"] == 2
    assert table["uncommitted changes", "yes"] == table["uncommitted changes", "no"] == 1
    assert table["numpy", "2.4.6"] == 2


def manifests(*entries) -> pd.DataFrame:
    tables = [{"entries": n} if n else None for n in entries]
    return pd.DataFrame({"dataset": [f"data-{i}" for i in range(len(entries))], "table": tables})


def test_shares_of_parts_say_where_the_data_divide_the_rows():
    study = {"split": {"train": 0.6, "test": 0.2, "seed": 1}, "datasets": ["a", "b", "c"]}
    found = origins.settings(study, {}).set_index("key")["value"]
    assert found.to_dict() == {
        **{"split.train": "0.6", "split.test": "0.2", "split.seed": "1"}, "datasets": "a, b, c"
    }  # fmt: skip
    by = {"a": {"part": "kind"}, "b": {"fold": "cv", "weight": "w"}, "c": {"group": "id"}}
    by["d"] = by["a"]
    found = origins.settings(study, by).set_index("key")["value"]
    named = "not of a, d: 'kind' names the part of each row"
    assert found["split.train"] == f"0.6; {named}"
    assert found["split.test"] == f"0.2; {named}; not of b: test rows are one fold of 'cv'"
    assert found["split.seed"] == "1"


@pytest.mark.parametrize(
    ("counts", "said"),
    [
        ([{"fitted": 9}, {"fitted": 9}], ""),
        ([{"fitted": 9}, {"fitted": 2, "shared": 7}], "partly recorded"),
        ([{"fitted": 9, "given": 3}], "partly recorded"),
        ([{"table": 9}], "partly recorded"),  # of another study; see `manifests` for replays
    ],
)
def test_evaluations_that_were_not_fitted_have_recorded_times(counts, said):
    assert origins.recorded(pd.DataFrame({"origin": counts})) == said
    assert origins.recorded(manifests(9).assign(origin=[{"table": 9}])) == "recorded"
    assert origins.recorded(pd.DataFrame()) == ""


def test_nothing_is_said_of_live_searches():
    assert caveat(pd.DataFrame({"dataset": ["quake"]}), 100) == ""
    assert caveat(manifests(None, None), 100) == ""
    assert caveat(pd.DataFrame(), 100) == ""


def test_sizes_of_tables_and_the_share_that_is_evaluated():
    assert "tables of 1,000 configurations per data set" in caveat(manifests(1000, 1000), 250)
    text = caveat(manifests(500, 1000), 250)
    assert "tables of 500 to 1,000 configurations" in text
    assert "up to 50 % of them are evaluated" in text
    assert "%" not in caveat(manifests(1000), None)
    assert "per data set and split (the repeats cycle through 3)" in caveat(manifests(9), 3, 3)
