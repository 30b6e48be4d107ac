"""Binary trees, checked when they are read, and traversed for all rows at once.

The nodes of a tree are stored breadth first, so that the children of its i-th inner node (from 0)
are its nodes 2i + 1 and 2i + 2: no stored pointer can be wrong.
"""

import numpy as np

from ensemble_search.predictor.fields import Fields

#: Maximum levels of a tree, and number of trees: 1000 boosting rounds for each of 262 classes.
DEEPEST, MOST_TREES = 2000, 2**18
#: Number of trees and rows traversed at a time: as many as fit into the processor's cache.
BLOCK = 2**14


class Trees:
    """Trees whose inner nodes compare a feature with a threshold; rows up to it go left.

    ``fields`` has ``sizes``, the number of nodes per tree; for all trees' nodes in order,
    ``feature`` (-1 for a leaf); for inner nodes, ``threshold``; for leaves, ``value``, float64, of
    shape (n_leaves, outputs); and ``single``, whether features are rounded to single precision
    first. Features have ``width`` columns; ``n`` is the number of trees.
    """

    def __init__(self, fields: Fields, width: int, outputs: int):
        sizes = fields.integers("sizes", None, low=1, high=2**31)
        if len(sizes) > MOST_TREES:
            raise ValueError(f"'{fields.name}' has {len(sizes)} trees, more than {MOST_TREES}")
        feature = fields.integers("feature", int(sizes.sum()), low=-1, high=width - 1)
        inner = feature >= 0
        self.n, self.width = len(sizes), width
        self.single = fields.choice("single", (True, False))
        self.threshold = np.full(len(feature), np.inf)
        self.threshold[inner] = fields.array("threshold", int(inner.sum()))
        self.value = fields.array("value", int((~inner).sum()), outputs)
        self.roots = np.cumsum(sizes) - sizes
        before = np.concatenate([[0], np.cumsum(inner)])
        own = np.repeat(self.roots, sizes)
        nodes = np.arange(len(feature))
        children = own + 1 + 2 * (before[:-1] - before[own])
        counts = before[self.roots + sizes] - before[self.roots]
        if not ((sizes == 2 * counts + 1).all() and (children > nodes)[inner].all()):
            raise ValueError(f"'{fields.name}' has trees whose nodes do not fit together")
        self._check_depth(before)
        # Rows that have reached a leaf stay there.
        self.inner, self.feature = inner, np.where(inner, feature, 0)
        self.left = np.where(inner, children, nodes)
        self.leaf = np.cumsum(~inner) - 1

    def _check_depth(self, before: np.ndarray) -> None:
        roots = self.roots
        first, last = roots, roots + 1  # of a level, in every tree
        for _ in range(DEEPEST):
            if (before[first] == before[last]).all():
                return
            first, last = (roots + 1 + 2 * (before[end] - before[roots]) for end in (first, last))
        raise ValueError(f"a tree has more than {DEEPEST} levels")

    def leaves(self, X: np.ndarray) -> np.ndarray:
        """Return the leaves that rows reach, as row indices of ``value``.

        X are finite numbers, float64, of shape (n_samples, width); the result is int64, of shape
        (n, n_samples).
        """
        if X.ndim != 2 or X.shape[1] != self.width:
            raise ValueError(f"features of shape {X.shape} instead of (n, {self.width})")
        if self.single:
            with np.errstate(over="ignore"):
                X = X.astype(np.float32).astype(np.float64)
            if not np.isfinite(X).all():
                raise ValueError("numbers too large for single precision")
        found = np.empty((self.n, len(X)), dtype=np.int64)
        rows = max(1, min(len(X), BLOCK))
        trees = max(1, BLOCK // rows)
        for start in range(0, len(X), rows):
            part = np.ascontiguousarray(X[start : start + rows]).ravel()
            for first in range(0, self.n, trees):
                roots = self.roots[first : first + trees]
                ends = self._followed(roots, part)
                found[first : first + trees, start : start + rows] = self.leaf[ends]
        return found

    def _followed(self, roots: np.ndarray, flat: np.ndarray) -> np.ndarray:
        """Traverse some trees for some rows, whose features are in ``flat``."""
        n = len(flat) // self.width
        ends = np.repeat(roots, n)
        node, places = ends.copy(), None
        starts = np.tile(np.arange(n) * self.width, len(roots))
        while True:
            going = self.inner[node]
            count = np.count_nonzero(going)
            if not count:
                break
            if count < 0.75 * len(node):  # continue with the rows that have not reached a leaf
                some = np.flatnonzero(going)
                if places is None:
                    ends[:] = node
                    places = some
                else:
                    ends[places] = node
                    places = places[some]
                node, starts = node[some], starts[some]
            right = flat[starts + self.feature[node]] > self.threshold[node]
            node = self.left[node] + right
        if places is None:
            return node.reshape(len(roots), n)
        ends[places] = node
        return ends.reshape(len(roots), n)
