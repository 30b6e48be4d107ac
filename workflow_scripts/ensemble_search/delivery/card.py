"""The page of a delivered ensemble: how good it is, how to use it, its costs; HTML and Markdown."""

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from ensemble_search.data import prepare
from ensemble_search.delivery import calibration, figures, measures
from ensemble_search.delivery.figures import Chart, Series
from ensemble_search.delivery.measures import Measure
from ensemble_search.metrics.base import predicted_labels
from ensemble_search.predictor.ensemble import IMPORTANCE
from ensemble_search.results import readers
from ensemble_search.runtime import files, plugins
from ensemble_search.runtime.errors import UserError

HERE = Path(__file__).parent
#: The page's first lines, which `make ensemble` prints, and the folder of the figures' data.
SUMMARY, FIGURES = "card.json", "figures"
#: Confusion matrices with more classes, and further columns, are left out.
MOST_CLASSES, MOST_COLUMNS = 20, 30
#: Maximum number of figures of mean prediction by a column's value, and of classes in one.
SHOWN, LINES = 6, 4
#: Number of points in the figure of residuals.
POINTS = 1000
#: With fewer test rows, overall or in a class, the card adds a caution.
FEW_ROWS, FEW_OF_CLASS = 50, 10
#: The same for groups of test rows.
FEW_GROUPS = 10
#: Report copies if at least this share of the test rows also occurs in the table.
COPIED = 0.01
#: A loss below this share of the baseline's is suspicious.
TOO_GOOD = 0.02
#: Costs of a missed positive, in false alarms. A higher cost is added if negatives are at least as
#: many times more frequent than positives.
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
    "losses and scores of search, selection and test, with their intervals, in the calibration, at "
    "thresholds and in the importance of columns. Imputation, preprocessing, learners without "
    "weights, recall and precision by class, and row counts treat all rows alike."
)
ROWS_OF = {
    "train": "the training rows",
    "train+validation": "the training and validation rows",
    "all": "all rows",
}


@dataclass(frozen=True)
class Table:
    """A table.

    Attributes
    ----------
    head, rows
        Its cells, as text.
    bars
        Width of the bar at the end of each row, as a share; empty: no bars.
    shades
        Darkness, from 0 to 1, of each cell of a row except the first; empty: no shades.
    wide
        Whether the last column has long text.
    csv
        Text of a data file, beside those of the figures; empty: none.
    name
        Stem of that file.
    """

    head: Sequence[str]
    rows: Sequence[Sequence[str]]
    bars: Sequence[float] = ()
    shades: Sequence[Sequence[float]] = ()
    wide: bool = False
    csv: str = ""
    name: str = ""


@dataclass(frozen=True)
class Part:
    """A part of the page: paragraphs, then tables, then figures, then commands."""

    title: str
    paragraphs: Sequence[str] = ()
    tables: Sequence[Table] = ()
    charts: Sequence[Chart] = ()
    code: str = ""


@dataclass
class Card:
    """The page.

    Attributes
    ----------
    title
        What is predicted.
    headline
        How good the predictions are, in a sentence or two.
    cautions
        Reasons not to trust them, a sentence each.
    parts
        Parts of the page, in order.
    """

    title: str
    headline: str = ""
    cautions: list[str] = field(default_factory=list)
    parts: list[Part] = field(default_factory=list)


