"""Evaluation of surrogates: protocols by hand and by brute force, leaks, and what a job writes."""

import itertools
from collections.abc import Callable

import numpy as np
import pytest
from scipy.stats import kendalltau

from ensemble_search.runtime import plugins
from ensemble_search.runtime.errors import UserError
from ensemble_search.runtime.files import write_json
from ensemble_search.scoring.surrogate_quality import Evaluated, assess, compare, read
from ensemble_search.search import results
from ensemble_search.search.budget import Budget
from ensemble_search.search.journal import Record
from ensemble_search.surrogates.base import DiversitySurrogate, PerformanceSurrogate
from support.made_results import search_manifest

pytestmark = pytest.mark.slow


def tau_b(x, y) -> float:
    """Kendall's tau-b by its definition: a loop over all pairs of entries."""
    agree = differ = tied_x = tied_y = 0
    for i, j in itertools.combinations(range(len(x)), 2):
        sign = np.sign(x[i] - x[j]) * np.sign(y[i] - y[j])
        agree, differ = agree + (sign > 0), differ + (sign < 0)
        tied_x, tied_y = tied_x + (x[i] != x[j]), tied_y + (y[i] != y[j])
    return (agree - differ) / np.sqrt(tied_x * tied_y)


class Scripted(DiversitySurrogate):
    """Gives predefined predictions and records its inputs."""

    answer: Callable
    seen: list

    def fit(self, vectors, diversities, categories, rng):
        self.seen.append((vectors[:, 0].astype(int).tolist(), diversities))
        return lambda a, b: self.answer(a[:, None, 0], b[None, :, 0])


class ScriptedErrors(PerformanceSurrogate):
    answer: Callable
    seen: list

    def fit(self, vectors, errors, categories, rng):
        self.seen.append((vectors[:, 0].astype(int).tolist(), errors))
        return lambda a: self.answer(a[:, 0])


NUMBER = np.array([0])  # categories of the only column


def numbered(n: int, seed: int = 0) -> Evaluated:
    """Configurations whose only column is their number, with made-up diversities and errors."""
    rng = np.random.default_rng(seed)
    matrix = np.triu(rng.integers(1, 9, size=(n, n)) / 10, 1)
    vectors = np.arange(n)[:, None].astype(np.float32)
    return Evaluated(vectors, NUMBER, rng.random(n), matrix + matrix.T)


def seed_with_order(order: list[int]) -> list[int]:
    seeds = ([s] for s in range(10_000))
    return next(s for s in seeds if np.random.default_rng(s).permutation(6).tolist() == order)


@pytest.mark.filterwarnings("ignore:One or more sample")  # one pair has no tau
def test_both_protocols_by_hand():
    """Six configurations in their own order: fitted on 0, 1, 2, asked for 4 and 5.

    Pairs (observed, held-out) 04, 05, 14, 15, 24, 25 have the diversities .1 .2 .3 .4 .5 .6 and the
    predicted means 4 5 5 6 6 7 of a + b: of the 15 pairs of pairs 13 agree and 2 are tied in the
    prediction, so that tau-b is 13 / sqrt(13 * 15).
    """
    matrix = np.zeros((6, 6))
    for pair, value in zip(((0, 4), (0, 5), (1, 4), (1, 5), (2, 4), (2, 5)), range(1, 7),
                           strict=True):  # fmt: skip
        matrix[pair] = matrix[pair[::-1]] = value / 10
    matrix[4, 5] = matrix[5, 4] = 0.9
    evaluated = Evaluated(np.arange(6)[:, None].astype(np.float32), NUMBER, np.zeros(6), matrix)
    scripted = Scripted(answer=lambda a, b: np.stack([a + b - 1, a + b + 1]), seen=[])
    observed, held_out = assess(scripted, evaluated, [3], 2, seed_with_order([0, 1, 2, 3, 4, 5]))
    assert (observed["protocol"], observed["pairs"]) == ("observed", 6)
    assert observed["tau"] == pytest.approx(13 / np.sqrt(13 * 15))
    assert (held_out["protocol"], held_out["pairs"]) == ("held-out", 1)
    assert held_out["absolute_error"] == pytest.approx(9 - 0.9)  # of the pair (4, 5) alone
    assert held_out["spread"] == 1


def test_calibration_by_hand():
    mean, spread = np.array([0.1, 0.2, 0.3, 0.4]), np.array([0.1, 0.1, 0.1, 0.0])
    found = compare(mean, spread, np.array([0.15, 0.35, 0.6, 0.4]))
    assert (found["within_1"], found["within_2"]) == (0.5, 0.75)
    assert found["absolute_error"] == pytest.approx((0.05 + 0.15 + 0.3 + 0) / 4)
    assert found["spread"] == pytest.approx(0.075)


@pytest.mark.parametrize("seed", [[0], [7, 3]])
def test_protocols_by_brute_force(seed):
    """Tau-b of each protocol by loops over the configurations, with many ties, and scipy's.

    The predictions differ by the order within a pair: the unseen one is the first.
    """
    evaluated = numbered(20)
    order = np.random.default_rng(seed).permutation(20)
    scripted = Scripted(answer=lambda a, b: np.stack([(2 * a + b) % 7, (a * b) % 5]), seen=[])
    rows = assess(scripted, evaluated, [4, 9, 12], 8, seed)
    new = order[-8:]
    for k, size in enumerate((4, 9, 12)):
        asked = {
            "observed": [(i, j) for i in new for j in order[:size]],
            "held-out": list(itertools.combinations(new, 2)),
        }
        for row, (protocol, pairs) in zip(rows[2 * k : 2 * k + 2], asked.items(), strict=True):
            truth = [evaluated.diversities[i, j] for i, j in pairs]
            mean = [((2 * i + j) % 7 + (i * j) % 5) / 2 for i, j in pairs]
            assert (row["observations"], row["protocol"]) == (size, protocol)
            assert row["pairs"] == len(pairs)
            assert row["tau"] == pytest.approx(tau_b(mean, truth), abs=1e-12)
            assert row["tau"] == pytest.approx(kendalltau(mean, truth)[0], abs=1e-12)


