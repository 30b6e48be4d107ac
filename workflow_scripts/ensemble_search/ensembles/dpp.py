"""Accurate and diverse members by a determinantal point process (Kulesza and Taskar, 2012)."""

from collections.abc import Callable, Iterator
from typing import Literal

import numpy as np
from pydantic import Field, model_validator

from ensemble_search.dpp.exact import LEnsemble
from ensemble_search.dpp.greedy import greedy_map
from ensemble_search.ensembles.base import Ensemble, Members, Pool
from ensemble_search.metrics.base import predicted_labels
from ensemble_search.runtime.errors import UserError
from ensemble_search.runtime.names import CLASSIFICATION, REGRESSION

#: Accuracies are at least LEAST, and their powers relative to the best at least LEAST_POWER (not 0
#: in float64), so that neither excludes an evaluation.
LEAST, LEAST_POWER = 1e-3, 1e-300


class Dpp(Ensemble):
    """A set of evaluations with a large det(L), L_ij = q_i S_ij q_j, and equal weights.

    q is the validation accuracy (other metrics: 1 - loss / worst loss), at least 0.001, to the
    power ``power``; relative to the best, this is at least 1e-300. S is the similarity of two
    evaluations' predictions of the validation rows. ``correctness`` and ``residuals`` are (1 + r) /
    2 for a correlation r, because a determinant depends on squares and would treat opposites, r =
    -1, as duplicates. r is 0 for an evaluation that is right on all or no rows, but 1 for two of
    the same kind; ``double-fault`` is likewise 1 for two that are right on all rows. Probabilities
    are averaged with equal weights.

    Attributes
    ----------
    size
        Number of members. Default 25. Fewer if fewer evaluations succeeded, or if S has a lower
        rank, as with duplicates.
    choice
        ``map`` (default): greedily add the evaluation that increases the determinant most.
        ``k-dpp``: a random set of ``size`` with probability proportional to the determinant.
        ``dpp``: the same with a random size, whose expectation is ``size`` before empty sets are
        redrawn; redrawing raises it to up to 1.6 for size 1, 2.3 for 2 and 3.2 for 3. ``uniform``:
        a uniformly random set of ``size``, as a baseline. Random sets are redrawn after every
        success, from the seed and the number of successes.
    similarity
        ``agreement`` (default in classification): share of rows with the same predicted label.
        ``correctness``: (1 + correlation) / 2 of the vectors that mark the rows predicted
        correctly. ``double-fault``: number of rows that both get wrong, over the geometric mean of
        the numbers that each gets wrong. ``mutual-information``: that of the predicted labels, over
        the geometric mean of their entropies, with negative eigenvalues set to 0. ``residuals``
        (the default and only choice in regression): (1 + correlation) / 2 of the residuals.
    power
        Exponent of the accuracy, default 1; 0 ignores accuracy, larger values prefer accurate
        members.
    """

    size: int = Field(25, ge=1, le=1000)
    choice: Literal["map", "k-dpp", "dpp", "uniform"] = "map"
    similarity: (
        Literal["agreement", "correctness", "double-fault", "mutual-information", "residuals"]
        | None
    ) = None
    power: float = Field(1.0, ge=0, le=1000)

    @model_validator(mode="after")
    def _uniform_has_no_kernel(self):
        if self.choice == "uniform" and (self.similarity or self.power != 1):
            raise ValueError("choice 'uniform' ignores similarity and power: remove them")
        return self

    @property
    def similarity_task(self) -> str | None:
        """The only task that the similarity supports."""
        if self.similarity is None:
            return None
        return REGRESSION if self.similarity == "residuals" else CLASSIFICATION

    def build(self, pool: Pool) -> Members | None:
        """See :meth:`Ensemble.build`."""
        ok = np.flatnonzero(~np.isnan(pool.errors))
        return self._build(pool, ok, self._similarities(pool, ok)) if len(ok) else None

    def after_each_success(self, pool: Pool) -> Iterator[Members | None]:
        """See :meth:`Ensemble.after_each_success`; similarities are computed once."""
        ok = np.flatnonzero(~np.isnan(pool.errors))
        similarities = self._similarities(pool, ok)
        for n in range(1, len(ok) + 1):
            yield self._build(pool, ok[:n], similarities[:n, :n])

    def _similarities(self, pool: Pool, ok: np.ndarray) -> np.ndarray:
        """Similarities of the successes; those of a prefix are the leading block."""
        if self.choice == "uniform":
            return np.zeros((len(ok), len(ok)))
        task = pool.problem.task
        if self.similarity_task not in (None, task):
            raise UserError(f"similarity '{self.similarity}' is not made for a {task}")
        default = "residuals" if task == REGRESSION else "agreement"
        return SIMILARITIES[self.similarity or default](pool.predictions[ok], pool.labels)

    def _build(self, pool: Pool, ok: np.ndarray, similarity: np.ndarray) -> Members:
        size, rng = min(self.size, len(ok)), np.random.default_rng([pool.seed, len(ok)])
        if self.choice == "uniform":
            chosen = rng.choice(len(ok), size, replace=False)
        else:
            if self.similarity == "mutual-information":
                similarity = projected(similarity)
            accuracies = np.maximum(1 - pool.errors[ok] / pool.worst, LEAST)
            # The scale of L does not matter.
            quality = np.maximum((accuracies / accuracies.max()) ** self.power, LEAST_POWER)
            if self.choice == "map":
                chosen = greedy_map(similarity, size, quality)
            else:
                chosen = self._draw(LEnsemble.from_similarity(similarity, quality), rng)
        return Members(np.sort(ok[chosen]), np.full(len(chosen), 1 / len(chosen)))

    def _draw(self, kernel: LEnsemble, rng: np.random.Generator) -> np.ndarray:
        if self.choice == "k-dpp" or kernel.rank <= self.size:
            return kernel.sample(rng, min(self.size, kernel.rank))
        kernel = kernel.of_expected_size(self.size)
        while not len(items := kernel.sample(rng)):
            pass
        return items


