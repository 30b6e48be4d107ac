"""Measurements for the card: losses with intervals, classes, thresholds, columns, and time."""

import math
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import NormalDist
from typing import Any

import numpy as np

from ensemble_search.data.cells import DAYS
from ensemble_search.data.preparation import Categories, Preparation, Texts
from ensemble_search.metrics.balanced_error import BalancedError
from ensemble_search.metrics.base import UNWEIGHTED, Metric, predicted_labels
from ensemble_search.metrics.log_loss import LOWEST
from ensemble_search.runtime import plugins
from ensemble_search.runtime.names import CLASSIFICATION

#: Bootstrap resamples for an interval; fewer for losses that are not a mean over rows.
RESAMPLES, FEWER = 1000, 300
#: Maximum number of blocks of groups that are left out one at a time.
BLOCKS = 200
#: Titles of metrics of two classes whose interval is that of a share of the rows of class 1.
OF_POSITIVES = ("1 - F1", "1 - average precision")
#: Rows, and repeats of each permutation, for the importance of columns.
ROWS, REPEATS = 500, 3
#: Maximum number of rows to predict for importance, which is why tables with more than 20 columns
#: use fewer rows; the minimum number of rows used; and the maximum number of columns.
IN_ALL, FEWEST = 30_000, 100
MOST_COLUMNS = IN_ALL // (REPEATS * FEWEST)
#: Maximum number of rows and values for the mean prediction by a column's value.
SOME, VALUES = 200, 12
#: Number of rows by which the words of a text are chosen.
FOR_WORDS = 20
#: Microseconds per day.
DAY = 86_400_000_000
#: Of fewer rows in the rarest class, or expected mistakes, bootstraps say too little: see
#: :func:`interval`.
RARE, FEW = 30, 5
#: Quantile of the normal distribution for 95 % intervals.
Z = NormalDist().inv_cdf(0.975)
#: Number of rows predicted at once, and one at a time, to measure the time.
BULK, SINGLES = 2000, 20


def interval(
    metric: Metric, labels: np.ndarray, predictions: np.ndarray, groups: np.ndarray | None = None
) -> tuple[float, float]:
    """Return the 95 % interval of a loss due to the choice of the test rows.

    Without groups: Wilson's interval (1927) if the loss is a share of rows, else percentiles of
    seeded bootstraps. Groups are sampled as a whole: see :func:`share` and :func:`_jackknife`.

    In classification, losses that are not means over rows, such as 1 - AUC, hardly vary between
    bootstraps of few rows of a class. If the rarest class has fewer than :data:`RARE` rows, or
    groups, fewer than :data:`FEW` expected mistakes (rows times loss), or if the loss is extreme,
    the interval is Wilson's for as many rows as the rarest class has: a share
    of n has the largest variance that an AUC with n rows in the smaller class can have (Birnbaum &
    Klose, 1957). Of two classes, :data:`OF_POSITIVES` count the rows of the positive one, as the
    binomial interval of an average precision does (Boyd, Eng & Page, ECML 2013). Weighted rows, and
    groups of unequal weight, count by Kish's effective number.
    The balanced error, a mean of independent shares, combines the intervals of these (Zou & Donner,
    Statistics in Medicine 2008), without groups or weights. The mean of the rows' losses has its
    own if fewer than :data:`RARE` rows, or groups, are wrong: see :func:`_few_wrong`.
    """
    rng = np.random.default_rng(0)
    single = metric.losses(labels, predictions)
    if isinstance(metric, BalancedError) and groups is None and not metric.weights.size:
        return _mean_share(labels, predicted_labels(predictions) != labels)
    if single is not None and metric.task == CLASSIFICATION:
        found = _few_wrong(metric, labels, predictions, groups)
        if found is not None:
            return found
    plain = metric.with_weights(UNWEIGHTED).losses(labels, predictions)
    if plain is not None and np.isin(plain, (0, 1)).all():
        return share(np.asarray(plain) == 1, groups, metric.weights)
    if single is None and metric.task == CLASSIFICATION:
        loss, counts = metric.loss(labels, predictions), _counts(labels, groups, metric.weights)
        two = predictions.shape[1] == 1
        n = counts[-1] if two and metric.title in OF_POSITIVES else min(counts)
        p = loss / metric.worst
        few = min(counts) < RARE or p in (0, 1) or (groups is None and n * p < FEW)
        # Losses of users' metrics may be unlimited.
        if few and 0 <= p <= 1 and np.isfinite(metric.worst):
            low, high = wilson(n * p, n)
            return metric.worst * low, metric.worst * high
    if groups is not None:
        return _jackknife(metric, labels, predictions, groups)
    losses = []
    for _ in range(RESAMPLES if single is not None else FEWER):
        rows = rng.integers(len(labels), size=len(labels))
        if single is not None and not metric.weights.size:
            losses.append(np.mean(np.asarray(single)[rows]))
        else:
            with np.errstate(all="ignore"):
                losses.append(metric.on(rows).loss(labels[rows], predictions[rows]))
    return tuple(np.nanquantile(losses, [0.025, 0.975]).tolist())


