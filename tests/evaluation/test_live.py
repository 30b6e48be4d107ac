"""One configuration under limits, in a worker process."""

import importlib.util
import itertools
import mmap
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import psutil
import pytest

from ensemble_search.data.rows import share_of_rows
from ensemble_search.evaluation import live as evaluator_module
from ensemble_search.evaluation import process as process_module
from ensemble_search.evaluation import worker as worker_module
from ensemble_search.evaluation.base import EvaluatorError
from ensemble_search.evaluation.live import LiveEvaluator
from ensemble_search.evaluation.worker import MODULES
from ensemble_search.runtime.errors import UserError
from support import PYTHONPATH, TESTS
from support.hostile_space import HostileSpace, write_inputs

pytestmark = pytest.mark.slow

SPACE = HostileSpace.__module__
SECONDS, MEMORY = 0.5, 256
GOOD = {"algorithm": "power", "sharpness": 0.3, "power": 3}


@pytest.fixture(scope="module", autouse=True)
def python_path():
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", str(TESTS))
        yield


@pytest.fixture(scope="module")
def inputs(tmp_path_factory):
    return write_inputs(tmp_path_factory.mktemp("split"))


@pytest.fixture(scope="module")
def evaluator(inputs):
    with LiveEvaluator(SPACE, inputs, SECONDS, MEMORY, 1) as made:
        yield made


@pytest.fixture(scope="module")
def patient(inputs):
    with LiveEvaluator(SPACE, inputs, 60, MEMORY, 1) as made:
        yield made


@pytest.fixture(scope="module")
def good(inputs):
    """What GOOD predicts, fitted here."""
    with np.load(inputs) as data:
        learner = HostileSpace().pipeline(GOOD, data["categorical"], 1)
        learner.fit(data["X_train"], data["y_train"])
        parts = (data["X_validation"], data["X_test"])
        return [learner.predict_proba(X).astype(np.float32) for X in parts]


def check_next(evaluator, good):
    """The evaluation after whatever happened before."""
    result = evaluator.evaluate(GOOD)
    assert (result.status, result.error_type, result.message) == ("ok", None, None)
    np.testing.assert_allclose(result.validation, good[0], rtol=1e-6)
    np.testing.assert_allclose(result.test, good[1], rtol=1e-6)


def worker_pid(evaluator):
    return evaluator._worker._process.pid


