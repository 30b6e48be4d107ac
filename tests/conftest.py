"""Order of the tests, their signals, and the contract tests of parts from outside."""

import os
import re
import shutil
import signal
import sys
from pathlib import Path

import pytest
from hypothesis import settings

#: Files in memory, on Linux. Searches wait for the disk at each evaluation; tests make thousands.
IN_MEMORY = Path("/dev/shm")
#: A file all of whose tests are slow; those of the others take a few seconds together.
SLOW_FILE = re.compile(r"^pytestmark = \[?\s*pytest\.mark\.slow\b", re.MULTILINE)

settings.register_profile("tests", deadline=None)  # no test depends on the clock
settings.load_profile("tests")


def pytest_addoption(parser):
    """Add the option of `make contract`."""
    parser.addoption("--contract", help="folder of plugins: run the tests of its parts, no others")


def pytest_configure(config):
    """Let processes of tests end at Ctrl-C where a shell's background job would ignore it.

    And let them keep the compiled code. Temporary folders are in memory where it holds 4 GiB.
    """
    if os.access(IN_MEMORY, os.W_OK) and shutil.disk_usage(IN_MEMORY).free >= 4 << 30:
        os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(IN_MEMORY))
    signal.signal(signal.SIGINT, signal.default_int_handler)
    # Thousands of processes would compile the code, each.
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    sys.dont_write_bytecode = False
    if (folder := config.getoption("contract")) is not None:
        use_plugins(folder)


def use_plugins(folder: str) -> None:
    """Use a folder before the test files look for parts; its mistakes get one line each."""
    from ensemble_search.jobs import check_plugins
    from ensemble_search.runtime import outside
    from ensemble_search.runtime.errors import UserError

    if not folder:
        raise pytest.UsageError("name a folder: make contract PLUGINS=my_parts")
    try:
        outside.use([folder])
        check_plugins("PLUGINS")
    except UserError as error:
        raise pytest.UsageError(*error.problems) from None


def pytest_ignore_collect(collection_path, config):
    """Without slow tests, do not import the files that have no others."""
    if config.option.markexpr == "not slow" and collection_path.name.startswith("test_"):
        return SLOW_FILE.search(collection_path.read_text(encoding="utf-8")) is not None or None
    return None


def pytest_collection_modifyitems(config, items):
    """Begin with the workflows, the longest files, so that no process waits for one at the end."""
    items.sort(key=lambda item: item.path.parent.name != "workflow")
    if config.getoption("contract") is not None:
        others = [item for item in items if not is_of_plugin(item)]
        config.hook.pytest_deselected(items=others)
        items[:] = [item for item in items if item not in others]


def is_of_plugin(item) -> bool:
    """Whether a test is about a part from outside: one of its parameters is the name."""
    from ensemble_search.runtime import outside

    kind = item.path.parent.name.replace("report", "pages")
    parameters = item.callspec.params if hasattr(item, "callspec") else {}
    values = [v for p in parameters.values() for v in (p if isinstance(p, tuple) else (p,))]
    names = outside.names("drivers" if "library" in parameters else kind)
    return any(isinstance(value, str) and value in names for value in values)
