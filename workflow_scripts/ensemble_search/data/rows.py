"""Assign the rows of a data set to parts and folds, and choose shares of training rows."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from ensemble_search.runtime.errors import UserError

PARTS = ("train", "validation", "test")
#: Settings of a split with a validation part, and of one with validation by folds.
BY_PART, BY_FOLDS = (*PARTS, "seed"), ("folds", "test", "seed")
#: Settings of a split with numbers of rows; all others are test rows.
BY_NUMBERS = ("train", "validation", "seed")


def check_settings(settings: Mapping[str, Any]) -> None:
    """Raise UserError unless the settings are those of a split.

    They are shares that sum to 1 and a seed; or numbers of training and validation rows and a seed
    (all others are test rows); or the number of folds, the share of test rows and a seed. All may
    have ``train_rows``, the part of the training rows to use, which is not checked.
    """
    if not isinstance(settings, Mapping):
        raise UserError(f"split: {settings!r} is not a mapping of train, validation, test and seed")
    known = BY_FOLDS if "folds" in settings else BY_PART
    if by_numbers := known == BY_PART and "test" not in settings:
        known = BY_NUMBERS
    for key in settings:
        if key not in (*known, "train_rows"):
            raise UserError(f"split: unknown key '{key}'; known: {', '.join(known)}, train_rows")
    for key in known:
        if key not in settings:
            raise UserError(f"split.{key}: is missing")
    shares = {key: settings[key] for key in PARTS if key in known}
    for key, share in shares.items():
        if by_numbers:
            if type(share) is not int or share < 1:
                raise UserError(f"split.{key}: {share!r} is not a number of rows from 1")
        elif isinstance(share, bool) or not isinstance(share, (int, float)) or not 0 < share < 1:
            raise UserError(f"split.{key}: {share!r} is not a share between 0 and 1")
    if "folds" in settings:
        if type(settings["folds"]) is not int or settings["folds"] < 2:
            raise UserError(f"split.folds: {settings['folds']!r} is not an integer from 2")
    elif not by_numbers and abs((total := sum(shares.values())) - 1) > 1e-9:
        raise UserError(f"split: train + validation + test is {total:.10g}; it must be 1")
    seed = settings["seed"]
    for value in seed if isinstance(seed, list) and seed else [seed]:
        if type(value) is not int or value < 0:
            raise UserError(f"split.seed: {seed!r} is not an integer from 0")


def strata(labels: np.ndarray) -> np.ndarray:
    """Return the labels by which rows are stratified: class codes, or one label for all numbers."""
    return labels if labels.dtype.kind == "i" else np.zeros(len(labels), dtype=np.int64)


def split_rows(
    codes: np.ndarray,
    classes,
    settings: Mapping[str, Any],
    groups: np.ndarray | None = None,
    times: np.ndarray | None = None,
    parts: np.ndarray | None = None,
    folds: np.ndarray | None = None,
) -> dict[str, np.ndarray]:
    """Draw the rows of the parts, class by class.

    Each class gives validation and test their share of its rows, rounded, and at least one row; the
    rest is for training. (Two passes of scikit-learn's ``train_test_split`` can leave a class of
    three or four rows out of a part.) With numbers of rows instead of shares, training and
    validation get these numbers, and the rest is for testing. With folds, there is no validation
    part, and at least two rows of each class remain for training.

    With groups, whole groups are drawn, so that the class shares of the parts are as close as the
    groups allow. With times, the latest rows are for testing, those before them for validation;
    rows with the same time are in the same part. With parts, only the order of the training rows is
    random. With a column of folds, the seed selects the fold of the test rows: the first one for
    1. The other rows are divided in the ratio of their shares.

    Parameters
    ----------
    codes
        int, of shape (n,): class of every row.
    classes
        Labels by code, for the message; None for data without classes.
    settings
        See :func:`check_settings`.
    groups, times, parts, folds
        Of shape (n,): the group of every row, from 0; its time; its part, an index in
        :data:`PARTS`; its fold (rows with negative ones are never test rows).

    Returns
    -------
    rows
        By part: int, in random order (with ``parts``, validation and test rows in the data's
        order); disjoint, and together all n rows.

    Raises
    ------
    UserError
        If the settings are wrong, or a class has too few rows for its shares; with groups, times or
        parts, if a part would have no row, or the training part no row of some class.
    """
    check_settings(settings)
    rng = np.random.default_rng(settings["seed"])
    if parts is not None:
        given = {part: np.flatnonzero(parts == place) for place, part in enumerate(PARTS)}
        _check_parts(given, codes, classes, "part")
        return {**given, "train": rng.permutation(given["train"])}
    if groups is not None or times is not None:
        names = [part for part in PARTS if "folds" not in settings or part != "validation"]
        shares = _shares(settings, len(codes), names)
        if groups is not None:
            part_of = deal(codes, groups, shares, rng)
        else:
            assert times is not None
            part_of = _in_order(times, shares)
        found = {part: np.flatnonzero(part_of == place) for place, part in enumerate(names)}
        _check_parts(found, codes, classes, "group" if groups is not None else "time")
        return {part: rng.permutation(chosen) for part, chosen in found.items()}
    by_folds, by_numbers = "folds" in settings, "test" not in settings
    if folds is not None:
        return _by_fold(codes, classes, settings, folds, rng)
    held_out = ("test",) if by_folds else ("validation", "train" if by_numbers else "test")
    rest = "test" if by_numbers else "train"
    counts = np.bincount(codes, minlength=1 if classes is None else len(classes))
    sizes = {part: _sizes(counts, settings[part]) for part in held_out}
    rows: dict[str, list[np.ndarray]] = {p: [] for p in PARTS if p in (*held_out, rest)}
    for code, label in enumerate([None] if classes is None else classes):
        members = rng.permutation(np.flatnonzero(codes == code))
        own = [sizes[part][code] for part in held_out]
        if sum(own) > len(members) - (2 if by_folds else 1):
            what = "the data set" if label is None else f"class '{label}'"
            raise UserError(
                f"split: {what} has {len(members)} rows, too few for {_wanted(settings)}"
            )
        *held, others = np.split(members, np.cumsum(own))
        for part, chosen in zip((*held_out, rest), (*held, others), strict=True):
            rows[part].append(chosen)
    # Not ordered by class: some learners and folds depend on the order of rows.
    return {part: rng.permutation(np.concatenate(rows[part])) for part in rows}


def _by_fold(
    codes: np.ndarray, classes, settings: Mapping[str, Any], folds: np.ndarray, rng
) -> dict[str, np.ndarray]:
    """Divide rows by the data's folds, one of which has the test rows; see :func:`split_rows`."""
    names = np.unique(folds[folds >= 0])
    if not len(names):
        raise UserError("split: columns.fold has no fold from 0 on, so there are no test rows")
    test = folds == names[(np.sum(settings["seed"]) - 1) % len(names)]
    rest = np.flatnonzero(~test)
    rows = {"train": rest, "test": np.flatnonzero(test)}
    if "folds" not in settings:
        share = settings["validation"] / (settings["train"] + settings["validation"])
        drawn: dict[str, list[np.ndarray]] = {"validation": [], "train": []}
        for code in range(int(codes.max()) + 1):
            members = rng.permutation(rest[codes[rest] == code])
            size = max(1, round(share * len(members)))
            drawn["validation"].append(members[:size])
            drawn["train"].append(members[size:])
        rows |= {part: np.concatenate(own) for part, own in drawn.items()}
    _check_parts(rows, codes, classes, "fold")
    return {part: rng.permutation(rows[part]) for part in PARTS if part in rows}


