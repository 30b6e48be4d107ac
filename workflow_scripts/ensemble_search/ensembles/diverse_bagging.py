"""The best pipeline, refitted on diverse bags of training rows (Dodge's proposal, Section 5)."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
from pydantic import Field, model_validator

from ensemble_search.data.subsets import diverse_bags, lacking_for_bags
from ensemble_search.ensembles.base import Ensemble, Members, Pool, Refit


class DiverseBagging(Ensemble):
    """The mean of several fits of the best pipeline so far, each on a bag of training rows.

    Based on Section 5.3 of Dodge's thesis proposal (2018). Rows are similar if their features are
    close and, in classification, their labels are the same. All evaluations use the same bags. If a
    refit fails, for example because a pipeline needs more rows, the ensemble is the evaluation
    itself.

    Attributes
    ----------
    bags
        Number of bags; default 5.
    share
        Training rows per bag, as a share of all; default 0.15.
    by
        How rows are drawn. ``k-dpp`` (default): one k-DPP draws the rows of all bags, which are
        then divided at random, so that bags are disjoint and their union is diverse. ``separate``:
        one bag after the other, by a k-DPP on the remaining rows. ``markov``: each bag by a k-DPP
        given the previous bag (Affandi, Kulesza and Fox, 2012). ``uniform``: each bag independently
        and uniformly (subagging).
    """

    refits: ClassVar[bool] = True
    needs_validation_part: ClassVar[bool] = True

    bags: int = Field(5, ge=2, le=1000)
    share: float = Field(0.15, gt=0, lt=1)
    by: Literal["k-dpp", "separate", "markov", "uniform"] = "k-dpp"

    @model_validator(mode="after")
    def _consistent(self) -> "DiverseBagging":
        if self.by in ("k-dpp", "separate") and self.bags * self.share > 1:
            raise ValueError(
                f"{self.bags} disjoint bags with a share of {self.share:g} each are more than all "
                "rows; lower bags or share"
            )
        if self.by == "markov" and self.share > 0.5:
            raise ValueError("share: at most 0.5 with by: markov; two bags in a row are disjoint")
        return self

    def lacks(self, classes: Sequence[int]) -> str:
        """See :meth:`Ensemble.lacks`."""
        return lacking_for_bags(sum(classes), self.bags, self.share, self.by)

    def build(self, pool: Pool) -> Members | None:
        """See :meth:`Ensemble.build`."""
        return [None, *self.after_each_success(pool)][-1]

    def unfitted(self, members: Members, pool: Pool) -> np.ndarray:
        """See :meth:`Ensemble.unfitted`."""
        return members.indices[:0] if isinstance(members, _Bags) else members.indices

    def after_each_success(self, pool: Pool) -> Iterator[Members | None]:
        """See :meth:`Ensemble.after_each_success`; refits each evaluation that is ever the best."""
        ok = np.flatnonzero(~np.isnan(pool.errors))
        if not len(ok):
            return
        best = [int(ok[pool.errors[ok[:n]].argmin()]) for n in range(1, len(ok) + 1)]
        needed = sorted(set(best))
        assert pool.refit is not None
        assert pool.train_inputs is not None
        assert pool.train_labels is not None
        rows = diverse_bags(
            pool.train_inputs, pool.train_labels, self.bags, self.share, self.by, pool.seed
        )
        everything = np.arange(len(pool.train_labels))
        held = [np.setdiff1d(everything, bag) for bag in rows]
        members = {
            i: _Bags(np.array([i]), np.ones(1), refit)
            if refit
            else Members(np.array([i]), np.ones(1))
            for i, refit in zip(needed, pool.refit(needed, held), strict=True)
        }
        yield from (members[i] for i in best)


@dataclass(frozen=True, eq=False)
class _Bags(Members):
    """The mean of the models of all bags."""

    combination = None
    refitted: Refit

    def predict_both(
        self, validation: np.ndarray, test: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """See :meth:`Members.predict_both`."""
        return self.refitted.validation, self.refitted.test

    def total_seconds(self, predict_seconds: np.ndarray) -> float:
        """See :meth:`Members.total_seconds`; the seconds of all models."""
        return self.refitted.predict_seconds
