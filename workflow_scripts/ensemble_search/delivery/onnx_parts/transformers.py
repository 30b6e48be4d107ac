"""Transformers that skl2onnx does not convert, or not rightly in double precision."""

from collections.abc import Callable, Mapping
from functools import partial, reduce
from typing import Any

import numpy as np

from ensemble_search.delivery.onnx_parts.graph import (
    Part,
    affine,
    apply,
    kernel_values,
    take,
    times,
)
from ensemble_search.delivery.onnx_parts.quantiles import quantiles
from ensemble_search.delivery.onnx_parts.trees import Tree, single_precision, sum_of_trees


def transformer(fitted: Any, width: int) -> Any:
    """Return a part in the place of a fitted transformer, or itself if skl2onnx converts it.

    Parameters
    ----------
    fitted
        The transformer.
    width
        Columns of its input.
    """
    make = TRANSFORMERS.get(type(fitted).__name__)
    return make(fitted, width) if make else fitted


def _selection(fitted: Any, width: int) -> Part:
    columns = np.flatnonzero(fitted.support_)
    return Part(lambda X: take(X, columns), len(columns))


def _categorical_products(fitted: Any, width: int) -> Part:
    first, second = fitted.first_, fitted.second_

    def graph(X):
        products = apply("Mul", take(X, first), take(X, second))
        return apply("Concat", X, products, axis=1)

    return Part(graph, width + len(first)) if len(first) else Part(lambda X: X, width)


def _important_polynomials(fitted: Any, width: int) -> Part:
    powers = fitted.powers_.powers_[len(fitted.columns_) :]
    factors = [np.repeat(fitted.columns_, row) for row in powers]

    def graph(X):
        parts = [X]
        for size in sorted({len(row) for row in factors}):
            some = np.array([row for row in factors if len(row) == size])
            product = take(X, some[:, 0])
            for column in some[:, 1:].T:
                product = apply("Mul", product, take(X, column))
            parts.append(product)
        return apply("Concat", *parts, axis=1) if len(parts) > 1 else X

    return Part(graph, width + len(factors))


def _kernel_components(fitted: Any, width: int) -> Part:
    gamma = 1 / width if fitted.gamma is None else fitted.gamma
    rows, centerer, directions = fitted.rows_, fitted.centerer_, fitted.directions_

    def graph(X):
        K = kernel_values(X, rows, fitted.kernel, gamma, fitted.degree, fitted.coef0)
        mean = apply("ReduceMean", K, np.array([1], np.int64), keepdims=1)
        offset = centerer.K_fit_all_ - centerer.K_fit_rows_
        centred = apply("Sub", apply("Add", K, np.asarray(offset)), mean)
        return affine(centred, directions)

    return Part(graph, directions.shape[1])


def _nystroem(fitted: Any, width: int) -> Part:
    gamma = 1 / width if fitted.gamma is None else fitted.gamma
    degree = 3 if fitted.degree is None else fitted.degree
    coef0 = 1 if fitted.coef0 is None else fitted.coef0

    def graph(X):
        K = kernel_values(X, fitted.components_, fitted.kernel, gamma, degree, coef0)
        return affine(K, fitted.normalization_.T)

    return Part(graph, len(fitted.normalization_))


def _positive_part(fitted: Any, width: int) -> Part:
    func = fitted.func
    if not (isinstance(func, partial) and func.func is np.maximum and func.args == (0.0,)):
        raise ValueError("there is no conversion of this FunctionTransformer")
    return Part(lambda X: apply("Max", X, np.array([0.0])), width)


def _chain(fitted: Any, width: int) -> Part:
    parts = []
    for _, step in fitted.steps:
        parts.append(transformer(step, parts[-1].width if parts else width))
    return Part(lambda X: reduce(lambda found, part: part.graph(found), parts, X), parts[-1].width)


def _kitchen_sinks(fitted: Any, width: int) -> Part:
    weights, offset = fitted.random_weights_, fitted.random_offset_
    scale = np.sqrt(2 / weights.shape[1])
    return Part(lambda X: times(apply("Cos", affine(X, weights, offset)), scale), len(offset))


def _independent_components(fitted: Any, width: int) -> Part:
    matrix = fitted.components_.T
    offset = -fitted.mean_ @ matrix if fitted.whiten else 0.0
    return Part(lambda X: affine(X, matrix, offset), matrix.shape[1])


def _discriminants(fitted: Any, width: int) -> Part:
    matrix = fitted.scalings_[:, : fitted._max_components]
    offset = -fitted.xbar_ @ matrix if fitted.solver == "svd" else 0.0
    return Part(lambda X: affine(X, matrix, offset), matrix.shape[1])


def _agglomeration(fitted: Any, width: int) -> Part:
    clusters = [np.flatnonzero(fitted.labels_ == label) for label in np.unique(fitted.labels_)]
    if fitted.pooling_func is np.mean:
        matrix = np.zeros((width, len(clusters)))
        for column, own in enumerate(clusters):
            matrix[own, column] = 1 / len(own)
        return Part(lambda X: affine(X, matrix), len(clusters))
    pool = _middle if fitted.pooling_func is np.median else _largest

    def graph(X):
        return apply("Concat", *(pool(take(X, own), len(own)) for own in clusters), axis=1)

    return Part(graph, len(clusters))


def _largest(X: Any, width: int) -> Any:
    return apply("ReduceMax", X, np.array([1], np.int64), keepdims=1)


def _middle(X: Any, width: int) -> Any:
    top = apply("TopK", X, np.array([width // 2 + 1], np.int64), axis=1, sorted=1)
    columns = [width // 2] if width % 2 else [width // 2 - 1, width // 2]
    return apply("ReduceMean", take(top[0], columns), np.array([1], np.int64), keepdims=1)


def _leaves(fitted: Any, width: int) -> Part:
    start, trees = 0, []
    for tree in (estimator.tree_ for estimator in fitted.estimators_):
        leaves = np.flatnonzero(tree.children_left == -1)
        targets = start + np.arange(len(leaves))
        trees.append(Tree.of(tree, leaves, targets, np.ones(len(leaves))))
        start += len(leaves)
    return Part(lambda X: sum_of_trees(single_precision(X), trees, start), start)


TRANSFORMERS: Mapping[str, Callable[[Any, int], Part]] = {
    "QuantileTransformer": quantiles,
    "Selection": _selection,
    "CategoricalProducts": _categorical_products,
    "ImportantPolynomials": _important_polynomials,
    "KernelComponents": _kernel_components,
    "Nystroem": _nystroem,
    "FunctionTransformer": _positive_part,
    "Pipeline": _chain,
    "RBFSampler": _kitchen_sinks,
    "FastICA": _independent_components,
    "LinearDiscriminantAnalysis": _discriminants,
    "FeatureAgglomeration": _agglomeration,
    "RandomTreesEmbedding": _leaves,
}