class _Tested:
    """The ensemble and its test rows.

    Attributes
    ----------
    labels, weights, groups
        Labels, weights and groups of the test rows; weights are empty if all are equal, groups None
        if rows are independent.
    name, metric
        The loss shown: the study's, or the RMSE instead of its square.
    as_found
        Test predictions by the members of the search; None if the test rows are in a file of their
        own, which the search has not predicted.
    found, given
        Test predictions as stored: from the tested members, and as a user would get them, which
        differs by the calibration.
    baseline
        Constant predictions as stored: the shares of classes in the training rows, or their mean.
    """

    def __init__(self, delivery: Any, ensemble: Any, manifest: Mapping[str, Any]):
        self.delivery, self.ensemble, self.manifest = delivery, ensemble, manifest
        own = delivery.own_test
        if own is None:
            self.labels, self.X = delivery.test_labels, delivery.inputs.X_test
            self.weights, self.groups = delivery.inputs.test_weights, delivery.groups()
        else:
            self.labels, self.X, self.weights = own.labels, own.X, own.weights
            self.groups = own.groups
        self.squared = manifest["metric"] == "squared-error"
        self.name = "rmse" if self.squared else manifest["metric"]
        self.metric = plugins.load("metrics", self.name)().with_weights(self.weights)
        self.unseen = manifest["rows"] != "all" or own is not None
        self.as_found, self.found = None, np.empty(0)
        if own is None:
            self.as_found = self.found = delivery.members.predict(delivery.test_predictions)
        if self.unseen:
            self.found = ensemble.combine(ensemble.member_predictions(self.X))
        self.classes = manifest.get("classes", [])
        self.std = manifest.get("std", 1.0)
        self.scale = self.std**self.metric.power
        problem, n = delivery.pool.problem, len(self.labels)
        own_labels, own_weights = delivery.inputs.y_train, delivery.inputs.weights
        own_weights = own_weights if own_weights.size else None
        if self.classes:
            counts = np.bincount(own_labels, own_weights, minlength=len(self.classes))
            shares = np.tile(counts / counts.sum(), (n, 1))
            self.commonest = self.classes[int(counts.argmax())]
            self.baseline = problem.compress(shares)
            self.probabilities = ensemble.probabilities(problem.expand(self.found))
            self.given = problem.compress(self.probabilities)
        else:
            mean = np.average(own_labels, weights=own_weights)
            self.baseline, self.given = np.full((n, 1), mean), self.found

    def loss(self, losses: Any) -> Any:
        """Convert losses of the study's metric for display: in the target's unit, not squared."""
        return self.scale * (np.sqrt(losses) if self.squared else losses)

    def outputs(self, combined: np.ndarray) -> np.ndarray:
        """Return probabilities, or numbers in the unit of the target, (n, n_outputs)."""
        if self.classes:
            return self.ensemble.probabilities(combined)
        return self.manifest["mean"] + self.std * combined

    def measured(self) -> dict[str, Measure]:
        """Measure the study's metric, and those that most readers know."""
        names = ["error", "log-loss", "auc", "average-precision", "f1"]
        if len(self.classes) > MOST_CLASSES:
            names = ["error", "log-loss", "f1"]
        if not self.classes:
            names = ["rmse", "absolute-error", "r2"]
        return {
            name: measures.measured(
                name, self.labels, self.given if name in OF_PROBABILITIES else self.found,
                self.baseline, weights=self.weights, std=self.std, groups=self.groups,
            )
            for name in dict.fromkeys([*names, self.name])
        }  # fmt: skip


#: Metrics that calibration changes.
OF_PROBABILITIES = ("log-loss", "brier", "auc", "average-precision")


def make(
    delivery: Any,
    ensemble: Any,
    manifest: Mapping[str, Any],
    described: Mapping[str, Any],
    parity: Mapping[str, Any],
    about: Mapping[str, Any],
) -> Card:
    """Measure and describe an ensemble.

    Parameters
    ----------
    delivery
        ``build.Delivery``, after its refits.
    ensemble
        The reloaded ensemble.
    manifest, parity
        Content of ``ensemble.json`` and ``parity.json``.
    described
        Content of the split's ``split.json``.
    about
        See ``build.deliver``.
    """
    tested = _Tested(delivery, ensemble, manifest)
    card = Card(f"{about['dataset']}: an ensemble that predicts {manifest['target']}")
    found = tested.measured()
    card.headline = _headline(tested, found)
    card.cautions += _cautions(tested, found)
    card.parts.append(_quality(tested, found, described))
    if tested.classes:
        card.parts += _by_class(tested)
        if len(tested.classes) == 2:
            card.parts.append(_threshold(tested))
        card.parts.append(_calibration(tested))
    else:
        card.parts += [_residuals(tested), _intervals(tested)]
    card.parts.append(_columns(tested))
    card.parts.append(_use(tested))
    card.parts.append(_cost(tested))
    card.parts.append(_search(tested, about))
    card.parts.append(_data(tested, described, about))
    reading = _reading(described, ensemble.preparation)
    columns = Table(prepare.READING, described.get("columns", [])[: prepare.SHOWN])
    card.parts.append(Part("What was read, changed and left out", reading, [columns]))
    card.parts.append(Part("Checks", [*_parity(parity)]))
    return card


