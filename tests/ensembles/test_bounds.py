"""Selection by log loss and squared distances: as by exact losses, with few of them computed."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ensemble_search.ensembles.greedy.running_sums import make_sums
from ensemble_search.ensembles.selection import paths, select
from ensemble_search.metrics.brier import Brier
from ensemble_search.metrics.error import ERROR
from ensemble_search.metrics.log_loss import LOWEST, LogLoss
from ensemble_search.metrics.squared_error import SquaredError
from support.memory import peak

pytestmark = pytest.mark.slow

METRICS = [LogLoss(), Brier(), SquaredError()]


def made(metric, seed, n, n_samples, n_columns):
    """Predictions with models that are equal, permuted, or differ in one sample by a last bit."""
    rng = np.random.default_rng(seed)
    if isinstance(metric, SquaredError):
        labels = rng.normal(size=n_samples).round(2)
        p = (labels[:, None] + rng.normal(size=(n, n_samples, 1)) * 0.7).astype(np.float32)
    else:
        labels = rng.integers(0, max(n_columns, 2), n_samples)
        p = rng.dirichlet([0.3] * max(n_columns, 2), (n, n_samples)).astype(np.float32)
        p[0, :3], p[1, :2] = 0, 1e-7
        p = p[:, :, -n_columns:]
    truth = labels[:, None] if p.shape[2] == 1 else np.eye(n_columns)[labels]
    p[2] = 0.6 * truth + 0.4 * p[2]  # which is selected
    p[3] = p[2]
    p[4] = p[2]
    p[4, 0] = np.nextafter(p[4, 0], np.float32(2))
    same = np.flatnonzero(labels == labels[0])
    p[5] = p[2]
    p[5, same] = p[2, same[::-1]]
    return p, labels


def exact_loss(metric, chosen, p, labels):
    """Return the loss of the mean in exact arithmetic, logarithms apart, as a float32."""
    total, k = Fraction(0), len(chosen)
    logarithms = []
    for sample, label in enumerate(labels):
        means = [
            sum(Fraction(round(Fraction(float(p[i, sample, c])) * 2**32), 2**32) for i in chosen)
            / k
            for c in range(p.shape[2])
        ]
        if isinstance(metric, SquaredError):
            total += (means[0] - Fraction(float(label))) ** 2
        elif len(means) == 1:
            total += (means[0] - int(label)) ** 2
            right = means[0] if label else 1 - means[0]
        else:
            total += sum((m - (c == label)) ** 2 for c, m in enumerate(means)) / 2
            right = means[label]
        if isinstance(metric, LogLoss):
            logarithms.append(-math.log(max(right, Fraction(LOWEST))))
    if isinstance(metric, LogLoss):
        return np.float32(math.fsum(logarithms) / len(labels))
    return np.float32(float(total / len(labels)))


@pytest.mark.parametrize("columns", [1, 3])
@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("seed", range(3))
def test_rounds_are_those_of_exact_arithmetic(seed, metric, columns):
    """Every round of every prefix; equal losses are drawn from as in any selection."""
    if isinstance(metric, SquaredError):
        columns = 1
    p, labels = made(metric, seed, 9, 15, columns)
    ties = 0
    for n, (path, losses) in enumerate(paths(p, labels, 4, seed, metric=metric), 1):
        for number in range(1, 5):
            chosen = path[: number - 1]
            exact = np.array([exact_loss(metric, [*chosen, i], p, labels) for i in range(n)])
            tied = np.flatnonzero(exact == exact.min())
            draws = np.random.default_rng([seed, number]).random(len(p))
            assert path[number - 1] == tied[draws[tied].argmin()]
            assert losses[number - 1] == exact.min()
            ties += len(tied) > 1
    assert ties


def scorer(metric, p, labels, chosen=()):
    candidates = make_sums(p, labels, metric)
    sums = candidates.zero
    for model in chosen:
        sums = candidates.add(sums, model)
    return candidates.scorer(sums, len(chosen) + 1)


@settings(max_examples=150)
@given(
    st.sampled_from(METRICS),
    st.integers(0, 10**6),
    st.integers(1, 700),
    st.sampled_from([1, 3]),
    st.lists(st.integers(0, 6), max_size=30),
    st.sampled_from([1.0, 2.0**-10, 2.0**-20, 0.0]),
)
def test_bounds_are_below_the_losses_and_near(metric, seed, n_samples, columns, chosen, scale):
    """Of sure models too, whose differences are small beside the probabilities."""
    columns = 1 if isinstance(metric, SquaredError) else columns
    p, labels = made(metric, seed, 7, n_samples, columns)
    truth = labels[:, None] if columns == 1 else np.eye(columns)[labels]
    p = (truth + (p - truth) * scale).astype(np.float32)
    found = scorer(metric, p, labels, chosen)
    lower, losses = found.lower(range(7)), found.losses(range(7)).astype(float)
    assert (lower <= losses).all()
    if isinstance(metric, LogLoss):
        assert (found.tangents(range(7)) <= losses).all()
    alone = scorer(metric, p, labels).losses(range(7)).max()
    assert (losses - lower <= 2e-4 * alone + 1e-6).all()


@pytest.mark.parametrize("columns", [1, 3])
@pytest.mark.parametrize("metric", METRICS)
def test_few_losses_are_computed_exactly(metric, columns, monkeypatch):
    columns = 1 if isinstance(metric, SquaredError) else columns
    p, labels = made(metric, 0, 60, 1500, columns)
    kind, computed = type(scorer(metric, p, labels)), []
    loss = kind.loss
    monkeypatch.setattr(kind, "loss", lambda *given: computed.append(given) or loss(*given))
    members = select(p, labels, 10, 0, metric=metric)
    assert 10 <= len(computed) <= 60
    for bound in ("lower", "tangents"):
        monkeypatch.setattr(kind, bound, lambda self, models: np.zeros(len(models)), raising=False)
    assert select(p, labels, 10, 0, metric=metric).same(members)
    assert len(computed) > 600


@pytest.mark.parametrize(("metric", "most"), [(ERROR, 1.2), (LogLoss(), 0.3), (Brier(), 0.3)])
def test_memory_follows_the_predictions(metric, most):
    """Ten classes: sums and blocks come on top of at most one copy."""
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 10, 4000)
    p = rng.random((250, 4000, 10), dtype=np.float32)
    p /= p.sum(axis=2, keepdims=True)
    assert peak(lambda: select(list(p), labels, 3, metric=metric)) < most * p.nbytes
