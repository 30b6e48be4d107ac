"""Families of methods that differ in a few settings."""

import numpy as np
import pandas as pd

from ensemble_search.papers import variants
from ensemble_search.papers.divbo import sensitivity

nan = np.nan


def study() -> dict:
    searches = {
        "bo": {"optimizer": "bo", "initial": 5},
        "a": {"optimizer": "divbo", "beta": 0.05, "tau": 0.2, "weight": None},
        "b": {"optimizer": "divbo", "beta": 0.1, "tau": 0.2, "weight": None},
        "again": {"optimizer": "divbo", "beta": 0.05, "tau": 0.2, "weight": None},
        "c": {"optimizer": "divbo", "beta": 0.05, "tau": 0.2, "weight": 0.1},
        "d": {"optimizer": "divbo", "beta": 0.9, "tau": 0.9, "weight": 0.1},
    }
    ensembles = {
        "best": {"type": "best"},
        "25": {"type": "selection", "size": 25},
        "100": {"type": "selection", "size": 100},
    }
    methods = {f"{s}/{e}": {"search": s, "ensemble": e} for s in searches for e in ensembles}
    return {"searches": searches, "ensembles": ensembles, "methods": methods}


def test_families_differ_in_the_free_settings_only():
    free = {"search.beta", "search.tau", "search.weight"}.__contains__
    found = variants.families(
        study(), free, lambda s: s["search.optimizer"] == "divbo" and s.get("ensemble.size") == 25
    )
    # "again" has the settings of "a"; with a constant weight, beta and tau do nothing.
    assert found == [["a/25", "b/25", "c/25"]]
    by_size = variants.families(
        study(), "ensemble.size".__eq__, lambda s: s["ensemble.type"] == "selection"
    )
    assert by_size[0] == ["bo/25", "bo/100"]
    assert len(by_size) == 4


def test_grid_has_the_settings_of_each_cell_in_order():
    rows = [("q", "b/25", 0.2), ("q", "a/25", 0.3), ("w", "a/25", 0.1)]
    table = pd.DataFrame(rows, columns=["dataset", "method", "mean"]).assign(std=nan, repeats=1)
    found = sensitivity.grid(study(), table)
    assert found[["dataset", "beta", "tau", "mean"]].to_numpy().tolist() == [
        ["q", 0.05, 0.2, 0.3], ["q", 0.1, 0.2, 0.2], ["w", 0.05, 0.2, 0.1]]  # fmt: skip