def _counts(labels: np.ndarray, groups: np.ndarray | None, weights: np.ndarray) -> list[float]:
    """Return the effective number (Kish, 1965) of rows, or groups, of each class that has some."""
    found = []
    for code in np.unique(labels):
        rows = labels == code
        own = weights[rows] if weights.size else np.ones(np.count_nonzero(rows))
        if groups is not None:
            own = np.bincount(np.unique(groups[rows], return_inverse=True)[1], own)
        found.append(_effective(own))
    return found


def _mean_share(labels: np.ndarray, wrong: np.ndarray) -> tuple[float, float]:
    """Return the 95 % interval of the mean over the classes of their shares of wrong rows."""
    counts, shares = np.bincount(labels), np.bincount(labels, wrong)
    found = [(k / n, *wilson(k, n)) for k, n in zip(shares, counts, strict=True) if n]
    middle, low, high = np.array(found).T
    down, up = (float(np.hypot.reduce(end - middle)) / len(found) for end in (low, high))
    return float(middle.mean()) - down, float(middle.mean()) + up


def _few_wrong(
    metric: Metric, labels: np.ndarray, predictions: np.ndarray, groups: np.ndarray | None
) -> tuple[float, float] | None:
    """Return the 95 % interval of a mean over rows, few of which are wrong.

    Few, large losses of wrong rows decide such a mean, and bootstraps of 60 rows, of which one is
    wrong, hold the true one in two of three cases. The mean is that of right and of wrong rows,
    weighted by the share of wrong rows, whose interval is :func:`share`. To the wrong rows, one is
    added with their expected loss by the probabilities, if wrong rows have the second class. With
    groups, the interval is at least that of :func:`_jackknife`.

    Returns
    -------
    interval
        None if :data:`RARE` rows, or groups, are wrong, no row is right, or each loss is 0 or 1.
    """
    wrong = predicted_labels(predictions) != labels
    n, k = len(labels), int(np.count_nonzero(wrong))
    if k == n or (k if groups is None else len(np.unique(groups[wrong]))) >= RARE:
        return None
    plain = metric.with_weights(UNWEIGHTED)
    losses = np.asarray(plain.losses(labels, predictions), dtype=float)
    table = predictions
    if table.shape[1] == 1:
        table = np.column_stack((1 - table, table))
    if_wrong = np.asarray(plain.losses(np.argsort(table, axis=1)[:, -2], predictions), dtype=float)
    if np.isin(np.concatenate([losses, if_wrong]), (0, 1)).all():
        return None
    own = metric.weights / metric.weights.mean() if metric.weights.size else np.ones(n)
    doubts = own * np.maximum(1 - table.max(axis=1), LOWEST)
    expected = np.average(if_wrong, weights=doubts)
    of_wrong, of_these = np.append(losses[wrong], expected), np.append(own[wrong], 1)
    in_wrong = np.average(of_wrong, weights=of_these)
    in_right = np.average(losses[~wrong], weights=own[~wrong])
    gap, middle, p = in_wrong - in_right, np.average(losses, weights=own), own[wrong].sum() / n
    ends = np.array(share(wrong, groups, metric.weights))
    sides = np.abs(ends - p) * gap
    if groups is not None:
        low, high = _jackknife(metric, labels, predictions, groups)
        return max(0.0, min(low, middle - sides[0])), max(high, middle + sides[1])
    variance = np.average((of_wrong - in_wrong) ** 2, weights=of_these)
    variance += np.average((if_wrong - expected) ** 2, weights=doubts) / _effective(of_these)
    of_right = np.sum((own[~wrong] * (losses[~wrong] - in_right)) ** 2) / n**2
    of_wrong_rows = np.maximum(ends, p) * variance / _effective(own)
    low, high = np.hypot(sides, Z * np.sqrt(of_right + of_wrong_rows)).tolist()
    return max(0.0, middle - low), middle + high


