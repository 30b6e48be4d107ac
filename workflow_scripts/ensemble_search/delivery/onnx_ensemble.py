"""A whole ensemble as one ONNX graph: from columns in the user's format to labels or numbers.

Inputs have the names of the columns and the shape (n_samples, 1):

- numbers and booleans: double, NaN where missing
- categories: string, empty where missing
- dates: int64, microseconds since the beginning of 1970; NumPy's NaT, the smallest integer, where
  missing

Outputs are ``label``, string, (n_samples,), and ``probabilities``, double, (n_samples, n_classes),
or ``value``, double, (n_samples, 1).
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ensemble_search.data.cells import LARGEST
from ensemble_search.data.preparation import DATE_PARTS, Categories, Column, Numbers, Preparation
from ensemble_search.delivery import measures
from ensemble_search.delivery.onnx_export import INPUT, TOLERANCE, NotConvertible, session
from ensemble_search.delivery.onnx_parts.graph import (
    DOUBLE,
    FLOAT,
    INTEGER,
    OWN,
    STRING,
    Graph,
)
from ensemble_search.metrics.base import TIE
from ensemble_search.problems import regression
from ensemble_search.runtime.names import MISSING

LABEL, PROBABILITIES, VALUE = "label", "probabilities", "value"
NEVER = np.iinfo(np.int64).min
#: Range of the dates used to check a graph.
YEARS = "1900-01-01", "2100-01-01"


def impossible(preparation: Preparation) -> list[str]:
    """List columns that have no counterpart in ONNX, one line each, with a remedy."""
    return [
        f"column '{column.name}' is text, whose words ONNX cannot split alike: drop it (columns: "
        f"{{drop: [{column.name}]}}) and search again, or use the members' pipeline.onnx"
        if column.kind == "text"
        else f"the name of the column '{column.name}' is that of a part of the graph: rename it"
        for column in preparation.columns
        if column.kind == "text" or column.name.startswith(OWN) or not column.name
    ]


def export(ensemble: Any, members: Sequence[bytes]) -> bytes:
    """Convert a loaded ensemble and the models of its members, made by ``onnx_export.export``.

    Raises NotConvertible if a column has no counterpart, or the graph is too large for a file.
    """
    import onnx
    from onnx import compose, helper

    preparation = ensemble.preparation
    if lines := impossible(preparation):
        raise NotConvertible("; ".join(lines))
    graph = Graph()
    parts = [_features(graph, column) for column in preparation.columns]
    graph.add("Concat", *parts, axis=1, output=f"{OWN}{INPUT}")
    outputs = []
    for number, model in enumerate(members):
        own = compose.add_prefix(onnx.load_from_string(model), f"{OWN}{number}{OWN}").graph
        graph.add("Identity", f"{OWN}{INPUT}", output=own.input[0].name)
        graph.nodes += own.node
        graph.constants += own.initializer
        outputs.append(own.output[0].name)
    result = (_classes if hasattr(ensemble, "classes_") else _number)(graph, ensemble, outputs)
    types = {"label": (STRING, [None])}
    value = helper.make_tensor_value_info
    given = [value(column.name, _type(column), [None, 1]) for column in preparation.columns]
    outcome = [
        value(name, *types.get(kind, (DOUBLE, [None, n]))) for kind, (name, n) in result.items()
    ]
    try:
        return graph.model("ensemble", given, outcome)
    except ValueError as error:  # more than 2 GiB
        raise NotConvertible(f"the graph is too large: {error}") from None


# Preparation ------------------------------------------------------------------------------------


def _type(column: Column) -> int:
    if isinstance(column, Categories):
        return STRING
    return INTEGER if column.kind == "date" else DOUBLE


def _features(graph: Graph, column: Column) -> str:
    if isinstance(column, Categories):
        return _one_hot(graph, column)
    assert isinstance(column, Numbers)
    if column.kind == "date":
        return _date(graph, column)
    (fill,) = column.fills.values()
    if column.kind == "boolean":
        known = graph.add("Or", *(graph.add("Equal", column.name, [v]) for v in (0.0, 1.0)))
    else:  # not NaN either
        known = graph.add("LessOrEqual", graph.add("Abs", column.name), [LARGEST])
    return graph.add("Where", known, column.name, [fill])


def _one_hot(graph: Graph, column: Categories) -> str:
    places = {word: place for place, word in enumerate(column.words)}
    codes = dict.fromkeys(sorted(MISSING), places.get(column.fill, -1)) | places
    found = graph.add(
        "LabelEncoder", column.name, domain="ai.onnx.ml",
        keys_strings=list(codes), values_int64s=list(codes.values()), default_int64=-1,
    )  # fmt: skip
    return graph.double(graph.add("Equal", found, np.arange(len(places))[None]))


def _date(graph: Graph, column: Numbers) -> str:
    """Compute parts of dates; the calendar is that of Hinnant's `civil_from_days`."""
    missing = graph.add("Equal", column.name, [NEVER])
    moment = graph.add("Where", missing, [0], column.name)

    def add(a: str, b: Any) -> str:
        return graph.add("Add", a, b)

    def times(a: str, b: int) -> str:
        return graph.add("Mul", a, [b])

    def rest(a: str, b: int) -> str:
        return graph.add("Mod", a, [b])  # not negative, even for negative numbers

    def minus(a: str, b: str) -> str:
        return graph.add("Sub", a, b)

    def whole(a: str, b: int) -> str:
        return graph.add("Div", minus(a, rest(a, b)), [b])

    def ratio(a: str, b: float) -> str:
        return graph.add("Div", graph.double(a), [b])

    day_number = whole(moment, measures.DAY)
    shifted = add(day_number, [719_468])
    of_era = rest(shifted, 146_097)
    leap = minus(add(minus(of_era, whole(of_era, 1460)), whole(of_era, 36_524)),
                 whole(of_era, 146_096))  # fmt: skip
    year_of_era = whole(leap, 365)
    before = minus(add(times(year_of_era, 365), whole(year_of_era, 4)), whole(year_of_era, 100))
    of_year = minus(of_era, before)
    from_march = whole(add(times(of_year, 5), [2]), 153)
    month = add(rest(add(from_march, [2]), 12), [1])
    is_next = graph.add("Less", month, [3])
    year = add(add(year_of_era, times(whole(shifted, 146_097), 400)),
               graph.add("Where", is_next, [1], [0]))  # fmt: skip
    day = add(minus(of_year, whole(add(times(from_march, 153), [2]), 5)), [1])
    parts = {
        "year": graph.double(year),
        "month": graph.double(month),
        "day": graph.double(day),
        "weekday": graph.double(rest(add(day_number, [3]), 7)),
        "hour": graph.add("Div", ratio(rest(moment, measures.DAY), 1e6), [3600.0]),
        "days": ratio(moment, float(measures.DAY)),
    }
    assert set(parts) == set(DATE_PARTS)
    found = [
        graph.add("Where", missing, [fill], parts[feature.removeprefix(f"{column.name}.")])
        for feature, fill in column.fills.items()
    ]
    return graph.add("Concat", *found, axis=1)


