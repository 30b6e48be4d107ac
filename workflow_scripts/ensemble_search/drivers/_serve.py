"""Suggest in a library's environment: ``python _serve.py MODULE FILE`` with those of a driver.

The first JSON line on standard input is the space; each later line is [evaluations, seed] and is
answered by one line: ``{"values": ...}``, or ``{"error": ...}`` with the exception.
"""

import importlib.util
import inspect
import json
import os
import sys
from types import ModuleType
from typing import Any

from ensemble_search.drivers.base import Driver, plain
from ensemble_search.runtime import outside  # noqa: F401 (drivers import their helpers with it)


def load(name: str, file: str) -> ModuleType:
    """Import a driver, from its file if its package is not installed in this environment."""
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name != name.partition(".")[0]:
            raise
    spec = importlib.util.spec_from_file_location(name, file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def main() -> None:
    """Answer requests until the input ends."""
    # What libraries and their child processes print must not mix with the answers.
    with os.fdopen(os.dup(1), "w", encoding="utf-8") as answers:
        os.dup2(2, 1)
        module = load(*sys.argv[1:])
        (kind,) = (
            c
            for name, c in inspect.getmembers(module, inspect.isclass)
            if issubclass(c, Driver) and c.__module__ == module.__name__ and name[0] != "_"
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
