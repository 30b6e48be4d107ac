"""Properties of a data set that make a study's errors too low or uncertain: one line each."""

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from ensemble_search.data import roles
from ensemble_search.data.cells import short

if TYPE_CHECKING:
    import pandas as pd

    from ensemble_search.data.normalise import Stored

#: Minimum number of training rows to check, and maximum values (rows times columns) beyond them.
ROWS, CELLS = 5_000, 5_000_000
#: A column that alone explains this share of a constant prediction's loss is a leak, or, if its
#: values repeat, may name groups.
LEAK, GROUP = 0.98, 0.75
#: Minimum number of groups in a column, and their minimum mean size.
GROUPS, MEMBERS = 10, 2
#: Words with a letter and a digit, such as P017, may name groups; from this number of them on.
IDENTIFIER, IDENTIFIERS = r"(?=\S*\d)(?=\S*[^\W\d_])\S+", 50
#: Fewer rows than this, outside the most frequent class or duplicated, are no evidence.
EVIDENCE = 5
#: A class with a smaller share of the rows is rare. With fewer rows than this, another metric does
#: not help.
RARE, FEW = 0.01, 50
#: Report held-out rows that are also training rows from this share on.
DUPLICATED = 0.01
#: Numbers such as 9999 that may stand for missing values: at most so many distinct ones, in this
#: share of the rows or more, whose distance from so many distinct others or more is above this
#: share of their range.
CODES, OFTEN, OTHERS, FAR = 3, 0.01, 10, 0.5
#: Metrics that count classes alike, so that errors in a rare class raise them.
ALIKE = {"balanced-error", "f1", "auc", "average-precision", "matthews"}


