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


def marks_of_equal_frequencies() -> list[list[Any]]:
    """Find pairs of methods with the same winning frequency and different marks.

    Number of data sets of the collection, frequency, and its two marks. Such marks are possible,
    because both tests depend on ties, and the Poisson binomial test also on the test samples.
    """
    found: dict[int, dict[float, set[str]]] = {}
    for space, rows in printed.values("esmbo", "wins").items():
        for row in rows.values():
            for share, mark in zip(row["wins"], row["marks"], strict=True):
                if share > 0.5:
                    found.setdefault(data_sets(space), {}).setdefault(share, set()).add(mark)
    return [
        [n, share, *(mark or "none" for mark in sorted(marks, key=len))]
        for n, by in sorted(found.items())
        for share, marks in sorted(by.items())
        if len(marks) > 1
    ]


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
