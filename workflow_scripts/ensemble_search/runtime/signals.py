"""Termination of a script: by Ctrl-C, by a cluster, or together with its parent process.

Stored results survive a kill at any instant, so there is nothing to save. The first signal prints
one line and raises SystemExit, which ends worker processes and removes temporary files. If code
does not return to the interpreter in time (a model being fitted in C), or swallows the exception,
the process is ended :data:`GRACE_SECONDS` after the signal. Later signals are ignored.
"""

import ctypes
import os
import signal
import sys
import threading
import time
from contextlib import suppress

#: Sent by Ctrl-C, by Snakemake and clusters, and by clusters before a job's time limit.
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGUSR1)
#: Seconds from a signal to the end of the process in every case.
GRACE_SECONDS = 1.5
PARENT_DEATH_SIGNAL = 1  # option of prctl

#: Acquired once and never released: guards actions that only the first signal may trigger.
_ended, _said = threading.Lock(), threading.Lock()
#: The number of the first signal, once it has come.
received: list[int] = []


def caused(error: BaseException) -> bool:
    """Whether a signal raised an exception; without our handlers, Ctrl-C is KeyboardInterrupt."""
    ours = signal.getsignal(signal.SIGINT) is not signal.default_int_handler
    return bool(received) or (isinstance(error, KeyboardInterrupt) and not ours)


def while_importing() -> None:
    """End this process at once when a signal arrives; for scripts, before their other imports.

    Nothing has been done yet that needs an end. :func:`on_signals` takes over.
    """
    for number in SIGNALS:
        if number != signal.SIGINT or signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, _leave)


def on_signals() -> None:
    """End this process when one of :data:`SIGNALS` arrives: exit status 128 + its number.

    SIGINT stays ignored if it already is, as for background jobs of a shell.
    """
    read_end, write_end = os.pipe()
    os.set_blocking(write_end, False)
    # The interpreter's C code writes to it at once, even while the main thread runs other C code.
    signal.set_wakeup_fd(write_end, warn_on_full_buffer=False)
    threading.Thread(target=_end_late, args=(read_end,), daemon=True).start()
    for number in SIGNALS:
        if number != signal.SIGINT or signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, _stop)


def no_more() -> None:
    """Ignore signals from now on: the work is done, or the process is ending."""
    signal.set_wakeup_fd(-1)
    _ended.acquire(blocking=False)


def with_parent(parent: int, number: int) -> None:
    """Get signal ``number`` as soon as the process ``parent``, which started this one, ends."""
    prctl(PARENT_DEATH_SIGNAL, number)  # also works while C code runs
    if os.getppid() != parent:  # it had already ended
        os.kill(os.getpid(), number)
    elif sys.platform != "linux":
        threading.Thread(target=_watch, args=(parent, number), daemon=True).start()


def prctl(option: int, value: int) -> None:
    """Set an option of this process (Linux only; no effect elsewhere)."""
    if sys.platform == "linux":
        arguments = [ctypes.c_ulong(v) for v in (value, 0, 0, 0)]
        if ctypes.CDLL(None, use_errno=True).prctl(option, *arguments):
            raise OSError(ctypes.get_errno(), "prctl failed")


def _stop(number: int, frame) -> None:
    # This handler stays installed and does nothing the second time: installing another one would
    # run handlers of pending signals in the middle of this one.
    if _ended.acquire(blocking=False):
        received.append(number)
        _say(number)
        sys.exit(128 + number)


def _leave(number: int, frame) -> None:
    _say(number)
    os._exit(128 + number)


def _end_late(read_end: int) -> None:
    number = os.read(read_end, 1)[0]
    time.sleep(GRACE_SECONDS)
    _say(number)
    os._exit(128 + number)


def _say(number: int) -> None:
    """Print the message once, from the handler or the watchdog thread, whichever is first."""
    if _said.acquire(blocking=False):
        name = signal.Signals(number).name
        with suppress(OSError):  # a full disk, a closed terminal
            os.write(2, f"stopped by {name}; run the same command again\n".encode())


def _watch(parent: int, number: int) -> None:
    while os.getppid() == parent:
        time.sleep(0.5)
    os.kill(os.getpid(), number)
