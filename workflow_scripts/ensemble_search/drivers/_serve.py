"""Suggest in the environment of a library: ``python _serve.py FILE`` with the file of a driver.

A line of JSON on the standard input is the space, every later one [evaluations, seed]. Each of
these is answered by a line: ``{"values": ...}``, or ``{"error": ...}`` with what was raised.
"""

import importlib.util
import inspect
import json
import sys
from contextlib import redirect_stdout
from typing import Any

from ensemble_search.drivers.base import Driver, plain


def main() -> None:
    """Answer until the input ends."""
    spec = importlib.util.spec_from_file_location("driver", sys.argv[1])
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    answers = sys.stdout
    with redirect_stdout(sys.stderr):  # what libraries print is no answer
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
            except Exception as error:  # whatever the library raises
                answer = {"error": f"{type(error).__name__}: {error}"}
            print(json.dumps(answer), file=answers, flush=True)


if __name__ == "__main__":
    main()
