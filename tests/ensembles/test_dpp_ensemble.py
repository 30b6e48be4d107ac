"""Ensembles by a determinantal point process, against determinants of all sets and loops."""

from itertools import combinations, pairwise

import numpy as np
import pytest
from sklearn.metrics import normalized_mutual_info_score

from ensemble_search.dpp.exact import LEnsemble
from ensemble_search.dpp.greedy import greedy_map
from ensemble_search.ensembles import dpp
from ensemble_search.ensembles.base import Pool
from ensemble_search.ensembles.dpp import SIMILARITIES, Dpp
from ensemble_search.ensembles.selection import paths
from ensemble_search.problems.regression import REGRESSION
from ensemble_search.runtime import plugins
from ensemble_search.runtime.errors import UserError
from ensemble_search.study.sections.base import check_task
from support.made_pools import mixed_pool

pytestmark = pytest.mark.slow

OF_LABELS = [name for name in SIMILARITIES if name != "residuals"]


def pool_of(predicted, labels, seed=0):
    """Models of two classes with certain probabilities; their errors count as validation errors."""
    predicted, labels = np.array(predicted), np.array(labels)
    predictions = predicted[:, :, None].astype(np.float32)
    return Pool(predictions, labels, (predicted != labels).mean(axis=1), seed)


#: Six models, the last two of which are equal; rows in 0/1.
LABELS = [0, 0, 0, 0, 1, 1, 1, 1]
SIX = [
    [0, 0, 0, 0, 1, 1, 1, 0],
    [0, 0, 0, 0, 1, 1, 0, 1],
    [0, 0, 1, 0, 1, 1, 1, 0],
    [1, 1, 0, 0, 1, 1, 1, 1],
    [0, 1, 0, 1, 0, 1, 1, 1],
    [0, 1, 0, 1, 0, 1, 1, 1],
]


def kernel(pool, power=1.0):
    """Share of equal labels times accuracies, in loops."""
    labels = pool.predictions[:, :, 0]
    quality = (1 - pool.errors) ** power
    return np.array([[q * r * np.mean(a == b) for r, b in zip(quality, labels, strict=True)]
                     for q, a in zip(quality, labels, strict=True)])  # fmt: skip


def chosen(pool, **settings):
    members = Dpp(**settings).build(pool)
    assert np.allclose(members.weights, 1 / len(members.indices))
    return tuple(members.indices.tolist())


@pytest.mark.parametrize("power", [0.0, 1.0, 8.0])
def test_map_adds_what_increases_the_determinant_most(power):
    pool = pool_of(SIX, LABELS)
    matrix, items = kernel(pool, power), []
    for _ in range(5):
        values = {i: np.linalg.det(matrix[np.ix_([*items, i], [*items, i])])
                  for i in range(6) if i not in items}  # fmt: skip
        items.append(max(values, key=lambda i: (round(values[i] / max(values.values()), 9), -i)))
        assert chosen(pool, size=len(items), power=power) == tuple(sorted(items))


def test_the_power_weighs_accuracy_against_difference():
    """Of two good and alike models and a bad one that differs, the power decides on the pair."""
    rows = [[0] * 4 + [1] * 4, [0] * 4 + [1] * 3 + [0], [1, 1, 1, 0, 1, 1, 1, 1]]
    pool = pool_of(rows, LABELS)
    assert chosen(pool, size=2) == (0, 2)
    assert chosen(pool, size=2, power=20.0) == (0, 1)


@pytest.mark.parametrize("choice", ["map", "k-dpp", "dpp"])
def test_no_two_members_are_duplicates(choice):
    for seed in range(20):
        members = chosen(pool_of(SIX, LABELS, seed), choice=choice, size=6)
        assert members[:4] == (0, 1, 2, 3) and len(members) == 5
    same = pool_of([SIX[0]] * 4, LABELS)
    assert len(chosen(same, choice=choice)) == 1


def frequencies(n_draws, **settings):
    counts = {}
    for seed in range(n_draws):
        found = chosen(pool_of(SIX, LABELS, seed), **settings)
        counts[found] = counts.get(found, 0) + 1
    return {found: count / n_draws for found, count in counts.items()}


