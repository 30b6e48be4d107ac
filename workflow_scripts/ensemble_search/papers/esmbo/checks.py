"""Consequences of the numbers that the ESMBO paper prints."""

from typing import Any

import numpy as np
import pandas as pd

from ensemble_search.papers import printed


def spaces() -> dict[str, pd.DataFrame]:
    """Return Tables 2 and 3 by space: winning frequencies, methods × methods, and ``rank``."""
    found = {}
    for space, rows in printed.values("esmbo", "wins").items():
        wins = {method: [*row["wins"], row["rank"]] for method, row in rows.items()}
        found[space] = pd.DataFrame.from_dict(wins, orient="index", columns=[*rows, "rank"])
    return found


def data_sets(space: str) -> int:
    """Return the number of data sets of a space."""
    sets = printed.values("esmbo", "settings")["datasets"]
    regression = space == "svr" or space.endswith("regression")
    return sets["regression" if regression else "classification"]


def impossible_marks() -> list[list[Any]]:
    """Find pairs of methods with a mark that their winning frequency rules out for the sign test.

    Of the test on single iterations: the paper averages over the last 15. Considered are all
    numbers of wins, ties and losses at most half a win, and the rounding, away from the printed
    frequency. ``one`` or ``two`` (sides of the test), space, both methods, frequency, mark, and the
    lowest and highest p.
    """
    found = []
    for sides, factor in (("one", 1), ("two", 2)):
        for space, rows in printed.values("esmbo", "wins").items():
            for method, row in rows.items():
                for other, share, mark in zip(rows, row["wins"], row["marks"], strict=True):
                    p = np.minimum(1, factor * _sign_tests(share, data_sets(space)))
                    low, high = _limits(mark)
                    if share > 0.5 and not ((p >= low) & (p < high)).any():
                        names = [sides, space, method, other, share, mark or "none"]
                        found.append([*names, *(round(float(e), 3) for e in (p.min(), p.max()))])
    return found


def _sign_tests(share: float, datasets: int) -> np.ndarray:
    """One-sided p-values of all wins and losses that a winning frequency allows."""
    from scipy.stats import binom

    wins, losses = np.indices((datasets + 1, datasets + 1)).reshape(2, -1)
    off = np.abs((datasets + wins - losses) / 2 - datasets * share)
    kept = (wins + losses <= datasets) & (off <= 0.5 + 0.005 * datasets + 1e-9)
    return binom.sf(wins - 1, wins + losses, 0.5)[kept]


def _limits(mark: str) -> tuple[float, float]:
    """Limits of p with a mark; a single ∘ may be that of the other test, so p may be high, too."""
    light, full, _ = (limits[1] for limits in printed.values("esmbo", "significance").values())
    return {"": (light, 2), "∘": (full, 2), "∘∘": (full, light), "••": (0, full)}[mark]


def marks_against(method: str, other: str, datasets: int) -> list[list[str]]:
    """Return each space with this many data sets, and the mark of one method against another."""
    return [
        [space, rows[method]["marks"][[*rows].index(other)] or "none"]
        for space, rows in printed.values("esmbo", "wins").items()
        if data_sets(space) == datasets
    ]


def expected_improvement(sigma: float) -> float:
    """Ratio of the printed Equation 3 to the expected improvement defined by Equation 2.

    The prediction has this standard deviation, and the best value so far as its mean.
    """
    from scipy.integrate import quad
    from scipy.stats import norm

    true = quad(lambda value: -value * norm.pdf(value, scale=sigma), -np.inf, 0)[0]
    return round(float(sigma**2 * norm.pdf(0) / true), 6)


def similarity(distance: float, gamma: float) -> float:
    """Value of the kernel as printed in Section 6.1, exp(gamma distance²)."""
    return round(float(np.exp(gamma * distance**2)), 3)
