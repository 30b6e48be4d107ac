"""Every method against every other: by hand, and against plain loops over stored losses."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from ensemble_search.analysis import pairwise, poisson_binomial, ranks
from ensemble_search.analysis.load import load
from ensemble_search.scoring import ensemble_scores
from support import made_results as made
from support import made_scores

pytestmark = pytest.mark.slow

nan = np.nan
#: Mean losses at some iterations, with ties.
LOSSES = arrays(int, (2, 5, 4), elements=st.integers(0, 6)).map(lambda a: a / 10)


def test_mean_losses_by_hand():
    """Over repeats; without a model the loss is the worst."""
    runs = {
        ("A", "d", 0): [nan, 0.2], ("A", "d", 1): [0.5, 0.4], ("A", "e", 0): [0.1, 0.1],
        ("B", "d", 0): [0.3, 0.3], ("B", "d", 1): [0.1, 0.2], ("B", "e", 0): [0.2, 0.0],
    }  # fmt: skip
    compared = ranks.comparison(made_scores.frame(runs), ["B", "A"])
    found = pairwise.mean_losses(compared)
    assert found == pytest.approx(np.array([[[0.2, 0.75], [0.2, 0.1]], [[0.25, 0.3], [0.0, 0.1]]]))


def test_wins_ranks_and_sign_test_by_hand():
    # A wins on three data sets, B on one, and they tie on one; C is always the last.
    losses = np.array([[1, 2, 9], [1, 2, 9], [1, 2, 9], [3, 2, 9], [2, 2 + 1e-15, 9]]) / 10
    wins = pairwise.wins(losses)
    assert wins.mean(axis=0)[0].tolist() == pytest.approx([0.5, 0.7, 1])
    assert pairwise.expected_ranks(losses[None])[0] == pytest.approx([1.3, 1.7, 3])
    # 4 without the tie: 1 + 4 of 16 outcomes have 3 wins or more, as many 3 losses or more.
    assert pairwise.sign_test(wins)[0].tolist() == pytest.approx([1, 10 / 16, 2 / 32])
    assert pairwise.sign_test(wins)[1, 0] == pytest.approx(10 / 16)
    # As many wins as losses: 1, not more.
    assert pairwise.sign_test(wins[2:4])[0, 1] == 1


@given(LOSSES)
def test_symmetry(losses):
    wins = pairwise.wins(losses)
    frequencies = wins.mean(axis=1)
    np.testing.assert_allclose(frequencies + frequencies.swapaxes(1, 2), 1)
    found = pairwise.expected_ranks(losses)
    np.testing.assert_allclose(found.sum(axis=1), 4 * 5 / 2)
    np.testing.assert_allclose(found, 0.5 + (1 - frequencies).sum(axis=2))


METHODS = ("A", "B", "C")
ITERATIONS, ROWS = 20, 70


def single(metric: str, rng: np.random.Generator, n: int) -> np.ndarray:
    losses = rng.random((n, ROWS)) ** 2
    return (losses < 0.3).astype(np.float32) if metric == "error" else losses.astype(np.float32)


@pytest.fixture(params=["error", "squared-error"])
def study(request, tmp_path):
    """A study of random losses of single samples that change at some iterations.

    In the first repeat on e, A has no model before iteration 9, and B none at all.
    """
    content = made.study(METHODS, ("d", "e"), repeats=2, budget=ITERATIONS)
    content["metric"] = request.param
    rng = np.random.default_rng(0)
    stored, scores = {}, {}
    for dataset in content["datasets"]:
        for repeat in range(2):
            for method in METHODS:
                changes = np.flatnonzero(np.append(True, rng.random(ITERATIONS - 1) < 0.4)) + 1
                if (dataset, repeat) == ("e", 0):
                    changes = {"A": np.array([9, 15]), "B": np.array([], int)}.get(method, changes)
                losses = single(request.param, rng, len(changes))
                test = np.full(ITERATIONS, nan)
                for start, row in zip(changes, losses, strict=True):
                    test[start - 1 :] = row.mean()
                key = method, dataset, repeat
                stored[key], scores[key] = (changes, losses), test
    made.write(tmp_path, content, lambda *key: (scores[key], scores[key]))
    for (method, dataset, repeat), parts in stored.items():
        ensemble_scores.write_losses(folder(tmp_path, method, dataset, repeat), *parts)
    return content, tmp_path, stored


def folder(results, method, dataset, repeat):
    name = method.lower()
    return results / f"ensembles/{dataset}/search-{name}/ensemble-{name}/{repeat}/losses.npz"


def _delivered(stored, iteration):
    """Losses at an iteration; None before the first model."""
    found = None
    for start, losses in zip(*stored, strict=True):
        found = losses if start <= iteration else found
    return found


def literally(metric, stored, iteration, first, second, dataset):
    """Chance on a data set, sample by sample."""
    found = []
    for repeat in range(2):
        a, b = (_delivered(stored[m, dataset, repeat], iteration) for m in (first, second))
        if a is None or b is None:
            found.append(0.5 if a is b else float(b is None))
        elif metric == "error":
            only = [sum(x < y for x, y in zip(*pair, strict=True)) for pair in ((a, b), (b, a))]
            found.append(float(poisson_binomial.of_labels(*map(np.array, only))))
        else:
            found.append(float(poisson_binomial.of_losses(np.array(a), np.array(b))))
    return np.mean(found)


def test_the_test_literally(study):
    content, results, stored = study
    loaded = load(content, results)
    found = pairwise.compare(loaded, loaded.compared, "C")
    assert found.reason == ""

    def better(iteration, first, second):
        pair = iteration, first, second
        chances = [literally(content["metric"], stored, *pair, d) for d in ("d", "e")]
        return poisson_binomial.better(np.array(chances))

    curves = found.probability_curves.set_index(["method", "iteration"])["probability"]
    assert curves.index.tolist() == [(m, t) for t in range(1, ITERATIONS + 1) for m in "AB"]
    for (method, iteration), probability in curves.items():
        assert probability == pytest.approx(better(iteration, "C", method))
    assert found.iterations == (6, 20)
    assert len(found.pairs) == 6
    for pair in found.pairs.itertuples():
        expected = np.mean([better(t, pair.method, pair.against) for t in range(6, 21)])
        assert pair.probability == pytest.approx(expected)
    swapped = found.pairs.set_index(["against", "method"])["probability"]
    pairs = found.pairs.set_index(["method", "against"])["probability"]
    np.testing.assert_allclose(pairs + swapped.rename_axis(pairs.index.names), 1)
    assert pairs["C", "B"] > 0.5  # in one run B has no model


def test_short_budgets_are_averaged_as_far_as_they_go(tmp_path):
    content = made.study(("A", "B"), ("d", "e"), repeats=1, budget=3)
    test = {"A": [0.3, 0.1, 0.1], "B": [0.2, 0.2, 0.2]}
    made.write(tmp_path, content, lambda m, d, r: ([0.1] * 3, test[m]))
    found = pairwise.compare(load(content, tmp_path), load(content, tmp_path).compared, "A")
    assert found.iterations == (1, 3)
    pair = found.pairs.set_index("method").loc["A"]
    assert pair["winning_frequency"] == pytest.approx(2 / 3)
    assert found.ranks.tolist() == pytest.approx([4 / 3, 5 / 3])
    assert pair["p"] == pytest.approx((0.5 + 0.5 + 0.5) / 3)  # 0 of 2, then twice 2 of 2
    assert found.rank_curves["rank"].tolist() == [2, 1, 1, 2, 1, 2]


def test_without_losses_of_single_samples_there_is_no_such_test(study):
    content, results, _ = study
    loaded = load(content, results)
    folder(results, "B", "e", 1).unlink()
    found = pairwise.compare(loaded, loaded.compared, "C")
    assert "the next run of the study rebuilds these ensembles" in found.reason
    assert found.pairs["probability"].isna().all() and found.pairs["p"].notna().all()
    for method in METHODS:
        path = folder(results, method, "d", 0)
        ensemble_scores.write_losses(path, np.array([1]), np.empty((1, 0)))
    found = pairwise.compare(loaded, loaded.compared, "C")
    assert found.reason == "the metric is not a mean over test samples"
    ensemble_scores.write_losses(folder(results, "A", "d", 0), np.array([1]), np.ones((1, 7)))
    ensemble_scores.write_losses(folder(results, "B", "d", 0), np.array([1]), np.ones((1, 8)))
    ensemble_scores.write_losses(folder(results, "C", "d", 0), np.array([1]), np.ones((1, 8)))
    found = pairwise.compare(loaded, loaded.compared, "C")
    assert found.reason == "the methods were tested on different rows of d"