def _headline(tested: _Tested, found: Mapping[str, Measure]) -> str:
    name = "error" if tested.classes else "absolute-error"
    one = found[name]
    if tested.classes:
        said = (
            f"Wrong on {100 * one.value:.3g} % of the test rows (95 % interval "
            f"{100 * one.low:.3g} to {100 * one.high:.3g} %); always predicting "
            f"'{tested.commonest}' would be wrong on {100 * one.baseline:.3g} %."
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


def _cautions(tested: _Tested, found: Mapping[str, Measure]) -> Iterator[str]:
    """List reasons against relying on the ensemble, a sentence each."""
    labels, own = tested.labels, found[tested.name]
    if tested.delivery.warning:
        yield f"{tested.delivery.warning}."
    if not own.beats:
        yield (
            f"By its {own.title}, the ensemble is not clearly better than the baseline, which uses "
            f"no column: the interval, {amount(own.low)} to {amount(own.high)}, reaches the "
            f"baseline's {amount(own.baseline)}. "
            "Do not rely on it."
        )
    elif tested.metric.loss(labels, tested.found) < TOO_GOOD * tested.metric.loss(
        labels, tested.baseline
    ):
        yield (
            "The ensemble is almost perfect. Check for leakage: a column that is known only after "
            "the target, or that repeats it."
        )
    if tested.delivery.own_test is not None and (copies := _copies(tested)):
        yield (
            f"{copies} of the {len(labels)} test rows are also in the table, with the same values "
            "and target: the loss on them is too low."
        )
    if len(labels) < FEW_ROWS:
        yield f"There are only {len(labels)} test rows, so all these numbers are uncertain."
    n_groups = FEW_GROUPS if tested.groups is None else len(np.unique(tested.groups))
    if n_groups < FEW_GROUPS:
        yield f"There are only {n_groups} groups of test rows, so all these numbers are uncertain."
    if tested.classes:
        predicted = set(predicted_labels(tested.found).tolist())
        rows = np.bincount(labels, minlength=len(tested.classes)).tolist()
        never = [c for code, c in enumerate(tested.classes) if code not in predicted]
        few = [c for c, n in zip(tested.classes, rows, strict=True) if n < FEW_OF_CLASS]
        if never:
            yield f"It never predicts {_listed(never)} on the test rows."
        if few and len(labels) >= FEW_ROWS:
            yield f"Fewer than {FEW_OF_CLASS} test rows per class: {_listed(few)}."


def _copies(tested: _Tested) -> int:
    """Count the rows in a file of test rows that the table has, too.

    Return 0 if they are less than 1 % or, as in tables with few distinct rows, less than twice the
    share for the table's own test rows.
    """

    def rows(X: np.ndarray, labels: np.ndarray) -> list[bytes]:
        return [row.tobytes() for row in np.column_stack((X, labels)) + 0.0]  # not -0.0

    inputs, own = tested.delivery.inputs, rows(tested.X, tested.labels)
    known = {*rows(inputs.X_train, inputs.y_train)}
    if not inputs.folds.size:
        known |= {*rows(inputs.X_validation, inputs.y_validation)}
    others = rows(inputs.X_test, tested.delivery.test_labels)
    chance = sum(row in known for row in others) / len(others)
    known |= {*others}
    copies = sum(row in known for row in own)
    return copies if copies >= max(COPIED, 2 * chance) * len(own) else 0


def _listed(names: Sequence[str], most: int = 5) -> str:
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(f"'{name}'" for name in names[:most]) + more


def _quality(tested: _Tested, found: Mapping[str, Measure], described: Mapping[str, Any]) -> Part:
    delivery, labels = tested.delivery, tested.labels
    baseline = f"always '{tested.commonest}'" if tested.classes else "always the mean"
    part = described["settings"].get("train_rows")
    validation = tested.loss(
        delivery.pool.problem.metric.loss(
            delivery.pool.labels, delivery.members.predict(delivery.pool.predictions)
        )
    )
    own_loss, score = found[tested.name], tested.metric.title.startswith("1 - ")
    far = 1 - validation > own_loss.high if score else validation < own_loss.low
    table = Table(
        ("on the test rows", "ensemble", "from", "to", f"baseline: {baseline}"),
        [(m.title, *map(amount, (m.value, m.low, m.high, m.baseline))) for m in found.values()],
    )
    said = [
        f"{len(labels)} test rows{f' of {own.name}' if (own := delivery.own_test) else ''} that "
        "neither search nor selection has seen. From and to are the ends of a 95 % interval that "
        "reflects the sampling of the test rows.",
        *([f"They form {_number(len(np.unique(tested.groups)), 'group')}, one per "
           f"'{described['by']['group']}', and the intervals reflect the sampling of groups."]
          if tested.groups is not None else []),
        *(["Rows close in time may be alike, which the intervals do not reflect: they may be too "
           "narrow."] if "time" in described.get("by", {}) else []),
        *([f"The positive class for average precision and F1 is '{tested.classes[1]}'."]
          if len(tested.classes) == 2 else
          ["Average precision, F1 and AUC are means over the classes."] if tested.classes else []),
        f"On the validation rows, the ensemble's {_name(tested)} is "
        f"{amount(validation)}, which is optimistic: it was selected on these rows."
        + (" It is outside the interval, so the test rows may also differ from the others."
           if far else ""),
    ]  # fmt: skip
    tables = [table]
    if tested.weights.size:
        said.append("Rows are weighted here, at thresholds and in the calibration.")
    rows = ROWS_OF[tested.manifest["rows"]] + (" except those train_rows left out" * bool(part))
    if tested.unseen:
        said.append(f"The tested members are the delivered ones, refitted on {rows}.")
        if tested.as_found is not None:
            then = amount(tested.scale * tested.metric.loss(labels, tested.as_found))
            said.append(f"Before they were refitted, their {_name(tested)} was {then}.")
    else:
        said.append(
            "The tested members were fitted on the training rows. The delivered ones are refitted "
            f"on {rows}, so no rows are left to test them; with more rows, they are usually a "
            "little better."
        )
    if tested.manifest["rows"] != "train":
        said.append(
            "The base preparation (imputed values, categories, words of texts) is not fitted again:"
            " it stays that of the training rows."
        )
    notes = [*delivery.notes, *(own.notes if own else [])]
    return Part("How good is it?", [*said, *(f"Note: {note}." for note in notes)], tables)


def _by_class(tested: _Tested) -> Iterator[Part]:
    classes, predicted = tested.classes, predicted_labels(tested.found)
    n = len(classes)
    if n > MOST_CLASSES:
        return

    def share(found: tuple[float, float, float] | None) -> tuple[str, str]:
        if found is None:
            return "–", ""
        return f"{found[0]:.3f}", f"{found[1]:.3f} to {found[2]:.3f}"

    rows = list(measures.by_class(tested.labels, predicted, n, tested.groups))
    counts = np.bincount(tested.labels * n + predicted, minlength=n * n).reshape(n, n)
    shares = counts / np.maximum(1, counts.sum(axis=1, keepdims=True))
    yield Part(
        "By class",
        [
            "Recall: the share of a class's rows that are predicted as this class. Precision: the "
            "share of rows predicted as a class that belong to it.",
            "Confusion matrix: true classes down, predicted classes across; a stronger blue is a "
            "larger share of the true class.",
        ],
        [
            Table(
                ("class", "test rows", "recall", "95 % interval", "predicted", "precision",
                 "95 % interval"),
                [
                    (c, str(r["rows"]), *share(r["recall"]), str(r["predicted"]),
                     *share(r["precision"]))
                    for c, r in zip(classes, rows, strict=True)
                ],
            ),
            Table(
                ("", *classes),
                [(c, *map(str, row)) for c, row in zip(classes, counts.tolist(), strict=True)],
                shades=shares.tolist(),
            ),
        ],
    )  # fmt: skip


def _threshold(tested: _Tested) -> Part:
    name, positive = tested.classes[1], tested.labels == 1
    p = tested.probabilities[:, 1]
    grid = [k / 50 for k in range(1, 50)]
    found = measures.thresholds(positive, p, grid, tested.weights)
    shares = [
        Series(title, grid, [row[key] for row in found])
        for title, key in (("precision", "precision"), ("recall", "recall"),
                           ("rows predicted positive", "alarms"))
    ]  # fmt: skip
    weights = tested.weights if tested.weights.size else None
    share = float(np.average(positive, weights=weights))
    costs = [
        Series(
            f"a miss costs {k:g}",
            grid,
            [_cost_of(row, k, share) for row in found],
        )
        for k in (1, 5, 20)
    ]
    missed = [*COSTS, *(k for k in HIGHER_COSTS if k * share <= 1 - share)]
    at = [1 / (1 + k) for k in missed]
    rows = measures.thresholds(positive, p, at, tested.weights)
    table = Table(
        ("cost of a miss, in false alarms", "threshold", "precision", "recall",
         "predicted positive", "cost per 100 rows", "without the ensemble"),
        [
            (f"{k:g}", f"{row['threshold']:.2g}",
             f"{row['precision']:.3f}" if row["alarms"] else "–", f"{row['recall']:.3f}",
             f"{100 * row['alarms']:.3g} %",
             amount(100 * (row["false"] + k * row["missed"])),
             amount(100 * min(k * share, 1 - share)))
            for k, row in zip(missed, rows, strict=True)
        ],
    )  # fmt: skip
    return Part(
        "Choosing a threshold",
        [
            "By default, the more probable class is predicted. If missing a "
            f"'{name}' costs as much as k false alarms, it is cheapest to predict '{name}' if its "
            "probability is at least 1 / (1 + k), provided that the probabilities are right (see "
            "Calibration). Costs are in false alarms; the cost without the ensemble is that of "
            "predicting one class for all rows, whichever is cheaper."
        ],
        [table],
        [
            Chart("threshold", "Precision and recall by threshold", "threshold", "share", shares,
                  x_limits=(0, 1), y_limits=(0, 1)),
            Chart("cost", "Cost by threshold, relative to the cost without the ensemble",
                  "threshold", "cost", costs, x_limits=(0, 1), y_limits=(0, MOST_COST)),
        ],
        code=f"python predict.py --model . --input new.csv --output predictions.csv --threshold "
        f"{at[4]:.2f}   # '{name}' if its probability is at least {at[4]:.2f}",
    )  # fmt: skip


def _cost_of(row: Mapping[str, float], k: float, share: float) -> float:
    """Return the cost relative to that without the ensemble; NaN if the figure leaves it out."""
    cost, least = row["false"] + k * row["missed"], min(k * share, 1 - share)
    return cost / least if cost <= MOST_COST * least else np.nan


def _calibration(tested: _Tested) -> Part:
    temperature, labels = tested.manifest["temperature"], tested.labels
    raw, rows = tested.delivery.pool.problem.expand(tested.found), []
    for name, p in (("before", raw), ("after", tested.probabilities)):
        error = calibration.expected_error(calibration.curve(p, labels, tested.weights))
        loss = calibration.log_loss(p, labels, tested.weights)
        rows.append((name, f"{loss:.4f}", f"{error:.4f}"))
    changed = temperature != 1
    curve = calibration.curve(tested.probabilities, labels, tested.weights)
    two = len(tested.classes) == 2
    what = f"of '{tested.classes[1]}'" if two else "of the most probable class"
    return Part(
        "Calibration",
        [
            f"Probabilities are scaled with the temperature {temperature:.3f}, fitted on the "
            "validation rows."
            if changed
            else "Probabilities are as the members give them (temperature 1).",
            f"Test rows are binned by the probability {what}: if the probabilities are right, the "
            "points lie on the dashed line.",
        ],
        [
            Table(
                ("scaling", "log loss", "expected calibration error"),
                rows if changed else rows[:1],
            )
        ],
        [
            Chart(
                "calibration", "Calibration curve", f"probability {what}",
                "observed share of the rows",
                [
                    Series("test rows", curve["probability"].tolist(), curve["right"].tolist(),
                           "both"),
                    Series("perfect calibration", [0, 1], [0, 1], "dashed"),
                ],
                x_limits=(0, 1), y_limits=(0, 1),
            )
        ],
    )  # fmt: skip


def _residuals(tested: _Tested) -> Part:
    rows = np.random.default_rng(0).permutation(len(tested.labels))[:POINTS]
    predicted = tested.outputs(tested.found)[rows, 0]
    gaps = tested.std * (tested.labels - tested.found[:, 0])[rows]
    ends = [float(predicted.min()), float(predicted.max())]
    return Part(
        "Residuals",
        [
            "True minus predicted value of test rows, against the predicted value. A slope or a "
            "bend means that some values are systematically predicted too high or too low; a "
            "funnel, that some are harder to predict."
        ],
        charts=[
            Chart(
                "residuals", "Residuals", f"predicted {tested.manifest['target']}",
                "true - predicted",
                [
                    Series("test rows", predicted.tolist(), gaps.tolist(), "points"),
                    Series("perfect predictions", ends, [0.0, 0.0], "dashed"),
                ],
            )
        ],
    )  # fmt: skip


def _intervals(tested: _Tested) -> Part:
    gaps, rows = np.abs(tested.labels - tested.found[:, 0]), []
    for coverage in COVERAGES:
        try:
            half = tested.ensemble.half_width(coverage)
        except UserError:
            continue  # too few validation rows
        inside = gaps <= half
        low, high = (f"{100 * end:.1f}" for end in measures.share(inside, tested.groups))
        share = f"{100 * inside.mean():.1f} %"
        wide = amount(tested.std * half)
        rows.append((f"{100 * coverage:g} %", f"± {wide}", share, f"{low} to {high} %"))
    return Part(
        "Prediction intervals",
        [
            "The residuals of the validation rows give each prediction an interval, equally wide "
            "for all rows (split conformal prediction). The ensemble was selected on these rows, "
            "so the intervals may be too narrow: the table shows the share of test rows whose true "
            "value lies within (coverage)."
        ],
        [Table(("nominal", "half width", "coverage", "95 % interval"), rows)] * bool(rows),
        code="python predict.py --model . --input new.csv --output predictions.csv --interval 0.9",
    )


def _columns(tested: _Tested) -> Part:
    ensemble, seed = tested.ensemble, tested.delivery.source.seed
    found = measures.importance(ensemble, tested.X, tested.labels, tested.metric, seed)
    shown = found[:MOST_COLUMNS]
    top = max(shown[0]["rise"], 1e-12)
    table = Table(
        ("column", f"increase in {_name(tested)}", "±", ""),
        [
            (row["column"], *(amount(tested.scale * _near(row[k])) for k in ("rise", "spread")))
            for row in shown
        ],
        bars=[max(0.0, row["rise"]) / top for row in shown],
        csv=figures.csv_text(
            ("column", "rise", "spread"),
            [
                (
                    row["column"],
                    *(f"{tested.scale * _near(row[k]):.6g}" for k in ("rise", "spread")),
                )
                for row in found
            ],
        ),
        name=Path(IMPORTANCE).stem,
    )
    seen = ""
    if not tested.unseen:
        seen = (
            " The members were also fitted on these rows, so columns that distinguish rows seem "
            "more important than they are."
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
    return Part(
        "Columns",
        [
            f"Permutation importance: how much the {_name(tested)} rises when the values of a "
            f"column are shuffled, on up to {measures.ROWS} test rows (mean and standard deviation "
            f"of {measures.REPEATS} shuffles). Redundant columns share their importance.{seen}",
            *(
                ["The figures show the mean prediction if all rows had this value and were "
                 "otherwise unchanged (partial dependence). It is not a causal effect."]
                if charts else []
            ),
            *(
                [f"Of the {len(tested.classes)} classes, they show the {LINES} that have the most "
                 "test rows."]
                if charts and len(tested.classes) > LINES else []
            ),
        ],
        [table],
        charts,
    )  # fmt: skip


def _dependence(
    tested: _Tested, column: str, number: int, values: list[Any], means: np.ndarray
) -> Chart:
    words = [str(v) for v in values] if isinstance(values[0], str) else []
    x = list(range(len(words))) if words else values
    kinds = {c.name: c.kind for c in tested.ensemble.preparation.columns}
    form = "both" if kinds[column] in ("numeric", "date") else "points"  # others have no order
    y = f"mean {tested.manifest['target']}"
    if len(tested.classes) == 2:
        series = [Series(tested.classes[1], x, means[:, 1].tolist(), form)]
        y = f"probability of {tested.classes[1]}"
    elif tested.classes:
        some = np.argsort(-np.bincount(tested.labels, minlength=len(tested.classes)))[:LINES]
        series = [Series(tested.classes[k], x, means[:, k].tolist(), form) for k in sorted(some)]
        y = "probability"
    else:
        series = [Series(y, x, means[:, 0].tolist(), form)]
    title = f"{column}: texts of one word" if kinds[column] == "text" else column
    return Chart(f"column-{number}", title, column, y, series, words)


def _use(tested: _Tested) -> Part:
    *others, last = tested.manifest["versions"]
    with_ = f"{', '.join(others)} and {last}"
    return Part(
        "Use",
        [
            f"The folder that contains this page predicts new rows with Python, {with_}. Columns "
            "are matched by name. Unknown categories count as none of the known ones, missing "
            "values are imputed, and a note says so.",
            "The ensemble knows only what its training rows showed: other populations, periods or "
            "units need new data.",
        ],
        code="pip install -r requirements.txt\n"
        "python predict.py --model . --input new.csv --output predictions.csv",
    )


def _cost(tested: _Tested) -> Part:
    delivery, ensemble = tested.delivery, tested.ensemble
    speed = measures.speed(ensemble, tested.X)
    megabytes = sum(p.stat().st_size for p in delivery.folder.rglob("*") if p.is_file()) / 1e6
    limits = delivery.settings["limits"]
    timed = f"; times per row are those of {measures.BULK} at a time"
    timed *= limits.get("predict_ms_per_row") is not None
    combined = "vote" if tested.manifest["combination"] == "votes" else "weighted mean"
    return Part(
        "Members, size and time",
        [
            f"{_number(len(delivery.members.indices), 'pipeline')}, combined by {combined}; "
            f"{megabytes:.1f} MB. On one core of the machine that made it, it predicts "
            f"{amount(speed['rows_per_second'])} rows per second ({measures.BULK} at a time), and "
            f"a single row in {speed['one_row_ms']:.3g} ms of CPU time.",
            f"Requested limits: {_limits(limits)}{timed}.",
        ],
        [
            Table(
                ("evaluation", "weight", "validation loss", "MB", "pipeline"),
                list(_members(tested)),
                wide=True,
            )
        ],
    )


def _search(tested: _Tested, about: Mapping[str, Any]) -> Part:
    delivery, pool = tested.delivery, tested.delivery.pool
    best = tested.loss(np.fmin.accumulate(pool.errors))
    numbers = list(range(1, len(best) + 1))
    made = readers.search(delivery.source.search)
    commit = f" at commit {made['commit'][:12]}" if made["commit"] else ""
    commit += ", which had uncommitted changes" if made["dirty"] else ""
    whole = tested.loss(
        pool.problem.metric.loss(pool.labels, delivery.members.predict(pool.predictions))
    )
    return Part(
        "The search",
        [
            f"{about['method']} tried {_number(len(best), 'pipeline')} of the search space "
            f"{delivery.source.space} (study {about['study']}, repeat "
            f"{delivery.settings['repeat']}). If the line is still falling at its end, more time "
            "helps. The command below repeats the search on the same data, in a checkout of "
            f"this project{commit}."
        ],
        charts=[
            Chart(
                "search", "Best pipeline so far, on the validation rows", "pipelines",
                tested.metric.title,
                [
                    Series("best pipeline so far", numbers, best.tolist()),
                    Series("ensemble", [1, len(best)], [whole, whole], "dashed"),
                ],
            )
        ],
        code=about["command"],
    )  # fmt: skip


def _data(tested: _Tested, described: Mapping[str, Any], about: Mapping[str, Any]) -> Part:
    manifest, sizes, by = tested.manifest, described["sizes"], described.get("by", {})
    folds, part = described["settings"].get("folds"), described["settings"].get("train_rows")
    parts = ("train", "validation", "test")
    rows = [(c, *(str(described["classes"][p].get(c, 0)) for p in parts)) for c in tested.classes]
    return Part(
        "Data",
        [
            f"{about['dataset']}: predicts the column {manifest['target']} ({manifest['task']}) "
            f"from {_number(len(tested.ensemble.preparation.names), 'column')}.",
            f"{sizes['train']} training and {sizes['test']} test rows"
            + (f", {folds}-fold cross-validation." if folds else
               f", {sizes['validation']} validation rows.")
            + (f" The study trains on {100 * part['share']:g} % of the training rows (train_rows); "
               "the others are not counted here." if part else ""),
            _sentence(prepare.divided(by)),
            *([WEIGHTED.format(by["weight"])] if "weight" in by else []),
        ],
        [Table(("class", "training", "validation", "test"), rows)] if rows else [],
    )  # fmt: skip


def amount(number: float) -> str:
    """Write a number rounded to four significant digits; large ones have no exponent."""
    if not 1e4 <= abs(number) < 1e12:
        return f"{number:.4g}"
    return f"{round(number, 3 - math.floor(math.log10(abs(number)))):,.0f}"


def _number(count: int, what: str) -> str:
    return f"{count} {what}{'s' * (count != 1)}"


def _sentence(text: str) -> str:
    return f"{text[0].upper()}{text[1:]}."


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


def _name(tested: _Tested) -> str:
    """Name the loss for use within a sentence."""
    title = tested.metric.title
    return f"loss ({title})" if title.startswith("1 - ") else title


def _near(number: float) -> float:
    """Round differences of losses that are only rounding errors to 0."""
    return round(number, 12) + 0.0


def _members(tested: _Tested) -> Iterator[tuple[str, ...]]:
    delivery = tested.delivery
    for index, weight in zip(delivery.members.indices, delivery.members.weights, strict=True):
        values = dict(delivery.configurations[index])
        learner = values.pop("algorithm", "")
        own = ", ".join(
            f"{k.removeprefix(f'{learner}:')} {v:.4g}" if isinstance(v, float) else
            f"{k.removeprefix(f'{learner}:')} {v}"
            for k, v in sorted(values.items()) if v != "none"
        )  # fmt: skip
        folder = delivery.folder / "members" / str(index + 1)
        size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()) / 1e6
        loss = amount(tested.loss(delivery.pool.errors[index]))
        said = f"{learner}: {own}" if learner else own
        megabytes = f"{size:.1f}" if size >= 0.05 else "< 0.1"
        yield str(index + 1), f"{weight:.2f}", loss, megabytes, said


def _limits(limits: Mapping[str, Any]) -> str:
    given = [f"{name} {value:g}" for name, value in limits.items() if value is not None]
    return ", ".join(given) or "none"


def _parity(parity: Mapping[str, Any]) -> Iterator[str]:
    yield (
        f"On the {parity['test_rows']} test rows, predictions of the members loaded from these "
        "files differ from those of the refitted members by at most "
        f"{parity['largest_difference_from_the_refitted']:.1g}."
    )
    if (difference := parity.get("largest_difference_from_the_search")) is not None:
        same = "equal to" if difference == 0 else f"within {difference:.3g} of"
        yield f"They are {same} those that the search stored."
    if differences := parity.get("largest_difference_of_onnx"):
        yield f"The files pipeline.onnx reproduce them within {max(differences.values()):.1g}."
    if (difference := parity.get("largest_difference_of_the_onnx_graph")) is not None:
        yield f"The file ensemble.onnx, from columns to output, does so within {difference:.1g}."


def write(card: Card, folder: Path) -> None:
    """Write the page (``card.html`` and ``card.md``), its summary, and the figures' data.

    Text from data is escaped in both.
    """
    from jinja2 import Environment, FileSystemLoader, StrictUndefined
    from markupsafe import Markup

    environment = Environment(
        loader=FileSystemLoader(HERE), autoescape=True, undefined=StrictUndefined,
        trim_blocks=True, lstrip_blocks=True,
    )  # fmt: skip
    style = (HERE.parent / "report/style.css").read_text(encoding="utf-8")
    page = environment.get_template("card.html").render(
        card=card, style=Markup(style), width=figures.WIDTH, height=figures.HEIGHT
    )
    texts = {"card.html": page, "card.md": markdown(card)}
    (folder / FIGURES).mkdir()
    for part in card.parts:
        texts |= {f"{FIGURES}/{chart.name}.csv": chart.csv() for chart in part.charts}
        texts |= {f"{FIGURES}/{table.name}.csv": table.csv for table in part.tables if table.csv}
    for name, text in texts.items():
        with files.atomic(folder / name) as temporary:
            temporary.write_text(text, encoding="utf-8")
    files.write_json(folder / SUMMARY, {"headline": card.headline, "cautions": card.cautions})


def markdown(card: Card) -> str:
    """Render the page as Markdown, without its figures."""
    lines = [f"# {_escaped(card.title)}", "", f"**{_escaped(card.headline)}**", ""]
    for caution in card.cautions:
        lines += [f"Caution: {_escaped(caution)}", ""]
    for part in card.parts:
        lines += [f"## {part.title}", ""]
        for paragraph in part.paragraphs:
            lines += [_escaped(paragraph), ""]
        for table in part.tables:
            head = table.head[: len(table.rows[0])]
            lines += [_row(head), _row(["---"] * len(head)), *map(_row, table.rows), ""]
            lines += [f"[CSV]({FIGURES}/{table.name}.csv)\n"] * bool(table.csv)
        lines += [f"[{_escaped(c.title)}]({FIGURES}/{c.name}.csv)\n" for c in part.charts]
        if part.code:
            lines += ["```sh", part.code, "```", ""]
    return "\n".join(lines)


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cell if cell == '---' else _escaped(cell) for cell in cells)} |"


def _escaped(text: str) -> str:
    """Escape text that Markdown, or HTML in it, would interpret."""
    return re.sub(r"([\\`_\[\]<>|#&])", r"\\\1", " ".join(text.split()))
