"""Parts of a split, folds, and shares of training rows."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ensemble_search.data import rows
from ensemble_search.runtime.errors import UserError

pytestmark = pytest.mark.slow

PAPER = {"train": 0.6, "validation": 0.2, "test": 0.2, "seed": 1}
FOLDS = {"folds": 3, "test": 0.2, "seed": 1}

counts_of_classes = st.lists(st.integers(3, 60), min_size=2, max_size=6)


@given(counts_of_classes, st.integers(0, 2**32), st.randoms(use_true_random=False))
def test_parts_are_disjoint_complete_and_stratified(counts, seed, random):
    codes = np.repeat(np.arange(len(counts)), counts)
    random.shuffle(codes)
    parts = rows.split_rows(codes, range(len(counts)), {**PAPER, "seed": seed})
    assert sorted(np.concatenate(list(parts.values()))) == list(range(len(codes)))
    for part in rows.PARTS:
        for code, count in enumerate(counts):
            found = np.sum(codes[parts[part]] == code)
            assert found >= 1
            assert abs(found - PAPER[part] * count) <= 1


def test_sizes_by_hand():
    # quake: 1209 and 969 rows; 0.2 of them are 241.8 and 193.8.
    codes = np.repeat([0, 1], [1209, 969])
    parts = rows.split_rows(codes, ["P", "N"], PAPER)
    assert {p: np.bincount(codes[r]).tolist() for p, r in parts.items()} == {
        "train": [725, 581],
        "validation": [242, 194],
        "test": [242, 194],
    }
    # Parts are not sorted by class.
    assert (np.diff(codes[parts["train"]]) != 0).sum() > 100


def test_the_seed_decides():
    codes = np.repeat([0, 1], 50)
    first, again, other = (
        rows.split_rows(codes, "ab", {**PAPER, "seed": s})["test"] for s in (1, 1, [1, 2])
    )
    assert first.tolist() == again.tolist()
    assert set(first) != set(other)


def test_a_class_too_small_for_its_shares_is_named():
    shares = {"train": 0.2, "validation": 0.4, "test": 0.4, "seed": 1}
    assert rows.split_rows(np.array([0] * 3 + [1] * 9), "ab", PAPER)["train"].size
    with pytest.raises(UserError, match=r"class 'b' has 2 rows, too few for shares of 0.2"):
        rows.split_rows(np.array([0] * 9 + [1] * 2), "ab", shares)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"train": 0.5}, "train \\+ validation \\+ test is 0.9; it must be 1"),
        ({"train": 1.0, "test": 0}, "split.train: 1.0 is not a share"),
        ({"test": "0.2"}, "split.test: '0.2' is not a share"),
        ({"seed": -1}, "split.seed: -1 is not an integer"),
        ({"seed": None}, "split.seed: None is not an integer"),
        ({"sede": 1}, "unknown key 'sede'; known: train"),
    ],
)
def test_wrong_settings(change, message):
    with pytest.raises(UserError, match=message):
        rows.check_settings({**PAPER, **change})


@given(counts_of_classes, st.integers(2, 20), st.integers(2, 20))
def test_numbers_of_rows_are_met(counts, train, validation):
    codes = np.repeat(np.arange(len(counts)), [100 + count for count in counts])
    settings = {"train": 10 * train, "validation": 10 * validation, "seed": 1}
    if settings["train"] + settings["validation"] > len(codes) - 10 * len(counts):
        return
    parts = rows.split_rows(codes, range(len(counts)), settings)
    assert list(parts) == list(rows.PARTS)
    assert sorted(np.concatenate(list(parts.values()))) == list(range(len(codes)))
    for part in ("train", "validation"):
        assert len(parts[part]) == settings[part]
        share = settings[part] / len(codes)
        found = np.bincount(codes[parts[part]], minlength=len(counts))
        assert (np.abs(found - share * np.bincount(codes)) < 1).all()


def test_numbers_of_rows_that_are_not_there():
    settings = {"train": 40, "validation": 40, "seed": 1}
    with pytest.raises(UserError, match=r"class 'a' has 72 rows, too few for 40 training and 40 v"):
        rows.split_rows(np.array([0] * 72 + [1] * 8), "ab", settings)
    with pytest.raises(UserError, match=r"split.train: 0.5 is not a number of rows"):
        rows.check_settings({**settings, "train": 0.5})


def test_missing_settings():
    with pytest.raises(UserError, match=r"split.seed: is missing"):
        rows.check_settings({k: v for k, v in PAPER.items() if k != "seed"})
    with pytest.raises(UserError, match="is not a mapping"):
        rows.check_settings(5)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"folds": 1}, "split.folds: 1 is not an integer from 2"),
        ({"folds": 2.0}, "split.folds: 2.0 is not an integer from 2"),
        ({"test": 1}, "split.test: 1 is not a share"),
        ({"train": 0.6}, "unknown key 'train'; known: folds, test, seed"),
    ],
)
def test_wrong_settings_with_folds(change, message):
    with pytest.raises(UserError, match=message):
        rows.check_settings({**FOLDS, **change})


def test_with_folds_two_rows_of_a_class_remain():
    parts = rows.split_rows(np.array([0] * 20 + [1] * 3), "ab", FOLDS)
    assert {part: len(chosen) for part, chosen in parts.items()} == {"train": 18, "test": 5}
    with pytest.raises(UserError, match=r"class 'b' has 2 rows, .* two rows must remain"):
        rows.split_rows(np.array([0] * 20 + [1] * 2), "ab", FOLDS)


def test_fold_numbers_by_hand():
    assert rows.fold_numbers(np.array([1, 0, 1, 0, 0]), 2).tolist() == [1, 0, 0, 1, 0]


@given(st.lists(st.integers(0, 4), min_size=4, max_size=80), st.integers(2, 5))
def test_folds_are_stratified(labels, folds):
    codes = np.array(labels)
    numbers = rows.fold_numbers(codes, folds)
    sizes = np.bincount(numbers, minlength=folds)
    assert sizes.max() - sizes.min() <= 1
    for code in np.unique(codes):
        own = np.bincount(numbers[codes == code], minlength=folds)
        assert own.max() - own.min() <= 1


def test_a_share_of_rows_by_hand():
    codes = np.array([0, 0, 0, 0, 1, 1])
    # Places: class 0 at 0, 3/8, 5/8, 7/8; class 1 at 0, 3/4.
    assert rows.share_of_rows(codes, 1 / 6).tolist() == [0, 4]
    assert rows.share_of_rows(codes, 0.5).tolist() == [0, 1, 4]
    assert rows.share_of_rows(codes, 5 / 6).tolist() == [0, 1, 2, 4, 5]
    assert rows.share_of_rows(codes, 1.0).tolist() == [0, 1, 2, 3, 4, 5]


@given(
    st.lists(st.integers(0, 4), min_size=1, max_size=200),
    st.lists(st.floats(0.001, 1), min_size=2, max_size=5),
)
def test_shares_of_rows_are_nested_and_stratified(labels, shares):
    codes = np.array(labels)
    chosen = [rows.share_of_rows(codes, share) for share in sorted(shares)]
    for smaller, larger in pairwise(chosen):
        assert set(smaller) <= set(larger)
    for share, part in zip(sorted(shares), chosen, strict=True):
        assert (np.diff(part) > 0).all()
        assert len(part) == max(len(set(labels)), round(share * len(codes)))
        assert set(codes[part]) == set(labels)
        if len(part) > len(set(labels)):
            found, expected = np.bincount(codes[part]), len(part) / len(codes) * np.bincount(codes)
            assert abs(found - expected).max() <= len(set(labels))


@given(st.lists(st.integers(1, 12), min_size=12, max_size=40), st.integers(0, 99), st.booleans())
def test_groups_are_never_divided(sizes, seed, by_folds):
    rng = np.random.default_rng(seed)
    groups = rng.permutation(np.repeat(np.arange(len(sizes)), sizes))
    codes = rng.integers(2, size=len(groups))
    settings = {**(FOLDS if by_folds else PAPER), "seed": seed}
    try:
        parts = rows.split_rows(codes, "ab", settings, groups)
    except UserError as error:  # tiny: a class may be in no training group
        assert "no training row has class" in str(error)
        return
    assert sorted(np.concatenate(list(parts.values()))) == list(range(len(codes)))
    of_parts = [set(groups[chosen]) for chosen in parts.values()]
    assert all(of_parts)
    assert sum(map(len, of_parts)) == len(sizes)
    again = rows.split_rows(codes, "ab", settings, groups)
    assert all((parts[part] == again[part]).all() for part in parts)


def test_groups_keep_shares_and_classes():
    rng = np.random.default_rng(0)
    groups = np.repeat(np.arange(200), 10)
    codes = np.repeat(rng.random(200) < 0.3, 10).astype(int)  # a class for each group
    parts = rows.split_rows(codes, "ab", PAPER, groups)
    for part, share in (("train", 0.6), ("validation", 0.2), ("test", 0.2)):
        assert len(parts[part]) == pytest.approx(share * 2000, abs=20)
        assert codes[parts[part]].mean() == pytest.approx(codes.mean(), abs=0.02)
        assert (np.diff(parts[part]) < 0).any()  # in random order: folds are dealt by it
    others = rows.split_rows(codes, "ab", {**PAPER, "seed": 2}, groups)
    assert set(groups[others["test"]]) != set(groups[parts["test"]])


@pytest.mark.parametrize("by_folds", [False, True])
def test_every_part_gets_large_and_small_groups(by_folds):
    sizes = np.random.default_rng(0).integers(1, 6, 400)
    groups = np.repeat(np.arange(400), sizes)
    for seed in range(5):
        settings = {**(FOLDS if by_folds else PAPER), "seed": seed}
        codes = np.random.default_rng(seed).integers(2, size=len(groups))
        for rows_of in rows.split_rows(codes, "ab", settings, groups).values():
            found = np.bincount(sizes[np.unique(groups[rows_of])], minlength=6)[1:]
            share = len(rows_of) / len(groups)
            assert found == pytest.approx(share * np.bincount(sizes)[1:], abs=5)


def test_later_rows_are_held_out():
    times = np.random.default_rng(0).permutation(100)
    parts = rows.split_rows(np.zeros(100, int), None, PAPER, times=times)
    assert {part: sorted(times[chosen]) for part, chosen in parts.items()} == {
        "train": list(range(60)),
        "validation": list(range(60, 80)),
        "test": list(range(80, 100)),
    }
    days = times // 15  # rows of a day stay together, in the later part
    parts = rows.split_rows(np.zeros(100, int), None, PAPER, times=days)
    assert {part: sorted(set(days[chosen])) for part, chosen in parts.items()} == {
        "train": [0, 1, 2, 3],
        "validation": [4],
        "test": [5, 6],
    }


def test_numbers_of_rows_need_as_many_rows_with_groups_too():
    with pytest.raises(UserError, match="has 100 rows, too few for 60 training and 40 validation"):
        rows.split_rows(
            np.zeros(100, int), None, {"train": 60, "validation": 40, "seed": 1}, np.arange(100)
        )


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"groups": np.repeat([0, 1], 50)}, r"columns.group, no rows are left for validation"),
        ({"times": np.zeros(100)}, r"columns.time, no rows are left for train"),
        ({"times": np.arange(100)}, r"columns.time, no training row has class 'b'"),
        ({"parts": np.repeat([0, 2], 50)}, r"for validation: name the part of each row there"),
        ({"parts": np.repeat([0, 1, 2], [90, 5, 5])}, r"has class 'b'; leave the class out"),
    ],
)
def test_columns_that_cannot_divide(columns, message):
    with pytest.raises(UserError, match=message):
        rows.split_rows(np.repeat([0, 1], [90, 10]), "ab", PAPER, **columns)


def test_folds_of_groups():
    groups = np.repeat(np.arange(9), 10)
    codes = np.tile([0, 1], 45)
    numbers = rows.fold_numbers(codes, 3, groups)
    assert np.bincount(numbers).tolist() == [30, 30, 30]
    assert all(len(set(numbers[groups == group])) == 1 for group in range(9))
    for some in (groups // 5, np.repeat([0, 1, 2], [88, 1, 1])):
        with pytest.raises(UserError, match=r"by columns.group, only 2 of 3 folds get training r"):
            rows.fold_numbers(codes, 3, some)
    with pytest.raises(UserError, match=r"all training rows of a class are in one fold"):
        rows.fold_numbers((groups == 0).astype(int), 3, groups)


@pytest.mark.parametrize("by_folds", [False, True])
def test_each_fold_is_tested_once(by_folds):
    rng = np.random.default_rng(0)
    codes = rng.integers(2, size=200)
    folds = rng.integers(-1, 4, size=200) * 10
    settings = {"folds": 3, "test": 0.2} if by_folds else {k: PAPER[k] for k in rows.PARTS}
    tested = []
    for seed in range(1, 5):
        parts = rows.split_rows(codes, "ab", {**settings, "seed": seed}, folds=folds)
        assert sorted(np.concatenate([*parts.values()])) == list(range(200))
        (number,) = set(folds[parts["test"]])
        tested.append(number)
        if not by_folds:
            rest = codes[folds != number]
            held = np.bincount(codes[parts["validation"]])
            assert held.tolist() == [round(n / 4) for n in np.bincount(rest)]
    assert tested == [0, 10, 20, 30]  # and never those below 0
    again = rows.split_rows(codes, "ab", {**settings, "seed": 5}, folds=folds)
    assert set(folds[again["test"]]) == {0}


@pytest.mark.parametrize(
    ("folds", "message"),
    [
        (np.full(100, -1), r"columns.fold has no fold from 0 on"),
        (np.zeros(100), r"columns.fold, no rows are left for train: each fold needs rows beside"),
        (np.repeat([0, 1], [10, 90])[::-1], r"columns.fold, no training row has class 'b'"),
    ],
)
def test_folds_that_cannot_divide(folds, message):
    with pytest.raises(UserError, match=message):
        rows.split_rows(np.repeat([0, 1], [90, 10]), "ab", {**PAPER, "seed": 1}, folds=folds)
