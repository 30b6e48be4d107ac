"""Learners that skl2onnx does not convert, or not rightly in double precision.

With doubles as input, skl2onnx 1.20 gives wrong probabilities of a linear discriminant analysis of
two classes, and of neighbours weighted by distance for rows at distance 0. With single precision,
rows cross thresholds.
"""

import itertools
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from ensemble_search.delivery.onnx_parts import trees
from ensemble_search.delivery.onnx_parts.graph import (
    BOOL,
    DOUBLE,
    Part,
    affine,
    apply,
    as_probabilities,
    both_classes,
    kernel_values,
    squared_distances,
    times,
)


def learner(fitted: Any, width: int) -> Any:
    """Return a part in the place of a fitted learner, as ``transformers.transformer`` does.

    The part's output has probabilities, or values in one column.
    """
    make = LEARNERS.get(type(fitted).__name__)
    return make(fitted, width) if make else fitted


def _linear(fitted: Any, width: int) -> Part:
    k = len(fitted.classes_)
    return Part(lambda X: as_probabilities(affine(X, fitted.coef_.T, fitted.intercept_), k), k)


def _scores(fitted: Any, width: int) -> Part:
    """Probabilities as ``ScoreClassifier`` makes them."""
    model, k = fitted.estimator, len(fitted.classes_)

    def scores(X):
        if type(model).__name__ != "SVC":
            return affine(X, model.coef_.T, model.intercept_)
        return _machine(model)(X) if k == 2 else _machines(model, X)

    def graph(X):
        if k > 2:
            return as_probabilities(scores(X), k)
        clipped = apply("Clip", scores(X), np.array(-20.0), np.array(20.0))
        positive = apply("Sigmoid", clipped)
        high = apply("Greater", positive, np.array([0.999999]))
        low = apply("Less", positive, np.array([1e-7]))
        positive = apply("Where", low, np.array([0.0]), positive)
        return both_classes(apply("Where", high, np.array([1.0]), positive))

    return Part(graph, k)


def _machine(model: Any) -> Callable[[Any], Any]:
    """Return the decision function of a support vector machine."""
    vectors, weights = model.support_vectors_, model.dual_coef_.T

    def graph(X):
        K = kernel_values(X, vectors, model.kernel, model._gamma, model.degree, model.coef0)
        return affine(K, weights, model.intercept_)

    return graph


def _machines(model: Any, X: Any) -> Any:
    """Scores of three and more classes: votes of the pairs, and their margins to break ties."""
    k = len(model.classes_)
    ends = np.cumsum(model.n_support_)
    own = [slice(end - n, end) for end, n in zip(ends, model.n_support_, strict=True)]
    pairs = list(itertools.combinations(range(k), 2))
    weights = np.zeros((len(model.support_vectors_), len(pairs)))
    first, second = np.zeros((2, len(pairs), k))
    for place, (i, j) in enumerate(pairs):
        weights[own[i], place] = model.dual_coef_[j - 1, own[i]]
        weights[own[j], place] = model.dual_coef_[i, own[j]]
        first[place, i] = second[place, j] = 1
    K = kernel_values(
        X, model.support_vectors_, model.kernel, model._gamma, model.degree, model.coef0
    )
    margins = affine(K, weights, model.intercept_)
    against = apply("Cast", apply("Less", margins, np.array([0.0])), to=DOUBLE)
    votes = affine(against, second - first, first.sum(axis=0))
    sums = affine(margins, first - second)
    small = apply("Div", sums, times(apply("Add", apply("Abs", sums), np.array([1.0])), 3.0))
    return apply("Add", votes, small)


def _support_vector_regression(fitted: Any, width: int) -> Part:
    return Part(_machine(fitted), 1)


def _neighbours(fitted: Any, width: int) -> Part:
    """Euclidean distances only; the nearest of those at the same distance may be others."""
    if fitted.effective_metric_ != "euclidean":
        raise ValueError(f"there is no conversion of the distance {fitted.effective_metric_}")
    k, rows = np.array([fitted.n_neighbors], np.int64), fitted._fit_X
    classes = hasattr(fitted, "classes_")
    values = np.eye(len(fitted.classes_))[fitted._y] if classes else fitted._y.reshape(-1, 1)

    def graph(X):
        nearest = apply("TopK", squared_distances(X, rows), k, axis=1, largest=0, sorted=1)[1]
        theirs = apply("Gather", values.astype(float), nearest, axis=0)
        if fitted.weights == "uniform":
            return apply("ReduceMean", theirs, np.array([1], np.int64), keepdims=0)
        weights = apply("Unsqueeze", _closeness(X, rows, nearest), np.array([1], np.int64))
        return apply("Squeeze", apply("MatMul", weights, theirs), np.array([1], np.int64))

    return Part(graph, values.shape[1])


def _closeness(X: Any, rows: np.ndarray, nearest: Any) -> Any:
    """Shares of neighbours, inverse to their distances; if any are 0, those share alone."""
    own = apply("Unsqueeze", X, np.array([1], np.int64))
    # Of the differences: those of :func:`squared_distances` are not exactly 0 for equal rows.
    gaps = apply("Sub", apply("Gather", rows, nearest, axis=0), own)
    distances = apply("ReduceL2", gaps, np.array([2], np.int64), keepdims=0)
    same = apply("Cast", apply("Equal", distances, np.array([0.0])), to=DOUBLE)
    inverse = apply("Div", np.array([1.0]), apply("Add", distances, same))
    any_same = apply("ReduceMax", same, np.array([1], np.int64), keepdims=1)
    weights = apply("Where", apply("Cast", any_same, to=BOOL), same, inverse)
    total = apply("ReduceSum", weights, np.array([1], np.int64), keepdims=1)
    return apply("Div", weights, total)


LEARNERS: Mapping[str, Callable[[Any, int], Part]] = {
    **trees.LEARNERS,
    "LinearDiscriminantAnalysis": _linear,
    "ScoreClassifier": _scores,
    "SVR": _support_vector_regression,
    "KNeighborsClassifier": _neighbours,
    "KNeighborsRegressor": _neighbours,
}
