"""Parts of pipelines that skl2onnx does not convert, or not rightly in double precision.

With doubles as input, skl2onnx 1.20 makes models of trees that do not load, and wrong probabilities
of a linear discriminant analysis of two classes, and of neighbours weighted by distance for rows at
distance 0. With single precision, rows cross thresholds.
"""

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial, reduce
from typing import Any

import numpy as np
from skl2onnx import update_registered_converter
from skl2onnx.algebra import onnx_ops as op
from skl2onnx.common.data_types import DoubleTensorType
from sklearn.base import BaseEstimator, TransformerMixin

#: Of scikit-learn's QuantileTransformer.
BOUNDS_THRESHOLD = 1e-7
#: Version of ONNX's operators that the parts are written in, and its codes of types.
VERSION, FLOAT, INTEGER, BOOL, DOUBLE = 18, 1, 7, 9, 11


class Part(TransformerMixin, BaseEstimator):
    """A piece of a graph in the place of a transformer or a learner.

    Parameters
    ----------
    graph
        Maps the input, of shape (n_samples, p), to the output; both are nodes.
    width
        Columns of the output.
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


def learner(fitted: Any, width: int) -> Any:
    """Return a part in the place of a fitted learner, as :func:`transformer` does.

    The part's output has probabilities, or values in one column.
    """
    make = LEARNERS.get(type(fitted).__name__)
    return make(fitted, width) if make else fitted


# Arithmetic ---------------------------------------------------------------------------------------


def _node(name: str, *inputs: Any, **attributes: Any) -> Any:
    return getattr(op, f"Onnx{name}")(*inputs, op_version=VERSION, **attributes)


def _affine(X: Any, matrix: np.ndarray, offset: Any = 0.0) -> Any:
    return _node("Add", _node("MatMul", X, np.asarray(matrix, float)), np.asarray(offset, float))


def _times(X: Any, factor: Any) -> Any:
    return _node("Mul", X, np.asarray(factor, float))


def _columns(X: Any, columns: np.ndarray) -> Any:
    return _node("Gather", X, np.asarray(columns, np.int64), axis=1)


def _distances(X: Any, rows: np.ndarray) -> Any:
    """Squared Euclidean distances of rows of X to other rows."""
    own = _node("ReduceSumSquare", X, np.array([1], np.int64), keepdims=1)
    products = _affine(X, -2 * rows.T, (rows**2).sum(axis=1))
    return _node("Max", _node("Add", products, own), np.array([0.0]))


def _kernel(X: Any, rows: np.ndarray, name: str, gamma: float, degree: int, coef0: float) -> Any:
    """Values of a kernel between rows of X and other rows."""
    if name == "rbf":
        return _node("Exp", _times(_distances(X, rows), -gamma))
    if name == "cosine":
        length = _node("Sqrt", _node("ReduceSumSquare", X, np.array([1], np.int64), keepdims=1))
        none = _node("Equal", length, np.array([0.0]))
        unit = _node("Div", X, _node("Where", none, np.array([1.0]), length))
        lengths = np.linalg.norm(rows, axis=1, keepdims=True)
        return _affine(unit, (rows / np.where(lengths == 0, 1, lengths)).T)
    if name == "chi2":
        return _node("Exp", _times(_chi_squares(X, rows), -gamma))
    products = _affine(X, gamma * rows.T, coef0)
    if name == "poly":
        return _node("Pow", products, np.array([float(degree)]))
    if name == "sigmoid":
        return _node("Tanh", products)
    raise ValueError(f"there is no conversion of the kernel {name}")


def _chi_squares(X: Any, rows: np.ndarray) -> Any:
    """Sums of (x - y)^2 / (x + y) over columns, one at a time: all at once would need much room."""
    terms = []
    for column in range(rows.shape[1]):
        own, other = _columns(X, [column]), rows[:, column]
        both = _node("Add", own, other)
        none = _node("Equal", both, np.array([0.0]))
        gap = _node("Sub", own, other)
        safe = _node("Where", none, np.array([1.0]), both)
        terms.append(_node("Div", _node("Mul", gap, gap), safe))
    return _node("Sum", *terms)


def _probabilities(scores: Any, n_classes: int) -> Any:
    """Logistic function of one column of scores, softmax of more."""
    if n_classes > 2:
        return _node("Softmax", scores, axis=1)
    return _both(_node("Sigmoid", scores))


def _both(positive: Any) -> Any:
    return _node("Concat", _node("Sub", np.array([1.0]), positive), positive, axis=1)


# Transformers -------------------------------------------------------------------------------------


def _quantiles(fitted: Any, width: int) -> Part:
    """Interpolate from both sides and take the mean, as scikit-learn does; trees find the place."""
    normal = fitted.output_distribution == "normal"

    def graph(X):
        up = _interpolated(X, fitted.quantiles_, fitted.references_)
        down = _interpolated(_node("Neg", X), -fitted.quantiles_[::-1], -fitted.references_[::-1])
        shares = _times(_node("Sub", up, down), 0.5)
        least, most = fitted.quantiles_[0], fitted.quantiles_[-1]
        if normal:
            above = _node("Greater", X, most - BOUNDS_THRESHOLD)
            below = _node("Less", X, least + BOUNDS_THRESHOLD)
        else:
            above, below = _node("Equal", X, most), _node("Equal", X, least)
        shares = _node("Where", above, np.array([1.0]), shares)
        shares = _node("Where", below, np.array([0.0]), shares)
        return _normal_quantile(shares) if normal else shares

    return Part(graph, width)


def _interpolated(X: Any, places: np.ndarray, values: np.ndarray) -> Any:
    """Interpolate as ``numpy.interp``, column by column: a column of places each, common values."""
    width = places.shape[1]
    trees = [_steps(places[:, column], column) for column in range(width)]
    last = _node("Cast", _sum_of_trees(X, trees, width), to=INTEGER)  # place <= x, 0 if none is
    after = _node("Add", last, np.array([1], np.int64))
    # Before the first place and after the last one, the value is constant.
    table = np.vstack([places[:1], places, places[-1:]]).ravel()
    steps = np.concatenate([values[:1], values, values[-1:]])
    columns = np.arange(width)

    def looked_up(rows):
        flat = _node("Add", _node("Mul", rows, np.array([width], np.int64)), columns)
        return _node("Gather", table, flat), _node("Gather", steps, rows)

    (low, start), (high, end) = looked_up(last), looked_up(after)
    gap = _node("Sub", high, low)
    none = _node("Equal", gap, np.array([0.0]))
    slope = _node("Div", _node("Sub", end, start), _node("Where", none, np.array([1.0]), gap))
    inside = _node("Sub", _node("Max", _node("Min", X, high), low), low)
    return _node("Add", start, _node("Mul", slope, inside))


def _steps(places: np.ndarray, target: int) -> "_Tree":
    """Make a balanced tree that counts the places <= x; both are finite."""
    below = np.nextafter(places, -np.inf)  # x <= below: less than the place
    feature, threshold, left, right, weight = [], [], [], [], []

    def grow(start, end):
        """Add the node of rows that have between ``start`` and ``end`` places <= x."""
        node = len(feature)
        middle = (start + end) // 2
        feature.append(target)
        threshold.append(below[middle] if start < end else 0.0)
        weight.append(float(start))
        left.append(-1)
        right.append(-1)
        if start < end:
            left[node] = grow(start, middle)
            right[node] = grow(middle + 1, end)
        return node

    grow(0, len(places))
    arrays = [np.array(values) for values in (feature, threshold, left, right)]
    leaves = np.flatnonzero(arrays[2] == -1)
    return _Tree(*arrays, leaves, np.full(len(leaves), target), np.array(weight)[leaves])


def _normal_quantile(shares: Any) -> Any:
    """Quantiles of the normal distribution (Wichura, AS 241, Applied Statistics 1988).

    Of shares clipped to [1e-7, 1 - 1e-7], as scikit-learn does; so far from 0 and 1, two of the
    three pieces of the approximation are enough.
    """
    least = BOUNDS_THRESHOLD - np.spacing(1)
    shares = _node("Clip", shares, np.array(least), np.array(1 - least))
    centred = _node("Sub", shares, np.array([0.5]))
    near = _node("Sub", np.array([0.425**2]), _node("Mul", centred, centred))
    middle = _node("Mul", centred, _ratio(near, *MIDDLE))
    tail = _node("Min", shares, _node("Sub", np.array([1.0]), shares))
    far = _node("Sub", _node("Sqrt", _node("Neg", _node("Log", tail))), np.array([1.6]))
    outer = _node("Mul", _node("Sign", centred), _ratio(far, *OUTER))
    return _node("Where", _node("Less", near, np.array([0.0])), outer, middle)


def _ratio(x: Any, above: Sequence[float], below: Sequence[float]) -> Any:
    return _node("Div", _polynomial(x, above), _polynomial(x, below))


def _polynomial(x: Any, coefficients: Sequence[float]) -> Any:
    """Evaluate a polynomial, coefficients by falling degree."""
    value = _times(x, coefficients[0])
    for coefficient in coefficients[1:-1]:
        value = _node("Mul", _node("Add", value, np.array([coefficient])), x)
    return _node("Add", value, np.array([coefficients[-1]]))


#: Coefficients by falling degree, above and below the line.
MIDDLE = (
    (
        2.5090809287301226727e3, 3.3430575583588128105e4, 6.7265770927008700853e4,
        4.5921953931549871457e4, 1.3731693765509461125e4, 1.9715909503065514427e3,
        1.3314166789178437745e2, 3.3871328727963666080e0,
    ),
    (
        5.2264952788528545610e3, 2.8729085735721942674e4, 3.9307895800092710610e4,
        2.1213794301586595867e4, 5.3941960214247511077e3, 6.8718700749205790830e2,
        4.2313330701600911252e1, 1.0,
    ),
)  # fmt: skip
OUTER = (
    (
        7.7454501427834140764e-4, 2.27238449892691845833e-2, 2.41780725177450611770e-1,
        1.27045825245236838258e0, 3.64784832476320460504e0, 5.76949722146069140550e0,
        4.63033784615654529590e0, 1.42343711074968357734e0,
    ),
    (
        1.05075007164441684324e-9, 5.47593808499534494600e-4, 1.51986665636164571966e-2,
        1.48103976427480074590e-1, 6.89767334985100004550e-1, 1.67638483018380384940e0,
        2.05319162663775882187e0, 1.0,
    ),
)  # fmt: skip


def _selection(fitted: Any, width: int) -> Part:
    columns = np.flatnonzero(fitted.support_)
    return Part(lambda X: _columns(X, columns), len(columns))


def _categorical_products(fitted: Any, width: int) -> Part:
    first, second = fitted.first_, fitted.second_

    def graph(X):
        products = _node("Mul", _columns(X, first), _columns(X, second))
        return _node("Concat", X, products, axis=1)

    return Part(graph, width + len(first)) if len(first) else Part(lambda X: X, width)


def _important_polynomials(fitted: Any, width: int) -> Part:
    powers = fitted.powers_.powers_[len(fitted.columns_) :]
    factors = [np.repeat(fitted.columns_, row) for row in powers]

    def graph(X):
        parts = [X]
        for size in sorted({len(row) for row in factors}):
            some = np.array([row for row in factors if len(row) == size])
            product = _columns(X, some[:, 0])
            for column in some[:, 1:].T:
                product = _node("Mul", product, _columns(X, column))
            parts.append(product)
        return _node("Concat", *parts, axis=1) if len(parts) > 1 else X

    return Part(graph, width + len(factors))


def _kernel_components(fitted: Any, width: int) -> Part:
    gamma = 1 / width if fitted.gamma is None else fitted.gamma
    rows, centerer, directions = fitted.rows_, fitted.centerer_, fitted.directions_

    def graph(X):
        K = _kernel(X, rows, fitted.kernel, gamma, fitted.degree, fitted.coef0)
        mean = _node("ReduceMean", K, np.array([1], np.int64), keepdims=1)
        offset = centerer.K_fit_all_ - centerer.K_fit_rows_
        centred = _node("Sub", _node("Add", K, np.asarray(offset)), mean)
        return _affine(centred, directions)

    return Part(graph, directions.shape[1])


def _nystroem(fitted: Any, width: int) -> Part:
    gamma = 1 / width if fitted.gamma is None else fitted.gamma
    degree = 3 if fitted.degree is None else fitted.degree
    coef0 = 1 if fitted.coef0 is None else fitted.coef0

    def graph(X):
        K = _kernel(X, fitted.components_, fitted.kernel, gamma, degree, coef0)
        return _affine(K, fitted.normalization_.T)

    return Part(graph, len(fitted.normalization_))


def _positive_part(fitted: Any, width: int) -> Part:
    func = fitted.func
    if not (isinstance(func, partial) and func.func is np.maximum and func.args == (0.0,)):
        raise ValueError("there is no conversion of this FunctionTransformer")
    return Part(lambda X: _node("Max", X, np.array([0.0])), width)


def _chain(fitted: Any, width: int) -> Part:
    parts = []
    for _, step in fitted.steps:
        parts.append(transformer(step, parts[-1].width if parts else width))
    return Part(lambda X: reduce(lambda found, part: part.graph(found), parts, X), parts[-1].width)


def _kitchen_sinks(fitted: Any, width: int) -> Part:
    weights, offset = fitted.random_weights_, fitted.random_offset_
    scale = np.sqrt(2 / weights.shape[1])
    return Part(lambda X: _times(_node("Cos", _affine(X, weights, offset)), scale), len(offset))


def _independent_components(fitted: Any, width: int) -> Part:
    matrix = fitted.components_.T
    offset = -fitted.mean_ @ matrix if fitted.whiten else 0.0
    return Part(lambda X: _affine(X, matrix, offset), matrix.shape[1])


def _discriminants(fitted: Any, width: int) -> Part:
    matrix = fitted.scalings_[:, : fitted._max_components]
    offset = -fitted.xbar_ @ matrix if fitted.solver == "svd" else 0.0
    return Part(lambda X: _affine(X, matrix, offset), matrix.shape[1])


def _agglomeration(fitted: Any, width: int) -> Part:
    clusters = [np.flatnonzero(fitted.labels_ == label) for label in np.unique(fitted.labels_)]
    if fitted.pooling_func is np.mean:
        matrix = np.zeros((width, len(clusters)))
        for column, own in enumerate(clusters):
            matrix[own, column] = 1 / len(own)
        return Part(lambda X: _affine(X, matrix), len(clusters))
    pool = _middle if fitted.pooling_func is np.median else _largest

    def graph(X):
        return _node("Concat", *(pool(_columns(X, own), len(own)) for own in clusters), axis=1)

    return Part(graph, len(clusters))


def _largest(X: Any, width: int) -> Any:
    return _node("ReduceMax", X, np.array([1], np.int64), keepdims=1)


def _middle(X: Any, width: int) -> Any:
    top = _node("TopK", X, np.array([width // 2 + 1], np.int64), axis=1, sorted=1)
    columns = [width // 2] if width % 2 else [width // 2 - 1, width // 2]
    return _node("ReduceMean", _columns(top[0], columns), np.array([1], np.int64), keepdims=1)


def _leaves(fitted: Any, width: int) -> Part:
    start, trees = 0, []
    for tree in (estimator.tree_ for estimator in fitted.estimators_):
        leaves = np.flatnonzero(tree.children_left == -1)
        targets = start + np.arange(len(leaves))
        trees.append(_Tree.of(tree, leaves, targets, np.ones(len(leaves))))
        start += len(leaves)
    return Part(lambda X: _sum_of_trees(_single(X), trees, start), start)


TRANSFORMERS: Mapping[str, Callable[[Any, int], Part]] = {
    "QuantileTransformer": _quantiles,
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

# Trees --------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Tree:
    """A binary tree; rows with ``feature <= threshold`` go left.

    Arrays of nodes, the first one the root, and of what leaves add to columns of the output.
    """

    feature: np.ndarray
    threshold: np.ndarray
    left: np.ndarray
    right: np.ndarray
    leaf: np.ndarray
    target: np.ndarray
    weight: np.ndarray

    @classmethod
    def of(cls, tree: Any, leaf: np.ndarray, target: np.ndarray, weight: np.ndarray) -> "_Tree":
        """Take the nodes of a tree of scikit-learn."""
        nodes = (tree.feature, tree.threshold, tree.children_left, tree.children_right)
        return cls(*nodes, leaf, target, weight)

    @classmethod
    def with_values(cls, tree: Any, values: np.ndarray, first: int = 0) -> "_Tree":
        """Let the leaves of a tree add ``values[leaf]`` to columns from ``first`` on."""
        leaves = np.flatnonzero(tree.children_left == -1)
        k = values.shape[1]
        targets = np.tile(first + np.arange(k), len(leaves))
        return cls.of(tree, np.repeat(leaves, k), targets, values[leaves].ravel())


def _single(X: Any) -> Any:
    """Round to single precision: scikit-learn's trees do so."""
    return _node("Cast", _node("Cast", X, to=FLOAT), to=DOUBLE)


