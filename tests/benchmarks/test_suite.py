"""The benchmark of costs does the work that it times."""

import sys

import numpy as np
import pytest

from support import ROOT

sys.path.insert(0, str(ROOT / "benchmarks"))

import suite
from selection import make_pool


@pytest.fixture
def pool(tmp_path):
    made = make_pool(40, 60, 2)
    np.savez(tmp_path / "pool.npz", predictions=made.predictions, labels=made.labels)
    return tmp_path / "pool.npz"


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        *[("suggestion", [optimizer, 20]) for optimizer in suite.OPTIMIZERS.values()],
        *[("surrogate", [name]) for name in ("lightgbm-pairs", "forest-kernel")],
        *[("temporary_ensemble", [metric]) for metric in ("error", "log-loss", "brier")],
        ("diversities", []),
        ("prefixes", []),
    ],
)
def test_work_can_be_repeated(name, arguments, pool, monkeypatch):
    for constant, value in {"OBSERVATIONS": 20, "CANDIDATES": 30, "TURNS": 2}.items():
        monkeypatch.setattr(suite, constant, value)
    run = suite.WORK[name](pool, *arguments)
    run()
    run()


def test_a_worker_does_the_work_in_another_process(pool):
    worker = suite.Worker(ROOT, pool, "selection")
    worker.turn()
    assert worker.result == suite.selection(pool)()
    assert 0 < worker.stop() < 60


def test_a_search_stores_little_more_than_its_predictions(pool, monkeypatch):
    monkeypatch.setattr(suite, "OBSERVATIONS", 20)
    evaluated, rows, classes = 18, 720, 10  # two of the twenty fail
    assert suite.storage(pool)() < 1.3 * 4 * evaluated * rows * classes


def test_the_dry_run_is_one(pool, monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "workflow_scripts")
    suite.dry_run(pool)()


def test_a_search_starts_until_its_first_suggestion(pool):
    worker = suite.Worker(ROOT, pool, "start")
    worker.turn()
    assert 0.1 < worker.stop() < 60  # seconds of the new process
