"""Selection from the population of neural ensemble search: the last successes only."""

import numpy as np
import pytest

from ensemble_search.ensembles.population import Population
from ensemble_search.ensembles.selection import Selection, select
from support.made_pools import mixed_pool


@pytest.mark.parametrize("classes", [2, 3])
def test_selection_from_the_population(classes):
    """Evaluation for evaluation the ensemble selection of the last 6 successes."""
    pool = mixed_pool(classes, 3)
    trace = Population(population=6, size=5).build_prefixes(pool)
    for t, members in enumerate(trace):
        ok = np.flatnonzero(~np.isnan(pool.errors[: t + 1]))[-6:]
        if not len(ok):
            assert members is None
            continue
        chosen = select(pool.predictions[ok], pool.labels, 5, pool.seed)
        assert members.indices.tolist() == ok[chosen.indices].tolist()
        np.testing.assert_array_equal(members.weights, chosen.weights)
    assert trace[-1].indices.min() >= 24
    everything = Population(population=100, size=5).build_prefixes(pool)
    for a, b in zip(everything, Selection(size=5).build_prefixes(pool), strict=True):
        assert (a is None) == (b is None)
        assert a is None or a.indices.tolist() == b.indices.tolist()