def _sum_of_trees(X: Any, trees: Sequence[_Tree], width: int) -> Any:
    sizes = [len(tree.feature) for tree in trees]
    number = np.repeat(np.arange(len(trees)), sizes)
    inner = np.concatenate([tree.left for tree in trees]) != -1

    def joined(name):
        return np.concatenate([getattr(tree, name) for tree in trees])

    def integers(values):
        return np.asarray(values).astype(int).tolist()

    summed = op.OnnxTreeEnsembleRegressor_3(
        X,
        op_version=3,
        n_targets=width,
        nodes_treeids=integers(number),
        nodes_nodeids=integers(np.concatenate([np.arange(size) for size in sizes])),
        nodes_featureids=integers(np.where(inner, joined("feature"), 0)),
        nodes_values_as_tensor=_tensor(np.where(inner, joined("threshold"), 0.0)),
        nodes_modes=np.where(inner, "BRANCH_LEQ", "LEAF").tolist(),
        nodes_truenodeids=integers(np.where(inner, joined("left"), 0)),
        nodes_falsenodeids=integers(np.where(inner, joined("right"), 0)),
        nodes_missing_value_tracks_true=[0] * len(inner),
        target_treeids=integers(np.repeat(np.arange(len(trees)), [len(t.leaf) for t in trees])),
        target_nodeids=integers(joined("leaf")),
        target_ids=integers(joined("target")),
        target_weights_as_tensor=_tensor(joined("weight")),
    )
    return _node("Cast", summed, to=DOUBLE)