def distance(found, weights):
    """Total variation between frequencies and probabilities proportional to weights."""
    total = sum(weights.values())
    assert set(found) <= {items for items, weight in weights.items() if weight > 1e-9}
    return sum(abs(found.get(items, 0) - w / total) for items, w in weights.items()) / 2


def determinants(matrix, sizes):
    return {items: np.linalg.det(matrix[np.ix_(items, items)])
            for size in sizes for items in combinations(range(6), size)}  # fmt: skip


def test_k_dpp_draws_sets_by_their_determinants():
    weights = determinants(kernel(pool_of(SIX, LABELS), 2.0), [2])
    found = frequencies(1000, choice="k-dpp", size=2, power=2.0)
    assert distance(found, weights) < 0.06
    assert distance(found, dict.fromkeys(weights, 1.0) | {(4, 5): 0}) > 0.12


@pytest.mark.parametrize("choice", ["map", "k-dpp"])
@pytest.mark.parametrize("power", [50.0, 1000.0])
def test_a_large_power_leaves_no_one_out(choice, power):
    """The most accurate ones, of which 1000 leaves only the first two above the least quality."""
    labels = np.repeat([0, 1], 50)
    wrong = np.arange(100) // 16  # the first 16 rows are wrong in model 0, the next in model 1, ...
    predicted = [np.where((wrong == i) | (wrong < i), 1 - labels, labels) for i in range(5)]
    pool = pool_of(predicted, labels)
    for size in range(1, 6):
        found = chosen(pool, choice=choice, size=size, power=power)
        assert len(found) == size
        certain = size if power == 50 else min(size, 2)
        assert found[:certain] == tuple(range(certain))


@pytest.mark.parametrize("power", [1.0, 50.0, 60.0, 400.0, 1000.0])
@pytest.mark.parametrize("choice", ["map", "k-dpp", "dpp"])
def test_no_power_makes_members_of_duplicates(choice, power):
    """Two equal models of accuracy 0.95 and two of about half of it: both of these are needed."""
    rng = np.random.default_rng(0)
    labels = rng.integers(2, size=200)
    rows = rng.permutation(200)
    predicted = [np.where(np.isin(np.arange(200), rows[a:b]), 1 - labels, labels)
                 for a, b in ((0, 10), (0, 10), (10, 115), (100, 200))]  # fmt: skip
    for seed in range(25):
        pool = pool_of(predicted, labels, seed)
        assert pool.errors.tolist() == [0.05, 0.05, 0.525, 0.5]
        found = chosen(pool, choice=choice, size=3, power=power)
        assert found in ((0, 2, 3), (1, 2, 3))


def test_dpp_draws_sets_of_an_expected_size():
    matrix = kernel(pool_of(SIX, LABELS))
    values = np.linalg.eigvalsh(matrix)
    scales = np.logspace(-3, 6, 20_000)
    sizes = (scales[:, None] * values / (1 + scales[:, None] * values)).sum(axis=1)
    scale = scales[np.argmin(abs(sizes - 2))]
    found = frequencies(1000, choice="dpp", size=2)
    assert distance(found, determinants(scale * matrix, range(1, 6))) < 0.09
    assert distance(found, determinants(scale / 2 * matrix, range(1, 6))) > 0.13


def test_uniform_draws_any_set():
    weights = dict.fromkeys(combinations(range(6), 2), 1.0)
    assert distance(frequencies(1000, choice="uniform", size=2), weights) < 0.06


@pytest.mark.parametrize("choice", ["map", "k-dpp", "dpp", "uniform"])
@pytest.mark.parametrize("similarity", [*OF_LABELS, None])
def test_prefixes_are_the_ensembles_of_the_first_evaluations(choice, similarity):
    if choice == "uniform" and similarity:
        return
    pool = mixed_pool(3, 0)
    made = Dpp(choice=choice, similarity=similarity, size=5)
    for n, members in enumerate(made.build_prefixes(pool), start=1):
        assert members is None if n == 1 else members.same(made.build(pool.first(n)))
        if n > 12 and choice != "dpp":
            assert len(members.indices) == 5


def test_random_sets_differ_by_seed_and_evaluation():
    pool = mixed_pool(3, 0)
    trace = Dpp(choice="k-dpp", size=3).build_prefixes(pool)[-10:]
    assert len({tuple(m.indices) for m in trace}) > 5
    other = Dpp(choice="k-dpp", size=3).build(pool_seed := Pool(
        pool.predictions, pool.labels, pool.errors, 1))  # fmt: skip
    assert pool_seed.seed != pool.seed and not other.same(trace[-1])