def agreement(predictions: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Share of rows with the same predicted label, (n, n): a Gram matrix of one-hot labels.

    Parameters
    ----------
    predictions, labels
        As in :class:`Pool`, for successes only: (n, rows, columns) and (rows,). The other
        similarities take the same; all have ones on the diagonal.
    """
    predicted = _labels(predictions)
    counts = np.zeros((len(predicted), len(predicted)), dtype=np.float32)
    for label in np.unique(predicted):
        same = (predicted == label).astype(np.float32)
        counts += same @ same.T
    return counts.astype(float) / len(labels)


def correctness(predictions: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Correlation r of the vectors of correctly predicted rows, as (1 + r) / 2.

    For a vector without variance, r is 0, but 1 with an equal vector, because duplicates are
    similar.
    """
    return _correlation((_labels(predictions) == labels).astype(float))


def double_fault(predictions: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Number of rows that both get wrong, over the geometric mean of what each gets wrong.

    It is 0 for an evaluation without wrong rows, but 1 for two such evaluations.
    """
    return _cosine((_labels(predictions) != labels).astype(float))


def mutual_information(predictions: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Mutual information of predicted labels, over the geometric mean of the entropies.

    Constant labels have 1 with each other and 0 with all others. The matrix is not positive
    semidefinite in general; see :func:`projected`.
    """
    predicted = _labels(predictions)
    n, n_labels = len(predicted), int(predicted.max(initial=0)) + 1
    joint = np.zeros((n, n))
    for i, one in enumerate(predicted):
        cells = predicted[: i + 1] * n_labels + one + np.arange(i + 1)[:, None] * n_labels**2
        counts = np.bincount(cells.ravel(), minlength=(i + 1) * n_labels**2)
        joint[i, : i + 1] = joint[: i + 1, i] = _entropy(counts.reshape(i + 1, -1) / len(labels))
    single = joint.diagonal()  # the joint entropy of a label and itself
    information = np.maximum(single[:, None] + single - joint, 0)
    scale = np.sqrt(single[:, None] * single)
    both_constant = (single[:, None] + single == 0).astype(float)
    result = np.divide(information, scale, out=both_constant, where=scale > 0)
    np.fill_diagonal(result, 1)
    return result


def residuals(predictions: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Correlation r of regression residuals, as (1 + r) / 2; see :func:`correctness`."""
    return _correlation(predictions[:, :, 0] - labels.astype(float))


SIMILARITIES: dict[str, Callable[[np.ndarray, np.ndarray], np.ndarray]] = {
    "agreement": agreement,
    "correctness": correctness,
    "double-fault": double_fault,
    "mutual-information": mutual_information,
    "residuals": residuals,
}


def projected(similarity: np.ndarray) -> np.ndarray:
    """Set negative eigenvalues of a similarity to 0, then rescale its diagonal to 1."""
    values, vectors = np.linalg.eigh(similarity)
    if values[0] >= 0:
        return similarity
    vectors = vectors * np.sqrt(np.maximum(values, 0))
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    return vectors @ vectors.T


def _labels(predictions: np.ndarray) -> np.ndarray:
    """Predicted labels, (n, rows)."""
    shape = predictions.shape[:2]
    return np.array([predicted_labels(p) for p in predictions], dtype=int).reshape(shape)


def _correlation(vectors: np.ndarray) -> np.ndarray:
    """(1 + r) / 2 for the correlations r of rows: opposites, r = -1, get 0."""
    centred = vectors - vectors.mean(axis=1, keepdims=True)
    constant = np.ptp(vectors, axis=1) == 0
    centred[constant] = 0  # the mean of equal numbers may have a rounding error
    cosines = _cosine(centred)
    cosines[np.outer(constant, constant) & (vectors[:, :1] != vectors[:, 0])] = 0
    result = (1 + cosines) / 2
    np.fill_diagonal(result, 1)
    return result


def _cosine(vectors: np.ndarray) -> np.ndarray:
    """Cosines of rows; a row of zeros has 0, but 1 with other rows of zeros."""
    norms = np.linalg.norm(vectors, axis=1, keepdims=True)
    unit = np.divide(vectors, norms, out=np.zeros_like(vectors), where=norms > 0)
    zero = (norms[:, 0] == 0).astype(float)
    result = np.outer(zero, zero)
    for i, one in enumerate(unit):  # row by row, so that later rows do not change any bits
        result[i, : i + 1] += unit[: i + 1] @ one
        result[: i + 1, i] = result[i, : i + 1]
    np.fill_diagonal(result, 1)
    return result


def _entropy(shares: np.ndarray) -> np.ndarray:
    """Entropy in nats of the distributions in rows."""
    return -(shares * np.log(np.where(shares > 0, shares, 1))).sum(axis=1)