def gone(pid, seconds=60.0):
    """Whether a process ends within some seconds."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if not psutil.pid_exists(pid) or psutil.Process(pid).status() == psutil.STATUS_ZOMBIE:
            return True
        time.sleep(0.01)
    return False


# Results


def test_result_of_a_good_configuration(evaluator, good):
    check_next(evaluator, good)
    result = evaluator.evaluate(GOOD)
    assert result.validation.dtype == result.test.dtype == np.float32
    assert result.fit_seconds > 0
    assert 0 < result.cpu_seconds < 0.4
    np.testing.assert_allclose(result.validation.sum(axis=1), 1, atol=1e-6)


def fitted(arrays, rows):
    learner = HostileSpace().pipeline(GOOD, arrays["categorical"], 1)
    return learner.fit(arrays["X_train"][rows], arrays["y_train"][rows])


def test_validation_by_folds_by_hand(tmp_path, inputs):
    path = write_inputs(tmp_path, folds=4)
    with np.load(path) as arrays, LiveEvaluator(SPACE, path, 60, MEMORY, 1) as evaluator:
        result = evaluator.evaluate(GOOD)
        assert result.validation.shape == (90, 3)
        assert 0 < result.predict_seconds < result.fit_seconds
        tests = []
        for number in range(4):
            held = arrays["folds"] == number
            learner = fitted(arrays, ~held)
            expected = learner.predict_proba(arrays["X_train"][held])
            np.testing.assert_allclose(result.validation[held], expected, rtol=1e-5, atol=1e-12)
            tests.append(learner.predict_proba(arrays["X_test"]))
        np.testing.assert_allclose(result.test, np.mean(tests, axis=0), rtol=1e-5, atol=1e-12)


@pytest.mark.parametrize("folds", [0, 3])
def test_fidelity_by_hand(tmp_path, folds):
    path = write_inputs(tmp_path, folds=folds)
    with np.load(path) as arrays, LiveEvaluator(SPACE, path, 60, MEMORY, 1) as evaluator:
        full, third = evaluator.evaluate(GOOD), evaluator.evaluate(GOOD, 1 / 3)
        again = evaluator.evaluate(GOOD, 1.0)
        rows = np.arange(90)
        if folds:
            rows = np.flatnonzero(arrays["folds"] != 1)
        held = arrays["folds"] == 1 if folds else slice(None)
        chosen = rows[share_of_rows(arrays["y_train"][rows], 1 / 3)]
        assert len(chosen) == (20 if folds else 30)
        expected = fitted(arrays, chosen).predict_proba(arrays["X_validation"][held])
        np.testing.assert_allclose(third.validation[held], expected, rtol=1e-5, atol=1e-12)
    assert full.validation.tobytes() == again.validation.tobytes() != third.validation.tobytes()


def test_limits_are_those_of_all_folds_together(tmp_path):
    with LiveEvaluator(SPACE, write_inputs(tmp_path, folds=4), 1.0, MEMORY, 1) as evaluator:
        result = evaluator.evaluate({"behaviour": "work", "seconds": 0.4})
        assert result.status == "timeout"
    with LiveEvaluator(SPACE, write_inputs(tmp_path), 1.0, MEMORY, 1) as evaluator:
        assert evaluator.evaluate({"behaviour": "work", "seconds": 0.4}).status == "ok"


def test_seconds_of_prediction_are_those_of_fitting_and_predicting_apart(patient):
    slow_fit = patient.evaluate({"behaviour": "sleep", "seconds": 0.1})
    assert slow_fit.predict_seconds > 0
    assert slow_fit.fit_seconds - slow_fit.predict_seconds >= 0.1
    slow_prediction = patient.evaluate({"behaviour": "late"})  # 0.05 s each set
    assert slow_prediction.fit_seconds >= slow_prediction.predict_seconds >= 0.1
    assert patient.evaluate({"behaviour": "raises"}).predict_seconds is None


def test_peak_of_memory_is_that_of_the_evaluation(patient):
    plain = patient.evaluate(GOOD).memory_mb
    assert patient.evaluate({"behaviour": "peaks"}).memory_mb > plain + 55
    assert patient.evaluate(GOOD).memory_mb < plain + 30
    assert patient.evaluate({"behaviour": "segfault"}).memory_mb > plain / 2
    assert patient.evaluate({"behaviour": "child_grows"}).memory_mb == MEMORY


def test_peak_of_memory_where_the_kernel_does_not_reset_it(monkeypatch):
    monkeypatch.setattr(worker_module, "Path", lambda path: Path("/proc/none"))
    before = worker_module._forget_peak()
    block = np.ones(before + 2**26, dtype=np.uint8)
    assert worker_module._peak_memory(before) >= block.nbytes
    before = worker_module._forget_peak()
    del block
    assert worker_module._peak_memory(before) < before - 2**25


def test_one_worker_lives_on(evaluator):
    evaluator.evaluate(GOOD)
    pid = worker_pid(evaluator)
    for behaviour in ("nan", "raises", "allocate", "sys_exit", "warns"):
        evaluator.evaluate({"behaviour": behaviour})
    assert worker_pid(evaluator) == pid


def test_numpy_values_reach_the_pipeline(evaluator, good):
    values = {"algorithm": np.str_("power"), "sharpness": np.float64(0.3), "power": np.int64(3)}
    np.testing.assert_allclose(evaluator.evaluate(values).validation, good[0], rtol=1e-6)


def test_no_labels_but_those_of_training(inputs, tmp_path, good):
    with np.load(inputs) as data:
        kept = {k: data[k] for k in data.files if k != "y_validation"}
    np.savez(tmp_path / "inputs.npz", **kept)
    with LiveEvaluator(SPACE, tmp_path / "inputs.npz", SECONDS, MEMORY, 1) as evaluator:
        check_next(evaluator, good)


def test_worker_without_work_is_never_started(tmp_path):
    with LiveEvaluator("no_such_module", tmp_path / "none.npz", 1, MEMORY, 1):
        pass


def test_large_predictions_pass_the_pipe(tmp_path):
    inputs = write_inputs(tmp_path, n_rows=600, n_features=1, n_classes=500, test_rows=10_400)
    with LiveEvaluator(SPACE, inputs, 60, 4096, 1) as evaluator:
        result = evaluator.evaluate({"behaviour": "random"})
    assert result.status == "ok", result.message
    assert result.test.nbytes > 20e6
    numbers, shift = np.random.RandomState(0), random.Random(0)
    for part in (result.validation, result.test):
        drawn = numbers.random_sample(part.shape) + shift.random()
        np.testing.assert_allclose(part, drawn / drawn.sum(axis=1, keepdims=True), rtol=1e-6)


# Failures are data, and the next evaluation works


@pytest.mark.parametrize(
    ("behaviour", "status", "error_type", "words"),
    [
        ("nan", "invalid", "InvalidPrediction", "NaN"),
        ("infinite", "invalid", "InvalidPrediction", "infinite"),
        ("negative", "invalid", "InvalidPrediction", "negative"),
        ("zeros", "invalid", "InvalidPrediction", "zeros"),
        ("wrong_rows", "invalid", "InvalidPrediction", "(29, 3) instead of (30, 3)"),
        ("wrong_columns", "invalid", "InvalidPrediction", "(30, 2)"),
        ("flat", "invalid", "InvalidPrediction", "(30,)"),
        ("words", "invalid", "InvalidPrediction", "not numeric"),
        ("nothing", "invalid", "InvalidPrediction", "shape ()"),
        ("strange_class", "invalid", "InvalidPrediction", "[1 2 3]"),
        ("raises", "crash", "ValueError", "first second line more more"),
        ("raises_oddly", "crash", "Odd", "Odd"),
        ("sys_exit", "crash", "SystemExit", "enough"),
        ("keyboard_interrupt", "crash", "KeyboardInterrupt", "KeyboardInterrupt"),
        ("no_such_behaviour", "crash", "KeyError", "no_such_behaviour"),
        ("os_exit", "crash", "exit", "status 3"),
        ("segfault", "crash", "SIGSEGV", "SIGSEGV"),
        ("abort", "crash", "SIGABRT", "SIGABRT"),
        ("kills_itself", "crash", "SIGKILL", "SIGKILL"),
        ("closes_files", "crash", "ProtocolError", "closed the worker's own pipe"),
        ("writes_everywhere", "crash", "ProtocolError", "wrote to the worker's own pipe"),
    ],
)
def test_failure_is_recorded(evaluator, behaviour, status, error_type, words):
    result = evaluator.evaluate({"behaviour": behaviour})
    check_failure(result, status, error_type)
    assert words in result.message
    assert evaluator.evaluate(GOOD).status == "ok"


@pytest.mark.parametrize(("length", "end"), [(300, "x"), (301, " ..."), (10**7, " ...")])
def test_a_long_message_ends_in_dots(length, end):
    text = worker_module.one_line("x" * length)
    assert len(text) == 300
    assert text.endswith(end)


def check_failure(result, status, error_type):
    assert (result.status, result.error_type) == (status, error_type)
    assert len(result.message) <= 300
    assert "\n" not in result.message
    assert result.validation is None
    assert result.test is None


@pytest.mark.parametrize(
    "behaviour",
    [
        *("allocate", "grow", "grow_and_fall", "bad_alloc", "bad_alloc_caught", "no_new_thread"),
        *("child_grows", "children_grow"),
    ],
)
def test_one_result_of_too_much_memory_whatever_notices_it(patient, behaviour):
    result = patient.evaluate({"behaviour": behaviour})
    check_failure(result, "memory", "MemoryError")
    assert result.message == "more than 256 MiB"
    assert patient.evaluate(GOOD).status == "ok"


@pytest.mark.parametrize("behaviour", ["loop_in_c", "loop_in_python", "child_works", "sleep"])
def test_one_result_of_too_much_time_whatever_notices_it(evaluator, behaviour):
    result = evaluator.evaluate({"behaviour": behaviour})
    check_failure(result, "timeout", "TimeoutError")
    assert result.message == "more than 0.5 s of CPU time per thread, or 6 s wall-clock"
    assert evaluator.evaluate(GOOD).status == "ok"


@pytest.mark.parametrize("outside", [True, False])
def test_memory_that_is_measured_before_and_after_the_allocation_fails(
    inputs, monkeypatch, outside
):
    """The same race, won by either side."""
    values = {"behaviour": "grow", "shared": outside}
    if not outside:
        monkeypatch.setattr(process_module.WorkerProcess, "watch", lambda self: 0)
    with LiveEvaluator(SPACE, inputs, 60, MEMORY, 1) as evaluator:
        result = evaluator.evaluate(values)
    check_failure(result, "memory", "MemoryError")
    assert result.message == "more than 256 MiB"


def test_addresses_are_left_out_of_messages(evaluator):
    result = evaluator.evaluate({"behaviour": "names_an_address"})
    assert result.message == "no use for <object object at 0x...>, 0xff"


def test_a_worker_that_the_kernel_kills_for_lack_of_memory_is_no_failure_of_the_configuration(
    evaluator, good, monkeypatch
):
    kills = itertools.count()
    monkeypatch.setattr(evaluator_module, "oom_kills", lambda: next(kills))
    with pytest.raises(EvaluatorError, match="too little memory"):
        evaluator.evaluate({"behaviour": "kills_itself"})
    check_next(evaluator, good)


@pytest.mark.parametrize(
    "behaviour",
    [
        *("prints", "warns", "signals", "closes_standard_files", "keeps_memory", "leaves_thread"),
        *("fork_comes_back", "children_share", "meddles", "unscaled"),
    ],
)
def test_success_in_spite_of_bad_manners(evaluator, good, behaviour):
    result = evaluator.evaluate({"behaviour": behaviour})
    assert result.status == "ok", result.message
    check_next(evaluator, good)


def test_what_an_earlier_learner_said_is_not_blamed_on_the_next(evaluator):
    evaluator.evaluate({"behaviour": "prints"})
    assert (
        evaluator.evaluate({"behaviour": "segfault"}).message == "the worker was ended by SIGSEGV"
    )


# Limits


def test_waiting_is_not_working(evaluator):
    result = evaluator.evaluate({"behaviour": "sleep", "seconds": 1.5 * SECONDS})
    assert result.status == "ok"
    assert result.fit_seconds >= 1.5 * SECONDS
    assert result.cpu_seconds < 0.5 * SECONDS


def test_waiting_for_a_processor_is_not_waiting(inputs, monkeypatch):
    monkeypatch.setattr(evaluator_module, "GRACE_SECONDS", 0)
    processors = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(processors)})  # for the children too: all want the same one
    burn = ["sh", "-c", "echo; while :; do :; done"]
    others = []
    try:
        with LiveEvaluator(SPACE, inputs, SECONDS, MEMORY, 1) as evaluator:
            evaluator.evaluate(GOOD)  # it starts before it has to wait
            # Linux shares a processor between sessions first; every worker has one of its own.
            others += [
                subprocess.Popen(burn, stdout=subprocess.PIPE, start_new_session=True)
                for _ in range(6)
            ]
            for other in others:
                other.stdout.readline()
            result = evaluator.evaluate({"behaviour": "work", "seconds": 0.8 * SECONDS})
    finally:
        os.sched_setaffinity(0, processors)
        for other in others:
            other.kill()
            other.wait()
            other.stdout.close()
    assert result.status == "ok", result.message
    assert result.fit_seconds > 2 * SECONDS


def test_a_suspension_is_no_waiting(inputs, monkeypatch):
    """As of a whole job by SLURM: search and worker stop, and continue."""
    monkeypatch.setattr(evaluator_module, "GRACE_SECONDS", 0)
    with LiveEvaluator(SPACE, inputs, 1.0, MEMORY, 1) as evaluator:
        evaluator.evaluate(GOOD)
        both = f"{os.getpid()} {worker_pid(evaluator)}"
        script = f"sleep 0.3; kill -STOP {both}; sleep 3; kill -CONT {both}"
        with subprocess.Popen(["sh", "-c", script]):
            result = evaluator.evaluate({"behaviour": "sleeps_in_bits", "seconds": 1.0})
    assert result.status == "ok", result.message
    assert result.fit_seconds > 3


def test_cpu_time_counts_for_each_thread(inputs):
    values = {"behaviour": "work", "seconds": 1.5 * SECONDS}
    with LiveEvaluator(SPACE, inputs, SECONDS, MEMORY, 2) as evaluator:
        result = evaluator.evaluate(values)
        assert result.status == "ok"
        assert result.cpu_seconds == pytest.approx(1.5 * SECONDS, rel=0.2)
        threads = evaluator.evaluate({"behaviour": "looks_around"}).message
    assert "'threads': '2'" in threads


def test_limit_holds_between_two_looks(inputs):
    # The worker is looked at after 20 ms first: by then this learner has finished.
    with LiveEvaluator(SPACE, inputs, 0.005, MEMORY, 1) as evaluator:
        result = evaluator.evaluate({"behaviour": "work", "seconds": 0.012})
    assert (result.status, result.error_type) == ("timeout", "TimeoutError")
    assert result.validation is None


def test_tree_is_found_without_the_children_file(inputs, monkeypatch):
    monkeypatch.setattr(process_module, "_HAS_CHILDREN_FILE", False)
    with LiveEvaluator(SPACE, inputs, 5, MEMORY, 1) as evaluator:
        assert evaluator.evaluate({"behaviour": "child_grows"}).status == "memory"


def test_memory_that_an_evaluation_keeps_is_not_charged_to_the_next(evaluator):
    for _ in range(2):  # 100 MiB each: both together do not fit
        assert evaluator.evaluate({"behaviour": "keeps_memory"}).status == "ok"


def test_too_little_memory_for_the_worker_is_a_mistake_of_the_user(inputs):
    with (
        LiveEvaluator(SPACE, inputs, SECONDS, 16, 1) as evaluator,
        pytest.raises(UserError, match=r"limits.memory_mb: 16 is too little: the worker takes \d+"),
    ):
        evaluator.evaluate(GOOD)


# Independence


def test_order_of_evaluations_does_not_matter(inputs):
    every = [
        GOOD,
        {"behaviour": "random"},
        {"behaviour": "meddles"},
        {"behaviour": "random", "a": 1},
    ]
    results = []
    for order in ([0, 1, 2, 3], [2, 3, 1, 1, 0]):
        with LiveEvaluator(SPACE, inputs, SECONDS, MEMORY, 1) as evaluator:
            found = {i: evaluator.evaluate(every[i]) for i in order}
        results.append([found[i].test.tobytes() for i in range(4)])
    assert results[0] == results[1]


def test_state_is_restored(evaluator):
    before = evaluator.evaluate({"behaviour": "looks_around"})
    evaluator.evaluate({"behaviour": "meddles"})
    after = evaluator.evaluate({"behaviour": "looks_around"})
    assert before.message.startswith("{'folder'")
    assert after.message == before.message


@pytest.mark.parametrize("behaviour", ["leaves_child", "leaves_child_and_dies"])
def test_children_left_behind_are_killed(evaluator, good, tmp_path, behaviour):
    path = tmp_path / "pid"
    evaluator.evaluate({"behaviour": behaviour, "path": str(path)})
    assert gone(int(path.read_text()))
    check_next(evaluator, good)


# Death of the worker and of its parent


def test_worker_killed_from_outside_is_no_failure_of_the_configuration(evaluator, good, tmp_path):
    evaluator.evaluate(GOOD)
    os.kill(worker_pid(evaluator), signal.SIGKILL)
    check_next(evaluator, good)
    result = evaluator.evaluate({"behaviour": "killed_once", "path": str(tmp_path / "flag")})
    assert (tmp_path / "flag").exists()
    assert result.status == "ok"


def test_close_ends_the_worker(inputs):
    with LiveEvaluator(SPACE, inputs, SECONDS, MEMORY, 1) as evaluator:
        evaluator.evaluate(GOOD)
        pid, files = worker_pid(evaluator), len(os.listdir("/proc/self/fd"))
    assert gone(pid, 0.1)
    assert len(os.listdir("/proc/self/fd")) < files


def test_no_file_descriptors_are_lost(evaluator):
    def count():
        evaluator.evaluate(GOOD)
        return len(os.listdir("/proc/self/fd"))

    evaluator.evaluate({"behaviour": "segfault"})  # from here on there is a spare worker
    before = count()
    for behaviour in ("segfault", "writes_everywhere", "leaves_thread"):
        evaluator.evaluate({"behaviour": behaviour})
    assert count() == before


def spare_pid(evaluator):
    return evaluator._spare._process.pid


def test_a_spare_worker_waits_from_the_first_replacement_on(inputs, good):
    with LiveEvaluator(SPACE, inputs, SECONDS, MEMORY, 1) as evaluator:
        check_next(evaluator, good)
        assert evaluator._spare is None
        pids = {worker_pid(evaluator)}
        for behaviour in ("segfault", "loop_in_c", "loop_in_c", "leaves_thread", "allocate"):
            evaluator.evaluate({"behaviour": behaviour})
            if not evaluator._worker:
                first = spare_pid(evaluator)
                check_next(evaluator, good)
                assert worker_pid(evaluator) == first
            pids |= {worker_pid(evaluator), spare_pid(evaluator)}
        spare = spare_pid(evaluator)
    assert len(pids) == 1 + 4 + 1
    assert gone(spare, 0.1)


def test_a_spare_worker_that_is_killed_from_outside_is_not_missed(inputs, good):
    with LiveEvaluator(SPACE, inputs, SECONDS, MEMORY, 1) as evaluator:
        evaluator.evaluate({"behaviour": "segfault"})
        os.kill(spare_pid(evaluator), signal.SIGKILL)
        gone(spare_pid(evaluator))
        check_next(evaluator, good)
        os.kill(spare_pid(evaluator), signal.SIGKILL)
        check_next(evaluator, good)


def test_no_spare_worker_is_kept_that_takes_much_memory(inputs, good, monkeypatch):
    monkeypatch.setattr(evaluator_module, "SPARE_MB", 1)
    with LiveEvaluator(SPACE, inputs, SECONDS, MEMORY, 1) as evaluator:
        evaluator.evaluate({"behaviour": "segfault"})
        check_next(evaluator, good)
        assert evaluator._spare is None


def test_memory_of_a_worker_counts_whole_however_many_share_it(inputs, tmp_path):
    path = tmp_path / "shared"
    with path.open("wb") as file:
        file.truncate(220 * 2**20)
    values = {"behaviour": "shares_with_others", "path": str(path)}
    with (
        path.open("rb") as file,
        mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ) as mapped,
        LiveEvaluator(SPACE, inputs, 60, MEMORY, 1) as evaluator,
    ):
        sum(mapped[:: mmap.PAGESIZE])
        result = evaluator.evaluate(values)
    assert (result.status, result.error_type) == ("memory", "MemoryError"), result.message


PARENT = """
import json, signal, sys, threading, time
signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored in a background shell
from ensemble_search.evaluation.live import LiveEvaluator
inputs, behaviour, first = sys.argv[1:]
with LiveEvaluator("support.hostile_space", inputs, 60, 512, 1) as evaluator:
    evaluator.evaluate({"behaviour": first} if first != "none" else {})
    evaluator.evaluate({})
    print(evaluator._worker._process.pid, flush=True)
    print(evaluator.evaluate({"behaviour": behaviour}).status, flush=True)
