"""Ensembles on random divisions of the held-out rows: by hand, and what they do not depend on."""

import json
import subprocess

import numpy as np
import pandas as pd
import pytest

from ensemble_search.ensembles.base import Pool
from ensemble_search.ensembles.best import Best
from ensemble_search.ensembles.selection import Selection
from ensemble_search.metrics.error import ERROR
from ensemble_search.problems.regression import REGRESSION
from ensemble_search.runtime.errors import UserError
from ensemble_search.scoring import divisions
from support import SCRIPTS, finished_study, forks
from support.made_pools import mixed_pool

pytestmark = pytest.mark.slow

RULES = {"best": Best(), "es": Selection(size=5)}


def halves(classes=3, seed=0):
    """A pool of 20 validation rows, and predictions and labels of 21 test rows."""
    whole = mixed_pool(classes, seed)
    errors = np.where(np.isnan(whole.errors), np.nan, 0.5)  # not used: they are recomputed
    pool = Pool(whole.predictions[:, :20], whole.labels[:20], errors, seed)
    return pool, whole.predictions[:, 20:], whole.labels[20:]


def test_parts_keep_their_sizes_class_by_class():
    labels = np.repeat([0, 1, 2], [30, 9, 2])
    labels = np.random.default_rng(0).permutation(labels)
    drawn = [divisions.divide(labels, 15, np.random.default_rng(i)) for i in range(200)]
    for validation in drawn:
        assert np.array_equal(
            np.bincount(labels[validation], minlength=3), np.bincount(labels[:15], minlength=3)
        )
    # Each row as often as its class asks for.
    share = np.bincount(labels[:15], minlength=3) / np.bincount(labels)
    assert np.mean(drawn, axis=0) == pytest.approx(share[labels], abs=0.13)
    assert divisions.divide(np.linspace(0, 1, 40), 15, np.random.default_rng(0)).sum() == 15


def test_scores_by_hand():
    pool, test_predictions, test_labels = halves()
    found = pd.DataFrame(divisions.score({"best": Best()}, pool, test_predictions, test_labels, 3))
    assert found["division"].tolist() == [1, 2, 3]
    predictions = np.concatenate([pool.predictions, test_predictions], axis=1)
    labels = np.concatenate([pool.labels, test_labels])
    wrong = (predictions.argmax(axis=2) != labels).astype(float)
    wrong[np.isnan(pool.errors)] = np.nan
    for row in found.itertuples():
        rows = divisions.divide(labels, 20, np.random.default_rng([0, row.division]))
        errors = wrong[:, rows].mean(axis=1)
        best = int(np.nanargmin(errors))
        assert row.validation_error == pytest.approx(errors[best])
        assert row.test_error == pytest.approx(wrong[best, ~rows].mean())
    assert found["test_error"].nunique() > 1


def test_divisions_depend_on_nothing_but_the_seed_and_their_number():
    arguments = halves()
    both = pd.DataFrame(divisions.score(RULES, *arguments, 4))
    alone = pd.DataFrame(divisions.score({"es": RULES["es"]}, *arguments, 2))
    some = both[(both["ensemble"] == "es") & (both["division"] <= 2)].reset_index(drop=True)
    pd.testing.assert_frame_equal(alone, some)
    pool, *rest = arguments
    other = Pool(pool.predictions, pool.labels, pool.errors, 1)
    assert not both.equals(pd.DataFrame(divisions.score(RULES, other, *rest, 4)))


def test_rows_with_weights():
    pool, test_predictions, test_labels = halves()
    weights = np.arange(1.0, 42)
    arguments = {"best": Best()}, pool, test_predictions, test_labels, 1
    found = divisions.score(*arguments, weights)
    labels = np.concatenate([pool.labels, test_labels])
    predictions = np.concatenate([pool.predictions, test_predictions], axis=1)
    rows = divisions.divide(labels, 20, np.random.default_rng([0, 1]))
    own, others = (ERROR.with_weights(weights[part]) for part in (rows, ~rows))
    losses = [
        np.inf if np.isnan(error) else own.loss(labels[rows], model[rows])
        for error, model in zip(pool.errors, predictions, strict=True)
    ]
    assert found["validation_error"] == [pytest.approx(min(losses))]
    best = predictions[int(np.argmin(losses))]
    assert found["test_error"] == [pytest.approx(others.loss(labels[~rows], best[~rows]))]
    assert found != divisions.score(*arguments)


def test_a_regression():
    rng = np.random.default_rng(0)
    y = rng.normal(size=30)
    predictions = (y + rng.normal(size=(5, 30)))[:, :, None].astype(np.float32)
    pool = Pool(predictions[:, :10], y[:10], np.ones(5), 0, REGRESSION)
    found = divisions.score({"best": Best()}, pool, predictions[:, 10:], y[10:], 2)
    rows = divisions.divide(y, 10, np.random.default_rng([0, 1]))
    squares = (predictions[:, :, 0] - y) ** 2
    assert rows.sum() == 10
    assert found["validation_error"][0] == pytest.approx(squares[:, rows].mean(axis=1).min())


def test_a_search_without_success_and_predictions_that_are_no_numbers():
    pool, test_predictions, test_labels = halves()
    failed = Pool(pool.predictions, pool.labels, np.full(30, np.nan), 0)
    found = divisions.score(RULES, failed, test_predictions, test_labels, 2)
    assert np.isnan(found["test_error"]).all() and len(found["test_error"]) == 4
    test_predictions = test_predictions.copy()
    test_predictions[3, 2] = np.nan
    with pytest.raises(UserError, match="test predictions of evaluation 4 are not numbers"):
        divisions.score(RULES, pool, test_predictions, test_labels, 2)


def test_the_script_writes_the_same_bytes_again(tmp_path):
    finished_study.make(tmp_path)
    job = {"divisions": 3, "ensembles": {"es": {"type": "selection", "size": 5}}}
    command = ["python", SCRIPTS / "divisions.py", "--job", json.dumps(job)]
    command += ["--search", finished_study.SEARCH, "--split", finished_study.SPLIT]
    written = []
    for name in ("once", "again"):
        done = subprocess.run(
            [*command, "--output", name],
            cwd=tmp_path,
            env=forks.environment(tmp_path),
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        written.append((tmp_path / name / "divisions.parquet").read_bytes())
    assert written[0] == written[1]
    table = pd.read_parquet(tmp_path / "once/divisions.parquet")
    assert table["ensemble"].tolist() == ["es"] * 3
    assert table["test_error"].between(0, 1).all()