def by_pairs(labels, truth, name):
    """The similarity of every pair of models, by its definition."""

    def pair(a, b):
        right = a == truth, b == truth
        both = np.mean(~right[0] & ~right[1])
        single = np.mean(~right[0]) * np.mean(~right[1])
        deviation = np.std(right[0]) * np.std(right[1])
        return {
            "agreement": lambda: np.mean(a == b),
            "double-fault": lambda: both / np.sqrt(single) if single else 0.0,
            "correctness": lambda: (1 + (np.corrcoef(*right)[0, 1] if deviation else 0)) / 2,
            "mutual-information": lambda: normalized_mutual_info_score(
                a, b, average_method="geometric"
            ),
        }[name]()  # fmt: skip

    n = len(labels)
    return np.array(
        [[1.0 if i == j else pair(labels[i], labels[j]) for j in range(n)] for i in range(n)]
    )


@pytest.mark.parametrize("name", OF_LABELS)
@pytest.mark.parametrize("n_classes", [2, 4])
def test_similarities_by_pairs(name, n_classes):
    rng = np.random.default_rng(n_classes)
    truth = rng.integers(n_classes, size=37)
    labels = np.where(rng.random((9, 37)) < 0.6, truth, rng.integers(n_classes, size=(9, 37)))
    labels[3], labels[4], labels[5] = truth, 0, 1  # always right, and constant
    p = np.eye(n_classes, dtype=np.float32)[labels]
    found = SIMILARITIES[name](p[:, :, 1:] if n_classes == 2 else p, truth)
    assert found == pytest.approx(by_pairs(labels, truth, name), abs=1e-12)
    assert np.linalg.eigvalsh(dpp.projected(found))[0] > -1e-12
    if name != "mutual-information":
        assert np.linalg.eigvalsh(found)[0] > -1e-12


def test_an_indefinite_similarity_is_projected():
    matrix = np.array([[1, 0.9, 0], [0.9, 1, 0.9], [0, 0.9, 1]])
    assert np.linalg.eigvalsh(matrix)[0] < -0.2
    found = dpp.projected(matrix)
    assert np.linalg.eigvalsh(found)[0] == pytest.approx(0, abs=1e-12)
    assert found.diagonal() == pytest.approx(1)
    assert abs(found - matrix).max() < 0.3


def test_a_regression_compares_residuals():
    rng = np.random.default_rng(0)
    labels = rng.normal(size=50)
    noise = rng.normal(size=(4, 50))
    noise[1] = -noise[0]  # the best complement, its correlation is -1
    noise[2] = noise[0] + 1  # shifted: correlation 1
    predictions = (labels + noise)[:, :, None]
    found = SIMILARITIES["residuals"](predictions, labels)
    assert found == pytest.approx((1 + np.corrcoef(noise)) / 2)
    errors = np.full(4, 0.4)
    pool = Pool(predictions.astype(np.float32), labels, errors, 0, REGRESSION)
    assert chosen(pool, size=2) == (0, 1)
    with pytest.raises(UserError, match="similarity 'agreement' is not made for a regression"):
        chosen(pool, similarity="agreement")


@pytest.mark.parametrize(
    ("settings", "line"),
    [
        ({"size": 0}, "dpp.size: input should be greater than or equal to 1; found 0"),
        ({"choice": "best"}, "dpp.choice: must be 'map', 'k-dpp', 'dpp' or 'uniform'"),
        ({"similarity": "kappa"}, "dpp.similarity: must be 'agreement', 'correctness'"),
        ({"power": -1.0}, "dpp.power: input should be greater than or equal to 0"),
        ({"choice": "uniform", "power": 2.0}, "dpp: choice 'uniform' ignores similarity and power"),
        ({"choice": "uniform", "similarity": "agreement"}, "remove them"),
        ({"sizes": 3}, "dpp.sizes: unknown key; did you mean 'size'?"),
    ],
)
def test_bad_settings_are_one_line(settings, line):
    with pytest.raises(UserError) as caught:
        plugins.make("ensembles", {"type": "dpp", **settings}, "type", "dpp")
    assert len(caught.value.problems) == 1 and line in str(caught.value)


