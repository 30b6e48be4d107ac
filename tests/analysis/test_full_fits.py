"""Losses over full fits, by hand."""

from types import SimpleNamespace

import numpy as np
import pandas as pd

from ensemble_search.analysis import curves
from ensemble_search.analysis.ranks import Comparison

#: Of eight evaluations; their sum is 1/3, 2/3, 1, 2, 2 1/3, 2 2/3, 3 (but for rounding) and 4.
FIDELITIES = [1 / 3, 1 / 3, 1 / 3, 1, 1 / 3, 1 / 3, 1 / 3, 1]
SEARCHES = {"hyperband": FIDELITIES, "random": [1.0, 1.0, 1.0]}


def study(budget):
    methods = {name.title(): {"search": name} for name in SEARCHES}
    return {"budget": budget, "methods": methods}


def results(budget):
    runs = [
        pd.DataFrame({"search": name, "iteration": range(1, len(f) + 1), "fidelity": f})
        for name, f in SEARCHES.items()
    ]
    observations = pd.concat(runs).assign(dataset="d", repeat=0)
    return SimpleNamespace(study=study(budget), observations=observations)


def compared():
    """Of the shorter run the last row is repeated; losses are the iterations."""
    rows = pd.DataFrame({"iteration": np.arange(1, 9)})
    own = rows.assign(method="Hyperband", test_error=rows["iteration"] * 1.0)
    own.loc[:2, "test_error"] = np.nan  # no evaluation on all rows yet
    other = rows.assign(method="Random", test_error=rows["iteration"].clip(upper=3) * 1.0)
    scores = pd.concat([own, other], ignore_index=True).assign(dataset="d", repeat=0)
    scores["validation_error"] = scores["test_error"]
    return Comparison(scores, ["Hyperband", "Random"], [], ["d"], 1)


def test_scores_after_every_full_fit():
    found = curves.over_budget(results({"fits": 3}), compared()).scores
    wide = found.pivot(index="iteration", columns="method", values="test_error")
    assert wide.index.tolist() == [1, 2, 3]
    # After 1, 2 and 3 fits: the third, the fourth and, as the last, all evaluations.
    np.testing.assert_array_equal(wide["Hyperband"], [np.nan, 4, 8])
    np.testing.assert_array_equal(wide["Random"], [1, 2, 3])
    done = found.pivot(index="iteration", columns="method", values="evaluations")
    assert done["Hyperband"].tolist() == [3, 4, 8] and done["Random"].tolist() == [1, 2, 3]


def test_other_budgets_are_left_alone():
    before = compared()
    after = curves.over_budget(results({"evaluations": 8}), before).scores
    pd.testing.assert_frame_equal(after.drop(columns="evaluations"), before.scores)
    assert after["evaluations"].tolist() == after["iteration"].tolist()
    assert curves.unit(study({"fits": 2})) == "full fit"
    assert curves.unit(study({"seconds": 2.0})) == "iteration"