def _effective(weights: np.ndarray) -> float:
    """Return the number of rows of equal weight that a mean is as exact with (Kish, 1965)."""
    return float(weights.sum() ** 2 / np.sum(weights**2))


def _jackknife(
    metric: Metric, labels: np.ndarray, predictions: np.ndarray, groups: np.ndarray
) -> tuple[float, float]:
    """Return a 95 % interval of a loss by leaving out one group at a time (Tukey, 1958).

    Uses Student's t with one degree of freedom less than there are groups. Losses are at least 0.
    More than ``BLOCKS`` groups are merged at random into ``BLOCKS`` blocks.
    """
    from scipy.special import stdtrit

    _, own = np.unique(groups, return_inverse=True)
    n = int(own.max()) + 1
    if n > BLOCKS:
        own, n = (np.random.default_rng(0).permutation(n) % BLOCKS)[own], BLOCKS
    left = []
    for group in range(n):
        rows = np.flatnonzero(own != group)
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            if len(rows):
                left.append(metric.on(rows).loss(labels[rows], predictions[rows]))
    losses = np.array(left)[np.isfinite(left)]
    if len(losses) < 2:
        return 0.0, np.inf
    k = len(losses)
    error = math.sqrt((k - 1) / k * np.sum((losses - losses.mean()) ** 2))
    middle, half = metric.loss(labels, predictions), float(stdtrit(k - 1, 0.975)) * error
    return max(0.0, middle - half), middle + half


def share(
    hits: np.ndarray, groups: np.ndarray | None, weights: np.ndarray = UNWEIGHTED
) -> tuple[float, float]:
    """Return the 95 % interval of a share of rows.

    Wilson's interval (1927). With weights or groups, it uses the effective number of rows: as many
    independent rows would have the same variance, that of a ratio of sums over rows, or groups
    (Korn & Graubard, Survey Methodology 1998), but at most Kish's number (Survey Sampling, 1965).
    With groups, it uses Student's t, and if all rows are equal, each group counts as one row.

    ``hits`` says whether each row counts, bool, of shape (n,); ``groups`` has codes of the rows'
    groups, int, of shape (n,), and is None if rows are independent; ``weights`` are the rows'
    (default: equal).
    """
    own = weights if weights.size else np.ones(len(hits))
    whole = own.sum()
    p, n = float(own[hits].sum() / whole), _effective(own)
    sums: np.ndarray = own * (hits - p)
    k, z, scale = len(hits), Z, 1.0
    if groups is not None:
        from scipy.special import stdtrit

        _, codes = np.unique(groups, return_inverse=True)
        k = int(codes.max()) + 1
        if k < 2:
            return 0.0, 1.0
        sums, scale = np.bincount(codes, weights=sums), k / (k - 1)
        z = float(stdtrit(k - 1, 0.975))
    variance = scale * float(np.sum(sums**2) / whole**2)
    rows = p * (1 - p) / variance if 0 < p < 1 and variance > 0 else float(k)
    return _score(p, min(n, rows), z)


def wilson(count: float, n: float) -> tuple[float, float]:
    """Return Wilson's 95 % interval (1927) for ``count`` of ``n`` rows."""
    return _score(count / n, n, Z)