# Combination ------------------------------------------------------------------------------------


def _weighted(graph: Graph, parts: Sequence[str], weights: np.ndarray) -> str:
    """Add up parts in the stored precision, weighted."""
    single = (graph.add("Cast", part, to=FLOAT) for part in parts)
    each = [graph.add("Mul", graph.double(p), [w]) for p, w in zip(single, weights, strict=True)]
    return graph.add("Sum", *each) if len(each) > 1 else each[0]


def _most_probable(graph: Graph, probabilities: str, n: int) -> str:
    """Return codes, int64, of shape (n_samples,); the first one if tied."""
    if n == 2:
        second = graph.add("Gather", probabilities, 1, axis=1)
        more = graph.add("Greater", second, [0.5 + TIE])
        return graph.add("Cast", more, to=INTEGER)
    most = graph.add("ReduceMax", probabilities, [1], keepdims=1)
    tied = graph.add("GreaterOrEqual", probabilities, graph.add("Sub", most, [TIE]))
    return graph.add("ArgMax", graph.add("Cast", tied, to=INTEGER), axis=1, keepdims=0)


def _classes(graph: Graph, ensemble: Any, outputs: Sequence[str]) -> dict[str, tuple[str, int]]:
    n, parts = len(ensemble.classes_), list(outputs)
    if ensemble.manifest["combination"] == "votes":
        codes = (graph.add("Unsqueeze", _most_probable(graph, p, n), [1]) for p in outputs)
        parts = [graph.double(graph.add("Equal", code, np.arange(n)[None])) for code in codes]
    combined = _weighted(graph, parts, ensemble.weights_)
    names = {kind: _free(ensemble, kind) for kind in (LABEL, PROBABILITIES)}
    words = np.array([*map(str, ensemble.classes_.tolist())], dtype=object)
    graph.add("Gather", words, _most_probable(graph, combined, n), output=names[LABEL])
    temperature = ensemble.manifest["temperature"]
    if temperature == 1:
        graph.add("Identity", combined, output=names[PROBABILITIES])
    else:
        logs = graph.add("Div", graph.add("Log", combined), [temperature])
        graph.add("Softmax", logs, axis=1, output=names[PROBABILITIES])
    return {kind: (name, n) for kind, name in names.items()}


