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
        *("EHOSTDOWN", "ETIMEDOUT", "ENOLCK", "EMFILE", "ENFILE"),
    )
    if hasattr(errno, name)
}
#: Several mistakes are shown as several lines; :func:`run` writes the first prefix.
AND = "\nerror: "
#: Characters of a line; of a longer one (a path, a value) the middle is left out.
LONGEST = 1000


class UserError(Exception):
    """A mistake in the input: one line that names the key or file and says what would be right.

    Several mistakes are several lines, separated by :data:`AND`. Whatever a line quotes, it is one
    that a terminal can show: see :func:`printable`.
    """

    def __init__(self, text: str):
        super().__init__(AND.join(map(printable, text.split(AND))))


def printable(line: str) -> str:
    """Write characters that are not to be seen as escapes, and shorten to :data:`LONGEST`."""
    shown = "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in line)
    if len(shown) <= LONGEST:
        return shown
    return f"{shown[: LONGEST // 2]} ... {shown[-LONGEST // 2 :]}"


def run(main: Callable[[], None]) -> None:
    """Run a script's main function; a :class:`UserError` becomes one line and exit status 2.

    So does what the system refuses: a full disk, no permission, a file system that has gone.
    Signals end the script as :mod:`divbo.stopping` says. Where the variable ``DIVBO_PARENT`` holds
    the number of the process that started the script, it ends with that process.
    """
    stopping.on_signals()
    # Of the processes that it starts: LightGBM cannot be imported without docstrings.
    os.environ.pop("PYTHONOPTIMIZE", None)
    try:
        if parent := os.environ.pop("DIVBO_PARENT", ""):
            _end_with(int(parent))
        main()
    except UserError as error:
        _end(error)
    except OSError as error:
        if error.errno not in REFUSED:
            raise
        name = f"'{error.filename}': " if error.filename else ""
        reason = os.strerror(error.errno)
        _end(UserError(f"{name}{reason}; run the same command again when that is mended"))
    finally:
        stopping.no_more()


def _end_with(parent: int) -> None:
    if os.getppid() != parent:
        raise UserError(
            f"the workflow that started this job (process {parent}) has ended; "
            "by hand: without DIVBO_PARENT"
        )
    stopping.with_parent(parent, signal.SIGTERM)


def _end(error: UserError) -> None:
    with suppress(OSError):  # the log may lie on the full disk
        print(f"error: {error}", file=sys.stderr, flush=True)
    sys.exit(2)
