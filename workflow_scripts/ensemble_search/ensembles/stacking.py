"""Stacking: a model that learns to combine the best evaluations (DivBO paper, Table 9)."""

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from pydantic import Field

from ensemble_search.data.rows import strata
from ensemble_search.ensembles.base import Ensemble, Members, Pool, Refit, lowest
from ensemble_search.problems.base import Problem
from ensemble_search.runtime.errors import UserError
from ensemble_search.runtime.names import CLASSIFICATION

#: The second-level model, as in MindWare, the system of the DivBO paper.
MODEL = {"max_depth": 4, "learning_rate": 0.05, "n_estimators": 150}


class Stacking(Ensemble):
    """LightGBM on out-of-fold predictions of the evaluations with the lowest validation errors.

    Each pipeline, including its rescaler and preprocessor, is refitted on the training rows once
    per fold, with that fold held out (scikit-learn's StratifiedKFold, the same folds for all
    searches of a repeat). The second level, 150 trees of depth 4 with learning rate 0.05 as in
    MindWare, is fitted on the out-of-fold predictions: with two classes, the probability of class
    1; otherwise, one column per class and pipeline. For other rows, it gets the mean over the
    folds' models. Nothing is fitted on validation rows. Evaluations whose refit failed are left
    out; if none remains, the ensemble is the best evaluation. Weights in ``members.parquet`` are
    equal and have no meaning.

    If validation uses folds, the second level is fitted on the search's own out-of-fold
    predictions, and ``folds`` has no effect; its validation predictions are out-of-fold on the same
    folds.

    Attributes
    ----------
    size
        Members; default 5, as in the DivBO paper; fewer if fewer have succeeded.
    folds
        Number of folds; default 5, as in the DivBO paper; stratified, shuffled with the pool's
        seed.
    """

    refits: ClassVar[bool] = True
    size: int = Field(5, ge=1)
    folds: int = Field(5, ge=2)

    def lacks(self, classes: Sequence[int]) -> str:
        """See :meth:`Ensemble.lacks`."""
        return lacking(self.folds, classes)

    def build(self, pool: Pool) -> Members | None:
        """See :meth:`Ensemble.build`."""
        top = lowest(pool.errors, self.size)
        if not len(top):
            return None
        assert pool.refit is not None
        assert pool.train_labels is not None
        refits = dict(zip(top, pool.refit(top.tolist(), self._held(pool)), strict=True))
        kept = [i for i in top if refits[i] is not None]
        if not kept:
            return Members(top[[pool.errors[top].argmin()]], np.ones(1))
        weights = np.full(len(kept), 1 / len(kept))
        fitted = tuple(refit for i in kept if (refit := refits[i]) is not None)
        return _Stack(
            np.array(kept), weights, fitted, pool.train_labels, pool.seed, pool.problem, pool.folds
        )

    def unfitted(self, members: Members, pool: Pool) -> np.ndarray:
        """See :meth:`Ensemble.unfitted`."""
        top = lowest(pool.errors, self.size)
        return np.setdiff1d(top, members.indices) if isinstance(members, _Stack) else top

    def after_each_success(self, pool: Pool) -> Iterator[Members | None]:
        """See :meth:`Ensemble.after_each_success`; refits each evaluation that is ever a member."""
        prefixes = (lowest(pool.errors[:n], self.size) for n in range(1, len(pool.errors) + 1))
        needed = sorted({int(i) for top in prefixes for i in top})
        if not needed:
            return
        assert pool.refit is not None
        refits = dict(zip(needed, pool.refit(needed, self._held(pool)), strict=True))
        yield from super().after_each_success(
            replace(pool, refit=lambda indices, held: [refits[i] for i in indices])
        )

    def _held(self, pool: Pool) -> list[np.ndarray]:
        """Return the rows of each fold; empty if the search's own folds are used."""
        if pool.folds is not None:
            return []
        assert pool.train_labels is not None
        return held_out(pool.train_labels, self.folds, pool.seed)


def lacking(folds: int, classes: Sequence[int]) -> str:
    """See :meth:`Ensemble.lacks`: at least one class needs as many rows as there are folds."""
    if max(classes) >= folds:
        return ""
    need, there = ("a class with ", "the largest has") if len(classes) > 1 else ("", "there are")
    return (
        f"folds: {folds} folds need {need}as many training rows; {there} {max(classes)}; "
        "lower folds"
    )


def held_out(labels: np.ndarray, folds: int, seed: int) -> list[np.ndarray]:
    """Return the rows of every fold: scikit-learn's ``StratifiedKFold``, shuffled with ``seed``.

    In regression, all rows form a single class.

    Raises
    ------
    UserError
        If no class has as many rows as there are folds.
    """
    from sklearn.model_selection import StratifiedKFold

    labels = strata(labels)
    if lack := lacking(folds, np.bincount(labels).tolist()):
        raise UserError(f"ensemble.{lack}")
    splitter = StratifiedKFold(folds, shuffle=True, random_state=seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about classes that are missing in some folds
        return [held for _, held in splitter.split(np.empty((len(labels), 0)), labels)]


@dataclass(frozen=True, eq=False)
class _Stack(Members):
    """Members whose predictions a model combines; the equal weights are unused."""

    combination = None
    refits: tuple[Refit, ...]  #: refits of the members
    train_labels: np.ndarray  #: of shape (n_train,)
    seed: int  #: seed of the model
    problem: Problem  #: problem type
    #: Fold of every training row, if these are the validation rows; else None.
    folds: np.ndarray | None = None

    def predict_both(
        self, validation: np.ndarray, test: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """See :meth:`Members.predict_both`; only predictions of the refits are used."""
        X, y, columns = self._features("out_of_fold"), self.train_labels, validation.shape[2]
        problem = self.problem

        def predict(rows: np.ndarray | slice, others: np.ndarray) -> np.ndarray:
            from lightgbm import LGBMClassifier, LGBMRegressor

            kind: Any = LGBMClassifier if problem.task == CLASSIFICATION else LGBMRegressor
            model = kind(**MODEL, random_state=self.seed, n_jobs=1, deterministic=True, verbose=-1)
            model.fit(X[rows], y[rows])
            return problem.compress(problem.predict(model, others, max(columns, 2)))

        everything = slice(None)
        test = predict(everything, self._features("test"))
        if self.folds is None:
            return predict(everything, self._features("validation")), test
        out_of_fold = np.empty((len(y), columns), np.float32)
        for held in (self.folds == number for number in range(self.folds.max() + 1)):
            out_of_fold[held] = predict(~held, X[held])
        return out_of_fold, test

    def total_seconds(self, predict_seconds: np.ndarray) -> float:
        """See :meth:`Members.total_seconds`; every member predicts with the models of all folds."""
        return float(sum(refit.predict_seconds for refit in self.refits))

    def _features(self, part: str) -> np.ndarray:
        """Predictions of the members side by side, of shape (n_samples, members * n_columns)."""
        return np.hstack([getattr(refit, part) for refit in self.refits]).astype(float)