"""


def start_parent(inputs, behaviour, first="none"):
    parent = subprocess.Popen(
        [sys.executable, "-c", PARENT, str(inputs), behaviour, first],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": PYTHONPATH},
        start_new_session=True,
    )
    worker = psutil.Process(int(parent.stdout.readline()))
    idle = sum(worker.cpu_times()[:2])
    tree = [worker]
    while sum(p.cpu_times().user for p in tree) < idle + 0.3:  # until it is busy
        time.sleep(0.02)
        tree = [worker, *worker.children()]
    return parent, tree


@pytest.mark.parametrize("behaviour", ["loop_in_c", "child_works"])
def test_worker_dies_with_its_parent(inputs, behaviour):
    parent, tree = start_parent(inputs, behaviour)
    assert len(tree) == 1 + (behaviour == "child_works")
    parent.kill()
    parent.communicate()
    assert all(gone(process.pid) for process in tree)


def test_a_spare_worker_dies_with_its_parent(inputs):
    parent, tree = start_parent(inputs, "loop_in_c", first="segfault")
    workers = psutil.Process(parent.pid).children()
    assert len(workers) == 2
    assert tree[0] in workers
    parent.kill()
    parent.communicate()
    assert all(gone(worker.pid) for worker in workers)


def test_an_interrupt_is_no_failed_evaluation(inputs):
    parent, tree = start_parent(inputs, "loop_in_c")
    os.killpg(parent.pid, signal.SIGINT)
    out, err = parent.communicate(timeout=120)
    assert out == ""
    assert "KeyboardInterrupt" in err
    assert gone(tree[0].pid)


# A worker that cannot start is an error of the search


def test_worker_that_cannot_start_is_an_error(inputs, tmp_path):
    with (
        LiveEvaluator("no_such_space", inputs, SECONDS, MEMORY, 1) as evaluator,
        pytest.raises(EvaluatorError, match=r"(?s)did not start.*No module named 'no_such_space'"),
    ):
        evaluator.evaluate(GOOD)
    (tmp_path / "inputs.npz").write_bytes(b"PK torn")
    with (
        LiveEvaluator(SPACE, tmp_path / "inputs.npz", SECONDS, MEMORY, 1) as evaluator,
        pytest.raises(EvaluatorError, match="did not start"),
    ):
        for _ in range(2):
            evaluator.evaluate(GOOD)


def test_start_has_a_limit_of_time(inputs, tmp_path, monkeypatch):
    (tmp_path / "sleeping_space.py").write_text("import time\ntime.sleep(600)\n")
    monkeypatch.setenv("PYTHONPATH", f"{tmp_path}{os.pathsep}{os.environ['PYTHONPATH']}")
    monkeypatch.setattr(evaluator_module, "START_SECONDS", 0.1)
    with (
        LiveEvaluator("sleeping_space", inputs, SECONDS, MEMORY, 1) as evaluator,
        pytest.raises(EvaluatorError, match="not started within"),
    ):
        evaluator.evaluate(GOOD)


def test_modules_to_import_at_the_start_exist():
    assert all(importlib.util.find_spec(name) for name in MODULES)


# Alignment of columns


def test_missing_class_is_padded(evaluator):
    result = evaluator.evaluate({"behaviour": "missing_class"})
    assert result.status == "ok"
    assert not result.validation[:, 1].any()
    assert (result.validation[:, [0, 2]].sum(axis=0) > 0).all()
    np.testing.assert_allclose(result.validation.sum(axis=1), 1, atol=1e-6)


def test_instant_learners_are_deterministic_and_differ(evaluator):
    space = HostileSpace().configspace
    space.seed(3)
    configurations = [dict(c) for c in space.sample_configuration(20)]
    first = [evaluator.evaluate(c).validation.tobytes() for c in configurations]
    assert first == [evaluator.evaluate(c).validation.tobytes() for c in configurations]
    assert len(set(first)) > 10
    assert {c["algorithm"] for c in configurations} == {"euclid", "power", "wave"}
