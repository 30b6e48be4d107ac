"""Errors of the user and of the disk, and how a script ends with one."""

import errno
import os
import signal
import sys
from collections.abc import Callable
from contextlib import suppress

from divbo import stopping

#: What a disk, a network file system or the limits of the system answer: no fault of the code.
REFUSED = {
    getattr(errno, name)
    for name in (
        *("ENOSPC", "EDQUOT", "EFBIG", "EROFS", "EACCES", "EPERM", "EIO", "ESTALE", "ENOTCONN"),
        *("EHOSTDOWN", "ETIMEDOUT", "ENOLCK", "EMFILE", "ENFILE", "ENOMEM"),
    )
    if hasattr(errno, name)
}


class UserError(Exception):
    """A mistake in the input: one line that names the key or file and says what would be right."""


def of_machine(error: BaseException) -> bool:
    """Say whether the system refused something, memory included: no fault of code or files."""
    return isinstance(error, MemoryError) or (isinstance(error, OSError) and error.errno in REFUSED)


def run(main: Callable[[], None]) -> None:
    """Run a script's main function; a :class:`UserError` becomes one line and exit status 2.

    So does what the system refuses: a full disk, no permission, a file system that has gone, too
    little memory.
    Signals end the script as :mod:`divbo.stopping` says. Where the variable ``DIVBO_PARENT`` holds
    the number of the process that started the script, it ends with that process.
    """
    stopping.on_signals()
    try:
        if parent := os.environ.pop("DIVBO_PARENT", ""):
            _end_with(int(parent))
        main()
    except UserError as error:
        _end(str(error))
    except (OSError, MemoryError) as error:
        if not of_machine(error):
            raise
        number = getattr(error, "errno", None) or errno.ENOMEM
        name = f"'{error.filename}': " if getattr(error, "filename", None) else ""
        _end(f"{name}{os.strerror(number)}; run the same command again when that is mended")
    finally:
        stopping.no_more()


def _end_with(parent: int) -> None:
    if os.getppid() != parent:
        raise UserError(
            f"the workflow that started this job (process {parent}) has ended; "
            "by hand: without DIVBO_PARENT"
        )
    stopping.with_parent(parent, signal.SIGTERM)


def _end(line: str) -> None:
    with suppress(OSError):  # the log may lie on the full disk
        print(f"error: {line}", file=sys.stderr, flush=True)
    sys.exit(2)
