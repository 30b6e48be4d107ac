"""The defaults of all algorithms, then random search."""

from itertools import count, islice

import numpy as np
import pytest

from ensemble_search.optimizers.base import History
from ensemble_search.optimizers.best_of_defaults import BestOfDefaults
from ensemble_search.runtime.errors import UserError
from ensemble_search.spaces._esmbo import Svm
from ensemble_search.spaces._table import TableSpace, distances
from ensemble_search.spaces.divbo import Divbo
from support.toy_space import LABELS


def planned(space, size: int) -> list:
    generators = map(np.random.default_rng, count())
    return list(islice(BestOfDefaults().plan(History(space, LABELS), generators), size))


def test_the_defaults_come_first():
    space = Divbo()
    suggestions = planned(space, 13)
    names = list(space.columns[space.index["algorithm"]].choices)
    assert [s.configuration["algorithm"] for s in suggestions[:11]] == names
    assert [s.why["origin"] for s in suggestions] == ["default"] * 11 + ["random"] * 2
    for suggestion in suggestions[:11]:
        assert {"preprocessor", "rescaler"} <= set(suggestion.configuration)
        for name, value in suggestion.configuration.items():
            assert name == "algorithm" or value == space.configspace[name].default_value


def test_in_a_table_the_nearest_entries_are_taken():
    space = Divbo()
    rows = list(dict.fromkeys(space.sample(300, np.random.default_rng(0))))
    suggestions = planned(TableSpace(space, rows), 11)
    defaults = planned(space, 11)
    for suggestion, default in zip(suggestions, defaults, strict=True):
        same = [c for c in rows if c["algorithm"] == default.configuration["algorithm"]]
        apart = distances(space.columns, default.configuration.point, space.points(same))
        assert suggestion.configuration == same[apart.argmin()]
    assert {s.why["origin"] for s in suggestions} == {"default"}


def test_a_default_that_was_evaluated_is_replaced():
    space = Divbo()
    past = History(space, LABELS).pending(planned(space, 2)[1])
    suggestion = BestOfDefaults().suggest(past, np.random.default_rng(0))
    assert suggestion.why == {"origin": "random"}
    assert suggestion.configuration not in past.seen


def test_a_space_of_one_learner_is_rejected():
    with pytest.raises(UserError, match="single learner; take random"):
        BestOfDefaults().check_space(Svm())
