"""Evaluations that searches share: looked up where they have been made, else fitted, once."""

import json
import subprocess
import sys
import threading
import time
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from ensemble_search.evaluation.base import Evaluation, EvaluatorError
from ensemble_search.evaluation.shared import SharedEvaluator, Store
from ensemble_search.problems.classification import CLASSIFICATION
from ensemble_search.runtime import locks
from ensemble_search.runtime.errors import UserError

pytestmark = pytest.mark.slow

VALUES = {"algorithm": "wave", "power": 2, "x": 0.1}
SHAPES = (4, 1), (3, 1)
FAILED = Evaluation("timeout", None, None, 9.5, 9.0, None, 80.0, "TimeoutError", "slow: \udc80")


class Fits:
    """An evaluator that counts, and takes a while if asked to."""

    def __init__(self, result=None, seconds=0.0):
        self.result, self.seconds = result, seconds
        self.asked, self.cancelled = [], False

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass

    def cancel(self):
        self.cancelled = True

    def evaluate(self, values, fidelity=1.0):
        self.asked.append((dict(values), fidelity))
        time.sleep(self.seconds)
        if self.result:
            return self.result
        ones = np.random.default_rng(len(self.asked)).random(7, dtype=np.float32)
        both = np.stack([1 - ones, ones], axis=1)
        return Evaluation("ok", both[:4], both[4:], 1.5, 1.25, 0.5, 90.0, None, None)


def shared(folder, fits, patience=60, table=None, check=lambda: None) -> SharedEvaluator:
    return SharedEvaluator(fits, Store(folder, CLASSIFICATION, SHAPES, check), patience, table)


def same(one: Evaluation, other: Evaluation) -> bool:
    """Whether all is equal but the origin; stored predictions, bit by bit."""
    for part in ("validation", "test"):
        a, b = getattr(one, part), getattr(other, part)
        if (a is None) != (b is None):
            return False
        if a is not None:
            assert np.array_equal(CLASSIFICATION.compress(a), CLASSIFICATION.compress(b))
    empty = {"validation": None, "test": None, "origin": ""}
    return replace(one, **empty) == replace(other, **empty)


@pytest.mark.parametrize("result", [None, FAILED])
def test_what_one_has_fitted_another_looks_up(tmp_path, result):
    first, second = Fits(result), Fits()
    fitted = shared(tmp_path, first).evaluate(VALUES)
    found = shared(tmp_path, second).evaluate(dict(reversed(VALUES.items())))
    assert (len(first.asked), len(second.asked)) == (1, 0)
    assert (fitted.origin, found.origin) == ("fitted", "shared")
    assert same(fitted, found)
    (file,) = tmp_path.iterdir()  # no lock, no temporary file
    assert len(file.stem) == 64


@pytest.mark.parametrize(
    ("values", "fidelity"),
    [(VALUES | {"x": 0.2}, 1.0), (VALUES | {"y": 1}, 1.0), (VALUES, 0.5), ({"x": 0.1}, 1.0)],
)
def test_another_configuration_or_fidelity_is_fitted(tmp_path, values, fidelity):
    fits = Fits()
    evaluator = shared(tmp_path, fits)
    evaluator.evaluate(VALUES)
    assert evaluator.evaluate(values, fidelity).origin == "fitted"
    assert fits.asked == [(VALUES, 1.0), (values, fidelity)]
    assert evaluator.evaluate(values, fidelity).origin == "shared"


def test_no_damaged_file_is_used(tmp_path, capsys):
    """Cut anywhere, or with any byte changed: it is fitted again, or is the same by luck."""
    evaluator = shared(tmp_path, fits := Fits())
    fitted = evaluator.evaluate(VALUES)
    (path,) = tmp_path.iterdir()
    whole, again = path.read_bytes(), 0
    damages = [whole[:end] for end in range(0, len(whole), 31)]
    for place in range(0, len(whole), 7):
        damages.append(whole[:place] + bytes([whole[place] ^ 255]) + whole[place + 1 :])
    for damaged in damages:
        path.write_bytes(damaged)
        fits.asked.clear()
        found = evaluator.evaluate(VALUES)
        assert same(found, fitted)
        assert found.origin == ("fitted" if fits.asked else "shared")
        again += len(fits.asked)
        assert evaluator.evaluate(VALUES).origin == "shared", "it has been replaced"
    assert again > len(damages) / 2
    assert f"'{path}' is damaged" in capsys.readouterr().err