def _score(p: float, n: float, z: float) -> tuple[float, float]:
    """Return Wilson's interval for a share ``p`` of ``n`` rows, with the quantile ``z``."""
    middle = (p + z**2 / (2 * n)) / (1 + z**2 / n)
    half = z / (1 + z**2 / n) * math.sqrt(p * (1 - p) / n + z**2 / (4 * n**2))
    return (middle - half if p > 0 else 0.0), (middle + half if p < 1 else 1.0)


@dataclass(frozen=True)
class Measure:
    """A loss, or the score that it is 1 minus of (AUC, F1, R² and others), in its own unit."""

    title: str  #: its name
    #: On the test rows, with the ends of the 95 % interval.
    value: float
    low: float
    high: float
    baseline: float  #: of constant predictions, which use no column
    beats: bool  #: whether the whole interval is better than the baseline


def measured(
    name: str,
    labels: np.ndarray,
    predictions: np.ndarray,
    baseline: np.ndarray,
    *,
    weights: np.ndarray,
    std: float = 1.0,
    groups: np.ndarray | None = None,
) -> Measure:
    """Measure predictions of test rows by a metric.

    ``labels``, ``predictions``, ``baseline`` and ``weights`` are of the test rows; predictions as
    stored, see ``Metric``; weights are empty if equal. ``std`` is the standard deviation of the
    target; ``groups`` has codes of the rows' groups, and is None if rows are independent.
    """
    metric = plugins.load("metrics", name)().with_weights(weights)
    low, high = interval(metric, labels, predictions, groups)
    of_baseline = metric.loss(labels, baseline)
    scale = std**metric.power
    found = [scale * n for n in (metric.loss(labels, predictions), low, high, of_baseline)]
    title = metric.title.removeprefix("1 - ")
    if title != metric.title:
        value, high, low, base = (1 - loss for loss in found)
    else:
        value, low, high, base = found
    return Measure(title, value, low, high, base, bool(found[2] < found[3]))


def by_class(
    labels: np.ndarray,
    predicted: np.ndarray,
    n: int,
    groups: np.ndarray | None = None,
    weights: np.ndarray = UNWEIGHTED,
) -> Iterator[dict[str, Any]]:
    """Return rows, recall and precision of every class, the latter two with 95 % intervals.

    ``weights`` are the rows' (default: equal). ``recall`` and ``precision`` are (value, low, high),
    or None if there are no rows to count.
    """
    for code in range(n):
        own, said = labels == code, predicted == code
        found: dict[str, Any] = {"rows": int(own.sum()), "predicted": int(said.sum())}
        for name, rows in (("recall", own), ("precision", said)):
            hits = (own & said)[rows]
            of_rows = weights[rows] if weights.size else weights
            of = None if groups is None else groups[rows]
            found[name] = None
            if len(hits):
                value = float(np.average(hits, weights=of_rows if weights.size else None))
                found[name] = (value, *share(hits, of, of_rows))
        yield found


def thresholds(
    positive: np.ndarray,
    probabilities: np.ndarray,
    at: Sequence[float],
    weights: np.ndarray = UNWEIGHTED,
) -> list[dict[str, float]]:
    """Count outcomes if rows are predicted positive from a threshold probability on.

    ``positive`` says whether rows are positive, bool; ``probabilities`` are those of being so, and
    ``weights`` the rows' (default: equal); each of shape (n,). Returns one row for each
    threshold in ``at``: ``threshold``, ``precision`` (NaN if no row is predicted positive),
    ``recall``, and as shares of all rows ``alarms`` (predicted positive), ``false`` (wrong alarms)
    and ``missed`` (positive, but not predicted so).
    """
    found, own = [], weights if weights.size else np.ones(len(positive))
    whole, rows = own[positive].sum(), own.sum()
    for threshold in at:
        said = probabilities >= threshold
        hits, n = own[said & positive].sum(), own[said].sum()
        found.append({
            "threshold": threshold, "precision": hits / n if n else np.nan,
            "recall": hits / whole if whole else np.nan, "alarms": n / rows,
            "false": own[said & ~positive].sum() / rows,
            "missed": own[~said & positive].sum() / rows,
        })  # fmt: skip
    return found


