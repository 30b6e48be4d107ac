"""Bayesian optimization with a random forest and expected improvement (DivBO paper, BO)."""

from typing import Any

import numpy as np
from pydantic import Field, field_validator

from ensemble_search.optimizers._model_based import batches
from ensemble_search.optimizers._model_based.acquisition import (
    Candidates,
    ascend,
    expected_improvement,
    first_new,
    log_improvement,
    propose,
)
from ensemble_search.optimizers.base import History, Suggestion, random_new
from ensemble_search.runtime import plugins
from ensemble_search.runtime.errors import UserError
from ensemble_search.spaces.base import Space


class BayesianOptimization(batches.BatchOptimizer):
    """Random forest, expected improvement, and candidates from local and random sampling.

    The first ``initial`` configurations are random, or of another ``design``; later ones are random
    with probability ``interleave``. All others are suggested as follows:

    1. A probabilistic random forest is fitted to all errors (:attr:`History.errors`: a failed
       evaluation counts as the worst successful one).
    2. Up to ``local`` hill climbs start from evaluated configurations and move to the best
       neighbour until none is better, or for 20 moves. Their end points and uniform draws are the
       ``candidates``.
    3. The new candidate with the largest expected improvement over the lowest error is suggested;
       ties are broken at random.

    The defaults are those of the DivBO paper (BO), except for ``interleave``, which is 0 in the
    paper and 0.2 in the authors' code (where ``initial`` is 10). Interleaved draws make a search
    try algorithms that it would otherwise neglect.

    With ``batch``, that many configurations are suggested from the same results. Pending ones count
    as the median error (OpenBox's rule), which keeps the next suggestion away from them. The result
    depends on ``batch``, not on the number of workers.

    ``why``: ``origin`` (``initial``, ``random``, ``local``, or ``fallback`` if every candidate has
    been evaluated), ``expected_improvement``, ``mean``, ``std``.
    """

    surrogate: str = Field(
        "random-forest", description="Performance model, defined in surrogates/."
    )
    candidates: int = Field(5000, ge=1, description="Number of candidates per suggestion.")
    local: int = Field(
        50,
        ge=0,
        description="Maximum number of hill climbs, which start from evaluated configurations.",
    )
    interleave: float = Field(
        0.2, ge=0, le=1, description="Probability that a random configuration is suggested."
    )
    ascents: int = Field(
        0,
        ge=0,
        description="Number of the best candidates from which gradient ascent on the "
        "expected improvement starts, if the surrogate has gradients "
        "(gaussian-process). Above 0, candidates are drawn as a Sobol sequence.",
    )

    @field_validator("surrogate")
    @classmethod
    def _predicts_errors(cls, name: str) -> str:
        """Reject a surrogate that does not exist or does not predict errors."""
        from ensemble_search.surrogates.base import PerformanceSurrogate

        return surrogate_name(name, PerformanceSurrogate, "no errors; random-forest")

    def check_space(self, space: Space) -> None:
        """Reject conditions that the surrogate or the design does not support."""
        super().check_space(space)
        if not plugins.load("surrogates", self.surrogate).suits_conditions and space.conditional:
            raise UserError(
                f"surrogate: '{self.surrogate}' needs a space without conditions, and "
                f"'{space.name}' has some; take random-forest"
            )

    @property
    def modules(self) -> list[str]:
        """The performance surrogate's module."""
        return [plugins.module_name("surrogates", self.surrogate)]

    def suggest(self, history: History, rng: np.random.Generator) -> Suggestion:
        """Suggest the cheapest new candidate by :meth:`rank`, or a random configuration."""
        if first := self.first(history, rng):
            return first
        # One generator per purpose, so that DivBO's draws for its second surrogate do not change
        # the forest or the candidates of BO.
        fit, climb, ties, more = (np.random.default_rng(s) for s in rng.integers(2**63, size=4))
        if self.interleave and more.random() < self.interleave:
            return Suggestion(random_new(history, more), {"origin": "random"})

        targets = self.targets(history)
        surrogate = plugins.load("surrogates", self.surrogate)()
        model = surrogate.fit(history.vectors, targets, history.space.categories, fit)
        best = targets.min()

        def improvement(vectors: np.ndarray) -> np.ndarray:
            mean, std = model(vectors)
            return expected_improvement(mean, std, best)

        starts = self._starts(history, improvement, ties)
        candidates = propose(
            history.space,
            starts,
            improvement,
            climb,
            size=self.candidates,
            sobol=self.ascents > 0,
        )
        if not len(candidates.points):  # the Sobol points were all forbidden
            return Suggestion(random_new(history, more), {"origin": "fallback"})
        mean, std = model(candidates.vectors)
        gain = expected_improvement(mean, std, best)
        if self.ascents and hasattr(model, "gradients") and not history.space.conditional:

            def slope(vector: np.ndarray) -> tuple[float, np.ndarray]:
                mean, std, *slopes = model.gradients(vector)
                return log_improvement(mean, std, slopes[0], slopes[1], best)

            highest = np.argsort(-gain, kind="stable")[: self.ascents]
            ends = ascend(history.space, candidates.points[highest[gain[highest] > 0]], slope)
            candidates = candidates.extended(ends, history.space)
            added = model(candidates.vectors[: len(ends)])
            mean, std = (np.concatenate(pair) for pair in zip(added, (mean, std), strict=True))
            gain = expected_improvement(mean, std, best)
        cost, columns, facts = self.rank(history, candidates, gain, more)
        chosen = first_new(history.space, candidates.points, cost, history.seen, ties)
        if chosen is None:
            return Suggestion(random_new(history, more), {"origin": "fallback"})
        i, configuration = chosen
        columns = {"expected_improvement": gain, "mean": mean, "std": std, **columns}
        why: dict[str, Any] = {"origin": "local" if i < candidates.n_local else "random"}
        why |= {name: float(values[i]) for name, values in columns.items()}
        return Suggestion(configuration, why | facts)

    def targets(self, history: History) -> np.ndarray:
        """Return the targets that the forest learns and improves on: the errors, of shape (n,)."""
        return history.errors

    def rank(
        self,
        history: History,
        candidates: Candidates,
        improvement: np.ndarray,
        rng: np.random.Generator,
    ) -> tuple[np.ndarray, dict[str, np.ndarray], dict[str, Any]]:
        """Return the cost of each candidate: minus its expected improvement.

        Parameters
        ----------
        improvement
            Expected improvement of the candidates, of shape (n,).

        Returns
        -------
        cost
            Of shape (n,); the cheapest candidate is suggested.
        columns
            Values of all candidates, of shape (n,); those of the chosen one are stored as reasons.
        facts
            Other reasons, as JSON values.
        """
        return -improvement, {}, {}

    def _starts(self, history: History, improvement, rng: np.random.Generator) -> list:
        """Evaluated configurations to climb from, most promising first, ties in random order."""
        gain = improvement(history.vectors)
        order = np.lexsort((rng.random(len(gain)), -gain))[: self.local]
        return list(dict.fromkeys(history.observations[i].configuration for i in order))


def surrogate_name(name: str, kind: type, otherwise: str) -> str:
    """Return ``name`` if a surrogate of this kind has it.

    Raises
    ------
    ValueError
        If it does not exist, or predicts something else.
    """
    if not issubclass(plugins.checked("surrogates", name), kind):
        raise ValueError(f"'{name}' predicts {otherwise} is one that does")
    return name
