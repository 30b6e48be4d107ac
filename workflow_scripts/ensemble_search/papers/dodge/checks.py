"""Consequences of the numbers that Dodge's thesis proposal prints."""

import numpy as np

from ensemble_search.papers import printed


def draws_until_all_labels() -> int:
    """Expected number of uniform draws until all M labels of ImageNet occur: M (1 + ... + 1/M)."""
    labels = printed.values("dodge", "labels")["labels"]
    return round(labels * float((1 / np.arange(1, labels + 1)).sum()))


def largest_gap(points: int) -> float:
    """Expected largest gap between uniform points in [0, 1], including the ends.

    It is (1 + 1/2 + ... + 1/n) / n for n = points + 1 gaps (Feller).
    """
    gaps = points + 1
    return round(float((1 / np.arange(1, gaps + 1)).sum()) / gaps, 4)