def _tensor(values: np.ndarray) -> Any:
    from onnx.numpy_helper import from_array

    return from_array(np.asarray(values, dtype=np.float64))


def _forest(fitted: Any, width: int) -> Part:
    estimators = getattr(fitted, "estimators_", [fitted])
    trees = [_Tree.with_values(e.tree_, e.tree_.value[:, 0] / len(estimators)) for e in estimators]
    columns = estimators[0].tree_.value.shape[2]
    return Part(lambda X: _sum_of_trees(_single(X), trees, columns), columns)


def _gradient_boosting(fitted: Any, width: int) -> Part:
    start = fitted._raw_predict_init(np.zeros((1, width)))[0]
    columns = len(start)
    trees = [
        _Tree.with_values(tree.tree_, fitted.learning_rate * tree.tree_.value[:, 0], column)
        for stage in fitted.estimators_
        for column, tree in enumerate(stage)
    ]

    def graph(X):
        scores = _node("Add", _sum_of_trees(_single(X), trees, columns), np.asarray(start, float))
        return _probabilities(scores, len(fitted.classes_)) if classes else scores

    classes = hasattr(fitted, "classes_")
    return Part(graph, len(fitted.classes_) if classes else 1)


def _adaboost(fitted: Any, width: int) -> Part:
    """SAMME: votes of the trees, as scikit-learn turns them into probabilities."""
    k = len(fitted.classes_)
    used = fitted.estimator_weights_[: len(fitted.estimators_)]
    trees = []
    for weight, estimator in zip(used / used.sum(), fitted.estimators_, strict=True):
        votes = np.full((estimator.tree_.node_count, k), -weight / (k - 1))
        chosen = estimator.tree_.value[:, 0].argmax(axis=1)
        votes[
            np.arange(len(votes)), np.searchsorted(fitted.classes_, estimator.classes_)[chosen]
        ] = weight
        trees.append(_Tree.with_values(estimator.tree_, votes))

    def graph(X):
        return _node("Softmax", _times(_sum_of_trees(_single(X), trees, k), 1 / (k - 1)), axis=1)

    return Part(graph, k)


