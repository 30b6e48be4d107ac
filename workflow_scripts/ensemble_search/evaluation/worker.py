"""Worker process: fits configurations (``python -m ensemble_search.evaluation.worker``).

``LiveEvaluator`` starts and supervises it. Messages in both directions consist of two lengths
(:data:`LENGTHS`), a JSON header, and raw float32 bytes.
"""

import contextlib
import ctypes
import gc
import importlib
import json
import os
import random
import re
import resource
import signal
import struct
import sys
import threading
import time
import warnings
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import psutil

from ensemble_search.data.rows import share_of_rows
from ensemble_search.problems import tasks
from ensemble_search.problems.base import InvalidPredictionError
from ensemble_search.runtime import plugins, signals
from ensemble_search.runtime.names import CLASSIFICATION, REGRESSION

LENGTHS = struct.Struct("<QQ")
MIB = 2**20
MESSAGE_LENGTH = 300
#: Exit status of a worker whose learner closed its pipe.
PIPE_LOST = 90
#: Share of the initially free memory that an evaluation may leave allocated.
LEFTOVER_SHARE = 0.25
#: Imported at the start, so that no evaluation pays for the import, unless the space has
#: ``modules``.
MODULES = (
    "ensemble_search.learners.pipeline",
    "ensemble_search.learners.preprocessors",
    "ensemble_search.learners.regression_preprocessors",
    "ensemble_search.learners.rescalers",
    "lightgbm",
    "sklearn.calibration",
    "sklearn.cluster",
    "sklearn.decomposition",
    "sklearn.discriminant_analysis",
    "sklearn.ensemble",
    "sklearn.feature_selection",
    "sklearn.kernel_approximation",
    "sklearn.linear_model",
    "sklearn.multiclass",
    "sklearn.naive_bayes",
    "sklearn.neighbors",
    "sklearn.pipeline",
    "sklearn.preprocessing",
    "sklearn.random_projection",
    "sklearn.svm",
    "sklearn.tree",
)
_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2)
_OUT_OF_MEMORY = (
    *("bad_alloc", "bad allocation", "out of memory", "cannot allocate memory"),
    *("unable to allocate", "can't start new thread"),
)


def one_line(text: str) -> str:
    """Collapse whitespace, mask addresses, and truncate to :data:`MESSAGE_LENGTH` characters."""
    # Truncate first: a message may be megabytes long and need not be valid text.
    text = text[: 10 * MESSAGE_LENGTH].encode("utf-8", "replace").decode()
    text = re.sub(r"\b0x[0-9a-fA-F]{6,}", "0x...", text)  # addresses change between runs
    text = " ".join(text.split())
    return text if len(text) <= MESSAGE_LENGTH else f"{text[: MESSAGE_LENGTH - 4]} ..."


def is_out_of_memory(text: str) -> bool:
    """Whether ``text`` reports a failed allocation, in the wording of C or C++ libraries."""
    return any(words in text.lower() for words in _OUT_OF_MEMORY)


def read_exactly(fd: int, size: int) -> bytes:
    """Read ``size`` bytes from a pipe; EOFError if it ends earlier."""
    parts = []
    while size:
        part = os.read(fd, min(size, MIB))
        if not part:
            raise EOFError
        parts.append(part)
        size -= len(part)
    return b"".join(parts)


def write_message(fd: int, header: Mapping[str, Any], *arrays: np.ndarray) -> None:
    """Write a header and the bytes of float32 arrays to a pipe."""
    text = json.dumps(header).encode()
    lengths = LENGTHS.pack(len(text), sum(a.nbytes for a in arrays))
    parts: list[Any] = [lengths + text, *(a.ravel().view(np.uint8) for a in arrays)]
    for part in parts:
        rest = memoryview(part)
        while rest:
            rest = rest[os.write(fd, rest) :]


@contextlib.contextmanager
def _clean_state() -> Iterator[None]:
    """Isolate an evaluation from earlier and later ones."""
    folder, environment = os.getcwd(), dict(os.environ)
    random.seed(0)
    np.random.seed(0)
    try:
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        with contextlib.suppress(OSError):
            os.chdir(folder)
        if os.environ != environment:
            os.environ.clear()
            os.environ.update(environment)