def test_no_file_of_something_else_is_used(tmp_path):
    evaluator = shared(tmp_path, fits := Fits())
    evaluator.evaluate(VALUES)
    store = Store(tmp_path, CLASSIFICATION, SHAPES)
    other = VALUES | {"x": 0.2}
    store.path(other, 1.0).write_bytes(store.path(VALUES, 1.0).read_bytes())
    assert evaluator.evaluate(other).origin == "fitted"
    shapes = Store(tmp_path, CLASSIFICATION, ((5, 1), (3, 1)))
    assert SharedEvaluator(fits, shapes, 60).evaluate(VALUES).origin == "fitted"
    with np.load(store.path(VALUES, 1.0), allow_pickle=False) as stored:
        arrays = dict(stored)
    about = json.loads(arrays["about"].tobytes())
    for key, value in (("status", "fine"), ("fit_seconds", -1), ("more", 1), ("memory_mb", None)):
        arrays["about"] = np.frombuffer(json.dumps(about | {key: value}).encode(), np.uint8)
        np.savez(store.path(VALUES, 1.0), **arrays)
        assert evaluator.evaluate(VALUES).origin == "fitted"


def test_two_at_once_fit_once(tmp_path):
    fits = [Fits(seconds=0.5) for _ in range(4)]
    found = []
    threads = [
        threading.Thread(target=lambda f=f: found.append(shared(tmp_path, f).evaluate(VALUES)))
        for f in fits
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sum(len(f.asked) for f in fits) == 1
    assert sorted(e.origin for e in found) == ["fitted", "shared", "shared", "shared"]
    assert all(same(found[0], e) for e in found)


HOLD = (
    "import sys, time; from pathlib import Path; from ensemble_search.runtime import locks\n"
    "with locks.turn(Path(sys.argv[1]), 60, lambda: None):\n"
    "    print('held', flush=True); time.sleep(99)"
)


@pytest.fixture
def holder(tmp_path, monkeypatch):
    """Another process that seems to fit the configuration."""
    monkeypatch.setenv("PYTHONPATH", ":".join(sys.path))
    lock = Store(tmp_path, CLASSIFICATION, SHAPES).path(VALUES, 1.0).with_suffix(".lock")
    process = subprocess.Popen([sys.executable, "-c", HOLD, lock], stdout=subprocess.PIPE)
    assert process.stdout.readline() == b"held\n"
    yield process
    process.kill()
    process.wait()
    process.stdout.close()


def test_a_killed_holder_keeps_nobody_waiting(tmp_path, holder):
    fits, found = Fits(), []
    waiting = threading.Thread(target=lambda: found.append(shared(tmp_path, fits).evaluate(VALUES)))
    waiting.start()
    time.sleep(0.5)
    assert not fits.asked, "it waits for the other process"
    holder.kill()
    waiting.join()
    assert found[0].origin == "fitted"
    assert [p.suffix for p in tmp_path.iterdir()] == [".npz"]


def test_a_suspended_holder_is_waited_for_with_patience(tmp_path, holder):
    start = time.monotonic()
    assert shared(tmp_path, Fits(), patience=0.5).evaluate(VALUES).origin == "fitted"
    assert time.monotonic() - start >= 0.5


def test_waiting_is_cancelled(tmp_path, holder):
    evaluator = shared(tmp_path, fits := Fits())
    threading.Timer(0.3, evaluator.cancel).start()
    with pytest.raises(EvaluatorError, match="cancelled"):
        evaluator.evaluate(VALUES)
    assert fits.cancelled
    assert not fits.asked


def test_without_locks_nobody_waits(tmp_path, monkeypatch):
    def flock(*_):
        raise OSError(38, "Function not implemented")

    monkeypatch.setattr(locks.fcntl, "flock", flock)
    assert shared(tmp_path, Fits(), patience=1e9).evaluate(VALUES).origin == "fitted"
    assert shared(tmp_path, Fits(), patience=1e9).evaluate(VALUES).origin == "shared"


def test_an_error_of_the_evaluator_or_of_the_check_leaves_nothing(tmp_path):
    def reject():
        raise UserError("the code has changed")

    with pytest.raises(UserError, match="has changed"):
        shared(tmp_path, Fits(), check=reject).evaluate(VALUES)
    broken = SimpleNamespace(evaluate=lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        shared(tmp_path, broken).evaluate(VALUES)
    assert not list(tmp_path.iterdir())


def test_what_is_in_the_table_is_not_stored_again(tmp_path):
    table = SimpleNamespace(
        has=lambda v, f: f == 1, evaluate=lambda v, f: replace(FAILED, origin="")
    )
    evaluator = shared(tmp_path / "store", fits := Fits(), table=table)
    assert evaluator.evaluate(VALUES).status == "timeout"
    assert not (tmp_path / "store").exists()
    assert evaluator.evaluate(VALUES, 0.5).origin == "fitted"
    assert fits.asked == [(VALUES, 0.5)]
