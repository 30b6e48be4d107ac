"""Trees as the ONNX operator TreeEnsembleRegressor."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ensemble_search.delivery.onnx_parts.graph import DOUBLE, FLOAT, apply
from ensemble_search.predictor.trees import Trees


@dataclass(frozen=True)
class Tree:
    """A binary tree; rows with ``feature <= threshold`` go left.

    Holds arrays of nodes, root first, and of what leaves add to columns of the output.
    """

    feature: np.ndarray
    threshold: np.ndarray
    left: np.ndarray
    right: np.ndarray
    leaf: np.ndarray
    target: np.ndarray
    weight: np.ndarray

    @classmethod
    def all_of(cls, trees: Trees, values: np.ndarray, columns: Sequence[int]) -> list["Tree"]:
        """Let each tree's leaves add ``values``, of shape (n_leaves, k), to k columns.

        ``columns`` has the first column per tree.
        """
        found, k = [], values.shape[1]
        ends = [*trees.roots[1:], len(trees.inner)]
        for start, end, first in zip(trees.roots, ends, columns, strict=True):
            inner = trees.inner[start:end]
            left = np.where(inner, trees.left[start:end] - start, -1)
            leaves = np.flatnonzero(~inner)
            own = values[trees.leaf[start + leaves]]
            targets = np.tile(first + np.arange(k), len(leaves))
            nodes = (trees.feature[start:end], trees.threshold[start:end], left, left + inner)
            found.append(cls(*nodes, np.repeat(leaves, k), targets, own.ravel()))
        return found


def leaf_sums(X: Any, trees: Trees, values: np.ndarray, columns: Sequence[int], width: int) -> Any:
    """Sum the values of the leaves that rows reach in all trees; see :meth:`Tree.all_of`."""
    given = single_precision(X) if trees.single else X
    return sum_of_trees(given, Tree.all_of(trees, values, columns), width)


def single_precision(X: Any) -> Any:
    """Round to single precision, as scikit-learn's trees do."""
    return apply("Cast", apply("Cast", X, to=FLOAT), to=DOUBLE)


def sum_of_trees(X: Any, trees: Sequence[Tree], width: int) -> Any:
    """Sum of the trees' output in each of ``width`` columns."""
    sizes = [len(tree.feature) for tree in trees]
    number = np.repeat(np.arange(len(trees)), sizes)
    inner = np.concatenate([tree.left for tree in trees]) != -1

    def joined(name):
        return np.concatenate([getattr(tree, name) for tree in trees])

    def integers(values):
        return np.asarray(values).astype(int).tolist()

    summed = apply(
        "TreeEnsembleRegressor",
        X,
        domain="ai.onnx.ml",
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
