"""Win rates and Elo-scale ratings, from wins between methods on the data sets."""

import numpy as np
import pandas as pd

from ensemble_search.analysis.pairwise import wins

#: Difference in points for tenfold odds of winning, and the mean rating.
TENFOLD, MEAN = 400, 1000


def ratings(errors: pd.DataFrame) -> pd.DataFrame:
    """Rate methods by their wins against each other on the data sets; ties count 1/2.

    Ratings are the strengths of Bradley and Terry (Rank analysis of incomplete block designs,
    Biometrika 39, 1952, Eq. 1), by maximum likelihood: the odds of winning between two methods are
    10 to the power of (difference / :data:`TENFOLD`), as in Elo's system for chess. One tie is
    added per pair of methods, so that ratings are finite even if a method always wins. Intervals
    come from the jackknife over data sets with Student's t (Tukey 1958); bootstrap percentiles over
    few data sets are too short.

    ``errors`` are mean errors, of shape (data sets, methods). The result has a row per method.
    ``win_rate``: share of the other methods that a method beats, mean over data sets; with k
    methods, it is (k - average rank) / (k - 1). ``elo``: the rating, with mean :data:`MEAN` over
    the methods. ``elo_low``, ``elo_high``: its 95 % interval, NaN if it cannot be estimated, as
    that of the rank (``ranks.rank_intervals``): with fewer than two data sets, or if the method has
    the same rank on all; its rating then varies only with the wins of the others.
    """
    from scipy.special import stdtrit

    n, k = errors.shape
    won = wins(errors.to_numpy())
    total = won.sum(axis=0)
    left_out = total - won if n > 1 else np.empty((0, k, k))
    strengths = _strengths(np.concatenate([total[None], left_out]))
    elo = MEAN + TENFOLD / np.log(10) * strengths
    half = np.full(k, np.nan)
    if n > 1:
        deviation = np.sqrt((n - 1) * elo[1:].var(axis=0))
        varies = np.ptp(won.sum(axis=2), axis=0) > 0
        half = np.where(varies, stdtrit(n - 1, 0.975) * deviation, np.nan)
    against = (total.sum(axis=1) - n / 2) / (n * (k - 1)) if n and k > 1 else np.full(k, np.nan)
    ends = {"elo_low": elo[0] - half, "elo_high": elo[0] + half}
    return pd.DataFrame({"win_rate": against, "elo": elo[0], **ends}, index=errors.columns)


def _strengths(wins: np.ndarray) -> np.ndarray:
    """Maximise the likelihood by Newton's method.

    From wins of shape (problems, methods, methods), whose diagonals do not matter, to logarithms of
    the odds, of shape (problems, methods); those of a problem sum to 0.
    """
    k = wins.shape[1]
    wins = wins + 0.5  # the tie
    games = wins + wins.swapaxes(1, 2)
    strengths = np.zeros(wins.shape[:2])
    for _ in range(100):
        expected = 1 / (1 + np.exp(strengths[:, None, :] - strengths[:, :, None]))
        slope = wins - games * expected
        slope[:, range(k), range(k)] = 0
        slope = slope.sum(axis=2)
        if np.abs(slope).max(initial=0) < 1e-9:
            break
        weights = games * expected * (1 - expected)
        curvature = 1 - weights  # 1: the direction in which all strengths increase
        curvature[:, range(k), range(k)] += weights.sum(axis=2)
        strengths += np.linalg.solve(curvature, slope[..., None])[..., 0]
    return strengths
