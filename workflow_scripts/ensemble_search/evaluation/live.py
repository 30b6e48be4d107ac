"""Evaluation in a worker process under time and memory limits: the parent's side."""

import json
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from ensemble_search.evaluation.base import Evaluation, EvaluatorError
from ensemble_search.evaluation.process import WorkerProcess, oom_kills
from ensemble_search.evaluation.worker import MIB, is_out_of_memory
from ensemble_search.runtime import plugins
from ensemble_search.runtime.errors import UserError

START_SECONDS = 300
#: Attempts per evaluation: a worker killed from outside is not the configuration's fault.
TRIES = 2
#: Wall-clock seconds allowed beyond twice the limit of CPU seconds.
GRACE_SECONDS = 5
#: A spare worker is kept only if an idle worker takes at most this resident memory.
SPARE_MB = 1000
#: A worker that dies of a signal with this share of its memory in use ran out of memory.
NEARLY_FULL = 0.75


LACKING = (
    "the system has too little memory, so the kernel ended the worker; "
    "give the job more memory, or run fewer jobs at a time"
)


class _LimitError(Exception):
    """An evaluation exceeded a limit; the argument is the status."""


class LiveEvaluator:
    """Fit configurations in a worker process that is killed when it exceeds a limit.

    The worker is reused until it dies, is killed, or retains memory, children or threads of an
    evaluation. Because starting a worker takes seconds, a spare one is kept ready after the first
    replacement. A worker dies with the thread that started it. Workers get the training set and the
    validation and test features, but never validation or test labels. Use as a context manager.

    Parameters
    ----------
    space_module
        Module of the space, such as ``ensemble_search.spaces.divbo``, or one on ``PYTHONPATH``.
    inputs
        ``inputs.npz`` of a split.
    seconds
        CPU seconds per thread that the worker's process tree may take for an evaluation. Code that
        waits or hangs is stopped after 2 * seconds + 5 of wall-clock time. Time during which this
        process is suspended, for example by SLURM or with a laptop, does not count. On Linux,
        neither does time during which the tree waits for a processor, so a busy machine causes no
        timeouts.
    memory_mb
        Resident memory of the worker's process tree in MiB, including interpreter and data.
        Allocations by the worker beyond it raise MemoryError (RLIMIT_DATA, on Linux); its
        children's memory is sampled.
    threads
        Threads for BLAS, OpenMP and the learners.
    """

    def __init__(
        self, space_module: str, inputs: Path, seconds: float, memory_mb: int, threads: int
    ):
        self._settings = {
            "space": space_module,
            "inputs": str(Path(inputs).resolve()),
            "memory_mb": memory_mb,
            "threads": threads,
        }
        self._seconds, self._memory, self._threads = seconds, memory_mb * MIB, threads
        self._worker: WorkerProcess | None = None
        self._spare: WorkerProcess | None = None
        self._replaces = False
        self._cancelled = False
        self._id = 0

    def __enter__(self) -> "LiveEvaluator":
        return self

    def __exit__(self, *_) -> None:
        self.close()

    def close(self) -> None:
        """Kill the workers and their descendants."""
        workers, self._worker, self._spare = (self._worker, self._spare), None, None
        for worker in filter(None, workers):
            worker.kill()

    def cancel(self) -> None:
        """See :meth:`Evaluator.cancel`."""
        self._cancelled = True

    def _check_cancelled(self) -> None:
        if self._cancelled:
            raise EvaluatorError("the evaluation was cancelled")

    def _replace(self) -> None:
        """Kill the worker and start the next one, unless a spare is ready."""
        worker, self._worker = self._worker, None
        assert worker is not None
        worker.kill()
        self._replaces = True
        self._prepare()

    def _prepare(self) -> None:
        if self._replaces and not self._spare:
            self._spare = WorkerProcess(self._settings)

    def evaluate(
        self, values: Mapping[str, Any], fidelity: float = 1.0, save: Path | None = None
    ) -> Evaluation:
        """Fit the pipeline of a configuration and predict the validation and test rows.

        With ``save``, the fitted pipeline (with folds, that of the last fold) is written to that
        folder, within the same limits; see ``predictor.members``.

        The result depends only on configuration and fidelity: every evaluation starts from the same
        global random state, working directory, environment and data. The limits apply to the whole
        evaluation, including all folds.

        Raises UserError if the memory limit is too low for the worker itself. Raises EvaluatorError
        if no worker starts or survives, if the system has too little memory for a worker within its
        limit, or after :meth:`cancel`. Failures of a configuration are results, not errors.
        """
        self._id += 1
        request = json.dumps(
            {
                "id": self._id,
                "values": dict(values),
                "fidelity": fidelity,
                "save": save and str(save),
            },
            default=lambda v: v.item(),
        )
        try:
            for last in (*[False] * (TRIES - 1), True):
                self._worker = self._worker or self._start()
                result = self._attempt(self._worker, request.encode(), last)
                if result:
                    return result
                self._replace()
        except BaseException:  # an interrupt: the worker's state is unknown
            self.close()
            raise
        raise EvaluatorError(f"the worker died {TRIES} times before it took an evaluation")

    def _start(self) -> WorkerProcess:
        """Wait until the spare worker, if alive, or a new one is ready."""
        worker, self._spare = self._spare, None
        if worker and not worker.alive:  # killed from outside
            worker.kill()
            worker = None
        self._worker = worker = worker or WorkerProcess(self._settings)
        end = time.monotonic() + START_SECONDS

        def check() -> None:
            self._check_cancelled()
            if time.monotonic() > end:
                raise EvaluatorError(f"the worker has not started within {START_SECONDS} s")

        try:
            ready, _ = worker.receive(check)
        except EOFError:
            cause = worker.cause_of_death()[1]
            raise EvaluatorError(f"the worker did not start: {cause}\n{worker.stderr}") from None
        if ready["resident_mb"] * MIB > self._memory:
            needed = int(ready["resident_mb"])
            raise UserError(
                f"limits.memory_mb: {self._settings['memory_mb']} is too little: the worker takes "
                f"{needed} before it fits anything; give at least {2 * needed}"
            )
        self._private_limit = ready["private_limit"]
        rows = ready["n_validation"], ready["n_test"]
        self._shapes = [(n, ready["n_outputs"]) for n in rows]
        if ready["resident_mb"] <= SPARE_MB:
            self._prepare()
        return worker

    def _attempt(self, worker: WorkerProcess, request: bytes, last: bool) -> Evaluation | None:
        """Evaluate; None if the worker died without the configuration being the cause."""
        start, kills = time.monotonic(), oom_kills()
        worker.begin()

        def failure(status: str, error_type: str = "", message: str = "") -> Evaluation:
            seconds = time.monotonic() - start
            self._replace()
            resident = self._memory if status == "memory" else worker.resident
            error_type, message = self._words(status, error_type, message)
            return Evaluation(
                status,
                validation=None,
                test=None,
                fit_seconds=seconds,
                cpu_seconds=worker.cpu,
                predict_seconds=None,
                memory_mb=resident / MIB,
                error_type=error_type,
                message=message,
            )

        def check() -> None:
            self._check_cancelled()
            memory = worker.watch()
            self._check_cpu(worker.cpu)
            waited = time.monotonic() - start - worker.queued - worker.late
            if waited > 2 * self._seconds + GRACE_SECONDS:
                raise _LimitError("timeout")
            if memory > self._memory and worker.proportional_memory() > self._memory:
                raise _LimitError("memory")

        try:
            worker.send(request)
        except BrokenPipeError:
            return None
        try:
            header, body = worker.receive(check, self._id, sum(r * c for r, c in self._shapes) * 4)
            cpu = max(header["cpu_seconds"], worker.cpu)
            self._check_cpu(cpu)
        except _LimitError as limit:
            return failure(*limit.args)
        except EOFError:
            error_type, message = worker.cause_of_death()
            if error_type == "SIGKILL":
                if oom_kills() > kills:
                    raise EvaluatorError(LACKING) from None
                if not last:
                    return None
            # Much C code does not check whether an allocation succeeded.
            full = worker.private > NEARLY_FULL * self._private_limit
            lacking = error_type != "SIGKILL" and (full or is_out_of_memory(worker.stderr))
            return failure("memory" if lacking else "crash", error_type, message)
        except ValueError:
            return failure("crash", "ProtocolError", "the learner wrote to the worker's own pipe")
        if header["replace"]:
            self._replace()
        status = header["status"]
        error_type, message = self._words(status, header["error_type"], header["message"])
        validation = test = None
        if status == "ok":
            flat, (first, second) = np.frombuffer(body, dtype=np.float32), self._shapes
            cut = first[0] * first[1]
            validation, test = flat[:cut].reshape(first), flat[cut:].reshape(second)
        return Evaluation(
            status,
            validation,
            test,
            fit_seconds=header["fit_seconds"],
            cpu_seconds=cpu,
            predict_seconds=header["predict_seconds"],
            memory_mb=max(header["peak_bytes"], worker.resident) / MIB,
            error_type=error_type,
            message=message,
        )

    def _check_cpu(self, cpu: float) -> None:
        if cpu > self._seconds * self._threads:
            raise _LimitError("timeout")

    def _words(self, status: str, error_type: str, message: str) -> tuple[str, str]:
        """Return the error type and message, the same whichever check notices a limit first.

        Chance decides whether an allocation fails, the learner crashes or the parent measures it
        first.
        """
        if status == "memory":
            return "MemoryError", f"more than {self._memory // MIB} MiB"
        if status == "timeout":
            clock = 2 * self._seconds + GRACE_SECONDS
            text = (
                f"more than {self._seconds:g} s of CPU time per thread, or {clock:g} s wall-clock"
            )
            return "TimeoutError", text
        return error_type, message


def make(space: str, inputs: Path, limits: Mapping[str, float], threads: int) -> LiveEvaluator:
    """Create an evaluator that fits; see ``MakeEvaluator``."""
    module = plugins.address("spaces", space)
    return LiveEvaluator(module, inputs, limits["seconds"], int(limits["memory_mb"]), threads)