def importance(
    ensemble: Any,
    as_used: Callable[[np.ndarray], np.ndarray],
    X: np.ndarray,
    labels: np.ndarray,
    metric: Metric,
    seed: int,
) -> list[dict[str, Any]]:
    """Measure how much the loss rises when a column has the values of other rows.

    ``as_used`` turns predictions as stored into those that the metric is to see.
    All features made from a column are shuffled together, on at most ``ROWS`` rows, fewer in wide
    tables; their new values come from all rows. Of more than ``MOST_COLUMNS`` columns, only those
    are measured whose features have the largest absolute correlations with predictions on these
    rows. Classes have equally many of these rows, if possible, weighted by their share of all rows.
    Returns, by decreasing importance: ``column``, ``rise`` of the loss (mean over ``REPEATS``) and
    ``spread`` (standard deviation).
    """
    rng = np.random.default_rng(seed)
    columns = ensemble.preparation.places()
    most = max(FEWEST, min(ROWS, IN_ALL // (REPEATS * len(columns))))
    rows = rng.permutation(len(X))
    if len(rows) > most and metric.task == CLASSIFICATION:
        counts = np.bincount(labels)
        taken = np.minimum(counts, max(1, most // int(np.count_nonzero(counts))))
        rows = np.concatenate([rows[labels[rows] == k][:n] for k, n in enumerate(taken)])
        weights = (counts / np.maximum(1, taken))[labels[rows]]
        metric = metric.with_weights(weights * (metric.weights[rows] if metric.weights.size else 1))
    else:
        rows = rows[:most]
        metric = metric.on(rows)
    everywhere = X
    X, labels = X[rows], labels[rows]

    def predict(features: np.ndarray) -> np.ndarray:
        return as_used(ensemble.combine(ensemble.member_predictions(features)))

    predictions, found = predict(X), []
    usual = metric.loss(labels, predictions)
    for name, places in _related(columns, X, predictions).items():
        shuffled = np.tile(X, (REPEATS, 1, 1))
        for repeat in shuffled:
            # From all rows, in which rare classes are rare.
            others = rng.permutation(len(everywhere))[: len(X)]
            repeat[:, places] = everywhere[others][:, places]
        parts = np.split(predict(shuffled.reshape(-1, X.shape[1])), REPEATS)
        rises = [metric.loss(labels, each) - usual for each in parts]
        rise, spread = float(np.mean(rises)), float(np.std(rises))
        found.append({"column": name, "rise": rise, "spread": spread})
    return sorted(found, key=lambda row: -row["rise"])


def _related(
    columns: Mapping[str, Sequence[int]], X: np.ndarray, predictions: np.ndarray
) -> Mapping[str, Sequence[int]]:
    """Return the ``MOST_COLUMNS`` columns that are most correlated with predictions; ties: first.

    ``columns`` has the places of each column's features in X.
    """
    if len(columns) <= MOST_COLUMNS:
        return columns

    def standardised(values: np.ndarray) -> np.ndarray:
        values = values - values.mean(axis=0)
        scale = np.linalg.norm(values, axis=0)
        return values / np.where(scale > 0, scale, 1)

    strength = np.abs(standardised(X).T @ standardised(predictions)).max(axis=1)
    strengths = [strength[places].max().round(6) for places in columns.values()]
    used = set(np.argsort(np.negative(strengths), kind="stable")[:MOST_COLUMNS].tolist())
    return {name: own for i, (name, own) in enumerate(columns.items()) if i in used}


def dependence(
    ensemble: Any, outputs: Callable, X: np.ndarray, column: str, seed: int
) -> tuple[list[Any], np.ndarray] | None:
    """Return mean predictions with a column set to each of its values in turn.

    This is partial dependence (Friedman, Annals of Statistics 2001), on at most ``SOME`` rows,
    chosen with ``seed``, of the features X, of shape (n, p). ``outputs`` converts combined
    predictions to probabilities of all classes, or numbers.

    Returns
    -------
    values, predictions
        Values: quantiles of numbers and dates, the most frequent categories, ``false`` and
        ``true``, or the words that change predictions most, as texts of this word alone, in the
        order of the last output. Mean predictions: of shape (len(values), n_outputs). None for a
        column with fewer than two values, or a date without its days.
    """
    own = next(c for c in ensemble.preparation.columns if c.name == column)
    places = ensemble.preparation.places()[column]
    X = X[np.random.default_rng(seed).permutation(len(X))]

    def means(settings: np.ndarray, rows: int = SOME) -> np.ndarray:
        each = np.repeat(X[None, :rows], len(settings), axis=0)
        each[:, :, places] = settings[:, None]
        combined = ensemble.combine(ensemble.member_predictions(each.reshape(-1, X.shape[1])))
        return outputs(combined).reshape(len(settings), each.shape[1], -1).mean(axis=1)

    values: list[Any]
    if isinstance(own, Texts):
        each_word = means(np.eye(len(places)), FOR_WORDS)
        effects = np.abs(each_word - np.median(each_word, axis=0)).sum(axis=1)
        chosen = np.argsort(-effects, kind="stable")[:VALUES]
        chosen = chosen[np.argsort(each_word[chosen, -1], kind="stable")]
        values, settings = [own.words[i] for i in chosen], np.eye(len(places))[chosen]
    elif isinstance(own, Categories):
        common = np.argsort(-X[:, places].sum(axis=0), kind="stable")[:VALUES]
        values = [own.words[i] for i in common]
        settings = np.eye(len(places))[common]
    elif own.kind == "date":
        if (place := f"{column}.days") not in own.features:
            return None
        seen = X[:, places[own.features.index(place)]]
        chosen = np.quantile(seen, np.linspace(0.02, 0.98, VALUES), method="lower")
        dates = (np.unique(chosen) * DAY).round().astype(np.int64).astype("M8[us]")
        settings = np.empty((len(dates), len(places)))
        own.write(dates, settings)
        values = [str(date) for date in dates.astype("M8[D]")]
    else:
        quantiles = np.quantile(X[:, places[0]], np.linspace(0.02, 0.98, VALUES), method="lower")
        settings = np.unique(quantiles)[:, None]
        values = settings[:, 0].tolist()
        if own.kind == "boolean":
            settings, values = np.array([[0.0], [1.0]]), ["false", "true"]
    if len(values) < 2:
        return None
    return values, means(settings)


def as_given(preparation: Preparation, X: np.ndarray) -> dict[str, Any]:
    """Return raw rows that have these features: the inverse of a preparation.

    Dates and texts are missing because features hold only parts of them.
    """
    columns: dict[str, Any] = {}
    places = preparation.places()
    for column in preparation.columns:
        own = X[:, places[column.name]]
        if isinstance(column, Categories):
            chosen = zip(own.argmax(axis=1).tolist(), own.max(axis=1, initial=0) > 0, strict=True)
            columns[column.name] = [column.words[i] if known else None for i, known in chosen]
        elif column.kind in ("date", "text"):
            columns[column.name] = [None] * len(X)
        elif column.read == DAYS:  # single numbers are not read as dates, but arrays are as days
            columns[column.name] = own[:, 0].copy()
        else:
            columns[column.name] = own[:, 0].tolist()
    return columns


def speed(ensemble: Any, X: np.ndarray) -> Mapping[str, float]:
    """Measure CPU time on this machine, which other programs hardly affect.

    ``rows_per_second`` is for many rows at once, including reading their values, and ``one_row_ms``
    the median for single rows. The rows are made from their features X, of shape (n, p).
    """
    rows = np.resize(np.arange(len(X)), BULK)
    many = as_given(ensemble.preparation, X[rows])
    start = time.process_time()
    ensemble.predict(many)
    bulk = time.process_time() - start
    singles = []
    for i in range(SINGLES):
        one = {name: values[i : i + 1] for name, values in many.items()}
        start = time.process_time()
        ensemble.predict(one)
        singles.append(time.process_time() - start)
    return {"rows_per_second": BULK / bulk, "one_row_ms": 1000 * float(np.median(singles))}


def megabytes(folder: Path) -> float:
    """Return the size of all files below a folder, in units of 10^6 bytes."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()) / 1e6
