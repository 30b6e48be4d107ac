"""Stored transformers as parts of an ONNX graph."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from ensemble_search.delivery.onnx_parts.graph import (
    DOUBLE,
    affine,
    apply,
    kernel_values,
    ordered,
    take,
    times,
    unit,
)
from ensemble_search.delivery.onnx_parts.quantiles import quantiles
from ensemble_search.delivery.onnx_parts.trees import Tree, single_precision, sum_of_trees
from ensemble_search.predictor import transformers as stored


def graph(part: Any, X: Any) -> Any:
    """Return the node of a transformer's output."""
    return GRAPHS[type(part)](part, X)


def _scale(part: stored.Scale, X: Any) -> Any:
    return apply("Div", apply("Sub", X, part.center), part.scale)


def _stretch(part: stored.Stretch, X: Any) -> Any:
    return apply("Add", apply("Mul", X, part.factor), part.offset)


def _threshold(part: stored.Threshold, X: Any) -> Any:
    return apply("Cast", apply("Greater", X, np.array([part.threshold])), to=DOUBLE)


def _projection(part: stored.Projection, X: Any) -> Any:
    if part.before is not None:
        X = apply("Sub", X, part.before)
    found = affine(X, part.matrix, 0.0 if part.after is None else -part.after)
    if part.scale is not None:
        found = apply("Div", found, part.scale)
    return take(found, np.arange(part.width))


def _products(part: stored.Products, X: Any) -> Any:
    made = [X]
    for factors in part.factors:
        product = take(X, factors[:, 0])
        for column in factors[:, 1:].T:
            product = apply("Mul", take(X, column), product)
        made.append(product)
    return apply("Concat", *made, axis=1) if len(made) > 1 else X


def _kernel(part: stored.KernelProjection, X: Any) -> Any:
    K = kernel_values(X, part.kernel)
    if part.means is not None:
        own = apply("ReduceMean", K, np.array([1], np.int64), keepdims=1)
        K = apply("Sub", apply("Add", K, part.mean - part.means), own)
    return affine(K, part.matrix)


def _waves(part: stored.Waves, X: Any) -> Any:
    return times(apply("Cos", affine(X, part.weights, part.offset)), part.factor)


def _groups(part: stored.Groups, X: Any) -> Any:
    groups = [np.flatnonzero(part.labels == label) for label in range(part.width)]
    if part.pool == "mean":
        matrix = np.zeros((len(part.labels), part.width))
        for column, own in enumerate(groups):
            matrix[own, column] = 1 / len(own)
        return affine(X, matrix)
    pool = _middle if part.pool == "median" else _largest
    return apply("Concat", *(pool(take(X, own), len(own)) for own in groups), axis=1)


def _largest(X: Any, width: int) -> Any:
    return apply("ReduceMax", X, np.array([1], np.int64), keepdims=1)


def _middle(X: Any, width: int) -> Any:
    top, _ = ordered(X, width // 2 + 1)
    columns = [width // 2] if width % 2 else [width // 2 - 1, width // 2]
    return apply("ReduceMean", take(top, np.array(columns)), np.array([1], np.int64), keepdims=1)


def _leaves(part: stored.Leaves, X: Any) -> Any:
    """Every leaf adds 1 to its column."""
    given = single_precision(X) if part.trees.single else X
    ones, none = np.ones((part.width, 1)), [0] * part.trees.n
    trees, first = [], 0
    for tree in Tree.all_of(part.trees, ones, none):
        last = first + len(tree.leaf)
        trees.append(replace(tree, target=part.columns[first:last]))
        first = last
    return sum_of_trees(given, trees, part.width)


#: Functions by type.
GRAPHS: Mapping[type, Callable[[Any, Any], Any]] = {
    stored.Columns: lambda part, X: take(X, part.columns),
    stored.Scale: _scale,
    stored.Stretch: _stretch,
    stored.Unit: lambda part, X: unit(X),
    stored.Threshold: _threshold,
    stored.Positive: lambda part, X: apply("Max", X, np.array([0.0])),
    stored.Quantiles: quantiles,
    stored.Projection: _projection,
    stored.Products: _products,
    stored.KernelProjection: _kernel,
    stored.Waves: _waves,
    stored.Groups: _groups,
    stored.Leaves: _leaves,
}
