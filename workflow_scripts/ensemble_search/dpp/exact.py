"""Exact sampling, inclusion probabilities and normalisers of DPPs and k-DPPs on finite sets.

An L-ensemble gives a set A of items a probability proportional to det(L_A), where
L_ij = q_i S_ij q_j has qualities q and similarities S. A k-DPP is the same given that A has k items
(Kulesza and Taskar, "k-DPPs: fixed-size determinantal point processes", 2011, and "Determinantal
point processes for machine learning", 2012).
"""

from dataclasses import dataclass, field, replace

import numpy as np

from ensemble_search.dpp.elementary import Elementary, heads, log_scale
from ensemble_search.dpp.kernels import (
    ROUNDING,
    check_quality,
    check_similarity,
    not_semidefinite,
)
from ensemble_search.dpp.residuals import Residuals
from ensemble_search.runtime.errors import UserError

#: Qualities below this part of the largest one need singular values with relative accuracy.
GRADED = 1e-3


@dataclass(frozen=True, eq=False)
class LEnsemble:
    """An L-ensemble by its eigenvalues and eigenvectors.

    In all methods, ``k=None`` means the DPP, whose sets have any size, and an integer the k-DPP;
    ``UserError`` if k is not from 1 to the rank.

    Parameters
    ----------
    log_values
        Logarithms of the positive eigenvalues of L, (rank,).
    vectors
        Their orthonormal eigenvectors, (N, rank).
    """

    log_values: np.ndarray
    vectors: np.ndarray
    _of_size: dict[int, Elementary] = field(default_factory=dict, init=False, repr=False)

    def _elementary(self, k: int) -> Elementary:
        """Those of the last k are kept, for many draws."""
        if k not in self._of_size:
            self._of_size.clear()
            self._of_size[k] = Elementary(self.log_values, k)
        return self._of_size[k]

    @classmethod
    def from_similarity(
        cls, similarity: np.ndarray, quality: np.ndarray | None = None
    ) -> "LEnsemble":
        """Decompose L = diag(q) S diag(q); O(N^3).

        Eigenvalues of S that are not above rounding (N times the machine precision times the
        largest one) or above the size of the most negative one count as 0: the rank is a numerical
        one. Items of quality 0 are left out; other qualities do not change the rank, however small.

        Parameters
        ----------
        similarity
            S, (N, N), symmetric and positive semidefinite.
        quality
            q, (N,), not negative; default all 1.

        Raises
        ------
        UserError
            If S is not symmetric or positive semidefinite beyond rounding (1e-6 of the largest
            entry or eigenvalue), anything is not finite, or a quality is negative.
        """
        similarity = check_similarity(similarity)
        quality = check_quality(quality, len(similarity))
        items = np.flatnonzero(quality)
        if not len(items):
            return cls(np.empty(0), np.empty((len(quality), 0)))
        values, vectors = np.linalg.eigh(similarity[np.ix_(items, items)])
        values, vectors = values[::-1], vectors[:, ::-1]
        if values[-1] < -ROUNDING * np.abs(values).max():
            raise not_semidefinite(values[-1])
        noise = len(values) * np.finfo(float).eps * max(values[0], 0)
        keep = values > max(noise, -values[-1])
        return cls._weighted(vectors[:, keep], np.sqrt(values[keep]), quality, items)

    @classmethod
    def from_features(cls, features: np.ndarray, quality: np.ndarray | None = None) -> "LEnsemble":
        """Decompose L = diag(q) B B^T diag(q) of low rank without forming it; O(N D^2).

        This is the dual form. The singular values of B rather than the eigenvalues of B^T B are
        computed, so that eigenvalues of B B^T down to 1e-24 of the largest one count at N = 3000.

        Parameters
        ----------
        features
            B, (N, D); the similarity of two items is the inner product of their rows.
        quality
            q, (N,), not negative; default all 1.

        Raises
        ------
        UserError
            If B has no two dimensions, anything is not finite, or a quality is negative.
        """
        features = np.asarray(features, float)
        if features.ndim != 2 or not features.size:
            raise UserError(f"features must be a matrix, have the shape {features.shape}")
        if not np.isfinite(features).all():
            raise UserError("features must be finite")
        quality = check_quality(quality, len(features))
        items = np.flatnonzero(quality)
        if not len(items):
            return cls(np.empty(0), np.empty((len(quality), 0)))
        vectors, values, _ = np.linalg.svd(features[items], full_matrices=False)
        keep = values > max(features.shape) * np.finfo(float).eps * values[0]
        return cls._weighted(vectors[:, keep], values[keep], quality, items)

    @classmethod
    def _weighted(
        cls, vectors: np.ndarray, values: np.ndarray, quality: np.ndarray, items: np.ndarray
    ) -> "LEnsemble":
        """Weigh items whose similarity has these eigenvectors and roots of its eigenvalues."""
        most = quality.max()
        weights = quality[items] / most
        if weights.min() == 1:
            pass
        elif weights.min() > GRADED:
            vectors, values, _ = np.linalg.svd(
                weights[:, None] * (vectors * values), full_matrices=False
            )
        else:
            vectors, values = _graded(weights[:, None] * (vectors * values))
        whole = np.zeros((len(quality), len(values)))
        whole[items] = vectors
        return cls(2 * (np.log(values) + np.log(most)), whole)

    @property
    def rank(self) -> int:
        """Number of positive eigenvalues: sets are no larger."""
        return len(self.log_values)

    def expected_size(self) -> float:
        """Compute the expected number of items of the DPP."""
        return float(heads(self.log_values).sum())

    def of_expected_size(self, size: float) -> "LEnsemble":
        """Scale L so that the DPP has an expected size, between 0 and the rank (``UserError``)."""
        scale = log_scale(self.log_values, size)
        return replace(self, log_values=self.log_values + scale)

    def log_normaliser(self, k: int | None = None) -> float:
        """Compute the log of the sum of det(L_A): log det(L + I), or log e_k of the eigenvalues."""
        if k is None:
            return float(np.logaddexp(0, self.log_values).sum())
        return self._elementary(k).log()

    def inclusion(self, k: int | None = None) -> np.ndarray:
        """Compute the probability that each item is in a drawn set, (N,)."""
        weights = heads(self.log_values) if k is None else self._elementary(k).inclusion()
        return np.minimum(self.vectors**2 @ weights, 1)

    def sample(self, rng: np.random.Generator, k: int | None = None) -> np.ndarray:
        """Draw a set; O(N k^2) once decomposed.

        The same generator state gives the same items on the same machine. Eigenvectors of equal
        eigenvalues are arbitrary: another LAPACK may then draw another set, of the same law.

        Returns
        -------
        np.ndarray
            Items, (k,), different ones, in random order. The first j are *not* a j-DPP.
        """
        if k is None:
            chosen = np.flatnonzero(rng.random(self.rank) < heads(self.log_values))
        else:
            chosen = self._elementary(k).draw(rng)
        vectors = self.vectors[:, chosen]
        residuals = Residuals(
            (vectors**2).sum(axis=1), lambda item: vectors @ vectors[item], len(chosen)
        )
        items = []
        for _ in chosen:
            items.append(residuals.draw(rng))
            residuals.choose(items[-1])
        return np.array(items, dtype=int)


def _graded(matrix: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Left singular vectors and values, each accurate to many digits whatever the rows' scales.

    One-sided Jacobi rotations (Drmač and Veselić, "New fast and accurate Jacobi SVD algorithm",
    2008); the usual algorithms lose what is below the machine precision times the largest value.
    """
    from scipy.linalg.lapack import dgejsv

    # Scaling of rows and columns allowed for; left vectors; tiny values are not set to 0.
    values, vectors, _, scales, _, info = dgejsv(matrix, joba=2, jobu=0, jobv=3, jobr=0, jobp=1)
    if info:
        raise UserError("the kernel cannot be decomposed; take a smaller range of qualities")
    return vectors, values * (scales[0] / scales[1])
