"""What the page of a delivered ensemble says: how good it is, how to use it, its costs."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from ensemble_search.data import prepare
from ensemble_search.delivery import calibration, doors, figures, measures
from ensemble_search.delivery.figures import Chart, Series
from ensemble_search.delivery.limits import in_words
from ensemble_search.delivery.measures import Measure
from ensemble_search.delivery.page import Card, Part, Table
from ensemble_search.delivery.tested import MOST_CLASSES, Tested, distinct
from ensemble_search.metrics.base import predicted_labels
from ensemble_search.predictor.ensemble import IMPORTANCE
from ensemble_search.results import readers
from ensemble_search.runtime.errors import UserError, number_of, printable
from ensemble_search.runtime.names import CLASSIFICATION, REGRESSION

#: The card cautions of test rows of unknown classes if they are more than this share of the others.
UNKNOWN = 0.01
#: Further columns are left out of the table of their importance.
MOST_COLUMNS = 30
#: Maximum number of figures of mean prediction by a column's value, and of classes in one.
SHOWN, LINES = 6, 4
#: Number of points in the figure of residuals.
POINTS = 1000
#: With fewer test rows, test rows of a class, or groups of them, the card adds a caution.
FEW_ROWS, FEW_OF_CLASS, FEW_GROUPS = 50, 10, 10
#: If the other classes have fewer of the test rows than this share, the error hardly counts them.
RARE_CLASSES = 0.1
#: A loss below this share of the baseline's is suspicious.
TOO_GOOD = 0.02
#: Costs of a missed positive, in false alarms. A higher cost is added if negatives are at least as
#: many times more frequent than positives, and its inverse if positives are.
COSTS, HIGHER_COSTS = (0.2, 0.5, 1, 2, 5, 10, 20), (50, 100, 200, 500, 1000)
#: Upper end of the figure of costs, relative to the cost without the ensemble.
MOST_COST = 1.5
#: Shares of the true values that intervals should contain.
COVERAGES = (0.5, 0.8, 0.9, 0.95)
#: Part of a note that says that a column is dropped.
BY_PREPARATION = "the base preparation"
#: Where the weights of rows are used, and where not.
WEIGHTED = (
    "Rows are weighted by the column {}: in the fits of learners that accept weights, in the "
    "losses and scores of search, selection and test, with their intervals, {} and in the "
    "importance of columns. Imputation, preprocessing, learners without weights, and row counts "
    "treat all rows alike."
)
OF_TASK = {
    CLASSIFICATION: "in the calibration, by class, at thresholds",
    REGRESSION: "in prediction intervals",
}
ROWS_OF = {"train": "the training rows", "train+validation": "the training and validation rows",
           "all": "all rows"}  # fmt: skip


def make(
    delivery: Any,
    ensemble: Any,
    manifest: Mapping[str, Any],
    described: Mapping[str, Any],
    parity: Mapping[str, Any],
    about: Mapping[str, Any],
) -> Card:
    """Measure and describe an ensemble.

    ``delivery`` is a ``build.Delivery`` after its refits, and ``ensemble`` the reloaded ensemble.
    ``manifest``, ``parity`` and ``described`` are the content of ``ensemble.json``, ``parity.json``
    and the split's ``split.json``; for ``about``, see ``build.deliver``.
    """
    tested = Tested(delivery, ensemble, manifest)
    found = tested.measured()
    parts = [_quality(tested, found, described)]
    if tested.classes:
        parts += [_by_class(tested)] if len(tested.classes) <= MOST_CLASSES else []
        parts += [_threshold(tested)] if len(tested.classes) == 2 else []
        parts.append(_calibration(tested))
    else:
        parts += [_residuals(tested), _intervals(tested)]
    parts += [_columns(tested), _use(tested), _cost(tested), _search(tested, about)]
    reading = _reading(described, ensemble.preparation)
    columns = Table(prepare.READING, described.get("columns", [])[: prepare.SHOWN])
    parts.append(_data(tested, described, about))
    parts.append(Part("What was read, changed and left out", reading, [columns]))
    parts.append(Part("Checks", [*_parity(parity)]))
    title = f"{about['dataset']}: an ensemble that predicts {manifest['target']}"
    cautions = [*_cautions(tested, found, described.get("by", {}))]
    return Card(title, _headline(tested, found), cautions, parts)


def _headline(tested: Tested, found: Mapping[str, Measure]) -> str:
    name = "error" if tested.classes else "absolute-error"
    one = found[name]
    if tested.classes:
        said = (
            f"Error on the test rows: {amount(one.value)} (95 % interval {amount(one.low)} to "
            f"{amount(one.high)}); always predicting '{tested.commonest}' would have "
            f"{amount(one.baseline)}."
        )
    else:
        said = (
            f"Off by {amount(one.value)} on average on the test rows (95 % interval "
            f"{amount(one.low)} to {amount(one.high)}); always predicting the mean would be off by "
            f"{amount(one.baseline)}. "
            f"R² is {found['r2'].value:.3g}."
        )
    if tested.name not in (name, "r2", "rmse"):
        own = found[tested.name]
        said += (
            f" {own.title[0].upper()}{own.title[1:]}: {amount(own.value)} (95 % interval "
            f"{amount(own.low)} to {amount(own.high)}; baseline {amount(own.baseline)})."
        )
    return said


def _cautions(tested: Tested, found: Mapping[str, Measure], by: Mapping[str, str]) -> Iterator[str]:
    """List reasons against relying on the ensemble, a sentence each.

    ``by`` are the columns that divide or weight the rows, by role.
    """
    labels, own, loss = tested.labels, found[tested.name], tested.metric.loss
    rows = np.bincount(labels, minlength=len(tested.classes)).tolist() if tested.classes else []
    if tested.delivery.warning:
        yield f"{tested.delivery.warning}."
    perfect = loss(labels, tested.as_used(tested.found)) < TOO_GOOD * loss(labels, tested.baseline)
    if perfect:
        yield (
            "The ensemble is almost perfect. Check for leakage: a column that is known only after "
            "the target, or that repeats it."
        )
    if not own.beats and not (perfect and "error" in found and found["error"].beats):
        yield (
            f"By its {own.title}, the ensemble is not clearly better than the baseline, which uses "
            f"no column: the interval, {amount(own.low)} to {amount(own.high)}, reaches the "
            f"baseline's {amount(own.baseline)}. "
            + (
                _for_rare_classes(rows)
                if tested.name == "error" and own.baseline < RARE_CLASSES
                else "Do not rely on it."
            )
        )
    if not tested.classes and found["r2"].high < 0:
        yield (
            "R² is below 0: the mean of the test rows themselves would be closer."
            + " The test rows differ from the training rows, as later ones do if the target has a "
            "trend." * found["r2"].beats
        )
    if not tested.classes and (narrow := [row for row in _coverages(tested) if row[4] < row[0]]):
        nominal, _, covered, *_ = narrow[-1]
        yield (
            f"Intervals that should contain {nominal:g} of the true values of the test rows "
            f"contain only {covered:.3f}: the intervals of --interval are too narrow."
        )
    if tested.delivery.own_test is not None and (also := tested.copied):
        yield (
            f"{also} of the {len(labels)} test rows are also in the table, with the same values "
            "and target: the loss on them is too low."
        )
    own_test = tested.delivery.own_test
    if own_test and own_test.unknown > UNKNOWN * len(labels):
        yield (
            f"{number_of(own_test.unknown, 'row')} of {own_test.name}, with a class that the table "
            "lacks, would be errors, but the numbers leave them out."
        )
    if "time" in by:
        yield (
            "Rows close in time may be alike, and later rows may differ: the 95 % intervals "
            "reflect neither, and may be too narrow."
        )
    if len(labels) < FEW_ROWS:
        yield f"There {_only(len(labels), 'test row')}, so all these numbers are uncertain."
    n_groups = FEW_GROUPS if tested.groups is None else len(np.unique(tested.groups))
    if n_groups < FEW_GROUPS:
        yield f"There {_only(n_groups, 'group of test rows')}, so all these numbers are uncertain."
    if tested.classes:
        right = set(labels[predicted_labels(tested.found) == labels].tolist())
        never = [c for k, c in enumerate(tested.classes) if rows[k] and k not in right]
        few = [c for c, n in zip(tested.classes, rows, strict=True) if n < FEW_OF_CLASS]
        if never:
            yield f"It predicts no test row of {_listed(never)} correctly."
        if few and len(labels) >= FEW_ROWS:
            yield f"Fewer than {FEW_OF_CLASS} test rows per class: {_listed(few)}."


def _for_rare_classes(rows: Sequence[int]) -> str:
    """Advise on classes, given the numbers of their test rows, that the error says little about."""
    if min(rows) < FEW_OF_CLASS:
        return "With so few rows of a class, another metric would hardly help: collect more."
    return (
        "The error says little about rare classes: search by another metric, such as "
        "balanced-error."
    )


def _only(count: int, what: str) -> str:
    return f"{'is' if count == 1 else 'are'} only {number_of(count, what)}"


def _listed(names: Sequence[str], most: int = 5) -> str:
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(f"'{name}'" for name in names[:most]) + more


def _quality(tested: Tested, found: Mapping[str, Measure], described: Mapping[str, Any]) -> Part:
    delivery, labels, validation = tested.delivery, tested.labels, _validation_loss(tested)
    baseline = f"always '{tested.commonest}'" if tested.classes else "always the mean"
    part = described["settings"].get("train_rows")
    own_loss, score = found[tested.name], tested.metric.title.startswith("1 - ")
    own_validation = 1 - validation if score else validation
    far = _apart(tested, own_loss)
    better = own_validation > own_loss.value if score else own_validation < own_loss.value
    table = Table(
        ("on the test rows", "ensemble", "from", "to", f"baseline: {baseline}"),
        [(m.title, *map(amount, (m.value, m.low, m.high, m.baseline))) for m in found.values()],
    )
    own = delivery.own_test
    said = [
        f"{number_of(len(labels), 'test row')}{f' of {own.name}' if own else ''}"
        + (
            ", which also are in the table in part."
            if own and tested.copied
            else " that neither search nor selection has seen."
        )
        + " From and to are the ends of a 95 % interval that reflects the sampling of the test "
        "rows."
    ]
    if tested.groups is not None:
        said.append(
            f"They form {number_of(len(np.unique(tested.groups)), 'group')}, one per "
            f"'{described['by']['group']}', and the intervals reflect the sampling of groups."
        )
    if len(tested.classes) == 2:
        other, positive = tested.classes
        said.append(
            f"The positive class for average precision, F1 and thresholds is '{positive}'; to "
            f"change it, search with {doors.DOORS['make']('positive', other)} "
            f"({_in_study({'positive': other})} in a study)."
        )
    elif tested.classes:
        said.append("Average precision, F1 and AUC are means over the classes.")
    said.append(
        f"On the validation rows, the ensemble's {_name(tested)} is "
        f"{amount(validation)}"
        + (
            ", which tends to be too low: it was selected on these rows."
            if better
            else "; it was selected on these rows."
        )
    )
    if far:
        said[-1] += (
            " The 95 % intervals of both do not overlap, so the test rows may also differ from the "
            "others."
        )
    if tested.weights.size:
        task = CLASSIFICATION if tested.classes else REGRESSION
        said.append(f"Rows are weighted here and {OF_TASK[task]}; counts are of rows.")
    rows = ROWS_OF[tested.manifest["rows"]] + (" except those train_rows left out" * bool(part))
    if tested.unseen:
        said.append(f"The tested members are the delivered ones, refitted on {rows}.")
        if tested.as_found is not None:
            before = tested.as_used(tested.as_found)
            then = amount(tested.scale * tested.metric.loss(labels, before))
            said.append(f"Before they were refitted, their {_name(tested)} was {then}.")
    else:
        folds = described["settings"].get("folds")
        said.append(
            (
                f"The tested members predict by the mean of {folds} fits, one per fold. The "
                f"delivered ones are single fits on {rows}, so no rows are left to test them; they "
                "may be a little better or worse."
            )
            if folds
            else (
                "The tested members were fitted on the training rows. The delivered ones are "
                f"refitted on {rows}, so no rows are left to test them; with more rows, they are "
                "usually a little better."
            )
        )
    if tested.manifest["rows"] != "train":
        said.append(
            "The base preparation (imputed values, categories, words of texts) is not fitted again:"
            " it stays that of the training rows."
        )
    notes = [*delivery.notes, *(own.notes if own else [])]
    return Part("How good is it?", [*said, *(f"Note: {note}." for note in notes)], [table])


def _apart(tested: Tested, own: Measure) -> bool:
    """Whether the intervals of the losses on validation and test rows do not overlap.

    With groups, whether that of the test rows excludes the loss on the validation rows.
    """
    pool, members = tested.delivery.pool, tested.delivery.members
    found = tested.as_used(members.predict(pool.predictions))
    metric = pool.problem.metric
    ends = (metric.loss(pool.labels, found),) * 2
    if tested.groups is None:
        ends = measures.interval(metric, pool.labels, found)
    low, high = (float(tested.loss(end)) for end in ends)
    if tested.metric.title.startswith("1 - "):
        low, high = 1 - high, 1 - low
    return bool(low > own.high or high < own.low)


def _validation_loss(tested: Tested, calibrated: bool = True) -> float:
    """Return the loss of the ensemble that is tested on the rows that selected it."""
    pool, members = tested.delivery.pool, tested.delivery.members
    found = members.predict(pool.predictions)
    used = tested.as_used(found) if calibrated else found
    return float(tested.loss(pool.problem.metric.loss(pool.labels, used)))


def _by_class(tested: Tested) -> Part:
    classes, predicted = distinct(tested.classes), predicted_labels(tested.found)
    n = len(classes)

    def share(found: tuple[float, float, float] | None) -> tuple[str, str]:
        return (f"{found[0]:.3f}", f"{found[1]:.3f} to {found[2]:.3f}") if found else ("–", "")

    each = measures.by_class(tested.labels, predicted, n, tested.groups, tested.weights)
    rows = [
        (c, str(r["rows"]), *share(r["recall"]), str(r["predicted"]), *share(r["precision"]))
        for c, r in zip(classes, each, strict=True)
    ]
    head = ("class", "test rows", "recall", "95 % interval", "predicted", "precision")
    counts = np.bincount(tested.labels * n + predicted, minlength=n * n).reshape(n, n)
    shares = counts / np.maximum(1, counts.sum(axis=1, keepdims=True))
    confused = [(c, *map(str, row)) for c, row in zip(classes, counts.tolist(), strict=True)]
    said = [
        "Recall: the share of a class's rows that are predicted as this class. Precision: the "
        "share of rows predicted as a class that belong to it.",
        "Confusion matrix: true classes down, predicted classes across; a stronger blue is a "
        "larger share of the true class.",
    ]
    matrix = Table(("", *classes), confused, shades=shares.tolist())
    return Part("By class", said, [Table((*head, "95 % interval"), rows), matrix])


def _threshold(tested: Tested) -> Part:
    name, positive = tested.classes[1], tested.labels == 1
    p = tested.probabilities[:, 1]
    grid = [k / 50 for k in range(1, 50)]
    found = measures.thresholds(positive, p, grid, tested.weights)
    titles = {"precision": "precision", "recall": "recall", "alarms": "rows predicted positive"}
    curves = [Series(titles[key], grid, [row[key] for row in found]) for key in titles]
    weights = tested.weights if tested.weights.size else None
    share = float(np.average(positive, weights=weights))
    costs = []
    for k in (1.0, 5.0, 20.0):
        ratios = [_ratio(*_costs(row, k, share)) for row in found]
        costs.append(Series(f"a miss costs {k:g}", grid, ratios))
    missed = [
        *(1 / k for k in reversed(HIGHER_COSTS) if k * (1 - share) <= share < 1),
        *COSTS,
        *(k for k in HIGHER_COSTS if k * share <= 1 - share),
    ]
    at = [1 / (1 + k) for k in missed]
    rows = measures.thresholds(positive, p, at, tested.weights)
    head = ("cost of a miss, in false alarms", "threshold", "precision", "recall",
            "predicted positive", "cost per 100 rows", "without the ensemble")  # fmt: skip
    cells = []

    def shown(value: float, hits: np.ndarray, of: np.ndarray) -> str:
        if not of.any():
            return "–"
        groups = None if tested.groups is None else tested.groups[of]
        own = tested.weights[of] if tested.weights.size else tested.weights
        low, high = measures.share(hits[of], groups, own)
        return f"{value:.3f} ({low:.2f} to {high:.2f})"

    for k, row in zip(missed, rows, strict=True):
        said = p >= row["threshold"]
        shares = shown(row["precision"], positive, said), shown(row["recall"], said, positive)
        texts = f"{k:g}", _threshold_in_words(row["threshold"]), *shares
        both = (amount(100 * cost) for cost in _costs(row, k, share))
        cells.append((*texts, f"{row['alarms']:.3f}", *both))
    # The example is the threshold that saves most.
    left = [_ratio(*_costs(row, k, share)) for k, row in zip(missed, rows, strict=True)]
    least = int(np.argmin(np.nan_to_num(left, nan=1.0)))
    example = _threshold_in_words(at[least])
    axes: dict[str, Any] = {"x": "threshold", "x_limits": (0, 1)}
    title = "Cost by threshold, relative to the cost without the ensemble"
    return Part(
        "Choosing a threshold",
        [
            f"By default, the more probable class is predicted. If missing one '{name}' costs as "
            f"much as k false alarms, it is cheapest to predict '{name}' from the probability "
            "1 / (1 + k) on, provided that the probabilities are right (see Calibration).",
            "In the table, costs are in false alarms, and brackets have 95 % intervals. Without "
            "the ensemble, one class is predicted for all rows, whichever is cheaper: the figure "
            f"of costs is relative to that, and ends at {MOST_COST:g}."
            + " At none of these thresholds is it cheaper on the test rows to use the ensemble."
            * (not left[least] < 1),
        ],
        [Table(head, cells)],
        [
            Chart("threshold", "Precision and recall by threshold", y="share", series=curves,
                  y_limits=(0, 1), **axes),
            Chart("cost", title, y="cost", series=costs, y_limits=(0, MOST_COST), **axes),
        ],
        code=f"python predict.py --model . --input new.csv --output predictions.csv --threshold "
        f"{example}   # '{printable(name)}' if its probability is at least {example}",
    )  # fmt: skip


def _threshold_in_words(threshold: float) -> str:
    """Write a threshold with two digits of the smaller of it and its distance to 1."""
    return f"{threshold:.2g}" if threshold < 0.9 else f"{1 - float(f'{1 - threshold:.2g}'):.6g}"


def _costs(row: Mapping[str, float], k: float, share: float) -> tuple[float, float]:
    """Return the cost per row, with and without the ensemble."""
    return row["false"] + k * row["missed"], min(k * share, 1 - share)


def _ratio(own: float, none: float) -> float:
    return own / none if none else np.nan


def _calibration(tested: Tested) -> Part:
    temperature, labels = tested.manifest["temperature"], tested.labels
    raw, rows = tested.delivery.pool.problem.expand(tested.found), []
    for name, p in (("before", raw), ("after", tested.probabilities)):
        error = calibration.expected_error(calibration.curve(p, labels, tested.weights))
        loss = calibration.log_loss(p, labels, tested.weights)
        rows.append((name, f"{loss:.4f}", f"{error:.4f}"))
    changed = temperature != 1
    said = "Probabilities are as the members give them (temperature 1)."
    if changed:
        said = f"Probabilities are scaled with the temperature {temperature:.3f}, fitted on the "
        said += "validation rows."
    curve = calibration.curve(tested.probabilities, labels, tested.weights)
    two = len(tested.classes) == 2
    what = f"of '{tested.classes[1]}'" if two else "of the most probable class"
    table = Table(("scaling", "log loss", "expected calibration error"), rows[: 1 + changed])
    series = [
        Series("test rows", curve["probability"].tolist(), curve["right"].tolist(), "both"),
        Series("perfect calibration", [0, 1], [0, 1], "dashed"),
    ]
    axes = f"probability {what}", "observed share of the rows"
    return Part(
        "Calibration",
        [
            said,
            f"Test rows are binned by the probability {what}: if the probabilities are right, the "
            "points lie on the dashed line.",
        ],
        [table],
        [Chart("calibration", "Calibration curve", *axes, series, (), (0, 1), (0, 1))],
    )


def _residuals(tested: Tested) -> Part:
    rows = np.random.default_rng(0).permutation(len(tested.labels))[:POINTS]
    predicted = tested.outputs(tested.found)[rows, 0]
    gaps = tested.std * (tested.labels - tested.found[:, 0])[rows]
    ends = [float(predicted.min()), float(predicted.max())]
    series = [
        Series("test rows", predicted.tolist(), gaps.tolist(), "points"),
        Series("perfect predictions", ends, [0.0, 0.0], "dashed"),
    ]
    axes = f"predicted {tested.manifest['target']}", "true - predicted"
    return Part(
        "Residuals",
        [
            "True minus predicted value of test rows, against the predicted value. A slope or a "
            "bend means that some values are systematically predicted too high or too low; a "
            "funnel, that some are harder to predict."
        ],
        charts=[Chart("residuals", "Residuals", *axes, series)],
    )


def _coverages(tested: Tested) -> list[tuple[float, float, float, float, float]]:
    """Return nominal coverage, half width, coverage of the test rows, and its interval.

    Both are weighted, as losses are.
    """
    gaps, found = np.abs(tested.labels - tested.found[:, 0]), []
    weights = tested.weights if tested.weights.size else None
    for coverage in COVERAGES:
        try:
            half = tested.ensemble.half_width(coverage)
        except UserError:
            continue  # too few validation rows
        inside = gaps <= half
        low, high = measures.share(inside, tested.groups, tested.weights)
        covered = float(np.average(inside, weights=weights))
        found.append((coverage, tested.std * half, covered, low, high))
    return found


def _intervals(tested: Tested) -> Part:
    rows = [
        (f"{nominal:g}", f"± {amount(half)}", f"{covered:.3f}", f"{low:.3f} to {high:.3f}")
        for nominal, half, covered, low, high in _coverages(tested)
    ]  # fmt: skip
    return Part(
        "Prediction intervals",
        [
            "The residuals of the validation rows give each prediction an interval, equally wide "
            "for all rows (split conformal prediction). The ensemble was selected on these rows, "
            "so the intervals may be too narrow: the table shows the "
            + "weighted " * bool(tested.weights.size)
            + "share of test rows whose true value lies within (coverage)."
        ],
        [Table(("nominal", "half width", "coverage", "95 % interval"), rows)] * bool(rows),
        code="python predict.py --model . --input new.csv --output predictions.csv --interval 0.9",
    )


def _columns(tested: Tested) -> Part:
    ensemble, seed = tested.ensemble, tested.delivery.source.seed
    used = tested.as_used
    found = measures.importance(ensemble, used, tested.X, tested.labels, tested.metric, seed)
    names = [row["column"] for row in found]
    numbers = [[tested.scale * _near(row[k]) for k in ("rise", "spread")] for row in found]
    top = max(found[0]["rise"], 1e-12)
    rows = [(name, *map(amount, own)) for name, own in zip(names, numbers, strict=True)]
    csv = [(name, *(f"{n:.6g}" for n in own)) for name, own in zip(names, numbers, strict=True)]
    table = Table(
        ("column", f"increase in {_name(tested)}", "±", ""),
        rows[:MOST_COLUMNS],
        bars=[max(0.0, row["rise"]) / top for row in found[:MOST_COLUMNS]],
        csv=figures.csv_text(("column", "rise", "spread"), csv),
        name=Path(IMPORTANCE).stem,
    )
    said = [
        f"Permutation importance: how much the {_name(tested)} rises when the values of a "
        f"column are shuffled, on up to {measures.ROWS} test rows (mean and standard deviation "
        f"of {measures.REPEATS} shuffles). Redundant columns share their importance."
    ]
    if (columns := len(ensemble.preparation.places())) > len(found):
        said[0] += (
            f" Of the {columns:,} columns, only the {len(found)} that are most correlated with the "
            "predictions are measured."
        )
    if not tested.unseen:
        said[0] += (
            " The members were also fitted on these rows, so columns that distinguish rows seem "
            "more important than they are."
        )
    if not any(row["rise"] for row in found):
        said.append(
            f"No shuffle changes the {_name(tested)}: for it, the columns make no difference here."
        )
    charts: list[Chart] = []
    for row in found:
        if len(charts) == SHOWN or row["rise"] <= 0:
            break
        made = measures.dependence(ensemble, tested.outputs, tested.X, row["column"], seed)
        if made is not None:
            charts.append(_dependence(tested, row["column"], len(charts) + 1, *made))
    if charts:  # the same axis for all, to make them comparable
        ends = [y for chart in charts for one in chart.series for y in one.y]
        room = 0.05 * (max(ends) - min(ends)) or 1.0
        limits = (min(ends) - room, max(ends) + room)
        charts = [replace(chart, y_limits=limits) for chart in charts]
        said.append(
            "The figures show the mean prediction if all rows had this value and were "
            "otherwise unchanged (partial dependence). It is not a causal effect."
        )
        if (n := len(tested.classes)) > LINES:
            said.append(f"Of the {n} classes, they show the {LINES} that have the most test rows.")
    return Part("Columns", said, [table], charts)


def _dependence(
    tested: Tested, column: str, number: int, values: list[Any], means: np.ndarray
) -> Chart:
    words = distinct([str(v) for v in values]) if isinstance(values[0], str) else []
    classes = distinct(tested.classes)
    x = list(range(len(words))) if words else values
    kinds = {c.name: c.kind for c in tested.ensemble.preparation.columns}
    form = "both" if kinds[column] in ("numeric", "date") else "points"  # others have no order
    y = f"mean {tested.manifest['target']}"
    if len(classes) == 2:
        series = [Series(classes[1], x, means[:, 1].tolist(), form)]
        y = f"probability of {classes[1]}"
    elif classes:
        some = np.argsort(-np.bincount(tested.labels, minlength=len(tested.classes)))[:LINES]
        series = [Series(classes[k], x, means[:, k].tolist(), form) for k in sorted(some)]
        y = "probability"
    else:
        series = [Series(y, x, means[:, 0].tolist(), form)]
    title = f"{column}: texts of one word" if kinds[column] == "text" else column
    return Chart(f"column-{number}", title, column, y, series, words)


def _use(tested: Tested) -> Part:
    *others, last = tested.manifest["versions"]
    with_ = f"{', '.join(others)} and {last}"
    return Part(
        "Use",
        [
            f"The folder that contains this page predicts new rows with Python, {with_}. Columns "
            "are matched by name. Missing values are imputed; so are values that cannot be read, "
            "and unknown categories count as none of the known ones, both with a note.",
            "The ensemble knows only what its training rows showed: other populations, periods or "
            "units need new data.",
        ],
        code="pip install -r requirements.txt\n"
        "python predict.py --model . --input new.csv --output predictions.csv",
    )


def _cost(tested: Tested) -> Part:
    delivery, ensemble = tested.delivery, tested.ensemble
    speed, size = measures.speed(ensemble, tested.X), measures.megabytes(delivery.folder)
    limits = delivery.settings["limits"]
    timed = f"; times per row are those of {measures.BULK} at a time"
    timed *= limits.get("predict_ms_per_row") is not None
    combined = "vote" if tested.manifest["combination"] == "votes" else "weighted mean"
    head = ("evaluation", "weight", "validation loss", "MB", "pipeline")
    return Part(
        "Members, size and time",
        [
            f"{number_of(len(delivery.members.indices), 'pipeline')}, combined by {combined}; "
            f"{size:.1f} MB. On one core of the machine that made it, it predicts "
            f"{amount(speed['rows_per_second'])} rows per second ({measures.BULK} at a time), and "
            f"a single row in {speed['one_row_ms']:.3g} ms of CPU time.",
            f"Requested limits: {in_words(limits)}{timed}.",
        ],
        [Table(head, list(_members(tested)), wide=True)],
    )


def _search(tested: Tested, about: Mapping[str, Any]) -> Part:
    delivery, pool = tested.delivery, tested.delivery.pool
    best = tested.loss(np.fmin.accumulate(pool.errors))
    whole = _validation_loss(tested, calibrated=False)  # as the pipelines are
    ensemble = "ensemble" + ", not calibrated" * (whole != _validation_loss(tested))
    series = [
        Series("best pipeline so far", list(range(1, len(best) + 1)), best.tolist()),
        Series(ensemble, [1, len(best)], [whole, whole], "dashed"),
    ]
    axes = "Best pipeline so far, on the validation rows", "pipelines", tested.metric.title
    made = readers.search(delivery.source.search)
    commit = f" at commit {made['commit'][:12]}" if made["commit"] else ""
    commit += ", which had uncommitted changes" if made["dirty"] else ""
    failed = readers.failures(delivery.source.search)
    return Part(
        "The search",
        [
            *([f"{failed.removesuffix('.')}."] if failed else []),
            f"{about['method']} tried {number_of(len(best), 'pipeline')} of the search space "
            f"{delivery.source.space} (study {about['study']}, repeat "
            f"{delivery.settings['repeat']}). If the line is still falling at its end, more time "
            "helps. The command below repeats the search on the same data, in a checkout of "
            f"this project{commit}.",
        ],
        charts=[Chart("search", *axes, series)],
        code=about["command"],
    )


def _data(tested: Tested, described: Mapping[str, Any], about: Mapping[str, Any]) -> Part:
    manifest, sizes, by = tested.manifest, described["sizes"], described.get("by", {})
    folds, part = described["settings"].get("folds"), described["settings"].get("train_rows")
    divided = prepare.divided(by)
    counts = [described["classes"][name] for name in ("train", "validation", "test")]
    rows = [
        (shown, *(str(own.get(c, 0)) for own in counts))
        for c, shown in zip(tested.classes, distinct(tested.classes), strict=True)
    ]
    return Part(
        "Data",
        [
            f"{about['dataset']}: predicts the column {manifest['target']} ({manifest['task']}) "
            f"from {number_of(len(tested.ensemble.preparation.names), 'column')}.",
            f"{sizes['train']} training and {number_of(sizes['test'], 'test row')}"
            + " of the table, held out from the search" * (tested.delivery.own_test is not None)
            + (f", {folds}-fold cross-validation." if folds else
               f", {sizes['validation']} validation rows.")
            + (f" The study trains on {part['share']:g} of the training rows (train_rows); "
               "the others are not counted here." if part else ""),
            f"{divided[0].upper()}{divided[1:]}.",
            *([WEIGHTED.format(by["weight"], OF_TASK[manifest["task"]])] if "weight" in by else []),
        ],
        [Table(("class", "training", "validation", "test"), rows)] if rows else [],
    )  # fmt: skip


def _in_study(content: Mapping[str, str]) -> str:
    return yaml.safe_dump(content, width=10**6, allow_unicode=True).strip()


def amount(number: float) -> str:
    """Write a number rounded to four significant digits; large ones have no exponent."""
    if not 1e4 <= abs(number) < 1e12:
        return f"{number:.4g}"
    return f"{round(number, 3 - math.floor(math.log10(abs(number)))):,.0f}"


def _reading(described: Mapping[str, Any], preparation: Any) -> list[str]:
    """Describe what was lost between the data and the features, except single categories."""
    made = [f"{column.name}{mark}" for column in preparation.columns for mark in "=."]
    lost = {c: why for c, why in described["dropped"].items() if not c.startswith(tuple(made))}
    said = [*described.get("notes", [])]
    known = [note for note in said if BY_PREPARATION in note]
    said += [
        f"column '{column}' dropped: {why}"
        for column, why in lost.items()
        if not any(note.startswith(f"column '{column}' ") for note in known)
    ]
    return said or ["All columns and rows of the table were used unchanged."]


def _name(tested: Tested) -> str:
    """Name the loss for use within a sentence."""
    title = tested.metric.title
    return f"loss ({title})" if title.startswith("1 - ") else title


def _near(number: float) -> float:
    """Round differences of losses that are only rounding errors to 0."""
    return round(number, 12) + 0.0


def _members(tested: Tested) -> Iterator[tuple[str, ...]]:
    delivery = tested.delivery
    for index, weight in zip(delivery.members.indices, delivery.members.weights, strict=True):
        values = dict(delivery.configurations[index])
        learner = values.pop("algorithm", "")
        own = ", ".join(
            f"{k.removeprefix(f'{learner}:')} {f'{v:.4g}' if isinstance(v, float) else v}"
            for k, v in sorted(values.items())
            if v != "none"
        )
        size = measures.megabytes(delivery.folder / "members" / str(index + 1))
        loss = amount(tested.loss(delivery.pool.errors[index]))
        said, large = f"{learner}: {own}" if learner else own, size >= 0.05
        yield str(index + 1), f"{weight:.2f}", loss, f"{size:.1f}" if large else "< 0.1", said


def _parity(parity: Mapping[str, Any]) -> Iterator[str]:
    yield (
        f"On the {parity['test_rows']} test rows of the table, predictions of the members loaded "
        "from these files differ from those of the refitted members by at most "
        f"{parity['largest_difference_from_the_refitted']:.1g}."
    )
    if (difference := parity.get("largest_difference_from_the_search")) is not None:
        same = "equal to" if difference == 0 else f"within {difference:.3g} of"
        yield f"They are {same} those that the search stored."
    if differences := parity.get("largest_difference_of_onnx"):
        yield f"The files pipeline.onnx reproduce them within {max(differences.values()):.1g}."
    if (difference := parity.get("largest_difference_of_the_onnx_graph")) is not None:
        yield f"The file ensemble.onnx, from columns to output, does so within {difference:.1g}."