def test_performance_is_asked_for_the_held_out_errors():
    evaluated = numbered(20)
    new = np.random.default_rng([3]).permutation(20)[-8:]
    scripted = ScriptedErrors(answer=lambda a: ((a * 3) % 7, np.ones(len(a))), seen=[])
    (row,) = assess(scripted, evaluated, [10], 8, [3])
    assert (row["protocol"], row["pairs"]) == ("error", 8)
    assert row["tau"] == pytest.approx(tau_b((new * 3) % 7, evaluated.errors[new]))


@pytest.mark.parametrize("kind", [Scripted, ScriptedErrors])
def test_no_fit_sees_a_held_out_configuration(kind):
    """And each fit gets the knowledge that belongs to its configurations, a prefix of the next."""
    evaluated = numbered(30)
    asked = []

    def pairs(a, b):
        asked.append(set(a.ravel().astype(int).tolist()))
        return np.zeros((2, a.shape[0], b.shape[1]))

    def errors(a):
        asked.append(set(a.astype(int).tolist()))
        return np.zeros(len(a)), np.zeros(len(a))

    scripted = kind(answer=pairs if kind is Scripted else errors, seen=[])
    assess(scripted, evaluated, [5, 10, 20], 10, [1, 2])
    assert len(set(map(frozenset, asked))) == 1  # the same are held out at every size
    before: list[int] = []
    for chosen, known in scripted.seen:
        assert not asked[0] & set(chosen)
        assert chosen[: len(before)] == before
        truth = evaluated.diversities[np.ix_(chosen, chosen)]
        np.testing.assert_array_equal(
            known, truth if kind is Scripted else evaluated.errors[chosen]
        )
        before = chosen
    assert len(asked[0]) == 10
    assert len(before) == 20
    with pytest.raises(ValueError, match="more than 30"):
        assess(scripted, evaluated, [21], 10, [1, 2])


@pytest.mark.parametrize("name", ["forest-kernel", "random-forest", "random-forest-pairs"])
def test_a_row_depends_on_no_other_job_or_size(name):
    evaluated = numbered(24)
    surrogate = plugins.load("surrogates", name)()

    def rows(sizes, seed):
        found = assess(surrogate, evaluated, sizes, 8, seed)
        return [{k: v for k, v in row.items() if not k.endswith("seconds")} for row in found]

    whole = rows([6, 11, 16], [0, 1])
    other = rows([16], [0, 2])
    assert rows([16], [0, 1]) == whole[-len(other) :]
    assert rows([16], [0, 2]) == other != whole[-len(other) :]


def test_reads_what_a_search_writes(tmp_path):
    """The successful configurations, whatever is inactive in them, and their predictions.

    Evaluation 7 was fitted on half of the rows.
    """
    space = plugins.load("spaces", "divbo-small")()
    configurations = space.sample(12, np.random.default_rng(0))
    probabilities = np.random.default_rng(1).random((12, 30, 1), dtype=np.float32)
    records = []
    for i, configuration in enumerate(configurations):
        ok = i % 5 != 2
        seconds = dict.fromkeys(("suggest_seconds", "fit_seconds", "cpu_seconds"), 0.1)
        records.append(
            Record(
                dict(configuration),
                "ok" if ok else "timeout",
                i / 100 if ok else None,
                **seconds,
                predict_seconds=0.1,
                memory_mb=9.0,
                error_type="",
                message="",
                why={},
                validation=probabilities[i] if ok else None,
                test=probabilities[i] if ok else None,
                fidelity=0.5 if i == 6 else 1.0,
            )
        )
    results.write(tmp_path, records, space, ((30, 1), (30, 1)))
    write_json(tmp_path / "search.json", search_manifest(evaluations=12))
    evaluated = read(tmp_path, space)
    kept = [i for i in range(12) if i % 5 != 2 and i != 6]
    vectors = space.encode([configurations[i] for i in kept]).astype(np.float32)
    np.testing.assert_array_equal(evaluated.vectors, vectors)
    np.testing.assert_allclose(evaluated.errors, np.array(kept) / 100)
    # Of two classes both columns differ by the same, so Eq. 3 is the mean absolute difference.
    p = probabilities[kept, :, 0].astype(float)
    expected = np.abs(p[:, None] - p).mean(axis=2)
    np.testing.assert_allclose(evaluated.diversities, expected, atol=1e-6)


def test_a_search_ends_with_its_last_success():
    """Failures are replaced; a larger number continues, a smaller one is a prefix."""

    class Made:
        origin = "fitted"

        def __init__(self, status):
            self.status = status

    records = [Made(s) for s in ("ok", "crash", "ok", "timeout", "ok", "ok")]
    assert Budget(evaluations=12, successes=3).end(records) == 5
    assert Budget(evaluations=12, successes=1).end(records) == 1
    assert Budget(evaluations=12, successes=5).end(records) is None
    with pytest.raises(UserError, match=r"^only 4 of 6 configurations could be fitted, 5 are"):
        Budget(evaluations=6, successes=5).end(records)
