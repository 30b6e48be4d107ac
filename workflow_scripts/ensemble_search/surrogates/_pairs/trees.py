"""Predictions of boosted trees for all pairs of two sets, without a row per pair."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np


class PairTrees:
    """The trees of a boosted model on pairs: the columns of one, then those of the other.

    Each split tests one half of the row, so each half can reach a set of leaves, stored as the bits
    of a word (QuickScorer, Lucchese et al. 2015). A pair ends in the one leaf that both halves can
    reach. 5000 candidates x 25 members take 5025 passes through a tree and one AND per pair instead
    of 125,000 passes: a twentieth of the time of LightGBM's ``predict``, with the same result.

    Parameters
    ----------
    trees
        At most 32 leaves each.
    n_columns
        Number of columns in half a row.
    base
        Added to the sum of the trees.
    """

    def __init__(self, trees: "Sequence[Tree]", n_columns: int, base: float = 0.0):
        self.base = base
        self.trees = [_Reachable(tree, n_columns) for tree in trees]

    @classmethod
    def of_lightgbm(cls, text: str) -> "PairTrees":
        """Read ``Booster.model_to_string()``: numerical splits, no missing values."""
        head, *blocks = text.split("\nTree=")
        columns = int(_fields(head)["max_feature_idx"]) + 1
        return cls([_lightgbm_tree(_fields(block)) for block in blocks], columns // 2)

    @classmethod
    def of_xgboost(cls, model: dict[str, Any]) -> "PairTrees":
        """Read the JSON of ``Booster.save_raw``: gbtree, numerical splits, one output."""
        learner = model["learner"]
        head = learner["learner_model_param"]
        trees = [_xgboost_tree(t) for t in learner["gradient_booster"]["model"]["trees"]]
        base = float(head["base_score"].strip("[]"))
        return cls(trees, int(head["num_feature"]) // 2, base)

    def predict(self, a: np.ndarray, b: np.ndarray, orders: Sequence[int] = (0, 1)) -> np.ndarray:
        """Predict every pair, as the mean over its orders.

        Parameters
        ----------
        a, b
            float32, of shapes (m, n_columns) and (p, n_columns); faster if ``b`` is shorter.
        orders
            0: the columns of ``a`` first; 1: those of ``b`` first.

        Returns
        -------
        predictions
            float64, of shape (m, p).
        """
        a, b = np.ascontiguousarray(a.T), np.ascontiguousarray(b.T)
        sums = np.zeros((2, b.shape[1], a.shape[1]))
        for tree in self.trees:
            for order in orders:
                words, which = np.unique(tree.reachable(b, 1 - order), return_inverse=True)
                bits = words[:, None] & tree.reachable(a, order)
                # Each word has one bit left; the bit's number is the exponent of the float.
                leaves = bits.astype(np.float64).view(np.int64)
                leaves >>= 52
                leaves -= 1023
                sums[order] += tree.value.take(leaves).take(which, axis=0)
        return np.ascontiguousarray(sums.sum(axis=0).T) / len(orders) + self.base


@dataclass(frozen=True)
class Tree:
    """A tree of numerical splits."""

    #: Per split, int and float32: a row goes left if its feature is <= the threshold.
    feature: np.ndarray
    threshold: np.ndarray
    #: Int, of shape (2, n_splits), left and right: a split (with a higher number) or ~leaf.
    children: np.ndarray
    value: np.ndarray  #: values of the leaves


def _lightgbm_tree(fields: dict[str, str]) -> Tree:
    exact = _numbers(fields.get("threshold", ""), float)
    # For a float32 x, x <= t is the same as x <= the largest float32 not above t.
    threshold = exact.astype(np.float32)
    above = threshold > exact
    threshold[above] = np.nextafter(threshold[above], np.float32(-np.inf))
    children = [_numbers(fields.get(f"{side}_child", ""), int) for side in ("left", "right")]
    feature = _numbers(fields.get("split_feature", ""), int)
    return Tree(feature, threshold, np.array(children), _numbers(fields["leaf_value"], float))


def _xgboost_tree(fields: dict[str, Any]) -> Tree:
    nodes = np.array([fields["left_children"], fields["right_children"]])
    split = nodes[0] >= 0
    numbers = np.where(split, np.cumsum(split) - 1, ~(np.cumsum(~split) - 1))
    values = np.array(fields["split_conditions"], dtype=np.float32)
    # For float32, x < t is the same as x <= the next lower one.
    threshold = np.nextafter(values[split], np.float32(-np.inf))
    feature = np.array(fields["split_indices"])[split]
    return Tree(feature, threshold, numbers[nodes[:, split]], values[~split].astype(float))


class _Reachable:
    """A tree's splits on either half of a row, with the leaves that remain after each."""

    def __init__(self, tree: Tree, n_columns: int):
        self.value = tree.value
        self.all = np.uint32(2 ** len(self.value) - 1)
        feature, threshold, children = tree.feature, tree.threshold, tree.children
        below = np.zeros((2, len(feature)), dtype=np.uint32)
        # Bottom up: a split's number is lower than its descendants'.
        for node in range(len(feature) - 1, -1, -1):
            for side, child in enumerate((children[0][node], children[1][node])):
                below[side, node] = 1 << ~child if child < 0 else below[:, child].sum()
        if_left, if_right = ~below[1], ~below[0]
        self.halves = []
        for half in (feature < n_columns, feature >= n_columns):
            columns = (t[half, None] for t in (threshold, if_left, if_right))
            self.halves.append((feature[half] % n_columns, *columns))

    def reachable(self, columns: np.ndarray, half: int) -> np.ndarray:
        """Return the leaves (bits) that each sample can reach as this half, (n_samples,)."""
        feature, threshold, if_left, if_right = self.halves[half]
        words = np.where(columns.take(feature, axis=0) <= threshold, if_left, if_right)
        return np.bitwise_and.reduce(words, axis=0, initial=self.all)


def _fields(block: str) -> dict[str, str]:
    """Read the lines ``name=value`` of a block."""
    return dict(line.split("=", 1) for line in block.split("\n") if "=" in line)


def _numbers(text: str, kind: type) -> np.ndarray:
    """Parse numbers separated by blanks."""
    return np.array(text.split(), dtype=kind)
