"""Suggest in a library's environment: ``python _serve.py FILE`` with the file of a driver.

The first JSON line on standard input is the space; each later line is [evaluations, seed] and is
answered by one line: ``{"values": ...}``, or ``{"error": ...}`` with the exception.
"""

import importlib.util
import inspect
import json
import sys
from contextlib import redirect_stdout
from typing import Any

from ensemble_search.drivers.base import Driver, plain


def main() -> None:
    """Answer requests until the input ends."""
    spec = importlib.util.spec_from_file_location("driver", sys.argv[1])
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    answers = sys.stdout
    with redirect_stdout(sys.stderr):  # libraries' output must not mix with the answers
        spec.loader.exec_module(module)
        (kind,) = (
            c
            for _, c in inspect.getmembers(module, inspect.isclass)
            if issubclass(c, Driver) and c.__module__ == "driver" and not c.__name__.startswith("_")
        )
        driver = kind()
        space = json.loads(sys.stdin.readline())
        for line in sys.stdin:
            evaluations, seed = json.loads(line)
            answer: dict[str, Any]
            try:
                values = driver.suggest(space, evaluations, seed)
                answer = {"values": {name: plain(value) for name, value in values.items()}}
            except Exception as error:  # anything the library raises
                answer = {"error": f"{type(error).__name__}: {error}"}
            print(json.dumps(answer), file=answers, flush=True)


if __name__ == "__main__":
    main()
