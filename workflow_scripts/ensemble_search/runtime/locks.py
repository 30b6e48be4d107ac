"""Folder locks: one process writes, and the others learn which one.

A lock is a kernel lock (``flock``), so it always ends with its process. The lock file holds the
host, process and start time for the error message. Some network file systems keep such locks local
to a host, or have none. There, the process named in the file counts as well; if it is on another
host, it cannot be checked and counts until somebody removes the file.
"""

import errno
import fcntl
import os
import re
import socket
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from ensemble_search.runtime import provenance
from ensemble_search.runtime.errors import UserError

#: Set for cluster jobs: if one outlives its workflow, the next job for the same work waits for it.
WAIT = "ENSEMBLE_SEARCH_WAIT"
_NO_LOCKS = (errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOLCK, errno.EINVAL)
_HOLDER = re.compile(r"process (\d+) on (\S+)(?: since (\S+))?(?: start (\S+))?\s*")
#: Network file systems, and the mount option that makes locks hold across hosts (None: not
#: guaranteed). Any other file system belongs to one host.
NETWORK = {
    "nfs": "local_lock=none",
    "nfs4": "local_lock=none",
    "lustre": "flock",
    "ceph": "",
    "gpfs": "",
    **dict.fromkeys(("afs", "beegfs", "cifs", "smb3", "smbfs", "9p", "orangefs", "pvfs2")),
}


@dataclass(frozen=True)
class Holder:
    """The process that a lock file names."""

    #: Its number, and its host.
    process: int
    host: str
    since: str = ""  #: when it took the lock, ISO 8601; empty if unknown
    #: Boot of the host, and clock ticks from boot to the start of the process. Unlike times, they
    #: do not change when the clock is set. Empty if unknown.
    start: str = ""

    def __str__(self) -> str:
        since = f" since {self.since}" if self.since else ""
        return f"process {self.process} on {self.host}{since}"


#: Seconds for which a lock may outlive its process.
ORPHANED = 5


class Lock:
    """A held lock; a context manager. Ends with :meth:`close` or with the process."""

    def __init__(self, file: int):
        self._file = file

    def __enter__(self) -> "Lock":
        return self

    def __exit__(self, *_) -> None:
        self.close()

    def close(self) -> None:
        """Remove the name from the file, then release the lock."""
        if self._file >= 0:
            file, self._file = self._file, -1
            with suppress(OSError):
                os.ftruncate(file, 0)
            os.close(file)


def lock(path: str | Path, what: str, wait: bool = False) -> Lock:
    """Lock a file exclusively for this process; create it if missing.

    ``what`` is what the lock protects, for the message. With ``wait``, wait, with a note on stderr,
    until the process that holds the kernel lock releases it, but not for another host named in the
    file.

    Raises UserError if another process holds it: names the process and its host, and explains how
    to free a lock of another host where the file system cannot tell whether it is still held.
    Raises OSError if the file cannot be written.
    """
    path = Path(path)
    file = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
    try:
        trusted = _flock(file, path, what, wait) and reaches_all_hosts(path)
        found = holder(path)
        if not trusted and found is not None:
            _reject_unless_dead(found, path, what)
        os.ftruncate(file, 0)
        me = Holder(os.getpid(), socket.gethostname(), provenance.now())
        start = _start(os.getpid())
        os.pwrite(file, f"{me}{start and f' start {start}'}\n".encode(), 0)
    except BaseException:
        os.close(file)
        raise
    return Lock(file)


@contextmanager
def turn(path: Path, patience: float, check: Callable[[], None]) -> Iterator[None]:
    """Do work that others need not repeat: wait while another process or thread does it.

    This saves work and protects nothing. Work may be done twice after ``patience``, or where the
    file system has no locks, or none between hosts.

    ``path`` is the lock file of this piece of work; its folder is created if missing, and it is
    removed afterwards. ``patience`` is the maximum wait in seconds: the other process may be
    suspended. ``check`` is called while waiting; an exception ends the wait.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    file = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
    end = time.monotonic() + patience
    try:
        while time.monotonic() < end:
            check()
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                time.sleep(0.2)
            except OSError:  # no locks
                break
            else:
                break
        yield
    finally:
        with suppress(OSError):
            path.unlink()
        os.close(file)


def holder(path: Path) -> Holder | None:
    """Read which process a lock file names; None if it names none or is damaged."""
    try:
        found = _HOLDER.fullmatch(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError):
        return None
    return found and Holder(int(found[1]), found[2], found[3] or "", found[4] or "")


def runs(held: Holder, written: float) -> bool:
    """Whether a holder on this host still runs; another process may have its number by now.

    If its start is unknown, a process started after ``written`` (``time.time``) is another one.
    """
    if held.start:
        return _start(held.process) == held.start
    import psutil

    try:
        return psutil.Process(held.process).create_time() <= written + 1
    except psutil.Error:
        return False


def _start(process: int) -> str:
    """Return ``Holder.start``; empty outside Linux, or if there is no such process."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
        stat = Path(f"/proc/{process}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
    return f"{boot}:{stat.rpartition(')')[2].split()[19]}"


def reaches_all_hosts(path: str | Path, mounts: str | None = None) -> bool:
    """Whether a lock on a file holds on all hosts that can see the file.

    ``mounts`` are those of this host, by default ``/proc/self/mountinfo``; systems without it are
    assumed to use local disks.
    """
    try:
        mounts = mounts or Path("/proc/self/mountinfo").read_text(encoding="utf-8")
    except OSError:
        return True
    folder, best, answer = Path(path).resolve(), -1, True
    for line in mounts.splitlines():
        before, _, after = line.partition(" - ")
        point = re.sub(r"\\([0-7]{3})", lambda m: chr(int(m[1], 8)), before.split()[4])
        kind, _, options = after.split(" ", 2)
        if len(point) >= best and folder.is_relative_to(point):  # later mounts hide earlier ones
            best = len(point)
            needed = NETWORK.get(kind, None if kind.startswith("fuse.") else "")
            answer = needed is not None and (not needed or needed in options.strip().split(","))
    return answer


def _flock(file: int, path: Path, what: str, wait: bool) -> bool:
    """Take the kernel lock; False if the file system has none."""
    end = time.monotonic() + ORPHANED
    try:
        while _left_by_a_child(file, path) and time.monotonic() < end:
            time.sleep(0.02)
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        name = holder(path) or "another process"
        if not wait:
            raise UserError(
                f"{what} is being written by {name}; wait for it, or end it first"
            ) from None
        print(f"{what} is being written by {name}: waits for it", file=sys.stderr, flush=True)
        fcntl.flock(file, fcntl.LOCK_EX)
    except OSError as error:
        if error.errno not in _NO_LOCKS:
            raise
        return False
    return True


def _left_by_a_child(file: int, path: Path) -> bool:
    """Whether the lock is held though its process on this host has ended; take it if it is free.

    If a process is killed while starting a child, the child holds the lock until it executes its
    own program.
    """
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        found = holder(path)
        if found is None or found.host != socket.gethostname():
            return False
        return not runs(found, path.stat().st_mtime)
    return False


def _reject_unless_dead(found: Holder, path: Path, what: str) -> None:
    """Raise if the file names a process, unless that process is known to have ended."""
    if found.host != socket.gethostname():
        raise UserError(
            f"{what} was being written by {found}, which cannot be asked from here; "
            f"if it has ended, remove '{path}' and start again"
        )
    if found.process != os.getpid() and runs(found, path.stat().st_mtime):
        raise UserError(f"{what} is being written by {found}; wait for it, or end it first")