def _number(graph: Graph, ensemble: Any, outputs: Sequence[str]) -> dict[str, tuple[str, int]]:
    largest = np.float32(regression.LARGEST)  # as Regression.predict clips
    clipped = [
        graph.add("Clip", graph.add("Cast", part, to=FLOAT), -largest, largest) for part in outputs
    ]
    combined, name = _weighted(graph, clipped, ensemble.weights_), _free(ensemble, VALUE)
    scaled = graph.add("Mul", combined, [float(ensemble.manifest["std"])])
    graph.add("Add", scaled, [float(ensemble.manifest["mean"])], output=name)
    return {VALUE: (name, 1)}


def _free(ensemble: Any, name: str) -> str:
    """Return a name that no column has."""
    while name in ensemble.preparation.names:
        name += "_"
    return name


# Check ------------------------------------------------------------------------------------------


def inputs(preparation: Preparation, rows: Mapping[str, Any]) -> dict[str, np.ndarray]:
    """Convert rows to inputs of a graph: numbers, dates (datetime64), and words or None."""
    made = {}
    for column in preparation.columns:
        values = rows[column.name]
        if isinstance(column, Categories):
            own = np.array([word or "" for word in values], dtype=object)
        elif column.kind == "date":
            own = np.asarray(values, "M8[us]").astype(np.int64)
        else:
            own = np.asarray(values, float)
        made[column.name] = own[:, None]
    return made


def check(model: bytes, ensemble: Any, X: np.ndarray) -> float:
    """Return the largest difference of a model's probabilities or numbers from its ensemble's.

    The rows are made from their features X, of shape (n, p), with random dates and a missing value
    in each column. Raises NotConvertible if the difference is more than 1e-5 (for numbers, in
    standard deviations of the target), or the model does not run.
    """
    rows: dict[str, Any] = measures.as_given(ensemble.preparation, X)
    rng = np.random.default_rng(0)
    first, last = (int(np.datetime64(year, "us").astype(np.int64)) for year in YEARS)
    for place, column in enumerate(ensemble.preparation.columns):
        if column.kind == "date":
            rows[column.name] = rng.integers(first, last, len(X)).astype("M8[us]")
        rows[column.name][place % len(X)] = column.missing
    try:
        *_, found = session(model).run(None, inputs(ensemble.preparation, rows))
    except Exception as error:  # onnxruntime has its own exception types
        raise NotConvertible(str(error).strip().split("\n", 1)[0]) from error
    if hasattr(ensemble, "classes_"):
        gap = float(np.abs(found - ensemble.predict_proba(rows)).max())
    else:
        gap = float(np.abs(found[:, 0] - ensemble.predict(rows)).max()) / ensemble.manifest["std"]
    if not gap <= TOLERANCE:
        raise NotConvertible(f"its predictions of the test rows differ by up to {gap:.2g}")
    return gap
