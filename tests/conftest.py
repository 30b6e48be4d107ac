"""Order of the tests."""


def pytest_collection_modifyitems(items):
    """Begin with the workflows, the longest files, so that no process waits for one at the end."""
    items.sort(key=lambda item: item.path.parent.name != "workflow")
