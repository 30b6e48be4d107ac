"""A space for tests: learners that fit in microseconds, and learners that misbehave.

``HostileSpace`` has a small conditional ConfigSpace of instant learners (nearest centroids with
odd metrics, numpy only). The value ``behaviour``, which is no hyperparameter and so is never
sampled, makes the learner do what the function of that name in this module says.
:func:`write_inputs` makes the ``inputs.npz`` of a small split.
"""

import ctypes
import itertools
import mmap
import os
import random
import signal
import sys
import threading
import time
import warnings
from pathlib import Path

import numpy as np

from ensemble_search.data.rows import fold_numbers
from ensemble_search.spaces.base import Space

MIB = 2**20
KEPT = []


def write_inputs(folder, *, n_rows=90, n_features=4, n_classes=3, seed=0, test_rows=None, folds=0):
    """Write ``inputs.npz`` and ``test_labels.npy`` of a blob a class; return the first's path."""
    rng = np.random.default_rng(seed)
    centres = rng.normal(scale=1.5, size=(n_classes, n_features))
    arrays = {}
    rows = {"train": n_rows, "validation": n_rows // 3, "test": test_rows or n_rows // 3}
    for part, n in rows.items():
        y = np.arange(n) % n_classes
        arrays[f"X_{part}"] = centres[y] + rng.normal(size=(n, n_features))
        arrays[f"y_{part}"] = y
    if folds:
        arrays |= {f"{a}_validation": arrays[f"{a}_train"] for a in "Xy"}
    folder = Path(folder)
    np.save(folder / "test_labels.npy", arrays.pop("y_test"))
    np.savez(
        folder / "inputs.npz",
        categorical=np.zeros(n_features, dtype=bool),
        classes=np.array([f"class {c}" for c in range(n_classes)]),
        features=np.array([f"x{j}" for j in range(n_features)]),
        folds=fold_numbers(arrays["y_train"], folds) if folds else np.empty(0, dtype=np.int64),
        **arrays,
    )
    return folder / "inputs.npz"


class HostileSpace(Space):
    """Instant learners; the value ``behaviour`` names what a learner does wrong."""

    modules = ()  # a worker that starts quickly: no scikit-learn

    def define(self):
        # Not above: it takes a second, and workers, which are started by the hundred, do without.
        from ConfigSpace import Categorical, ConfigurationSpace, EqualsCondition, Float, Integer

        space = ConfigurationSpace()
        algorithm = Categorical("algorithm", ["euclid", "power", "wave"])
        sharpness = Float("sharpness", (0.01, 100.0), default=1.0, log=True)
        power = Integer("power", (1, 8), default=2)
        frequency = Float("frequency", (0.0, 3.0), default=1.0)
        space.add(algorithm, sharpness, power, frequency)
        space.add(EqualsCondition(power, algorithm, "power"))
        space.add(EqualsCondition(frequency, algorithm, "wave"))
        return space

    def pipeline(self, values, categorical, threads):
        behaviour = values.get("behaviour")
        if behaviour == "random":
            return _Random(values)
        if behaviour in PREDICTIONS:
            return _Unfit(values)
        return _Instant(values)


class _Instant:
    """Softmax over negative distances to the class means."""

    def __init__(self, values):
        self.values = values

    def fit(self, X, y):
        if behaviour := self.values.get("behaviour"):
            globals()[behaviour](self.values, X, y)
        self.classes_ = np.unique(y)
        self.centres = np.array([X[y == c].mean(axis=0) for c in self.classes_])
        return self

    def predict_proba(self, X):
        power = self.values.get("power", 2)
        frequency = self.values.get("frequency", 0.0)
        weights = 1.01 + np.cos(frequency * np.arange(X.shape[1]))
        distance = np.stack([(weights * np.abs(X - c) ** power).sum(1) for c in self.centres], 1)
        score = -self.values.get("sharpness", 1.0) * (distance - distance.min(1, keepdims=True))
        odds = np.exp(score)
        return odds / odds.sum(axis=1, keepdims=True)


class _Random(_Instant):
    """Predicts from the global random generators."""

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self

    def predict_proba(self, X):
        drawn = np.random.random((len(X), len(self.classes_))) + random.random()
        return drawn / drawn.sum(axis=1, keepdims=True)


PREDICTIONS = {
    "nan": lambda p: np.where(np.arange(len(p))[:, None] == 3, np.nan, p),
    "infinite": lambda p: np.where(np.arange(len(p))[:, None] == 3, np.inf, p),
    "negative": lambda p: p - 0.5,
    "zeros": lambda p: np.where(np.arange(len(p))[:, None] == 3, 0, p),
    "wrong_rows": lambda p: p[:-1],
    "wrong_columns": lambda p: p[:, :-1],
    "flat": lambda p: p[:, 0],
    "words": lambda p: p.astype(str).astype(object) + "x",
    "nothing": lambda p: None,
    "unscaled": lambda p: p * 1e300,
    "late": lambda p: (time.sleep(0.05), p)[1],
    "missing_class": lambda p: p,
    "strange_class": lambda p: p,
}


class _Unfit(_Instant):
    """Predictions that are none, or of fewer classes."""

    def fit(self, X, y):
        behaviour = self.values["behaviour"]
        if behaviour == "missing_class":
            X, y = X[y != 1], y[y != 1]
        fitted = _Instant({}).fit(X, y)
        self.classes_, self.centres = fitted.classes_, fitted.centres
        if behaviour == "strange_class":
            self.classes_ = self.classes_ + 1
        return self

    def predict_proba(self, X):
        return PREDICTIONS[self.values["behaviour"]](super().predict_proba(X))


# Time


def loop_in_c(values, X, y):
    sum(itertools.repeat(1))  # never looks at signals


def loop_in_python(values, X, y):
    while True:
        pass


def sleep(values, X, y):
    time.sleep(values.get("seconds", 1e6))


def sleeps_in_bits(values, X, y):
    for _ in range(100):  # the kernel does not let a long sleep go on after a suspension
        time.sleep(values["seconds"] / 100)


def work(values, X, y):
    end = time.process_time() + values["seconds"]
    while time.process_time() < end:
        pass


def child_works(values, X, y):
    if os.fork() == 0:
        loop_in_c(values, X, y)
    os.wait()


# Memory


def allocate(values, X, y):
    np.ones(10 * 2**30, dtype=np.uint8)


def child_grows(values, X, y):
    if os.fork() == 0:
        grow({"shared": True}, X, y)
    os.wait()


def grow(values, X, y):
    while True:  # 2 MiB at a time, never all at once
        if values.get("shared"):  # which RLIMIT_DATA does not count
            KEPT.append(mmap.mmap(-1, 2 * MIB))
            KEPT[-1].write(bytes(2 * MIB))
        else:
            KEPT.append(np.ones(2 * MIB, dtype=np.uint8))
        time.sleep(0.002)


def grow_and_fall(values, X, y):
    """C code that uses what it asked for without a look whether it got it."""
    try:
        grow(values, X, y)
    except MemoryError:
        ctypes.string_at(0)


def children_grow(values, X, y):
    """Each child stays below the limit, all of them do not."""
    for _ in range(8):
        if os.fork() == 0:
            KEPT.append(np.ones(60 * MIB, dtype=np.uint8))
            time.sleep(1e6)
    os.wait()


def children_share(values, X, y):
    """Many processes that share their memory: little in all."""
    KEPT.append(np.ones(40 * MIB, dtype=np.uint8))
    for _ in range(8):
        if os.fork() == 0:
            time.sleep(0.7)
            os._exit(0)
    for _ in range(8):
        os.wait()
    KEPT.clear()


def shares_with_others(values, X, y):
    """A file that another process has mapped, too."""
    with open(values["path"], "rb") as file, mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ) as m:
        sum(m[:: mmap.PAGESIZE])
        time.sleep(0.7)