def _samme_r(fitted: Any, width: int) -> Part:
    k = len(fitted.classes_)
    trees = []
    for estimator in fitted.estimators_:
        probabilities = np.zeros((estimator.tree_.node_count, k))
        probabilities[:, estimator.classes_] = estimator.tree_.value[:, 0]
        logs = np.log(np.maximum(probabilities, np.finfo(float).eps))
        logs -= logs.mean(axis=1, keepdims=True)
        trees.append(_Tree.with_values(estimator.tree_, logs / len(fitted.estimators_)))
    return Part(
        lambda X: _node("Softmax", _sum_of_trees(_single(X), trees, k), axis=1),
        k,
    )


def _adaboost_regression(fitted: Any, width: int) -> Part:
    """The median of the trees by weight, as in AdaBoost.R2."""
    m = len(fitted.estimators_)
    trees = [
        _Tree.with_values(estimator.tree_, estimator.tree_.value[:, 0], column)
        for column, estimator in enumerate(fitted.estimators_)
    ]
    weights = fitted.estimator_weights_[:m]

    def graph(X):
        found = _sum_of_trees(_single(X), trees, m)
        ordered = _node("TopK", found, np.array([m], np.int64), axis=1, largest=0, sorted=1)
        sums = _node("CumSum", _node("Gather", weights, ordered[1]), np.array(1))
        enough = _node("GreaterOrEqual", sums, np.array([0.5 * np.cumsum(weights)[-1]]))
        place = _node("ArgMax", _node("Cast", enough, to=INTEGER), axis=1, keepdims=1)
        return _node("GatherElements", ordered[0], place, axis=1)

    return Part(graph, 1)


