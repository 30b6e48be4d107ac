"""Memory that a call allocates."""

import tracemalloc
from collections.abc import Callable


def peak(work: Callable[[], object]) -> int:
    """Return the most bytes that were allocated at a time, beyond those before."""
    tracemalloc.start()
    try:
        work()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