def peaks(values, X, y):
    np.ones(60 * MIB, dtype=np.uint8)  # and gives it back


def keeps_memory(values, X, y):
    KEPT.append(np.ones(100 * MIB, dtype=np.uint8))


def bad_alloc(values, X, y):
    """What an uncaught std::bad_alloc of C++ looks like from outside."""
    os.write(2, b"terminate called after throwing an instance of 'std::bad_alloc'\n")
    os.abort()


def bad_alloc_caught(values, X, y):
    raise RuntimeError("std::bad_alloc")


def no_new_thread(values, X, y):
    raise RuntimeError("can't start new thread")


# Ends of the process


def segfault(values, X, y):
    ctypes.string_at(0)


def abort(values, X, y):
    os.abort()


def os_exit(values, X, y):
    os._exit(3)


def sys_exit(values, X, y):
    sys.exit("enough")


def kills_itself(values, X, y):
    os.kill(os.getpid(), signal.SIGKILL)


def killed_once(values, X, y):
    """Killed from outside, in effect, the first time only."""
    flag = Path(values["path"])
    if not flag.exists():
        flag.touch()
        os.kill(os.getpid(), signal.SIGKILL)


def signals(values, X, y):
    """SIGINT and SIGTERM, as when somebody interrupts all processes of a job."""
    os.killpg(os.getpgid(0), signal.SIGINT)
    os.killpg(os.getpgid(0), signal.SIGTERM)


