"""ONNX graphs, and arithmetic with their values; rows of an input X are samples."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ensemble_search.predictor import kernels
from ensemble_search.predictor.kernels import Kernel

#: Versions of the operator sets, and ONNX's type codes.
OPERATORS = {"": 18, "ai.onnx.ml": 3}
FLOAT, INTEGER, STRING, BOOL, DOUBLE = 1, 7, 8, 9, 11
#: Prefix of the names of values that are no inputs.
OWN = "/"


class Graph:
    """The nodes and constants of a graph, named by numbers."""

    def __init__(self) -> None:
        self.nodes: list[Any] = []
        self.constants: list[Any] = []

    def add(self, name: str, *inputs: Any, output: str = "", n: int = 1, **more: Any) -> str:
        """Add an operator, such as ``Add``; inputs are names of values, or arrays.

        Returns the name of its first output; the others of ``n`` have it with ``.1``, ``.2`` ...
        """
        from onnx import helper

        output = output or f"{OWN}n{len(self.nodes)}"
        outputs = [output, *(f"{output}.{place}" for place in range(1, n))]
        names = [value if isinstance(value, str) else self.constant(value) for value in inputs]
        self.nodes.append(helper.make_node(name, names, outputs, **more))
        return output

    def constant(self, values: Any) -> str:
        """Add an array of numbers or strings."""
        from onnx import numpy_helper

        name = f"{OWN}c{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(np.asarray(values), name))
        return name

    def double(self, values: str) -> str:
        """Convert to double precision."""
        return self.add("Cast", values, to=DOUBLE)

    def model(self, name: str, inputs: Sequence[Any], outputs: Sequence[Any]) -> bytes:
        """Write a model; ``inputs`` and ``outputs`` are described by ``make_tensor_value_info``."""
        from onnx import helper

        made = helper.make_graph(self.nodes, name, inputs, outputs, self.constants)
        sets = [helper.make_opsetid(domain, version) for domain, version in OPERATORS.items()]
        return helper.make_model(made, opset_imports=sets, ir_version=9).SerializeToString()


class Value(NamedTuple):
    """A value in a graph."""

    graph: Graph
    name: str


def apply(name: str, *inputs: Any, **attributes: Any) -> Value:
    """Add an operator, such as ``Add``, to the graph of its inputs: values, or arrays."""
    graph = next(own.graph for own in inputs if isinstance(own, Value))
    names = [own.name if isinstance(own, Value) else own for own in inputs]
    return Value(graph, graph.add(name, *names, **attributes))


def ordered(X: Value, k: int, **attributes: Any) -> tuple[Value, Value]:
    """The first k entries of each row of X in order, and their columns."""
    values = apply("TopK", X, np.array([k], np.int64), n=2, axis=1, sorted=1, **attributes)
    return values, Value(X.graph, f"{values.name}.1")


def affine(X: Any, matrix: np.ndarray, offset: Any = 0.0) -> Any:
    """X @ matrix + offset."""
    return apply("Add", apply("MatMul", X, np.asarray(matrix, float)), np.asarray(offset, float))


def times(X: Any, factor: Any) -> Any:
    """X * factor."""
    return apply("Mul", X, np.asarray(factor, float))


def take(X: Any, columns: np.ndarray) -> Any:
    """Columns of X."""
    return apply("Gather", X, np.asarray(columns, np.int64), axis=1)


def squared_distances(X: Any, rows: np.ndarray) -> Any:
    """Squared Euclidean distances of rows of X to other rows."""
    own = apply("ReduceSumSquare", X, np.array([1], np.int64), keepdims=1)
    products = affine(X, -2 * rows.T, (rows**2).sum(axis=1))
    return apply("Max", apply("Add", products, own), np.array([0.0]))


def kernel_values(X: Any, kernel: Kernel) -> Any:
    """Values of a kernel between rows of X and its rows."""
    rows = kernel.rows
    if kernel.name == "rbf":
        return apply("Exp", times(squared_distances(X, rows), -kernel.gamma))
    if kernel.name == "cosine":
        return affine(unit(X), kernels.unit(rows).T)
    if kernel.name == "chi2":
        return apply("Exp", times(_chi_squares(X, rows), -kernel.gamma))
    products = affine(X, kernel.gamma * rows.T, kernel.coef0)
    if kernel.name == "poly":
        return apply("Pow", products, np.array([float(kernel.degree)]))
    return apply("Tanh", products)


def unit(X: Any) -> Any:
    """Scale rows to length 1; rows of zeros stay unchanged."""
    length = apply("Sqrt", apply("ReduceSumSquare", X, np.array([1], np.int64), keepdims=1))
    none = apply("Equal", length, np.array([0.0]))
    return apply("Div", X, apply("Where", none, np.array([1.0]), length))


def _chi_squares(X: Any, rows: np.ndarray) -> Any:
    """Sums of (x - y)^2 / (x + y) over columns, one at a time: all at once needs much memory."""
    terms = []
    for column in range(rows.shape[1]):
        own, other = take(X, np.array([column])), rows[:, column]
        both = apply("Add", own, other)
        none = apply("Equal", both, np.array([0.0]))
        gap = apply("Sub", own, other)
        safe = apply("Where", none, np.array([1.0]), both)
        terms.append(apply("Div", apply("Mul", gap, gap), safe))
    return apply("Sum", *terms)


def both_classes(positive: Any) -> Any:
    """Probabilities of two classes from those of the second."""
    return apply("Concat", apply("Sub", np.array([1.0]), positive), positive, axis=1)
