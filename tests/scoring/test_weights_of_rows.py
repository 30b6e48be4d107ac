"""Rows with weights: they reach the fits, the losses of searches and those of ensembles."""

from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from ensemble_search.data.split import load_inputs
from ensemble_search.runtime import plugins
from support import finished_study

pytestmark = pytest.mark.slow

WEIGHTED = {"wine": {"sklearn": "wine", "columns": {"weight": ["proline"]}}}


@pytest.fixture(scope="module")
def study(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("study")
    finished_study.make(folder, datasets=WEIGHTED)
    return folder


def error(predictions: np.ndarray, labels: np.ndarray, weights: np.ndarray) -> float:
    return float(np.average(predictions.argmax(axis=1) != labels, weights=weights))


def test_losses_are_weighted(study):
    inputs = load_inputs(study / finished_study.SPLIT)
    assert inputs.test_weights.min() > 200  # proline
    validation, test = (
        np.load(study / finished_study.SEARCH / f"predictions-{part}.npy")
        for part in ("validation", "test")
    )
    found = pq.read_table(study / finished_study.SEARCH / "observations.parquet").to_pydict()
    expected = [error(p, inputs.y_validation, inputs.validation_weights) for p in validation]
    assert found["error"] == pytest.approx(expected, abs=1e-7)

    best = int(np.argmin(np.array(expected, dtype=np.float32)))
    labels = np.load(study / finished_study.SPLIT / "test_labels.npy")
    scores = pq.read_table(study / finished_study.ENSEMBLE / "scores.parquet").to_pydict()
    assert scores["validation_error"][-1] == pytest.approx(expected[best])
    weighted = error(test[best], labels, inputs.test_weights)
    assert scores["test_error"][-1] == pytest.approx(weighted)
    # Tests over the test rows count each row once.
    losses = np.load(study / finished_study.ENSEMBLE / "losses.npz")
    wrong = np.unpackbits(losses["losses"][-1])[: len(labels)]
    assert wrong.tolist() == (test[best].argmax(axis=1) != labels).tolist()


def test_fits_are_weighted(study):
    inputs = load_inputs(study / finished_study.SPLIT)
    found = pq.read_table(study / finished_study.SEARCH / "observations.parquet").to_pylist()
    stored = np.load(study / finished_study.SEARCH / "predictions-validation.npy")
    place = next(i for i, row in enumerate(found) if row["config.algorithm"] == "libsvm_svc")
    values = {
        name.removeprefix("config."): value
        for name, value in found[place].items()
        if name.startswith("config.") and value is not None
    }
    space = plugins.load("spaces", "divbo-small")()

    def predictions(*weights):
        made = space.pipeline(values, inputs.categorical, 1)
        made.fit(inputs.X_train.copy(), inputs.y_train.copy(), *weights)
        return made.predict_proba(inputs.X_validation)

    assert predictions(inputs.weights) == pytest.approx(stored[place], abs=1e-6)
    assert np.abs(predictions() - stored[place]).max() > 0.001
