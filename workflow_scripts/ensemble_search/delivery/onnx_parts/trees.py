"""Trees, and the learners that are made of them.

With doubles as input, skl2onnx 1.20 makes models of trees that do not load.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from skl2onnx.algebra import onnx_ops as op

from ensemble_search.delivery.onnx_parts.graph import (
    DOUBLE,
    FLOAT,
    INTEGER,
    Part,
    apply,
    as_probabilities,
    times,
)


@dataclass(frozen=True)
class Tree:
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
    def of(cls, tree: Any, leaf: np.ndarray, target: np.ndarray, weight: np.ndarray) -> "Tree":
        """Take the nodes of a tree of scikit-learn."""
        nodes = (tree.feature, tree.threshold, tree.children_left, tree.children_right)
        return cls(*nodes, leaf, target, weight)

    @classmethod
    def with_values(cls, tree: Any, values: np.ndarray, first: int = 0) -> "Tree":
        """Let the leaves of a tree add ``values[leaf]`` to columns from ``first`` on."""
        leaves = np.flatnonzero(tree.children_left == -1)
        k = values.shape[1]
        targets = np.tile(first + np.arange(k), len(leaves))
        return cls.of(tree, np.repeat(leaves, k), targets, values[leaves].ravel())


def single_precision(X: Any) -> Any:
    """Round to single precision: scikit-learn's trees do so."""
    return apply("Cast", apply("Cast", X, to=FLOAT), to=DOUBLE)


def sum_of_trees(X: Any, trees: Sequence[Tree], width: int) -> Any:
    """What the trees add up to in each of ``width`` columns."""
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
    return apply("Cast", summed, to=DOUBLE)


def _tensor(values: np.ndarray) -> Any:
    from onnx.numpy_helper import from_array

    return from_array(np.asarray(values, dtype=np.float64))


def _forest(fitted: Any, width: int) -> Part:
    estimators = getattr(fitted, "estimators_", [fitted])
    trees = [Tree.with_values(e.tree_, e.tree_.value[:, 0] / len(estimators)) for e in estimators]
    columns = estimators[0].tree_.value.shape[2]
    return Part(lambda X: sum_of_trees(single_precision(X), trees, columns), columns)


def _gradient_boosting(fitted: Any, width: int) -> Part:
    start = fitted._raw_predict_init(np.zeros((1, width)))[0]
    columns = len(start)
    trees = [
        Tree.with_values(tree.tree_, fitted.learning_rate * tree.tree_.value[:, 0], column)
        for stage in fitted.estimators_
        for column, tree in enumerate(stage)
    ]

    def graph(X):
        scores = apply(
            "Add", sum_of_trees(single_precision(X), trees, columns), np.asarray(start, float)
        )
        return as_probabilities(scores, len(fitted.classes_)) if classes else scores

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
        trees.append(Tree.with_values(estimator.tree_, votes))

    def graph(X):
        return apply(
            "Softmax", times(sum_of_trees(single_precision(X), trees, k), 1 / (k - 1)), axis=1
        )

    return Part(graph, k)


def _samme_r(fitted: Any, width: int) -> Part:
    k = len(fitted.classes_)
    trees = []
    for estimator in fitted.estimators_:
        probabilities = np.zeros((estimator.tree_.node_count, k))
        probabilities[:, estimator.classes_] = estimator.tree_.value[:, 0]
        logs = np.log(np.maximum(probabilities, np.finfo(float).eps))
        logs -= logs.mean(axis=1, keepdims=True)
        trees.append(Tree.with_values(estimator.tree_, logs / len(fitted.estimators_)))
    return Part(
        lambda X: apply("Softmax", sum_of_trees(single_precision(X), trees, k), axis=1),
        k,
    )


def _adaboost_regression(fitted: Any, width: int) -> Part:
    """The median of the trees by weight, as in AdaBoost.R2."""
    m = len(fitted.estimators_)
    trees = [
        Tree.with_values(estimator.tree_, estimator.tree_.value[:, 0], column)
        for column, estimator in enumerate(fitted.estimators_)
    ]
    weights = fitted.estimator_weights_[:m]

    def graph(X):
        found = sum_of_trees(single_precision(X), trees, m)
        ordered = apply("TopK", found, np.array([m], np.int64), axis=1, largest=0, sorted=1)
        sums = apply("CumSum", apply("Gather", weights, ordered[1]), np.array(1))
        enough = apply("GreaterOrEqual", sums, np.array([0.5 * np.cumsum(weights)[-1]]))
        place = apply("ArgMax", apply("Cast", enough, to=INTEGER), axis=1, keepdims=1)
        return apply("GatherElements", ordered[0], place, axis=1)

    return Part(graph, 1)


def _lightgbm(fitted: Any, width: int) -> Part:
    described = fitted.booster.dump_model()
    columns = described["num_tree_per_iteration"]
    trees = [
        _of_lightgbm(tree["tree_structure"], place % columns)
        for place, tree in enumerate(described["tree_info"])
    ]

    def graph(X):
        scores = sum_of_trees(X, trees, columns)
        return as_probabilities(scores, len(fitted.classes_)) if classes else scores

    classes = hasattr(fitted, "classes_")
    return Part(graph, len(fitted.classes_) if classes else 1)


def _of_lightgbm(root: Mapping[str, Any], target: int) -> Tree:
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
    return Tree(
        np.array([node.get("split_feature", 0) for node in nodes]),
        np.array([node.get("threshold", 0.0) for node in nodes]),
        np.array(left),
        np.array(right),
        leaves,
        np.full(len(leaves), target),
        np.array([nodes[leaf]["leaf_value"] for leaf in leaves]),
    )


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
}
