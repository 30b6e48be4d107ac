"""Synthetic pools of models, and slots filled by a literal implementation of their rule."""

import numpy as np

from ensemble_search.ensembles.base import Members, Pool
from ensemble_search.metrics.base import predicted_labels


def fill_slots(predictions, labels, size):
    """A literal implementation of the rule; errors as in scores.parquet."""

    def wrong(models):
        indices, counts = np.unique(models, return_counts=True)
        members = Members(indices, counts / len(models))
        return np.count_nonzero(predicted_labels(members.predict(predictions)) != labels)

    slots, result = [], []
    for n in range(1, len(predictions) + 1):
        turn = (n - 1) % size
        others = [m for i, m in enumerate(slots) if i != turn]
        draws = np.random.default_rng([0, n]).random(n)
        best = min(range(n), key=lambda m: (wrong([*others, m]), draws[m]))
        slots = [*slots[:turn], best, *slots[turn + 1 :]]
        result.append(slots)
    turn = len(predictions) % size
    others = [m for i, m in enumerate(slots) if i != turn]
    return result, [wrong([*others, m]) / len(labels) for m in range(len(predictions))]


def mixed_pool(classes, seed):
    """Models that err on different samples, the better ones later; a few have failed."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(classes, size=41)
    p = rng.dirichlet([1] * classes, size=(30, 41))
    p[:, np.arange(41), labels] += np.linspace(0, 0.3, 30)[:, None]
    p = (p / p.sum(axis=2, keepdims=True)).astype(np.float32)
    errors = (p.argmax(axis=2) != labels).mean(axis=1)
    failed = [0, 7, 8, 20]
    p[failed] = errors[failed] = np.nan
    return Pool(p[:, :, 1:] if classes == 2 else p, labels, errors, 0)
