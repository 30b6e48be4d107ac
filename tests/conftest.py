"""Order of the tests, and their signals."""

import signal


def pytest_configure():
    """Let processes of tests end at Ctrl-C where a shell's background job would ignore it."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_modifyitems(items):
    """Begin with the workflows, the longest files, so that no process waits for one at the end."""
    items.sort(key=lambda item: item.path.parent.name != "workflow")