def _lightgbm(fitted: Any, width: int) -> Part:
    described = fitted.booster.dump_model()
    columns = described["num_tree_per_iteration"]
    trees = [
        _of_lightgbm(tree["tree_structure"], place % columns)
        for place, tree in enumerate(described["tree_info"])
    ]

    def graph(X):
        scores = _sum_of_trees(X, trees, columns)
        return _probabilities(scores, len(fitted.classes_)) if classes else scores

    classes = hasattr(fitted, "classes_")
    return Part(graph, len(fitted.classes_) if classes else 1)


def _of_lightgbm(root: Mapping[str, Any], target: int) -> _Tree:
    nodes, waiting = [root], [0]
    left, right = [-1], [-1]
    while waiting:
        place = waiting.pop()
        if "split_feature" not in nodes[place]:
            continue
        if nodes[place]["decision_type"] != "<=":
            raise ValueError("a tree splits categories")
        for children, side in ((left, "left_child"), (right, "right_child")):
            children[place] = len(nodes)
            nodes.append(nodes[place][side])
            left.append(-1)
            right.append(-1)
            waiting.append(len(nodes) - 1)
    leaves = np.flatnonzero(np.array(left) == -1)
    return _Tree(
        np.array([node.get("split_feature", 0) for node in nodes]),
        np.array([node.get("threshold", 0.0) for node in nodes]),
        np.array(left),
        np.array(right),
        leaves,
        np.full(len(leaves), target),
        np.array([nodes[leaf]["leaf_value"] for leaf in leaves]),
    )


