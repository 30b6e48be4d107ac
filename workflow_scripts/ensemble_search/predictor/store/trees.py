"""Convert the trees of all libraries to the format of ``predictor.trees``."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from ensemble_search.predictor.store.parts import Part


def joined(trees: Sequence[tuple[np.ndarray, ...]], single: bool) -> Part:
    """Concatenate the nodes of trees.

    Each of ``trees`` has the arrays of its nodes: feature, threshold, left child and right child
    (-1 for leaves), and value, of shape (n_nodes, outputs). Rows with feature <= threshold go left;
    ``single`` says whether features are rounded to single precision first.
    """
    features, thresholds, values = [], [], []
    for feature, threshold, left, right, value in trees:
        order = _breadth_first(left, right)
        inner = left[order] >= 0
        features.append(np.where(inner, feature[order], -1))
        thresholds.append(threshold[order][inner])
        values.append(value[order][~inner])
    return {
        "sizes": np.array([len(f) for f in features], dtype=np.int64),
        "feature": np.concatenate(features).astype(np.int32),
        "threshold": np.concatenate(thresholds).astype(float),
        "value": np.concatenate(values).astype(float),
        "single": single,
    }


def tree_sum(
    trees: Part,
    start: np.ndarray,
    link: str,
    divisor: float = 1.0,
    turns: bool = True,
    single_sums: bool = False,
) -> Part:
    """Describe a sum of trees; see ``predictor.learners.TreeSum``."""
    return {
        "kind": "tree sum", "turns": turns, **trees, "start": start, "divisor": float(divisor),
        "single_sums": single_sums, "link": link,
    }  # fmt: skip


def _breadth_first(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    level, order = np.zeros(1, dtype=np.int64), []
    while len(level):
        order.append(level)
        inner = level[left[level] >= 0]
        level = np.column_stack([left[inner], right[inner]]).ravel()
    return np.concatenate(order)


def scikit_learn(trees: Sequence[Any], values: Sequence[np.ndarray] | None = None) -> Part:
    """Concatenate scikit-learn trees, given their attributes ``tree_``.

    ``values`` has those of each tree's nodes, of shape (n_nodes, outputs); default: their own, one
    output.
    """
    if values is None:
        values = [tree.value[:, 0] for tree in trees]
    nodes = [
        (tree.feature, tree.threshold, tree.children_left, tree.children_right, value)
        for tree, value in zip(trees, values, strict=True)
    ]
    return joined(nodes, single=True)
