"""Singular values and vectors of weighted features, for weights of any range.

The rows of diag(w) B are items. Standard algorithms lose singular values below the machine
precision times the largest one. If rows depend on each other, so do algorithms with high relative
accuracy: the difference of two equal rows is a rounding error, which a large weight raises above
rows with small weights. Dependent rows are therefore found first, in B, where weights do not
matter: Gram-Schmidt, with the row of the largest weighted remainder as pivot, gives diag(w) B = C
Q^T. C is well-conditioned except for the scale of its columns (Demmel et al., "Computing the
singular value decomposition with high relative accuracy", 1999). Jacobi rotations then compute
singular values to many digits (Drmač and Veselić, "New fast and accurate Jacobi SVD algorithm",
2008).
"""

import numpy as np

from ensemble_search.runtime.errors import UserError

#: A remainder below this many times the error of a row counts as rounding.
NOISE = 20.0
#: Range of log scales that floats can hold.
RANGE = np.log(1e280)


def graded(
    features: np.ndarray, log_weights: np.ndarray, error: float
) -> tuple[np.ndarray, np.ndarray]:
    """Decompose diag(w) B, whose singular values may differ by any factor; O(N D^2).

    Parameters
    ----------
    features
        B, (N, D), with rows of similar norms.
    log_weights
        Logarithms of w, (N,).
    error
        Size of the errors in rows of B.

    Returns
    -------
    vectors
        Left singular vectors, (N, rank).
    log_values
        Logarithms of the singular values, (rank,), descending.

    Raises
    ------
    UserError
        If LAPACK finds no decomposition.
    """
    columns, logs = _orthogonalised(features, log_weights, error)
    return _decomposed(columns, logs)


def _orthogonalised(
    features: np.ndarray, log_weights: np.ndarray, error: float
) -> tuple[np.ndarray, np.ndarray]:
    """Return the columns of C, scaled to a maximum of 1, (N, rank), and their log scales."""
    left = features.copy()
    errors = np.full(len(left), error**2)
    known = np.empty((0, features.shape[1]))
    columns, logs = list[np.ndarray](), list[float]()
    while True:
        squares = np.square(left).sum(axis=1)
        rounding = squares <= NOISE**2 * errors
        left[rounding] = squares[rounding] = 0
        if not squares.any():
            return np.column_stack(columns), np.array(logs)
        with np.errstate(divide="ignore"):
            sizes = np.log(squares) / 2 + log_weights
        pivot = int(np.argmax(sizes))
        norm = np.sqrt(squares[pivot])
        direction = left[pivot] / norm
        for _ in range(2):  # once leaves small remainders non-orthogonal to the others
            direction -= known.T @ (known @ direction)
            direction /= np.linalg.norm(direction)
        known = np.vstack([known, direction])
        parts = left @ direction
        parts[pivot] = norm
        left -= parts[:, None] * direction
        left[pivot] = 0
        # The direction has the pivot's error, and passes a part of it on to the other rows.
        errors += (parts / norm) ** 2 * errors[pivot]
        with np.errstate(divide="ignore"):
            entries = np.exp(np.log(np.abs(parts)) + log_weights - sizes[pivot])
        columns.append(np.copysign(entries, parts))
        logs.append(sizes[pivot])


def _decomposed(columns: np.ndarray, logs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Decompose columns times exp(logs), descending, in parts if floats cannot hold the range.

    Among columns that floats can hold together, the largest values are final: the remaining columns
    would change them by 1e-280 of their size. The rest is decomposed again with the remaining
    columns.
    """
    from scipy.linalg.lapack import dgejsv

    held = logs >= logs[0] - RANGE
    # Options: allow scaling of rows and columns; left vectors; do not set tiny values to 0.
    values, vectors, _, scales, _, info = dgejsv(
        columns[:, held] * np.exp(logs[held] - logs[0]), joba=2, jobu=0, jobv=3, jobr=0, jobp=1
    )
    if info or not values.all():
        raise UserError("the kernel cannot be decomposed; take a smaller range of qualities")
    log_values = np.log(values * (scales[0] / scales[1])) + logs[0]
    if held.all():
        return vectors, log_values
    final = log_values >= log_values[0] - RANGE / 2
    done = vectors[:, final]
    outside = columns[:, ~held]
    outside = outside - done @ (done.T @ outside)
    rest = np.hstack([vectors[:, ~final], outside])
    others, log_others = _decomposed(rest, np.concatenate([log_values[~final], logs[~held]]))
    return np.hstack([done, others]), np.concatenate([log_values[final], log_others])
