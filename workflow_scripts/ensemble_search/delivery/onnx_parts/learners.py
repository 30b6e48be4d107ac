"""Stored learners, and their links, as parts of an ONNX graph."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from ensemble_search.delivery.onnx_parts.graph import (
    BOOL,
    DOUBLE,
    INTEGER,
    affine,
    apply,
    both_classes,
    kernel_values,
    ordered,
    squared_distances,
    times,
)
from ensemble_search.delivery.onnx_parts.trees import leaf_sums
from ensemble_search.predictor import learners as stored

_ROWS = np.array([1], np.int64)  # the axis along which columns are summed


def graph(learner: Any, link: str, X: Any) -> Any:
    """Return the node with probabilities, or with values in one column."""
    scores = GRAPHS[type(learner)](learner, X)
    if link == "votes":  # for two classes, this is also the softmax of their scores
        return _softmax(times(scores, 1 / (len(learner.start) - 1)))
    return LINKS[link](scores)


# Scores -----------------------------------------------------------------------------------------


def _tree_sum(learner: stored.TreeSum, X: Any) -> Any:
    n, k = learner.trees.n, len(learner.start)
    columns = [i % k for i in range(n)] if learner.turns else [0] * n
    found = leaf_sums(X, learner.trees, learner.trees.value / learner.divisor, columns, k)
    return apply("Add", found, learner.start / learner.divisor)


def _tree_median(learner: stored.TreeMedian, X: Any) -> Any:
    m, weights = learner.trees.n, learner.weights
    found = leaf_sums(X, learner.trees, learner.trees.value, range(m), m)
    values, columns = ordered(found, m, largest=0)
    sums = apply("CumSum", apply("Gather", weights, columns), np.array(1))
    enough = apply("GreaterOrEqual", sums, np.array([0.5 * np.cumsum(weights)[-1]]))
    place = apply("ArgMax", apply("Cast", enough, to=INTEGER), axis=1, keepdims=1)
    return apply("GatherElements", values, place, axis=1)


def _quadratic(learner: stored.Quadratic, X: Any) -> Any:
    squares = [
        apply("ReduceSumSquare", affine(apply("Sub", X, mean), matrix), _ROWS, keepdims=1)
        for mean, matrix in zip(learner.means, learner.matrices, strict=True)
    ]
    found = times(apply("Concat", *squares, axis=1), -0.5)
    found = apply("Add", found, learner.prior - 0.5 * learner.spread)
    return found if learner.n_scores > 1 else affine(found, np.array([[-1.0], [1.0]]))


def _normal(learner: stored.Normal, X: Any) -> Any:
    found = []
    for mean, variance, prior in zip(learner.means, learner.variances, learner.prior, strict=True):
        scaled = apply("Div", apply("Sub", X, mean), np.sqrt(variance))
        squares = apply("ReduceSumSquare", scaled, _ROWS, keepdims=1)
        constant = prior - 0.5 * np.log(2.0 * np.pi * variance).sum()
        found.append(apply("Add", times(squares, -0.5), np.array([constant])))
    return apply("Concat", *found, axis=1)


def _network(learner: stored.Network, X: Any) -> Any:
    for i, layer in enumerate(learner.layers):
        if i:
            X = apply("Relu", X) if learner.rectified else apply("Tanh", X)
        X = affine(X, layer[:-1], layer[-1])
    return X


def _machine(learner: stored.Machine, X: Any) -> Any:
    K = kernel_values(X, learner.kernel)
    if not learner.pairs:
        return affine(K, learner.weights.T, learner.offset)
    n, k = len(learner.kernel.rows), learner.n_scores
    weights = np.zeros((n, len(learner.pairs)))
    first, second = np.zeros((2, len(learner.pairs), k))
    for place, (i, j) in enumerate(learner.pairs):
        weights[learner.own[i], place] = learner.weights[j - 1, learner.own[i]]
        weights[learner.own[j], place] = learner.weights[i, learner.own[j]]
        first[place, i] = second[place, j] = 1
    margins = affine(K, weights, learner.offset)
    against = apply("Cast", apply("Less", margins, np.array([0.0])), to=DOUBLE)
    votes = affine(against, second - first, first.sum(axis=0))
    sums = affine(margins, first - second)
    small = apply("Div", sums, times(apply("Add", apply("Abs", sums), np.array([1.0])), 3.0))
    return apply("Add", votes, small)


def _neighbours(learner: stored.Neighbours, X: Any) -> Any:
    """Euclidean distances only; other neighbours may be chosen among equidistant ones."""
    if learner.settings["p"] != 2:
        raise ValueError("there is no conversion of Manhattan distances")
    rows, values = learner.rows, learner.values
    if values.ndim == 1:  # codes of classes
        values = np.eye(values.max() + 1)[values]
    _, nearest = ordered(squared_distances(X, rows), learner.settings["n_neighbors"], largest=0)
    theirs = apply("Gather", values, nearest, axis=0)
    if learner.settings["weights"] == "uniform":
        return apply("ReduceMean", theirs, _ROWS, keepdims=0)
    weights = apply("Unsqueeze", _closeness(X, rows, nearest), _ROWS)
    return apply("Squeeze", apply("MatMul", weights, theirs), _ROWS)


def _closeness(X: Any, rows: np.ndarray, nearest: Any) -> Any:
    """Shares of neighbours, inverse to their distances; if any are 0, only those count."""
    own = apply("Unsqueeze", X, _ROWS)
    # Computed from differences: :func:`squared_distances` is not exactly 0 for equal rows.
    gaps = apply("Sub", apply("Gather", rows, nearest, axis=0), own)
    distances = apply("ReduceL2", gaps, np.array([2], np.int64), keepdims=0)
    same = apply("Cast", apply("Equal", distances, np.array([0.0])), to=DOUBLE)
    inverse = apply("Div", np.array([1.0]), apply("Add", distances, same))
    any_same = apply("ReduceMax", same, _ROWS, keepdims=1)
    weights = apply("Where", apply("Cast", any_same, to=BOOL), same, inverse)
    return _shares(weights)


GRAPHS: Mapping[type, Callable[[Any, Any], Any]] = {
    stored.TreeSum: _tree_sum,
    stored.TreeMedian: _tree_median,
    stored.Linear: lambda learner, X: affine(X, learner.weights, learner.offset),
    stored.Quadratic: _quadratic,
    stored.Normal: _normal,
    stored.Network: _network,
    stored.Machine: _machine,
    stored.Neighbours: _neighbours,
}


# Links ------------------------------------------------------------------------------------------


def _shares(values: Any) -> Any:
    return apply("Div", values, apply("ReduceSum", values, _ROWS, keepdims=1))


def _softmax(scores: Any) -> Any:
    return apply("Softmax", scores, axis=1)


def _clipped(scores: Any) -> Any:
    positive = apply("Sigmoid", apply("Clip", scores, np.array(-20.0), np.array(20.0)))
    high = apply("Greater", positive, np.array([0.999999]))
    low = apply("Less", positive, np.array([1e-7]))
    positive = apply("Where", low, np.array([0.0]), positive)
    return both_classes(apply("Where", high, np.array([1.0]), positive))


def _impossible(scores: Any) -> Any:
    raise ValueError("there is no conversion of the modified Huber loss")


LINKS: Mapping[str, Callable[[Any], Any]] = {
    "none": lambda scores: scores,
    "logistic": lambda scores: both_classes(apply("Sigmoid", scores)),
    "softmax": _softmax,
    "rest": lambda scores: _shares(apply("Sigmoid", scores)),
    "clipped": _clipped,
    "linear": _impossible,
}
