"""Pieces of an ONNX graph, and arithmetic with its nodes; rows of an input X are samples."""

from collections.abc import Callable
from typing import Any

import numpy as np
from skl2onnx import update_registered_converter
from skl2onnx.algebra import onnx_ops as op
from skl2onnx.common.data_types import DoubleTensorType
from sklearn.base import BaseEstimator, TransformerMixin

from ensemble_search.predictor import kernels
from ensemble_search.predictor.kernels import Kernel

#: Version of ONNX's operators that the parts use, and ONNX's type codes.
VERSION, FLOAT, INTEGER, BOOL, DOUBLE = 18, 1, 7, 9, 11


class Part(TransformerMixin, BaseEstimator):
    """A graph that skl2onnx converts instead of a scikit-learn transformer.

    Parameters
    ----------
    graph
        Maps the input, of shape (n_samples, p), to the output; both are nodes.
    width
        Number of columns of the output.
    """

    def __init__(self, graph: Callable[[Any], Any], width: int):
        self.graph = graph
        self.width = width

    def __sklearn_is_fitted__(self) -> bool:
        return True


def _shape(operator: Any) -> None:
    operator.outputs[0].type = DoubleTensorType([None, operator.raw_operator.width])


def _convert(scope: Any, operator: Any, container: Any) -> None:
    made = operator.raw_operator.graph(operator.inputs[0])
    last = op.OnnxIdentity(made, op_version=VERSION, output_names=operator.outputs[:1])
    last.add_to(scope, container)


update_registered_converter(Part, "EnsembleSearchPart", _shape, _convert)


def apply(name: str, *inputs: Any, **attributes: Any) -> Any:
    """Make the node of an ONNX operator, such as ``Add``; inputs are nodes or arrays."""
    return getattr(op, f"Onnx{name}")(*inputs, op_version=VERSION, **attributes)


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
