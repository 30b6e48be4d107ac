"""Where results come from: every difference is listed."""

import pandas as pd

from ensemble_search.analysis import (
    origins,
)


def test_origins_tell_apart_what_differs():
    one = {"commit": "abc", "dirty": False, "versions": {"numpy": "2.4.6"}}
    other = {"commit": "abc", "dirty": True, "versions": {"numpy": "2.4.6"}}
    table = origins.origins(pd.DataFrame([one, other])).set_index(["what", "value"])["searches"]
    assert table["git commit", "abc"] == 2
    assert table["uncommitted changes", "yes"] == table["uncommitted changes", "no"] == 1
    assert table["numpy", "2.4.6"] == 2
