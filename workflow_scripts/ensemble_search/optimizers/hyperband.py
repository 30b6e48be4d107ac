"""Hyperband (Li et al., JMLR 2018)."""

from collections.abc import Sequence

from ensemble_search.optimizers._model_based import brackets


class Hyperband(brackets.BracketOptimizer):
    """Random search in brackets of successive halving, from many small fits to few on all rows.

    A bracket begins with random configurations on a share of the training rows. The best in
    ``eta`` of them are promoted to a share ``eta`` times as large, and so on to all rows. Brackets
    begin at ever larger shares, the last one at all rows; then comes the first again. By default:

    ========  ==========  ==========  =========  =========
    bracket   1/27        1/9         1/3        1
    ========  ==========  ==========  =========  =========
    1         27          9           3          1
    2                     12          4          1
    3                                 6          2
    4                                            4
    ========  ==========  ==========  =========  =========
    """

    @property
    def schedule(self) -> Sequence[brackets.Bracket]:
        """Hyperband's brackets."""
        return brackets.brackets(self.eta, self.deepest)
