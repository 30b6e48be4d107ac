"""Shared by the modules that store parts."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

#: A kind with its settings and arrays.
Part = dict[str, Any]


class NotStorable(Exception):
    """A fitted part cannot be stored as numbers; a one-line message."""


def of(fitted: Any, known: Mapping[str, Callable[[Any], Any]]) -> Any:
    """Apply the function for the type of a fitted part: ``<library>.<name of the class>``."""
    kind = type(fitted)
    name = f"{kind.__module__.partition('.')[0]}.{kind.__qualname__}"
    if name not in known:
        raise NotStorable(f"there is no way to store a {kind.__module__}.{kind.__qualname__}")
    return known[name](fitted)


def need(condition: Any, reason: str) -> None:
    """Raise :class:`NotStorable` unless a condition holds."""
    if not condition:
        raise NotStorable(reason)


def kernel(name: str, rows: np.ndarray, gamma: Any, degree: Any, coef0: Any) -> Part:
    """Describe a kernel for ``predictor.kernels``; None means scikit-learn's default."""
    default = 1.0 if name == "chi2" else 1 / rows.shape[1]
    return {
        "kernel": name,
        "rows": np.asarray(rows, float),
        "gamma": default if gamma is None else float(gamma),
        "degree": 3 if degree is None else int(degree),
        "coef0": 1.0 if coef0 is None else float(coef0),
    }