# Other learners -----------------------------------------------------------------------------------


def _linear(fitted: Any, width: int) -> Part:
    k = len(fitted.classes_)
    return Part(lambda X: _probabilities(_affine(X, fitted.coef_.T, fitted.intercept_), k), k)


def _scores(fitted: Any, width: int) -> Part:
    """Probabilities as ``ScoreClassifier`` makes them."""
    model, k = fitted.estimator, len(fitted.classes_)

    def scores(X):
        if type(model).__name__ != "SVC":
            return _affine(X, model.coef_.T, model.intercept_)
        return _machine(model)(X) if k == 2 else _machines(model, X)

    def graph(X):
        if k > 2:
            return _probabilities(scores(X), k)
        clipped = _node("Clip", scores(X), np.array(-20.0), np.array(20.0))
        positive = _node("Sigmoid", clipped)
        high = _node("Greater", positive, np.array([0.999999]))
        low = _node("Less", positive, np.array([1e-7]))
        positive = _node("Where", low, np.array([0.0]), positive)
        return _both(_node("Where", high, np.array([1.0]), positive))

    return Part(graph, k)


def _machine(model: Any) -> Callable[[Any], Any]:
    """Return the decision function of a support vector machine."""
    vectors, weights = model.support_vectors_, model.dual_coef_.T

    def graph(X):
        K = _kernel(X, vectors, model.kernel, model._gamma, model.degree, model.coef0)
        return _affine(K, weights, model.intercept_)

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
    K = _kernel(X, model.support_vectors_, model.kernel, model._gamma, model.degree, model.coef0)
    margins = _affine(K, weights, model.intercept_)
    against = _node("Cast", _node("Less", margins, np.array([0.0])), to=DOUBLE)
    votes = _affine(against, second - first, first.sum(axis=0))
    sums = _affine(margins, first - second)
    small = _node("Div", sums, _times(_node("Add", _node("Abs", sums), np.array([1.0])), 3.0))
    return _node("Add", votes, small)


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
        nearest = _node("TopK", _distances(X, rows), k, axis=1, largest=0, sorted=1)[1]
        theirs = _node("Gather", values.astype(float), nearest, axis=0)
        if fitted.weights == "uniform":
            return _node("ReduceMean", theirs, np.array([1], np.int64), keepdims=0)
        weights = _node("Unsqueeze", _closeness(X, rows, nearest), np.array([1], np.int64))
        return _node("Squeeze", _node("MatMul", weights, theirs), np.array([1], np.int64))

    return Part(graph, values.shape[1])