def test_settings_are_read_as_they_are_written():
    for made in (Dpp(), Dpp(choice="uniform"), Dpp(similarity="correctness", power=3.0)):
        assert Dpp(**made.model_dump(mode="json")) == made


@pytest.mark.parametrize(
    ("similarity", "task", "other"),
    [
        ("agreement", "regression", "classification"),
        ("residuals", "classification", "regression"),
    ],
)
def test_a_study_says_which_similarity_does_not_suit_its_task(similarity, task, other):
    check_task(Dpp(similarity=similarity), other, "ensembles.dpp")
    check_task(Dpp(), task, "ensembles.dpp")
    line = f"ensembles.dpp.similarity: '{similarity}' is for {other}, and this is a {task}"
    with pytest.raises(UserError, match=line):
        check_task(Dpp(similarity=similarity), task, "ensembles.dpp")


@pytest.mark.parametrize("n_classes", [2, 3])
def test_greedy_selection_is_a_dpp_of_identical_items(n_classes):
    """If all are alike, a set of positive probability has one item: the one of highest quality.

    With the accuracy of the ensemble and i as the quality of i, its most probable item, added again
    and again, makes the greedy selection with replacement of Caruana et al. (2004) and Feurer et
    al. (2015).
    """
    rng = np.random.default_rng(n_classes)
    n, rows, rounds = 12, 60, 15
    labels = rng.integers(n_classes, size=rows)
    p = rng.dirichlet(np.ones(n_classes), size=(n, rows))
    p[:, np.arange(rows), labels] += 0.2
    p = np.round(p / p.sum(axis=2, keepdims=True) * 2**16) / 2**16  # their sums are exact
    total, selected, alike = np.zeros((rows, n_classes)), [], np.ones((n, n))
    for number in range(1, rounds + 1):
        right = ((total + p).argmax(axis=2) == labels).mean(axis=1)
        # Selection draws among ties, greedy choice takes the first: order by the draws.
        order = np.argsort(np.random.default_rng([0, number]).random(n))
        assert len(greedy_map(alike, 2, right)) == 1
        item = order[greedy_map(alike, 1, right[order])[0]]
        inclusion = LEnsemble.from_similarity(alike, right).inclusion(1)
        assert inclusion == pytest.approx(right**2 / (right**2).sum())
        assert inclusion[item] == pytest.approx(inclusion.max())
        selected.append(int(item))
        total += p[item]
    stored = (p if n_classes > 2 else p[:, :, 1:]).astype(np.float32)
    *_, (path, _) = paths(stored, labels, rounds, seed=0)
    assert selected == path
    assert any(a != b for a, b in pairwise(selected)) and len(set(selected)) < rounds


@pytest.mark.parametrize("choice", ["map", "k-dpp", "dpp"])
@pytest.mark.parametrize("similarity", OF_LABELS)
@pytest.mark.parametrize("power", [0.0, 1.0, 50.0, 200.0])
def test_perfect_twins_are_duplicates(choice, similarity, power):
    """Who is never wrong has no correlation with anyone, and no common faults."""
    pool = pool_of([LABELS, LABELS, *SIX[:3]], LABELS)
    for seed in range(20):
        members = Dpp(size=4, choice=choice, similarity=similarity, power=power).build(
            Pool(pool.predictions, pool.labels, pool.errors, seed)
        )
        assert not {0, 1} <= set(members.indices)


def test_constant_vectors_are_alike_if_they_are_equal():
    labels = np.array(LABELS)
    predictions = np.array([labels, 1 - labels, labels, 1 - labels, SIX[0]])[:, :, None]
    right = SIMILARITIES["correctness"](predictions.astype(float), labels)
    same = np.array([[1, 0.5], [0.5, 1]])
    assert right[:4, :4] == pytest.approx(np.tile(same, (2, 2)))
    assert right[4, :4] == pytest.approx(0.5)
    targets = np.arange(8) / 8
    offsets = (targets + np.array([[0.5], [0.5], [0.25]]))[:, :, None]
    residual = SIMILARITIES["residuals"](offsets, targets)
    assert residual == pytest.approx(np.array([[1, 1, 0.5], [1, 1, 0.5], [0.5, 0.5, 1]]))
