"""The card of a delivered ensemble: what it is, how good, what it costs; Markdown and HTML."""

import json
import re
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from ensemble_search.data import prepare
from ensemble_search.delivery import calibration, measures
from ensemble_search.metrics.base import predicted_labels
from ensemble_search.runtime import files
from ensemble_search.runtime.names import CLASSIFICATION

HERE = Path(__file__).parent
#: A confusion matrix of more classes is left out, and so are further columns.
MOST_CLASSES, MOST_COLUMNS = 20, 30
#: In a note on a column which says that it is dropped.
BY_PREPARATION = "the base preparation"
ROWS_OF = {
    "train": "the training rows",
    "train+validation": "the training and validation rows",
    "all": "all rows",
}


@dataclass
class Part:
    """A part of the card: paragraphs, then a table, then a curve."""

    title: str
    paragraphs: list[str]
    head: Sequence[str] = ()
    rows: Sequence[Sequence[str]] = ()
    curve: Sequence[tuple[float, float]] = field(default_factory=list)
    code: str = ""


def parts(
    delivery: Any,
    ensemble: Any,
    manifest: Mapping[str, Any],
    described: Mapping[str, Any],
    parity: Mapping[str, Any],
    about: Mapping[str, Any],
) -> Iterator[Part]:
    """Measure, and describe an ensemble.

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
    problem, labels = delivery.pool.problem, delivery.test_labels
    X, members, metric = delivery.inputs.X_test, delivery.members, delivery.pool.problem.metric
    start = time.perf_counter()
    own = ensemble.combine(ensemble.member_predictions(X))
    seconds = time.perf_counter() - start
    then = members.predict(delivery.test_predictions)
    unseen = manifest["rows"] != "all"
    test = own if unseen else then
    sizes, folds = described["sizes"], described["settings"].get("folds")
    part = described["settings"].get("train_rows")
    scale = manifest["std"] ** metric.power if metric.power else 1.0

    yield Part(
        "Data",
        [
            f"{about['dataset']}: the column {manifest['target']} ({manifest['task']}) from "
            f"{len(ensemble.preparation.names)} columns.",
            f"{sizes['train']} training and {sizes['test']} test rows"
            + (f", validation by {folds} folds." if folds else
               f", {sizes['validation']} validation rows.")
            + (" The study trains on a part of the training rows (train_rows); those left out are "
               f"in none of these. Its share is {100 * part['share']:g} %." if part else ""),
            _sentence(prepare.divided(described.get("by", {}))),
        ],
        ("class", "training", "validation", "test"),
        [(c, *(str(described["classes"][p].get(c, 0)) for p in ("train", "validation", "test")))
         for c in manifest.get("classes", [])],
    )  # fmt: skip
    yield Part("What was read, changed and left out", _reading(described, ensemble.preparation))

    def line(name: str, predictions: np.ndarray) -> tuple[str, ...]:
        low, high = measures.interval(metric, labels, predictions)
        numbers = (metric.loss(labels, predictions), low, high)
        return (name, *(f"{scale * number:.4g}" for number in numbers))

    validation = metric.loss(delivery.pool.labels, members.predict(delivery.pool.predictions))
    rows: list[tuple[str, ...]] = [("validation, as found", f"{scale * validation:.4g}", "", "")]
    rows.append(line("test, as found", then))
    if unseen:
        rows.append(line("test, as delivered", own))
    yield Part(
        "How good",
        [
            f"Loss: {metric.title}, lower is better. As found: members fitted on the training rows "
            f"by the search; as delivered: refitted on {ROWS_OF[manifest['rows']]}"
            + (" but those that train_rows left out." if part else "."),
            "The search and the ensemble chose by the validation loss, so it is too low. The "
            "interval (95 %) is that of the choice of the test rows."
            + ("" if unseen else " No test rows are left to test the delivered members, which have "
               "seen more rows than those that were tested."),
            *([f"Warning: {delivery.warning}."] if delivery.warning else []),
            *delivery.notes,
        ],
        ("rows", metric.title, "from", "to"),
        rows,
    )  # fmt: skip
    if manifest["task"] == CLASSIFICATION:
        yield from _classification(ensemble, problem.expand(test), test, labels, manifest)
    found = measures.importance(ensemble, X, labels, metric, delivery.source.seed)
    seen = "" if unseen else " The members were fitted on these rows, too."
    yield Part(
        "Columns",
        [
            f"How much the loss rises when the values of a column are shuffled, on up to "
            f"{measures.ROWS} test rows: mean and standard deviation of {measures.REPEATS} "
            f"shuffles. Columns that say the same share their importance.{seen}"
        ],
        ("column", "rise", "±"),
        [
            (row["column"], *(f"{scale * _near(row[name]):.4g}" for name in ("rise", "spread")))
            for row in found[:MOST_COLUMNS]
        ],
    )
    yield Part(
        "Members",
        [f"Combined by {'vote' if manifest['combination'] == 'votes' else 'weighted mean'}."],
        ("evaluation", "weight", "validation loss", "pipeline"),
        list(_members(delivery, scale)),
    )
    megabytes = sum(p.stat().st_size for p in delivery.folder.rglob("*") if p.is_file()) / 1e6
    yield Part(
        "Cost and limits",
        [
            f"{1000 * seconds / len(labels):.3g} ms per row for {len(labels)} rows at once on one "
            f"core of the machine that made it; {megabytes:.1f} MB.",
            f"Limits asked for: {_limits(delivery.settings['limits'])}.",
            "It knows only what its training rows showed: other populations, times or units need "
            "new data. Categories that it has not seen count as none; missing values are imputed.",
        ],
    )
    yield Part("Checked", [*_parity(parity)])
    yield Part(
        "Use",
        ["With Python, numpy, scipy and scikit-learn:"],
        code="pip install -r requirements.txt\n"
        "python predict.py --model . --input new.csv --output predictions.csv",
    )
    yield Part(
        "How it was found",
        [
            f"Method {about['method']} of the study {about['study']}, repeat "
            f"{delivery.settings['repeat']}, after {len(delivery.pool.errors)} evaluations in the "
            f"space {delivery.source.space}. Again, from the same data:"
        ],
        code=about["command"],
    )


def _sentence(text: str) -> str:
    return f"{text[0].upper()}{text[1:]}."


def _reading(described: Mapping[str, Any], preparation: Any) -> list[str]:
    """Describe what the data lost on the way to the features, beside single categories."""
    made = [f"{column.name}{mark}" for column in preparation.columns for mark in "=."]
    lost = {c: why for c, why in described["dropped"].items() if not c.startswith(tuple(made))}
    said = [*described.get("notes", [])]
    known = [note for note in said if BY_PREPARATION in note]
    said += [
        f"column '{column}' dropped: {why}"
        for column, why in lost.items()
        if not any(note.startswith(f"column '{column}' ") for note in known)
    ]
    return said or ["All columns and rows of the table were used as they are."]


def _near(number: float) -> float:
    """Make 0 of what rounding leaves of differences of losses."""
    return round(number, 12) + 0.0


def _classification(ensemble, raw, combined, labels, manifest) -> Iterator[Part]:
    probabilities, classes = ensemble.probabilities(combined), manifest["classes"]
    rows = []
    for name, p in (("before", raw), ("after", probabilities)):
        error = calibration.expected_error(calibration.curve(p, labels))
        rows.append((name, f"{calibration.log_loss(p, labels):.4f}", f"{error:.4f}"))
    changed = manifest["temperature"] != 1
    curve = calibration.curve(probabilities, labels)
    yield Part(
        "Calibration",
        [
            f"Probabilities are scaled by the temperature {manifest['temperature']:.3f}, fitted on "
            "the validation rows."
            if changed
            else "Probabilities are as the members give them (temperature 1).",
            "On the test rows: how often the most probable class is right (vertical), by its "
            "probability (horizontal).",
        ],
        ("scaling", "log loss", "expected calibration error"),
        rows if changed else rows[:1],
        curve=list(zip(curve["probability"].tolist(), curve["right"].tolist(), strict=True)),
    )
    n = len(classes)
    if n <= MOST_CLASSES:
        codes = labels * n + predicted_labels(combined)
        counts = np.bincount(codes, minlength=n * n).reshape(n, n)
        yield Part(
            "Confusion",
            ["Test rows: true classes down, predicted ones across."],
            ("", *classes),
            [(c, *map(str, row)) for c, row in zip(classes, counts.tolist(), strict=True)],
        )


def _members(delivery: Any, scale: float) -> Iterator[tuple[str, ...]]:
    for index, weight in zip(delivery.members.indices, delivery.members.weights, strict=True):
        values = delivery.configurations[index]
        loss = f"{scale * delivery.pool.errors[index]:.4g}"
        yield str(index + 1), f"{weight:.2f}", loss, json.dumps(values, sort_keys=True)


def _limits(limits: Mapping[str, Any]) -> str:
    given = [f"{name} {value:g}" for name, value in limits.items() if value is not None]
    return ", ".join(given) or "none"


def _parity(parity: Mapping[str, Any]) -> Iterator[str]:
    yield (
        f"Predictions of the {parity['test_rows']} test rows by the members read back from these "
        "files differ from those of the refitted members by at most "
        f"{parity['largest_difference_from_the_refitted']:.1g}."
    )
    if (difference := parity.get("largest_difference_from_the_search")) is not None:
        same = "equal to" if difference == 0 else f"within {difference:.3g} of"
        yield f"They are {same} what the search had stored."
    if differences := parity.get("largest_difference_of_onnx"):
        yield f"The files pipeline.onnx predict them within {max(differences.values()):.1g}."


def write(found: Sequence[Part], title: str, folder: Path) -> None:
    """Write ``card.md`` and ``card.html``; text from data is escaped in both."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined
    from markupsafe import Markup

    environment = Environment(
        loader=FileSystemLoader(HERE), autoescape=True, undefined=StrictUndefined,
        trim_blocks=True, lstrip_blocks=True,
    )  # fmt: skip
    style = (HERE.parent / "report/style.css").read_text(encoding="utf-8")
    page = environment.get_template("card.html").render(
        title=title, parts=found, style=Markup(style)
    )
    for name, text in (("card.html", page), ("card.md", markdown(found, title))):
        with files.atomic(folder / name) as temporary:
            temporary.write_text(text, encoding="utf-8")


def markdown(found: Sequence[Part], title: str) -> str:
    """Render the card as Markdown."""
    lines = [f"# {_escaped(title)}", ""]
    for part in found:
        lines += [f"## {part.title}", ""]
        for paragraph in part.paragraphs:
            lines += [_escaped(paragraph), ""]
        if part.rows:
            lines += [_row(part.head), _row(["---"] * len(part.head)), *map(_row, part.rows), ""]
        if part.code:
            lines += ["```sh", part.code, "```", ""]
    return "\n".join(lines)


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cell if cell == '---' else _escaped(cell) for cell in cells)} |"


def _escaped(text: str) -> str:
    """Escape what Markdown, or HTML in it, would take for more than text."""
    return re.sub(r"([\\`_\[\]<>|#&])", r"\\\1", " ".join(text.split()))
