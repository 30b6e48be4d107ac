"""Where results come from: every difference is listed, and what the report says of replays."""

import pandas as pd

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