def keyboard_interrupt(values, X, y):
    raise KeyboardInterrupt


# Exceptions and noise


def raises(values, X, y):
    raise ValueError("first\n\n   second\tline" + "\nmore" * 1_000_000)


def names_an_address(values, X, y):
    raise ValueError(f"no use for {object()}, 0xff")


def raises_oddly(values, X, y):
    class Odd(Exception):
        def __str__(self):
            raise RuntimeError("no words")

    raise Odd


def prints(values, X, y):
    for stream in (sys.stdout, sys.stderr):
        stream.write("x" * 79 + "\n")
        stream.write(("x" * 79 + "\n") * 65536)
        stream.flush()


def warns(values, X, y):
    for i in range(20_000):
        warnings.warn(f"warning {i}", stacklevel=1)


# What is left behind


def leaves_child(values, X, y):
    """A daemon: child of a child, in a session of its own, with all pipes open."""
    read, write = os.pipe()
    if os.fork() == 0:
        os.setsid()
        ctypes.CDLL(None).prctl(1, 0)  # outlives its parent
        if os.fork() == 0:
            ctypes.CDLL(None).prctl(1, 0)
            os.write(write, b"%d" % os.getpid())
            time.sleep(1e6)
        time.sleep(0.2)
        os._exit(0)
    Path(values["path"]).write_bytes(os.read(read, 20))
    os.wait()


def leaves_child_and_dies(values, X, y):
    leaves_child(values, X, y)
    time.sleep(0.5)
    segfault(values, X, y)


def leaves_thread(values, X, y):
    threading.Thread(target=time.sleep, args=(1e6,), daemon=True).start()


def fork_comes_back(values, X, y):
    """Both processes return from fit."""
    os.fork()


def closes_files(values, X, y):
    os.closerange(3, 256)


def closes_standard_files(values, X, y):
    os.closerange(0, 3)


def writes_everywhere(values, X, y):
    for fd in range(1, 1024):
        try:
            os.write(fd, b"rubbish " * 5)
        except OSError:
            continue


def meddles(values, X, y):
    """Change whatever is global."""
    X *= np.nan
    y[:] = 0
    os.chdir("/")
    os.environ["OMP_NUM_THREADS"] = "99"
    os.environ["MEDDLED"] = "1"
    np.random.seed(123)
    random.seed(123)
    np.seterr(all="raise")
    warnings.simplefilter("error")
    X[:] = 1.0


def looks_around(values, X, y):
    """Raise if anything global has been changed by another evaluation."""
    warnings.warn("harmless", stacklevel=1)
    np.float64(1.0) / np.float64(0.0)
    found = {
        "folder": os.getcwd(),
        "meddled": os.environ.get("MEDDLED"),
        "threads": os.environ["OMP_NUM_THREADS"],
        "train": float(X.sum()),
        "labels": int(y.sum()),
    }
    raise RuntimeError(str(found))
