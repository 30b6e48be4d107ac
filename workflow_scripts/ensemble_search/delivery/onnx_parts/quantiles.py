"""scikit-learn's QuantileTransformer: interpolation, and quantiles of the normal distribution."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from ensemble_search.delivery.onnx_parts.graph import INTEGER, apply, times
from ensemble_search.delivery.onnx_parts.trees import Tree, sum_of_trees
from ensemble_search.predictor.transformers import BOUNDS_THRESHOLD, Quantiles

#: Coefficients of numerator and denominator, by decreasing degree.
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


def quantiles(part: Quantiles, X: Any) -> Any:
    """Interpolate from both sides and average, as scikit-learn does; trees find the interval."""
    places, values = part.quantiles, part.references
    up = _interpolated(X, places, values)
    down = _interpolated(apply("Neg", X), -places[::-1], -values[::-1])
    shares = times(apply("Sub", up, down), 0.5)
    least, most = places[0], places[-1]
    if part.normal:
        above = apply("Greater", X, most - BOUNDS_THRESHOLD)
        below = apply("Less", X, least + BOUNDS_THRESHOLD)
    else:
        above, below = apply("Equal", X, most), apply("Equal", X, least)
    shares = apply("Where", above, np.array([1.0]), shares)
    shares = apply("Where", below, np.array([0.0]), shares)
    return _normal_quantile(shares) if part.normal else shares


def _interpolated(X: Any, places: np.ndarray, values: np.ndarray) -> Any:
    """Interpolate like ``numpy.interp``: places differ per column, values are the same."""
    width = places.shape[1]
    trees = [_steps(places[:, column], column) for column in range(width)]
    last = apply("Cast", sum_of_trees(X, trees, width), to=INTEGER)  # place <= x, or 0 if none
    after = apply("Add", last, np.array([1], np.int64))
    # Before the first place and after the last one, the value is constant.
    table = np.vstack([places[:1], places, places[-1:]]).ravel()
    steps = np.concatenate([values[:1], values, values[-1:]])
    columns = np.arange(width)

    def looked_up(rows):
        flat = apply("Add", apply("Mul", rows, np.array([width], np.int64)), columns)
        return apply("Gather", table, flat), apply("Gather", steps, rows)

    (low, start), (high, end) = looked_up(last), looked_up(after)
    gap = apply("Sub", high, low)
    none = apply("Equal", gap, np.array([0.0]))
    slope = apply("Div", apply("Sub", end, start), apply("Where", none, np.array([1.0]), gap))
    inside = apply("Sub", apply("Max", apply("Min", X, high), low), low)
    return apply("Add", start, apply("Mul", slope, inside))


def _steps(places: np.ndarray, target: int) -> "Tree":
    """Make a balanced tree that counts the places <= x; both are finite."""
    below = np.nextafter(places, -np.inf)  # x <= below: less than the place
    feature, threshold = list[int](), list[float]()
    left, right, weight = list[int](), list[int](), list[float]()

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
    leaves = np.flatnonzero(np.array(left) == -1)
    return Tree(
        np.array(feature), np.array(threshold), np.array(left), np.array(right), leaves,
        np.full(len(leaves), target), np.array(weight)[leaves],
    )  # fmt: skip


def _normal_quantile(shares: Any) -> Any:
    """Quantiles of the normal distribution (Wichura, AS 241, Applied Statistics 1988).

    Shares are clipped to [1e-7, 1 - 1e-7], as in scikit-learn; at this distance from 0 and 1, two
    of the three pieces of the approximation suffice.
    """
    least = BOUNDS_THRESHOLD - np.spacing(1)
    shares = apply("Clip", shares, np.array(least), np.array(1 - least))
    centred = apply("Sub", shares, np.array([0.5]))
    near = apply("Sub", np.array([0.425**2]), apply("Mul", centred, centred))
    middle = apply("Mul", centred, _ratio(near, *MIDDLE))
    tail = apply("Min", shares, apply("Sub", np.array([1.0]), shares))
    far = apply("Sub", apply("Sqrt", apply("Neg", apply("Log", tail))), np.array([1.6]))
    outer = apply("Mul", apply("Sign", centred), _ratio(far, *OUTER))
    return apply("Where", apply("Less", near, np.array([0.0])), outer, middle)


def _ratio(x: Any, above: Sequence[float], below: Sequence[float]) -> Any:
    return apply("Div", _polynomial(x, above), _polynomial(x, below))


def _polynomial(x: Any, coefficients: Sequence[float]) -> Any:
    """Evaluate a polynomial; coefficients are in order of decreasing degree."""
    value = times(x, coefficients[0])
    for coefficient in coefficients[1:-1]:
        value = apply("Mul", apply("Add", value, np.array([coefficient])), x)
    return apply("Add", value, np.array([coefficients[-1]]))
