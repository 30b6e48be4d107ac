"""Errors of the user, and how a script ends with one."""

import sys
from collections.abc import Callable


class UserError(Exception):
    """A mistake in the input: one line that names the key or file and says what would be right."""


def run(main: Callable[[], None]) -> None:
    """Run a script's main function; a :class:`UserError` becomes one line and exit status 2."""
    try:
        main()
    except UserError as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(2)
