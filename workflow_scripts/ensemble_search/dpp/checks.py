"""Checks of the samplers' arguments."""

import math
from collections.abc import Callable
from numbers import Integral, Real
from typing import Any

import numpy as np

from ensemble_search.runtime.errors import UserError

#: Relative asymmetries and negative eigenvalues up to this size count as (float32) rounding.
ROUNDING = 1e-6


def real(values: np.ndarray, what: str) -> np.ndarray:
    """Return ``values``, called ``what``, as float64; UserError unless they are real numbers.

    NumPy would drop imaginary parts, read text and dates as numbers, and use masked values.
    """
    if hasattr(values, "toarray"):  # SciPy's sparse types
        values = values.toarray()
    if np.ma.is_masked(values):
        raise UserError(f"{what} must be real numbers, found masked ones")
    try:
        array = np.asarray(values)
        if np.iscomplexobj(array):
            raise UserError(f"{what} must be real numbers, found complex ones")
        text = array.dtype.kind == "O" and any(isinstance(v, (str, bytes)) for v in array.flat)
        if text or array.dtype.kind in "USmM":
            raise UserError(f"{what} must be real numbers, found text or dates")
        with np.errstate(over="ignore"):  # numbers beyond float64 become infinite
            return np.asarray(array, float)
    except (TypeError, ValueError, OverflowError) as error:
        raise UserError(f"{what} must be real numbers: {error}") from None


def check_similarity(similarity: np.ndarray) -> np.ndarray:
    """Check the similarities of N items; positive semidefiniteness is checked later.

    Returns
    -------
    np.ndarray
        (N, N) float64, exactly symmetric.

    Raises
    ------
    UserError
        If the matrix is not real, square, finite and, up to rounding, symmetric.
    """
    matrix = real(similarity, "the entries of a kernel matrix")
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or not len(matrix):
        raise UserError(
            f"a kernel matrix must be square and not empty, has the shape {matrix.shape}"
        )
    if not np.isfinite(matrix).all():
        raise UserError("a kernel matrix must be finite")
    half = matrix / 2  # so that sums and differences of two entries cannot overflow
    difference = 2 * float(np.abs(half - half.T).max())
    if difference > ROUNDING * np.abs(matrix).max():
        raise UserError(f"a kernel matrix must be symmetric; entries differ by {difference:.3g}")
    if matrix.diagonal().min() < 0:
        raise not_semidefinite(matrix.diagonal().min())
    return half + half.T


def check_quality(quality: np.ndarray | None, n_items: int) -> np.ndarray:
    """Check the qualities of items; return (n_items,), ones if None.

    Raises
    ------
    UserError
        If the length differs, or one is complex, negative or not finite.
    """
    if quality is None:
        return np.ones(n_items)
    quality = real(quality, "qualities")
    if quality.shape != (n_items,):
        raise UserError(f"{n_items} items need as many qualities, not shape {quality.shape}")
    if not (np.isfinite(quality).all() and quality.min() >= 0):
        raise UserError("qualities must be finite and not negative")
    return quality


def check_size(k: int, most: int, what: str) -> int:
    """Check that a set of k items can be drawn from ``most``, called ``what``; return k.

    It is returned as a Python integer, because multiples of NumPy's small integers overflow.
    """
    if not isinstance(k, Integral) or isinstance(k, bool):
        raise UserError(f"k is {shown(k)}, must be an integer")
    if not 1 <= k <= most:
        raise UserError(f"k is {shown(k)}, must be at least 1 and at most {most}, {what}")
    return int(k)


def shown(value: object) -> str:
    """Show a wrong argument; Python does not write integers of more than 4300 digits."""
    try:
        return repr(value)
    except ValueError:
        return f"of type {type(value).__name__} with thousands of digits"


def number(value: object) -> float:
    """Return a real number, such as a fraction or a NumPy scalar, as a float.

    NaN for anything else, booleans included, and for integers beyond floats.
    """
    if not isinstance(value, Real) or isinstance(value, bool):
        return math.nan
    try:
        return float(value)
    except OverflowError:
        return math.nan


def check_function(function: Callable[..., Any], name: str, of_what: str) -> None:
    """Raise UserError unless an argument can be called."""
    if not callable(function):
        raise UserError(f"{name} must be a function of {of_what}, found {type(function).__name__}")


def not_semidefinite(value: float) -> UserError:
    """Create the error for an indefinite kernel, given an eigenvalue or variance as evidence."""
    return UserError(
        f"a kernel must be positive semidefinite, found {value:.3g} below 0; "
        "set its negative eigenvalues to 0 or choose another kernel"
    )
