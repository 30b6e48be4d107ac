"""Convert fitted transformers to parts that ``predictor.transformers`` reads."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np

from ensemble_search.predictor.store.parts import Part, kernel, need, of
from ensemble_search.predictor.store.trees import scikit_learn


def stored(fitted: Any) -> list[Part]:
    """Describe a fitted transformer as one or more parts in order; raise NotStorable if unknown."""
    found = of(fitted, STORED)
    return found if isinstance(found, list) else [found]


def _columns(chosen: np.ndarray) -> Part:
    return {"kind": "columns", "columns": np.flatnonzero(chosen)}


def _scale(center: np.ndarray, scale: np.ndarray) -> Part:
    need(center is not None and scale is not None, "a scaler does not center or does not scale")
    return {"kind": "scale", "center": center, "scale": scale}


def _stretch(fitted: Any) -> Part:
    need(not fitted.clip, "a MinMaxScaler clips")
    return {"kind": "stretch", "factor": fitted.scale_, "offset": fitted.min_}


def _unit(fitted: Any) -> Part:
    need(fitted.norm == "l2", f"a Normalizer has the norm {fitted.norm}")
    return {"kind": "unit"}


def _quantiles(fitted: Any) -> Part:
    return {
        "kind": "quantiles",
        "normal": fitted.output_distribution == "normal",
        "references": fitted.references_,
        "quantiles": fitted.quantiles_,
    }


def _projection(matrix: np.ndarray, width: int | None = None, **more: Any) -> Part:
    given = {name: value for name, value in more.items() if value is not None}
    return {"kind": "projection", "matrix": matrix, "width": width or matrix.shape[1], **given}


def _principal(fitted: Any) -> Part:
    matrix, scale = fitted.components_.T, None
    if fitted.whiten:
        scale = np.maximum(np.sqrt(fitted.explained_variance_), np.finfo(float).eps)
    return _projection(matrix, after=(fitted.mean_.reshape(1, -1) @ matrix)[0], scale=scale)


def _discriminants(fitted: Any) -> Part:
    need(fitted.solver in ("svd", "eigen"), f"the solver {fitted.solver} has no transform")
    before = fitted.xbar_ if fitted.solver == "svd" else None
    width = min(fitted._max_components, fitted.scalings_.shape[1])
    return _projection(fitted.scalings_, width, before=before)


def _independent(fitted: Any) -> Part:
    return _projection(fitted.components_.T, before=fitted.mean_ if fitted.whiten else None)


def _categorical_products(fitted: Any) -> list[Part]:
    pairs = np.column_stack([fitted.first_, fitted.second_])
    return [{"kind": "products", "of_2": pairs}] if len(pairs) else []


def _polynomials(fitted: Any) -> list[Part]:
    columns, made = fitted.columns_, dict[str, Any]()
    for row in fitted.powers_.powers_[len(columns) :]:
        factors = np.repeat(columns, row)[::-1]
        made.setdefault(f"of_{len(factors)}", []).append(factors)
    need(set(made) <= {"of_2", "of_3"}, "polynomials have a degree above 3")
    return [{"kind": "products", **{k: np.array(v) for k, v in made.items()}}] if made else []


def _components(fitted: Any) -> Part:
    known = kernel(fitted.kernel, fitted.rows_, fitted.gamma, fitted.degree, fitted.coef0)
    means, mean = fitted.centerer_.K_fit_rows_, float(fitted.centerer_.K_fit_all_)
    return {**known, "kind": "kernel", "means": means, "mean": mean, "matrix": fitted.directions_}


def _nystroem(fitted: Any) -> Part:
    known = kernel(fitted.kernel, fitted.components_, fitted.gamma, fitted.degree, fitted.coef0)
    return {**known, "kind": "kernel", "matrix": fitted.normalization_.T}


def _positive(fitted: Any) -> Part:
    func = fitted.func
    known = isinstance(func, partial) and func.func is np.maximum and func.args == (0.0,)
    need(known and not func.keywords, "a FunctionTransformer applies another function than max")
    return {"kind": "positive"}


def _waves(fitted: Any) -> Part:
    weights = fitted.random_weights_
    factor = float((2.0 / weights.shape[1]) ** 0.5)
    return {"kind": "waves", "weights": weights, "offset": fitted.random_offset_, "factor": factor}


def _groups(fitted: Any) -> Part:
    pools = {np.mean: "mean", np.median: "median", np.max: "max"}
    need(fitted.pooling_func in pools, "a FeatureAgglomeration pools by an unknown function")
    return {"kind": "groups", "pool": pools[fitted.pooling_func], "labels": fitted.labels_}


def _leaves(fitted: Any) -> Part:
    """Columns are ordered like scikit-learn's nodes, tree by tree."""
    trees, values, start = [e.tree_ for e in fitted.estimators_], [], 0
    for tree in trees:
        values.append(start + np.cumsum(tree.children_left == -1)[:, None] - 1)
        start = int(values[-1][-1, 0]) + 1
    part = scikit_learn(trees, values)
    columns = part["value"][:, 0].astype(np.int64)
    return {**part, "kind": "leaves", "columns": columns, "value": part["value"][:, :0]}


#: Functions by library and class.
STORED: Mapping[str, Callable[[Any], Part | list[Part]]] = {
    "sklearn.StandardScaler": lambda fitted: _scale(fitted.mean_, fitted.scale_),
    "sklearn.RobustScaler": lambda fitted: _scale(fitted.center_, fitted.scale_),
    "sklearn.MinMaxScaler": _stretch,
    "sklearn.Normalizer": _unit,
    "sklearn.QuantileTransformer": _quantiles,
    "sklearn.VarianceThreshold": lambda fitted: _columns(fitted.get_support()),
    "sklearn.PCA": _principal,
    "sklearn.TruncatedSVD": lambda fitted: _projection(fitted.components_.T),
    "sklearn.FastICA": _independent,
    "sklearn.LinearDiscriminantAnalysis": _discriminants,
    "sklearn.Nystroem": _nystroem,
    "sklearn.FunctionTransformer": _positive,
    "sklearn.Pipeline": lambda fitted: [part for _, s in fitted.steps for part in stored(s)],
    "sklearn.RBFSampler": _waves,
    "sklearn.FeatureAgglomeration": _groups,
    "sklearn.RandomTreesEmbedding": _leaves,
    "ensemble_search.Selection": lambda fitted: _columns(fitted.support_),
    "ensemble_search.CategoricalProducts": _categorical_products,
    "ensemble_search.ImportantPolynomials": _polynomials,
    "ensemble_search.KernelComponents": _components,
}