class _Worker:
    def __init__(self, space: str, inputs: str, memory_mb: int, threads: int):
        self.space = plugins.at(space)()
        for module in getattr(self.space, "modules", MODULES):
            importlib.import_module(module)
        with np.load(inputs, allow_pickle=False) as arrays:
            names = ["X_train", "y_train", "X_test", "categorical", "folds"]
            names += [] if arrays["folds"].size else ["X_validation"]
            self.data = {name: arrays[name] for name in names}
            self.weights = arrays["weights"] if "weights" in arrays else np.empty(0)
            self.data.setdefault("X_validation", self.data["X_train"])
            classes = len(arrays["classes"])
        self.problem = tasks.PROBLEMS[CLASSIFICATION if classes else REGRESSION]
        self.space = self.space.for_task(self.problem.task)
        self.n_outputs = classes or 1
        self.threads = threads
        gc.collect()
        gc.freeze()  # so that garbage collection after an evaluation takes microseconds
        self._limit_memory(memory_mb)
        self.n_threads = threading.active_count()
        self.estimator: Any = None
        self.standard = self._standard_files()

    def ready(self) -> dict[str, Any]:
        rows = {f"n_{part}": len(self.data[f"X_{part}"]) for part in ("validation", "test")}
        return {
            **rows,
            "n_outputs": self.n_outputs,
            "resident_mb": self.start_memory[0] / MIB,
            "private_limit": self.start_memory[1] + self.headroom,
        }

    def _limit_memory(self, memory_mb: int) -> None:
        """Limit the growth of private memory to the remaining resident memory."""
        self.start_memory = resident, data = _memory()
        self.headroom = max(memory_mb * MIB - resident, 0)
        if sys.platform == "linux" and self.headroom:  # else the parent ends the search
            resource.setrlimit(resource.RLIMIT_DATA, (data + self.headroom,) * 2)

    def evaluate(
        self, values: Mapping[str, Any], fidelity: float, save: str | None = None
    ) -> tuple[dict[str, Any], list[np.ndarray]]:
        """Fit and predict; if ``save`` is given, save the last fitted pipeline to that folder.

        Returns the header of the reply, and the predictions of validation and test rows, empty
        unless the status is ``ok``.
        """
        predictions: list[np.ndarray] = []
        status, kind, message = "ok", None, None
        predict_seconds = None
        highest = _forget_peak()
        start, cpu = time.perf_counter(), _cpu_seconds()
        try:
            with _clean_state():
                predictions, predict_seconds = self._fit_predict(values, fidelity)
                if save:
                    # Imported by name, so that searches do not depend on how pipelines are stored.
                    members = importlib.import_module("ensemble_search.predictor.members")
                    members.save(self.estimator, Path(save))
        except InvalidPredictionError as error:
            status, kind, message = "invalid", "InvalidPrediction", str(error)
        except BaseException as error:  # including sys.exit and KeyboardInterrupt
            kind = type(error).__name__
            with contextlib.suppress(Exception):
                message = str(error)
            lacking = isinstance(error, MemoryError) or is_out_of_memory(message or "")
            status = "memory" if lacking else "crash"
        seconds = time.perf_counter() - start
        peak = _peak_memory(highest)
        self.estimator = None
        gc.collect()
        _release_memory()
        header = {
            "status": status,
            "error_type": kind,
            "message": one_line(message or kind) if kind else None,
            "fit_seconds": seconds,
            "predict_seconds": predict_seconds,
            "peak_bytes": peak,
            "replace": self._changed(),  # also reaps children, so that their time is counted below
            "cpu_seconds": _cpu_seconds() - cpu,
        }
        return header, predictions

    def _fit_predict(
        self, values: Mapping[str, Any], fidelity: float
    ) -> tuple[list[np.ndarray], float]:
        """Fit once, or once per fold; return validation and test predictions and their seconds."""
        X, y, folds = (self.data[name] for name in ("X_train", "y_train", "folds"))
        if not folds.size:
            rows = share_of_rows(y, fidelity)
            return self._fit_predict_once(values, rows, self.data["X_validation"].copy())
        out_of_fold, seconds = np.empty((len(y), self.n_outputs), np.float32), 0.0
        test = np.zeros(())
        for held in (folds == number for number in range(folds.max() + 1)):
            rows = np.flatnonzero(~held)
            rows = rows[share_of_rows(y[rows], fidelity)]
            predictions, took = self._fit_predict_once(values, rows, X[held])
            out_of_fold[held] = predictions[0]
            test = test + predictions[1].astype(float)
            seconds += took
        return [out_of_fold, (test / (folds.max() + 1)).astype(np.float32)], seconds

    def _fit_predict_once(
        self, values: Mapping[str, Any], rows: np.ndarray, X_validation: np.ndarray
    ) -> tuple[list[np.ndarray], float]:
        # Copies, because some learners change their input in place.
        X_test, categorical = self.data["X_test"].copy(), self.data["categorical"].copy()
        self.estimator = estimator = self.space.pipeline(values, categorical, self.threads)
        own = [self.weights[rows]] if self.weights.size else []
        estimator.fit(self.data["X_train"][rows], self.data["y_train"][rows], *own)
        start = time.perf_counter()
        predictions = [
            self.problem.predict(estimator, X, self.n_outputs) for X in (X_validation, X_test)
        ]
        return predictions, time.perf_counter() - start

    def _changed(self) -> str | None:
        """Name a remnant of an evaluation that only a new process clears; None if there is none."""
        with contextlib.suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
            return "children"
        if threading.active_count() != self.n_threads:
            return "threads"
        if self._standard_files() != self.standard:
            return "files"
        grown = max(now - then for now, then in zip(_memory(), self.start_memory, strict=True))
        return "memory" if grown > LEFTOVER_SHARE * self.headroom else None

    @staticmethod
    def _standard_files() -> list[tuple[int, int] | None]:
        return [_identity(fd) for fd in (0, 1, 2)]


