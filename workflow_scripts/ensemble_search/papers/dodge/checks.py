"""What follows from the numbers that Dodge's thesis proposal prints."""

import numpy as np

from ensemble_search.papers import printed


def draws_until_all_labels() -> int:
    """Expected uniform draws until each of ImageNet's M labels has come: M (1 + ... + 1/M)."""
    labels = printed.values("dodge", "labels")["labels"]
    return round(labels * float((1 / np.arange(1, labels + 1)).sum()))


def largest_gap(points: int) -> float:
    """Expected largest gap that uniform points leave from 0 to 1, ends included.

    It is (1 + 1/2 + ... + 1/n) / n of n = points + 1 gaps (Feller).
    """
    gaps = points + 1
    return round(float((1 / np.arange(1, gaps + 1)).sum()) / gaps, 4)