def notes(
    frame: "pd.DataFrame | Stored",
    described: Mapping[str, Any],
    rows: Mapping[str, np.ndarray],
    metric: str | None = None,
) -> list[str]:
    """Look for rare classes, groups, leaks, duplicated rows, and odd names and numbers.

    ``frame`` and ``described`` are the content of ``dataset.parquet`` and ``dataset.json``;
    ``rows`` are by part, training rows in random order; ``metric`` is the loss that a search
    minimises, if known.

    There is one line per class with less than 1 % of the rows; per column whose values repeat and
    are identifiers or, on training rows, predict the target alone, although neighbouring values do
    not; per column that predicts it nearly perfectly; on a column of dates that the rows are in
    order of, unless a column divides them; per numeric column with a number far from all others in
    1 % of the rows, such as 9999; on columns whose names differ only by spaces or letter case; and
    on test or validation rows that are also training rows, if they are at least five, 1 % of the
    rows, and twice as many as by chance.
    """
    import pandas as pd

    target, train = frame[described["target"]], rows["train"]
    classes = bool(described["classes"])
    # Class codes, or ranks of the numbers, which have no outliers.
    labels = (
        np.unique(target.to_numpy(dtype=str), return_inverse=True)[1]
        if classes
        else target.rank().to_numpy("float64")
    )
    most = max(ROWS, CELLS // max(len(described["columns"]), len(described["classes"])))
    own = train[:most]
    found, hashes, alike = [*_rare(described["classes"], metric)], _hashes(target), 1.0
    found += _same_names([described["target"], *described["columns"]])
    divided = {*roles.OF_ROWS} - {"weight"} & {*described.get("of_rows", {})}
    for name in described["columns"]:
        values = frame[name]
        hashes = hashes * np.uint64(0x9E3779B97F4A7C15) + _hashes(values)
        codes, words = pd.factorize(values.iloc[own], sort=values.dtype.kind in "fM")
        alike *= _alike(codes + 1)
        present = codes >= 0
        if said := _column(name, labels[own[present]], codes[present], words, classes):
            found.append(said)
        if values.dtype.kind == "M" and not divided:
            found += _in_order(name, values)
        if values.dtype.kind == "f":
            found += _stand_ins(name, words.to_numpy(), np.bincount(codes[present]))
    if classes:
        alike *= _alike(labels)
    found += _duplicated(hashes, rows, alike)
    if "group" in described.get("of_rows", {}):
        found = [said for said in found if "columns: {group:" not in said]
    return found


def _rare(classes: Mapping[str, int], metric: str | None) -> Iterator[str]:
    rows = sum(classes.values())
    rare = {label: n for label, n in classes.items() if n < RARE * rows}
    if not rare:
        return
    label = min(rare, key=lambda label: (rare[label], label))
    more = f" (and {len(rare) - 1} more such classes)" if len(rare) > 1 else ""
    said = f"class '{label}' has {rare[label]} of {rows} rows{more}: "
    if metric in ALIKE or rare[label] < FEW:
        yield f"{said}too few to learn and to test it well; more rows of it would help"
        return
    effect = f"never to predict it adds only {rare[label] / rows:.2g} to the error"
    if metric not in (None, "error"):
        effect = f"it hardly counts in the {metric}"
    judged = "" if metric == "log-loss" else ", and log-loss judges the probabilities"
    yield f"{said}{effect}; 'metric: balanced-error' counts classes alike{judged}"


def _same_names(names: Iterable[str]) -> Iterator[str]:
    """Describe the first two names that differ only by spaces or letter case."""
    seen: dict[str, str] = {}
    for name in names:
        other = seen.setdefault("".join(name.split()).casefold(), name)
        if other != name:
            yield (
                f"the names of the columns '{other}' and '{name}' differ only by spaces or letter "
                "case: if both are the same, merge them, or drop one"
            )
            return


def _in_order(name: str, dates: "pd.Series") -> Iterator[str]:
    """Describe a column of dates if rows are in order of it."""
    if dates.nunique() >= GROUPS and (
        dates.is_monotonic_increasing or dates.is_monotonic_decreasing
    ):
        yield (
            f"the rows are in order of '{name}', but the test rows are drawn at random: if later "
            "rows are to be predicted, the error on them is too low; 'columns: {time: "
            f"[{name}]}}' tests on the latest rows"
        )


def _stand_ins(name: str, numbers: np.ndarray, counts: np.ndarray) -> Iterator[str]:
    """Describe sorted numbers at an end of a column that may stand for missing values."""
    for k in range(1, min(CODES, len(numbers) - OTHERS) + 1):
        for own, rest in ((slice(-k, None), slice(-k)), (slice(k), slice(k, None))):
            n, (low, *_, high) = counts[own], numbers[rest]
            gap = max(numbers[own].min() - high, low - numbers[own].max())
            if n.min() >= EVIDENCE and n.sum() >= OFTEN * counts.sum() and gap > FAR * (high - low):
                listed = ", ".join(f"{number:.10g}" for number in numbers[own])
                yield (
                    f"column '{name}' has {listed} in {n.sum()} of {counts.sum()} training rows, "
                    f"far from its other values, {low:g} to {high:g}: if that stands for missing "
                    "values, leave these fields empty"
                )
                return


def _column(name: str, labels: np.ndarray, codes: np.ndarray, words: Any, classes: bool) -> str:
    """Describe a column that alone predicts the target, or may name groups; else empty."""
    n, k = len(codes), len(words)
    if n < 4 * EVIDENCE or k < 2:
        return ""
    repeats = k >= GROUPS and n >= MEMBERS * k
    named = ""
    text = words.dtype.kind not in "bfM"
    if repeats and k >= IDENTIFIERS and text and words.str.fullmatch(IDENTIFIER).all():
        named = (
            f"column '{name}' has {k} identifiers that repeat, such as {short(words[0])}: if rows "
            "of one belong together, as those of a patient do, and new rows are of others, errors "
            f"are too low: '{roles.written('group', name)}' divides by them"
        )
    if classes:
        counts = np.bincount(labels)
        base = n - counts.max()
        if base < EVIDENCE:
            return named
        alone, beside = (base - wrong for wrong in _mistakes(codes, k, labels))
    else:
        y = labels - labels.mean()
        base = float((y**2).sum())
        if not base > 0:
            return named
        alone, beside = (base - left for left in _squares(codes, k, y))
    alone, beside = alone / base, beside / base if words.dtype.kind in "fM" else 0.0
    if repeats and alone >= GROUP and beside <= alone / 2:
        return (
            f"column '{name}' may name groups: its {k} values repeat, and by themselves predict "
            f"{100 * alone:.0f} % of the target. If new rows are of other values, errors are too "
            f"low: '{roles.written('group', name)}' divides by them"
        )
    if max(alone, beside) >= LEAK:
        return (
            f"column '{name}' alone predicts {100 * max(alone, beside):.1f} % of the target: if it "
            f"is not known before the target is, leave it out ('{roles.written('drop', name)}')"
        )
    return named


def _mistakes(codes: np.ndarray, k: int, labels: np.ndarray) -> tuple[float, float]:
    """Count errors of two predictions of each row's class: the most frequent class of the other
    rows with its value, and the class of a row with the next smaller or larger value, at random.
    """
    C = int(labels.max()) + 1
    counts = np.bincount(codes * C + labels, minlength=k * C).reshape(k, C)
    top, first = counts.max(axis=1), counts.argmax(axis=1)
    others = counts.copy()
    others[np.arange(k), first] = 0
    overall = int(np.bincount(labels).argmax())
    # Left out itself, a row of its value's top class is right if that class stays on top. The only
    # row with its value is right if it belongs to the overall most frequent class.
    right = np.where(top - 1 > others.max(axis=1), top, 0)
    right = np.where(counts.sum(axis=1) == 1, counts[:, overall], right).sum()
    shares = counts / counts.sum(axis=1, keepdims=True)
    near = counts * (np.vstack([shares[1:2], shares[:-1]]) + np.vstack([shares[1:], shares[-2:-1]]))
    return len(labels) - right, len(labels) - near.sum() / 2


def _squares(codes: np.ndarray, k: int, y: np.ndarray) -> tuple[float, float]:
    """Sum squared errors of numbers with mean 0, predicted by means as in :func:`_mistakes`."""
    counts, sums = np.bincount(codes, minlength=k), np.bincount(codes, y, k)
    m = counts[codes]
    without = np.where(m > 1, (sums[codes] - y) / np.maximum(m - 1, 1), 0.0)
    means = sums / counts
    near = (np.append(means[1], means[:-1]) + np.append(means[1:], means[-2])) / 2
    return float(((y - without) ** 2).sum()), float(((y - near[codes]) ** 2).sum())


def _alike(codes: np.ndarray) -> float:
    """Estimate the probability that two rows have the same code."""
    counts = np.bincount(codes)
    return float((counts * (counts - 1)).sum() / max(1, len(codes) * (len(codes) - 1)))


def _hashes(values: "pd.Series") -> np.ndarray:
    import pandas as pd

    return pd.util.hash_pandas_object(values, index=False).to_numpy(np.uint64)


def _duplicated(hashes: np.ndarray, rows: Mapping[str, np.ndarray], alike: float) -> Iterator[str]:
    """Describe held-out rows that are also training rows; ``alike`` is the probability that two
    rows are equal if columns are independent.
    """
    known = np.unique(hashes[rows["train"]])
    by_chance = -np.expm1(len(rows["train"]) * np.log1p(-min(alike, 1 - 1e-12)))
    for part in ("test", "validation"):
        if part in rows and part != "train":
            own = np.isin(hashes[rows[part]], known)
            if own.sum() >= EVIDENCE and own.mean() >= max(DUPLICATED, 2 * by_chance):
                yield (
                    f"{own.sum()} of {len(own)} {part} rows are equal to training rows, target "
                    "included: the error on them is too low; if they are copies, remove them, or "
                    "name a column that copies share with 'columns: {group: [name]}'"
                )
                return
