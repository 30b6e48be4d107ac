"""Successive halving (Jamieson & Talwalkar, AISTATS 2016)."""

from collections.abc import Sequence

from ensemble_search.optimizers._model_based import brackets


class SuccessiveHalving(brackets.BracketOptimizer):
    """Hyperband's first bracket, again and again: by default 27, 9, 3, 1 configurations."""

    @property
    def schedule(self) -> Sequence[brackets.Bracket]:
        """The bracket with the most configurations."""
        return brackets.brackets(self.eta, self.deepest)[:1]