def _identity(fd: int) -> tuple[int, int] | None:
    try:
        status = os.fstat(fd)
    except OSError:
        return None
    return status.st_dev, status.st_ino


def _cpu_seconds() -> float:
    """CPU seconds of this process and its ended children."""
    usage = [resource.getrusage(w) for w in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(u.ru_utime + u.ru_stime for u in usage)


def _memory() -> tuple[int, int]:
    """Resident and private writable memory of this process, in bytes."""
    memory = psutil.Process().memory_info()
    return memory.rss, getattr(memory, "data", memory.rss)


def _forget_peak() -> int | None:
    """Reset the kernel's peak of resident memory (Linux), or return the lifetime peak in bytes.

    Without a reset, only memory beyond the earlier peak can be attributed to later code.
    """
    try:
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
    except OSError:
        return _lifetime_peak()
    return None


def _peak_memory(highest: int | None) -> int:
    """Peak of resident memory in bytes since :func:`_forget_peak`, which returned ``highest``."""
    if highest is None:
        status = Path("/proc/self/status").read_text(encoding="utf-8", errors="replace")
        if found := re.search(r"^VmHWM:\s*(\d+) kB", status, re.MULTILINE):
            return int(found[1]) * 1024
    elif (peak := _lifetime_peak()) > highest:
        return peak
    return _memory()[0]


def _lifetime_peak() -> int:
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


def _release_memory() -> None:
    with contextlib.suppress(AttributeError):  # glibc only
        ctypes.CDLL(None).malloc_trim(0)


def _be_a_child() -> None:
    """Make a process forked by a learner die with the worker and obey signals."""
    for number in _SIGNALS:
        signal.signal(number, signal.SIG_DFL)
    signals.prctl(signals.PARENT_DEATH_SIGNAL, signal.SIGKILL)


def main() -> None:
    """Serve requests from the pipe until it is closed."""
    settings = json.loads(sys.argv[1])
    requests, replies = settings.pop("requests"), settings.pop("replies")
    signals.with_parent(settings.pop("parent"), signal.SIGKILL)
    signals.prctl(36, 1)  # PR_SET_CHILD_SUBREAPER: orphans stay in the tree and are found
    for number in _SIGNALS:  # not SIG_IGN, which programs started by a learner would inherit
        signal.signal(number, lambda *_: None)
        signal.siginterrupt(number, False)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    worker, pid = _Worker(**settings), os.getpid()
    os.register_at_fork(after_in_child=_be_a_child)
    try:
        write_message(replies, worker.ready())
        while True:
            header, _ = LENGTHS.unpack(read_exactly(requests, LENGTHS.size))
            request = json.loads(read_exactly(requests, header))
            reply, predictions = worker.evaluate(
                request["values"], request["fidelity"], request["save"]
            )
            if os.getpid() != pid:  # a child forked by a learner
                os._exit(0)
            try:
                write_message(replies, {**reply, "id": request["id"]}, *predictions)
            except OSError:
                os._exit(PIPE_LOST)
    except EOFError:  # the parent is done with this worker
        pass
    os._exit(0)  # even if a learner left threads running


if __name__ == "__main__":
    main()
