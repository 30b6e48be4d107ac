"""Weights of rows in a delivery: the refit, the calibration and the card."""

import re

import numpy as np
import pytest

from ensemble_search.data.split import load_inputs
from ensemble_search.delivery import build, calibration, measures
from ensemble_search.metrics.error import ERROR
from ensemble_search.predictor import ensemble
from ensemble_search.predictor.ensemble import calibrated
from ensemble_search.scoring import ensemble_scores
from support import finished_study

SETTINGS = {"repeat": 0, "iteration": None, "rows": "all", "limits": {}, "calibrate": True,
            "onnx": False}  # fmt: skip
ABOUT = {"study": "tiny", "dataset": "wine", "method": "RS", "metric": "error",
         "command": "snakemake"}  # fmt: skip
OF = {"dataset": "wine", "search": "random", "repeat": 0}


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    folder = tmp_path_factory.mktemp("study")
    columns = {"weight": ["proline"], "group": ["alcohol"]}
    weighted = {"wine": {"sklearn": "wine", "columns": columns}}
    finished_study.make(folder, datasets=weighted)
    return folder


@pytest.mark.slow
def test_the_refit_and_the_card_are_weighted(root, tmp_path, monkeypatch):
    refits = []
    chosen_rows = build.chosen_rows

    def spy(*given):
        refits.append(chosen_rows(*given))
        return refits[0]

    monkeypatch.setattr(build, "chosen_rows", spy)
    source = build.Source(
        search=root / finished_study.SEARCH,
        split=root / finished_study.SPLIT,
        dataset=next((root / "results/data").iterdir()),
        of=OF,
        ensemble={"type": "best"},
        seed=0,
        space="divbo-small",
        limits={"seconds": 60, "memory_mb": 2000},
        threads=1,
    )
    build.deliver(source, SETTINGS, ABOUT, tmp_path / "made")
    inputs = load_inputs(source.split)
    own = [inputs.weights, inputs.validation_weights, inputs.test_weights]
    assert refits[0].weights.tolist() == np.concatenate(own).tolist()
    assert len(refits[0].weights) == len(refits[0].y_train) == 178

    pool, test, labels = ensemble_scores.load(source.search, source.split, 0, OF)
    best = int(np.nanargmin(pool.errors))
    wrong = test[best].argmax(axis=1) != labels
    card = (tmp_path / "made/card.md").read_text()
    error = np.average(wrong, weights=inputs.test_weights)
    assert f"| error | {error:.4g} |" in card
    assert re.search(r"They form \d+ groups, one per 'alcohol', and the intervals reflect", card)
    assert "too short" not in card
    counts = np.bincount(inputs.y_train, inputs.weights)
    commonest = inputs.classes[counts.argmax()]
    baseline = np.average(labels != counts.argmax(), weights=inputs.test_weights)
    assert f"baseline: always '{commonest}'" in card.replace("\\", "")
    assert re.search(rf"\| error \| {error:.4g} \|.*\| {baseline:.4g} \|\n", card)
    assert "Rows are weighted by the column proline: in the fits" in card


def test_calibration_weights_rows():
    """A row of weight 2 counts like two rows."""
    rng = np.random.default_rng(0)
    p = rng.dirichlet([1, 1, 1], size=50)
    labels, weights = rng.integers(3, size=50), rng.integers(1, 4, 50)
    again = np.repeat(np.arange(50), weights)
    alike = calibration.temperature(p[again], labels[again])
    assert calibration.temperature(p, labels, weights) == pytest.approx(alike, rel=1e-4)
    assert calibration.temperature(p, labels) != pytest.approx(alike, rel=0.01)
    p = calibrated(p, 2)
    assert calibration.log_loss(p, labels, weights) == pytest.approx(
        calibration.log_loss(p[again], labels[again])
    )
    one, two = calibration.curve(p, labels, weights), calibration.curve(p[again], labels[again])
    for name in ("probability", "right", "rows"):
        assert one[name] == pytest.approx(two[name])


def test_an_interval_of_a_weighted_loss_is_around_it():
    labels, predictions = np.zeros(100, int), np.zeros((100, 1))
    predictions[:10] = 1  # ten rows are wrong, and count as much as the others together
    weights = np.where(np.arange(100) < 10, 9.0, 1.0)
    metric = ERROR.with_weights(weights)
    low, high = measures.interval(metric, labels, predictions)
    assert metric.loss(labels, predictions) == 0.5
    assert 0.3 < low < 0.45
    assert 0.55 < high < 0.7


def test_residuals_of_equal_weights_are_those_without():
    gaps = np.random.default_rng(0).normal(size=40)
    expected = np.sort(np.abs(gaps))
    assert np.array_equal(calibration.residuals(gaps), expected)
    assert np.array_equal(calibration.residuals(gaps, np.full(40, 2.5)), expected)


def test_residuals_are_quantiles_of_the_weighted_rows():
    """(1 + 1 + 4 + 2)² / (1 + 1 + 16 + 4) = 2.9: two rows, at halves of the weights."""
    found = calibration.residuals(np.array([-3.0, 1.0, 2.0, 4.0]), np.array([1.0, 1.0, 4.0, 2.0]))
    assert found.tolist() == [2.0, 4.0]


def drawn(n, rng):
    """Weights, and residuals that grow with them."""
    weights = rng.lognormal(0, 0.7, n)
    return weights, weights * rng.standard_t(3, n)


def test_weighted_intervals_hold_as_much_weight_as_promised():
    rng, inside = np.random.default_rng(0), []
    model = object.__new__(ensemble.DeliveredRegressor)
    for _ in range(400):
        weights, gaps = drawn(200, rng)
        model._residuals = calibration.residuals(gaps, weights).tolist()
        weights, gaps = drawn(200, rng)
        inside.append(np.average(np.abs(gaps) <= model.half_width(0.9), weights=weights))
    assert np.mean(inside) == pytest.approx(0.9, abs=0.015)


def test_the_interval_of_a_weighted_share_covers_it():
    """Where rows with larger weights are missed more often."""

    def rows(n):
        weights = rng.lognormal(0, 1, n)
        return weights, rng.random(n) < np.clip(0.97 - 0.01 * np.log(weights), 0, 1)

    rng = np.random.default_rng(0)
    weights, hits = rows(10**6)
    truth, covered = np.average(hits, weights=weights), []
    for _ in range(1000):
        weights, hits = rows(1000)
        low, high = measures.share(hits, None, weights)
        covered.append(low <= truth <= high)
    assert np.mean(covered) > 0.94