def _closeness(X: Any, rows: np.ndarray, nearest: Any) -> Any:
    """Shares of neighbours, inverse to their distances; if any are 0, those share alone."""
    own = _node("Unsqueeze", X, np.array([1], np.int64))
    # Of the differences: those of :func:`_distances` are not exactly 0 for equal rows.
    gaps = _node("Sub", _node("Gather", rows, nearest, axis=0), own)
    distances = _node("ReduceL2", gaps, np.array([2], np.int64), keepdims=0)
    same = _node("Cast", _node("Equal", distances, np.array([0.0])), to=DOUBLE)
    inverse = _node("Div", np.array([1.0]), _node("Add", distances, same))
    any_same = _node("ReduceMax", same, np.array([1], np.int64), keepdims=1)
    weights = _node("Where", _node("Cast", any_same, to=BOOL), same, inverse)
    total = _node("ReduceSum", weights, np.array([1], np.int64), keepdims=1)
    return _node("Div", weights, total)


LEARNERS: Mapping[str, Callable[[Any, int], Part]] = {
    "DecisionTreeClassifier": _forest,
    "RandomForestClassifier": _forest,
    "RandomForestRegressor": _forest,
    "ExtraTreesClassifier": _forest,
    "ExtraTreesRegressor": _forest,
    "GradientBoostingClassifier": _gradient_boosting,
    "GradientBoostingRegressor": _gradient_boosting,
    "AdaBoostClassifier": _adaboost,
    "SammeR": _samme_r,
    "AdaBoostRegressor": _adaboost_regression,
    "LightGBM": _lightgbm,
    "LinearDiscriminantAnalysis": _linear,
    "ScoreClassifier": _scores,
    "SVR": _support_vector_regression,
    "KNeighborsClassifier": _neighbours,
    "KNeighborsRegressor": _neighbours,
}
