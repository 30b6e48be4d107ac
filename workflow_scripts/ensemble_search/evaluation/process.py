"""A worker process as seen by its parent: pipes, resource usage and termination."""

import contextlib
import json
import os
import re
import selectors
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import psutil

from ensemble_search.evaluation.worker import LENGTHS, PIPE_LOST, one_line

ROOT = Path(__file__).parents[2]
THREADS = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "NUMEXPR_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
)
#: Seconds between samples of the worker: they grow from the first value to the second unless its
#: memory grows.
FIRST_STEP, LAST_STEP = 0.02, 0.1
_STDERR_BYTES = 8192
_HEADER_BYTES = 65536
_VMSTAT = Path("/proc/vmstat")
_HAS_CHILDREN_FILE = Path(f"/proc/self/task/{os.getpid()}/children").exists()


class WorkerProcess:
    """A running worker, given the evaluator's space, inputs, ``memory_mb`` and threads.

    Attributes
    ----------
    cpu, queued
        Seconds since :meth:`begin` during which the tree ran, and waited for a processor.
    late
        Total delay of samples since then in seconds, as when the whole job is suspended.
    private
        Largest private memory of the worker since then, in bytes.
    resident
        Largest sampled resident memory of the tree since then, in bytes.
    """

    def __init__(self, settings: Mapping[str, Any]):
        request_end, self._requests = os.pipe()
        self._replies, reply_end = os.pipe()
        settings = {
            **settings,
            "parent": os.getpid(),
            "requests": request_end,
            "replies": reply_end,
        }
        paths = [str(ROOT), os.environ.get("PYTHONPATH", "")]
        environment = {
            **os.environ,
            **dict.fromkeys(THREADS, str(settings["threads"])),
            "PYTHONPATH": os.pathsep.join(filter(None, paths)),
            "PYTHONHASHSEED": "0",
            "PYTHONWARNINGS": "ignore",
        }
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", "ensemble_search.evaluation.worker", json.dumps(settings)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            # A pipe of which only the last lines are kept, so that messages cannot fill a disk.
            stderr=subprocess.PIPE,
            pass_fds=(request_end, reply_end),
            env=environment,
            start_new_session=True,
        )
        os.close(request_end)
        os.close(reply_end)
        assert self._process.stderr is not None  # a pipe
        self._errors = self._process.stderr
        self._stderr = self._errors.fileno()
        self._selector = selectors.DefaultSelector()
        self._selector.register(self._replies, selectors.EVENT_READ)
        self._selector.register(self._stderr, selectors.EVENT_READ)
        self._tree = psutil.Process(self._process.pid)
        self._descendants: set[psutil.Process] = set()
        self._said = b""
        self._start_cpu = self._start_queued = self.cpu = self.queued = self.late = 0.0
        self.private = self.resident = 0

    @property
    def alive(self) -> bool:
        """Whether the process is still running."""
        return self._process.poll() is None

    @property
    def stderr(self) -> str:
        """The last lines that the worker wrote to stderr."""
        return self._said.decode(errors="replace").strip()

    def send(self, request: bytes) -> None:
        """Send a request; BrokenPipeError if the worker is dead."""
        rest = LENGTHS.pack(len(request), 0) + request
        while rest:
            rest = rest[os.write(self._requests, rest) :]

    def receive(
        self, check: Callable[[], None], identity: int | None = None, body_bytes: int = 0
    ) -> tuple[dict[str, Any], bytearray]:
        """Wait for a message; regularly call ``check``, which raises to stop waiting.

        Raises EOFError if the worker has died, ValueError if any but the expected message arrives.
        """
        received, step = bytearray(), FIRST_STEP
        due = time.monotonic() + step
        while True:
            if message := _parse(received, identity, body_bytes):
                return message
            dead = not self.alive
            read = self._read(0 if dead else max(0.0, due - time.monotonic()), received)
            if dead and not read:
                raise EOFError
            if (late := time.monotonic() - due) >= 0:
                self.late += late
                before = self.private
                check()
                # If memory grows, it may soon reach the limit.
                step = FIRST_STEP if self.private > before else min(1.2 * step, LAST_STEP)
                due = time.monotonic() + step

    def _read(self, seconds: float, received: bytearray) -> bool:
        """Read once, waiting at most ``seconds``; EOFError if the worker closed its pipe."""
        events = self._selector.select(seconds)
        for key, _ in events:
            part = os.read(key.fd, 65536)
            if key.fd == self._stderr:
                self._said = (self._said + part)[-_STDERR_BYTES:]
            received += part if key.fd == self._replies else b""
            if not part:
                self._selector.unregister(key.fileobj)
                if key.fd == self._replies:
                    raise EOFError
        return bool(events)

    def cause_of_death(self) -> tuple[str, str]:
        """Return the name of the signal, ``exit`` or ``ProtocolError``, and a one-line reason."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(timeout=2)
        with contextlib.suppress(EOFError):
            while self._read(0, bytearray()):
                pass
        code = self._process.returncode
        if code in (None, PIPE_LOST):
            return "ProtocolError", "the learner closed the worker's own pipe"
        name = signal.Signals(-code).name if code < 0 else "exit"
        text = f"the worker was ended by {name}" if code < 0 else f"exit with status {code}"
        said = self.stderr.splitlines()[-1:]
        return name, one_line(": ".join([text, *said]))

    def begin(self) -> None:
        """Reset the measurements."""
        self._descendants.clear()
        with contextlib.suppress(EOFError):
            while self._read(0, bytearray()):
                pass
        self._said, self.private, self.late = b"", 0, 0.0
        with contextlib.suppress(psutil.NoSuchProcess):
            self._start_cpu, self.cpu = sum(self._tree.cpu_times()[:4]), 0.0
            self.resident = self._tree.memory_info().rss
        self._start_queued, self.queued = _queued_seconds([self._tree]), 0.0

    def watch(self) -> int:
        """Update the measurements and return the resident bytes of the tree."""
        self._descendants |= set(_descendants(self._process.pid))
        cpu, memory = -self._start_cpu, 0
        for process in (self._tree, *self._descendants):
            with contextlib.suppress(psutil.NoSuchProcess):
                cpu += sum(process.cpu_times()[:4])  # including children that have ended
                used = process.memory_info()
                memory += used.rss
                if process == self._tree:
                    self.private = max(self.private, getattr(used, "data", used.rss))
        self.cpu = max(self.cpu, cpu)
        queued = _queued_seconds([self._tree, *self._descendants]) - self._start_queued
        self.queued = max(self.queued, queued)
        self.resident = max(self.resident, memory)
        return memory

    def proportional_memory(self) -> int:
        """Resident bytes of the tree, counting pages shared within it once if possible.

        The kernel's proportional set size also divides by processes outside the tree that share
        pages, such as the spare worker, so a worker without children is charged its full resident
        memory.
        """
        memory = 0
        for process in (self._tree, *self._descendants):
            with contextlib.suppress(psutil.NoSuchProcess):
                if not self._descendants:
                    return process.memory_info().rss
                try:
                    memory += process.memory_full_info().pss
                except (AttributeError, psutil.AccessDenied):
                    memory += process.memory_info().rss
        return memory

    def kill(self) -> None:
        """Kill the worker and its descendants, including those that left its process group."""
        pid = self._process.pid
        with contextlib.suppress(psutil.NoSuchProcess):
            self._tree.suspend()  # so that it stops forking
        for _ in range(100):
            known = {*self._descendants, *_descendants(pid), *_session(pid)}
            living = [p for p in known if p.pid != pid and _lives(p)]
            if not living:
                break
            for process in living:
                with contextlib.suppress(psutil.NoSuchProcess):
                    process.kill()
            time.sleep(0.002)
        self._process.kill()
        self._process.wait()
        self._selector.close()
        os.close(self._requests)
        os.close(self._replies)
        self._errors.close()


def _parse(
    received: bytearray, identity: int | None, body_bytes: int
) -> tuple[dict[str, Any], bytearray] | None:
    """Parse a message; None while it is incomplete, ValueError if it is malformed."""
    if len(received) < LENGTHS.size:
        return None
    header_size, body_size = LENGTHS.unpack_from(received)
    if header_size > _HEADER_BYTES or body_size not in (0, body_bytes):
        raise ValueError("lengths")
    body_start = LENGTHS.size + header_size
    if len(received) < body_start + body_size:
        return None
    header = dict(json.loads(received[LENGTHS.size : body_start]))
    ok = header.get("status") == "ok"
    if header.get("id") != identity or ok != bool(body_size):
        raise ValueError("header")
    return header, received[body_start:]


def _descendants(pid: int) -> list[psutil.Process]:
    """All descendants, from /proc if possible, because psutil would read every process."""
    if not _HAS_CHILDREN_FILE:
        with contextlib.suppress(psutil.NoSuchProcess):
            return psutil.Process(pid).children(recursive=True)
        return []
    found: list[int] = []
    unread: list[int | str] = [pid]
    while unread:
        folder = f"/proc/{unread.pop()}/task"
        with contextlib.suppress(OSError):
            for task in os.listdir(folder):
                with contextlib.suppress(OSError):
                    text = Path(folder, task, "children").read_text(encoding="ascii")
                    unread += (children := re.findall(r"\d+", text))
                    found += map(int, children)
    return _processes(found)


def _queued_seconds(processes: Iterable[psutil.Process]) -> float:
    """Seconds during which threads waited for a processor; 0 if unknown."""
    nanoseconds = 0
    for process in processes:
        with contextlib.suppress(OSError):
            for task in Path(f"/proc/{process.pid}/task").iterdir():
                with contextlib.suppress(OSError):
                    text = (task / "schedstat").read_text(encoding="ascii")
                    nanoseconds += int(text.split()[1])
    return nanoseconds / 1e9


def oom_kills() -> int:
    """Number of processes that the kernel killed for lack of memory; 0 if unknown."""
    with contextlib.suppress(OSError):
        found = re.search(r"^oom_kill (\d+)$", _VMSTAT.read_text(encoding="ascii"), re.MULTILINE)
        return int(found[1]) if found else 0
    return 0


def _session(pid: int) -> list[psutil.Process]:
    """Processes of the worker's session, which can be found even after its death."""
    found = []
    for other in psutil.pids():
        with contextlib.suppress(OSError):
            if os.getsid(other) == pid:
                found.append(other)
    return _processes(found)


def _processes(pids: list[int]) -> list[psutil.Process]:
    found = []
    for pid in pids:
        with contextlib.suppress(psutil.NoSuchProcess):
            found.append(psutil.Process(pid))
    return found


def _lives(process: psutil.Process) -> bool:
    try:
        return process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False