def _shares(settings: Mapping[str, Any], n: int, parts: list[str]) -> np.ndarray:
    """Share of the rows of each part, which sum to 1."""
    if "folds" in settings:
        return np.array([1 - settings["test"], settings["test"]])
    if "test" in settings:
        return np.array([settings[part] for part in parts])
    held = np.array([settings["train"], settings["validation"]]) / n
    if held.sum() >= 1:
        raise UserError(f"split: the data set has {n} rows, too few for {_wanted(settings)}")
    return np.append(held, 1 - held.sum())


def deal(
    codes: np.ndarray, groups: np.ndarray, shares: np.ndarray, rng: np.random.Generator
) -> np.ndarray:
    """Assign groups to parts so that every part has its share of the rows and of each class.

    Groups come by size, the largest first. Each goes to the part where it lowers the chi-squared
    statistic of the parts' rows by class most. This fills the parts in proportion to their shares,
    so that each gets large and small groups. Groups next to each other in this order are shuffled,
    or the larger ones of them would all go to the largest part.

    ``codes`` and ``groups`` are the class and group of every row, from 0, of shape (n,), as is the
    result, its part; ``shares`` are of shape (n_parts,) and sum to 1.
    """
    counts = np.zeros((groups.max() + 1, codes.max() + 1))
    np.add.at(counts, (groups, codes), 1)
    scale = counts.sum(axis=0).clip(min=1)
    lacking = np.outer(shares, scale)  # rows that a part still needs, by class
    weights = shares[:, None] / shares.max()
    order = rng.permutation(len(counts))
    order = order[np.argsort(-counts[order].sum(axis=1), kind="stable")]
    block = np.arange(len(order)) // int(np.ceil(1 / weights.min()))
    order = order[np.lexsort((rng.random(len(order)), block))]
    part_of = np.empty(len(counts), dtype=np.int64)
    for group in order:
        own = counts[group]
        # How the group changes the squared distances from the shares, divided by the shares.
        change = ((own**2 - 2 * own * lacking) / scale**2 / weights).sum(axis=1)
        part_of[group] = chosen = int(np.argmin(np.round(change, 12)))
        lacking[chosen] -= own
    return part_of[groups]


