"""Diversity-aware Bayesian optimization (DivBO paper, Algorithm 1)."""

from typing import Any

import numpy as np
from pydantic import Field, field_validator, model_validator

from ensemble_search.ensembles.greedy.base import Ties
from ensemble_search.ensembles.selection import select
from ensemble_search.optimizers._model_based.acquisition import Candidates, descending_ranks
from ensemble_search.optimizers.base import History
from ensemble_search.optimizers.bo import BayesianOptimization, surrogate_name
from ensemble_search.problems.diversity import pairwise
from ensemble_search.runtime import plugins

#: Above this, ranks by expected improvement would be lost in rounding.
LARGEST = 1e6


class DivBO(BayesianOptimization):
    """BO that also seeks models that differ from the current ensemble's members (DivBO paper).

    It has the settings and candidates of ``bo``: with ``beta: 0``, both suggest the same.

    1. Temporary ensemble (the paper's pool): the unique members after ``pool`` rounds of ensemble
       selection over all successful evaluations. Ties are broken by ``ties``, with new random draws
       at every suggestion.
    2. The diversity surrogate is fitted to the diversities of all pairs of successful evaluations,
       Div(x, x') = mean over validation samples of ||p - p'||_2 / sqrt(2) (Eq. 3).
    3. Diversity acquisition (Eq. 4): mean over samples of the smallest diversity to a member of
       this ensemble. Each model in the surrogate predicts one sample: the spread of these
       predictions is the only uncertainty, and it preserves the dependence between pairs.
    4. The candidate with the lowest R_improvement + w * R_diversity is suggested; rank 1 is best,
       and tied candidates get their mean rank. w = beta * (sigmoid(tau * t) - 1/2) for t
       observations (Eq. 5), rising from 0 towards beta / 2, or the constant ``weight``. If all
       candidates have the same expected improvement, w is 0 and the suggestion is random, as in
       ``bo``; otherwise, diversity alone would decide.

    ``why`` is as in ``bo``, plus ``diversity``, ``rank_performance``, ``rank_diversity``,
    ``weight``, ``pool`` (number of members) and ``members`` (their iterations).
    """

    beta: float = Field(
        0.05, ge=0, le=LARGEST, description="The weight of diversity approaches beta / 2."
    )
    tau: float = Field(0.2, ge=0, le=LARGEST, description="How fast the weight of diversity grows.")
    weight: float | None = Field(
        None,
        ge=0,
        le=LARGEST,
        description="A constant weight instead of the schedule (paper, Table 8).",
    )
    pool: int = Field(25, ge=1, le=1000, description="Number of rounds of ensemble selection.")
    ties: Ties = Field(
        "random", description="How these rounds break ties, as in the ensemble 'selection'."
    )
    diversity_surrogate: str = Field(
        "forest-kernel", description="Diversity model, defined in surrogates/."
    )

    @field_validator("diversity_surrogate")
    @classmethod
    def _predicts_diversity(cls, name: str) -> str:
        """Reject a surrogate that does not exist or does not predict diversity."""
        from ensemble_search.surrogates.base import DiversitySurrogate

        return surrogate_name(name, DiversitySurrogate, "no diversity; forest-kernel")

    @model_validator(mode="after")
    def _one_weight(self) -> "DivBO":
        """Reject settings of the schedule together with a constant weight."""
        if self.weight is not None:
            for name in ("beta", "tau"):
                if getattr(self, name) != type(self).model_fields[name].default:
                    raise ValueError(f"'weight' is constant: remove '{name}', or 'weight'")
        return self

    @property
    def modules(self) -> list[str]:
        """The modules of both surrogates."""
        return [*super().modules, plugins.module_name("surrogates", self.diversity_surrogate)]

    def rank(
        self,
        history: History,
        candidates: Candidates,
        improvement: np.ndarray,
        rng: np.random.Generator,
    ) -> tuple[np.ndarray, dict[str, np.ndarray], dict[str, Any]]:
        """Add the weighted ranks of expected improvement and predicted diversity (Algorithm 1)."""
        predictions = [history.observations[i].prediction for i in history.ok]
        members = select(
            predictions,
            history.labels,
            size=self.pool,
            seed=int(rng.integers(2**31)),
            ties=self.ties,
            metric=history.problem.metric,
        ).indices
        vectors = history.vectors[history.ok].astype(np.float32)
        matrix = pairwise(predictions, history.problem)
        model = plugins.load("surrogates", self.diversity_surrogate)().fit(
            vectors, matrix, history.space.categories, rng
        )
        diversity = nearest(model(candidates.vectors, vectors[members]))
        weight = self.weight
        if weight is None:
            weight = diversity_weight(len(history), self.beta, self.tau)
        if improvement.min() == improvement.max():
            weight = 0.0
        by_performance = descending_ranks(improvement)
        by_diversity = descending_ranks(diversity)
        columns = {
            "diversity": diversity,
            "rank_performance": by_performance,
            "rank_diversity": by_diversity,
        }
        iterations = [int(i) + 1 for i in history.ok[members]]  # as in members.parquet
        facts = {"weight": weight, "pool": len(members), "members": iterations}
        # Round, so that equal sums of half ranks tie regardless of the weight's last bit.
        return np.round(by_performance + weight * by_diversity, 9), columns, facts


def diversity_weight(observations: int, beta: float, tau: float) -> float:
    """Return the weight of diversity after ``observations`` (Eq. 5), in [0, beta / 2)."""
    return beta * (1 / (1 + float(np.exp(-tau * observations))) - 0.5)


def nearest(samples: np.ndarray) -> np.ndarray:
    """Diversity acquisition (Eq. 4): mean over the samples of the minimum over the members.

    Parameters
    ----------
    samples
        Diversities of shape (n_samples, n_candidates, n_members).
    """
    return samples.min(axis=2).mean(axis=0)
