"""User errors and system errors, and how they end a script."""

import argparse
import errno
import gc
import os
import select
import signal
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any, NoReturn

from ensemble_search.runtime import signals

#: Errors from disks, network file systems or system limits, which are not bugs.
OF_SYSTEM = {
    getattr(errno, name)
    for name in (
        *("ENOSPC", "EDQUOT", "EFBIG", "EROFS", "EACCES", "EPERM", "EIO", "ESTALE", "ENOTCONN"),
        *("EHOSTDOWN", "ETIMEDOUT", "ENOLCK", "EMFILE", "ENFILE", "ENOMEM"),
        *("ENAMETOOLONG", "ELOOP", "ENOTDIR"),
    )
    if hasattr(errno, name)
}

#: Separates several mistakes, one per line; :func:`run` writes the first prefix.
AND = "\nerror: "
#: Longer lines are truncated in the middle: the two ends name the place and the fix.
LONGEST = 1000


#: Exit status of a program that prints to a closed pipe, as in shells.
PIPE = 128 + signal.SIGPIPE


class UserError(Exception):
    """A mistake in the input: one line that names the key or file and the fix.

    There is one text per mistake. :func:`one_line` escapes text from data, names or files.

    Attributes
    ----------
    problems
        The lines, a tuple; ``str(error)`` joins them.
    """

    def __init__(self, *problems: str):
        super().__init__(*problems)
        self.problems = tuple(map(one_line, problems))

    def __str__(self) -> str:
        return AND.join(self.problems)


def check_keys(where: str, content: Any, keys: Sequence[str]) -> None:
    """Check that JSON from the command line is a mapping with these keys.

    Raises UserError, naming the first missing key.
    """
    if missing := [key for key in keys if not isinstance(content, Mapping) or key not in content]:
        raise UserError(f"{where}: key '{missing[0]}' is missing; needed: {', '.join(keys)}")


def one_for_each(option: str, given: list[Any], n: int, what: str) -> list[Any]:
    """Return the ``n`` values of an option that may be given once for all of them.

    Raises UserError if the number of values is neither 1 nor ``n``.
    """
    if len(given) not in (1, n):
        raise UserError(f"{option}: give one, or one for every {what} ({n}), not {len(given)}")
    return given if len(given) == n else given * n


def one_line(text: str) -> str:
    """Make a text safe for a terminal: one line of at most :data:`LONGEST` printable characters.

    Line breaks, control characters (including terminal escape sequences), invisible
    characters and lone surrogates are shown as escapes, such as ``\\x1b``.
    """
    if len(text) > LONGEST:
        half = LONGEST // 2 - 4
        text = f"{text[:half]} [...] {text[-half:]}"
    return printable(text)


def printable(text: str) -> str:
    """Escape characters that are not printable."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)


def number_of(count: int, what: str) -> str:
    """Write a count with a noun in the singular: ``1 search``, ``2 sets of configurations``."""
    noun, of, rest = what.partition(" of ")
    plural = "" if count == 1 else "es" if noun.endswith("ch") else "s"
    return f"{count} {noun}{plural}{of}{rest}"


def of_machine(error: BaseException) -> bool:
    """Whether an exception is a system error, such as a full disk or too little memory."""
    return isinstance(error, MemoryError) or (
        isinstance(error, OSError) and error.errno in OF_SYSTEM
    )


def run(main: Callable[[], None]) -> None:
    """Run a script's main function; a :class:`UserError` becomes one line and exit status 2.

    The same holds for a mistake in the options and for system errors: a full disk, no permission,
    a file system that is gone, too little memory. Closed standard streams become empty ones. If
    nobody reads the output any more, as after ``| head``, the script ends silently with status 141.
    Signals end the script as described in ``runtime.signals``. If ``ENSEMBLE_SEARCH_PARENT`` is the
    id of the parent process, the script ends with it.
    """
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:  # closed, as by >&-: the next file would get its descriptor
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115
    signals.on_signals()
    # For child processes: LightGBM cannot be imported without docstrings.
    os.environ.pop("PYTHONOPTIMIZE", None)
    argparse.ArgumentParser.error = _wrong_option  # type: ignore[assignment, method-assign]
    try:
        if parent := os.environ.pop("ENSEMBLE_SEARCH_PARENT", ""):
            _end_with(int(parent))
        try:
            main()
        except SystemExit:  # from argparse, after --help
            sys.stdout.flush()
            raise
        except BaseException:
            if not signals.received:
                raise
            sys.exit(128 + signals.received[0])  # whatever its exception was turned into
        sys.stdout.flush()
    except UserError as error:
        _end(error)
    except BrokenPipeError:
        if not _unread():
            raise
        sys.exit(PIPE)
    except (OSError, MemoryError) as error:
        if not of_machine(error):
            raise
        number = getattr(error, "errno", None) or errno.ENOMEM
        name = f"'{file}': " if (file := getattr(error, "filename", None)) else ""
        reason = os.strerror(number)
        _end(one_line(f"{name}{reason}; fix that, and run the same command again"))
    finally:
        signals.no_more()
        # At its end, Python would search the libraries' objects for garbage: 0.2 s.
        gc.freeze()


def _wrong_option(parser: argparse.ArgumentParser, message: str) -> NoReturn:
    """Leave out the list of all options, which argparse prints above an error in one of them."""
    about = message.removeprefix("argument ")
    raise UserError(
        f"{about}; {parser.prog} --help lists the options" if about == message else about
    )


def _unread() -> bool:
    """Whether nobody reads the output any more, as after ``| head``; then discard it."""
    unread = [stream for stream in (sys.stdout, sys.stderr) if _closed(stream.fileno())]
    for stream in unread:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)
    return bool(unread)


def _closed(pipe: int) -> bool:
    poll = select.poll()
    poll.register(pipe, 0)
    return any(event & (select.POLLERR | select.POLLHUP) for _, event in poll.poll(0))


def _end_with(parent: int) -> None:
    if os.getppid() != parent:
        print(
            f"stopped: the workflow that started this job (process {parent}) has ended; run the "
            "same command again (by hand, without ENSEMBLE_SEARCH_PARENT)",
            file=sys.stderr,
        )
        sys.exit(128 + signal.SIGTERM)
    signals.with_parent(parent, signal.SIGTERM)


def _end(error: UserError | str) -> None:
    with suppress(OSError):  # the log may be on the full disk
        print(f"error: {error}", file=sys.stderr, flush=True)
    sys.exit(2)