def _in_order(times: np.ndarray, shares: np.ndarray) -> np.ndarray:
    """Part of every row, by time; if rows with equal times would be divided, all are later."""
    ends = np.round(np.cumsum(shares)[:-1] * len(times)).astype(int)
    starts = np.sort(times)[np.minimum(ends, len(times) - 1)]  # first time of the later parts
    return np.searchsorted(starts, times, side="right")


def _check_parts(rows: Mapping[str, np.ndarray], codes: np.ndarray, classes, role: str) -> None:
    """Check that no part is empty, and that there are training rows of all classes."""
    for part, chosen in rows.items():
        if not len(chosen):
            why = (
                "name the part of each row there"
                if role == "part"
                else "each fold needs rows beside it"
                if role == "fold"
                else "it has too few values, or too many rows of one value; change the shares, or "
                "name another column"
            )
            raise UserError(f"split: by columns.{role}, no rows are left for {part}: {why}")
    for code, label in enumerate([] if classes is None else classes):
        if not (codes[rows["train"]] == code).any():
            raise UserError(
                f"split: by columns.{role}, no training row has class '{label}'; "
                f"{'' if role == 'part' else 'raise split.train, or '}leave the class out"
            )


def _sizes(counts: np.ndarray, wanted: float) -> list[int]:
    """Rows per class in a part, at least one: a share of each class, or a total number of rows."""
    if wanted < 1:
        return [max(1, round(wanted * count)) for count in counts.tolist()]
    quotas = wanted * counts / counts.sum()
    sizes = np.floor(quotas).astype(int)
    sizes[np.argsort(sizes - quotas, kind="stable")[: wanted - sizes.sum()]] += 1
    return np.maximum(sizes, 1).tolist()


def _wanted(settings: Mapping[str, Any]) -> str:
    if "folds" in settings:
        return f"a test share of {settings['test']:g} and folds; two rows must remain"
    if "test" not in settings:
        return (
            f"{settings['train']} training and {settings['validation']} validation rows; each part "
            "needs one"
        )
    shares = f"{settings['train']:g}, {settings['validation']:g} and {settings['test']:g}"
    return f"shares of {shares}; each part needs one"


def fold_numbers(labels: np.ndarray, folds: int, groups: np.ndarray | None = None) -> np.ndarray:
    """Assign rows in random order to stratified folds whose sizes differ by at most one.

    ``labels`` are class codes or numbers, of shape (n,); see :func:`strata`. Each of the
    ``groups``, int from 0, of shape (n,), stays in one fold, and the sizes may differ more. Returns
    the fold of every row, from 0, int64, of shape (n,). A class of two or more rows is in more than
    one fold.

    Raises
    ------
    UserError
        If the groups do not fill all folds, or all rows of a class are in one fold.
    """
    if groups is not None:
        codes, own = strata(labels), np.unique(groups, return_inverse=True)[1]
        shares = np.full(folds, 1 / folds)
        numbers = deal(codes, own, shares, np.random.default_rng(0))  # rows are in random order
        if len(np.unique(numbers)) < folds:
            raise UserError(
                f"split.folds: by columns.group, only {len(np.unique(numbers))} of {folds} folds "
                "get training rows; lower it"
            )
        for code in np.unique(codes):
            if len(np.unique(numbers[codes == code])) < 2:
                raise UserError(
                    "split.folds: by columns.group, all training rows of a class are in one fold; "
                    "use a validation part instead of folds"
                )
        return numbers
    numbers = np.empty(len(labels), dtype=np.int64)
    numbers[np.argsort(strata(labels), kind="stable")] = np.arange(len(labels)) % folds
    return numbers


def share_of_rows(labels: np.ndarray, share: float) -> np.ndarray:
    """Choose a stratified share of training rows, nested: larger shares contain smaller ones.

    It depends only on the order of the rows, which the split has randomised. ``labels`` are class
    codes or numbers, of shape (n,); see :func:`strata`. ``share`` is in (0, 1]. The rows are
    ascending: round(share * n) of them, or as many as there are classes, one at least of each.
    """
    present, inverse = np.unique(strata(labels), return_inverse=True)
    place = np.empty(len(labels))  # relative rank of a row within its class, from 0 to 1
    for code in range(len(present)):
        members = np.flatnonzero(inverse == code)
        place[members] = (np.arange(len(members)) + 0.5) / len(members)
        place[members[0]] = 0.0
    size = max(len(present), round(share * len(labels)))
    return np.sort(np.argsort(place, kind="stable")[:size])
