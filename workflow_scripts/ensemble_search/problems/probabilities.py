"""What counts as class probabilities, and how they are laid out."""

import numpy as np


class InvalidPredictionError(ValueError):
    """What ``predict_proba`` returned is no matrix of class probabilities."""


def align(probabilities, classes, n_samples: int, n_classes: int) -> np.ndarray:
    """Give every class its column and make rows sum to 1.

    Parameters
    ----------
    probabilities
        What ``predict_proba`` returned: (n_samples, len(classes)) numbers.
    classes
        ``classes_`` of the estimator: the codes 0..n_classes-1 that it saw in the training rows.

    Returns
    -------
    probabilities
        float32, of shape (n_samples, n_classes); columns of classes never seen are 0.

    Raises
    ------
    InvalidPredictionError
        If shapes or classes do not fit, or a row has NaN, infinite or negative values or only 0.
    """
    try:
        given = np.asarray(probabilities, dtype=np.float64)
        codes = np.asarray(classes, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InvalidPredictionError(f"predictions or classes are not numeric: {error}") from None
    if given.shape != (n_samples, codes.size):
        raise InvalidPredictionError(f"shape {given.shape} instead of {(n_samples, codes.size)}")
    if len(set(codes.flat)) < codes.size or not np.isin(codes, np.arange(n_classes)).all():
        raise InvalidPredictionError(f"classes_ is {classes} instead of codes below {n_classes}")
    full = np.zeros((n_samples, n_classes))
    full[:, codes.astype(int)] = given
    if not np.isfinite(full).all():
        raise InvalidPredictionError("NaN or infinite probabilities")
    if (full < 0).any():
        raise InvalidPredictionError("negative probabilities")
    largest = full.max(axis=1, keepdims=True)
    if not largest.all():
        raise InvalidPredictionError("rows of zeros only")
    full /= largest  # first, so that no sum overflows
    full /= full.sum(axis=1, keepdims=True)
    return full.astype(np.float32)
