"""Which evaluations a change of the limits could have changed.

An evaluation that stayed within both the old and the new limits ends the same way under either, so
a search none of whose evaluations could have ended otherwise is the same search.
"""

from collections.abc import Iterable, Mapping
from typing import Any

#: Figures of an evaluation that the limits are compared with.
FIGURES = ("cpu_seconds", "fit_seconds", "memory_mb")


def could_change(
    status: str,
    figures: Mapping[str, float],
    old: Mapping[str, float],
    new: Mapping[str, float],
    threads: int = 1,
) -> bool:
    """Say whether an evaluation could have ended otherwise under other limits.

    Parameters
    ----------
    status
        How it ended under the old limits.
    figures
        What it took: :data:`FIGURES`, in seconds and MiB.
    old, new
        Limits: ``seconds`` (CPU seconds a thread) and ``memory_mb``.
    threads
        Threads of the learners, each of which has its share of the CPU seconds.
    """
    if status == "timeout" and new["seconds"] > old["seconds"]:
        return True
    if status == "memory" and new["memory_mb"] > old["memory_mb"]:
        return True
    if status != "timeout" and new["seconds"] < old["seconds"]:
        # The clock's limit is above twice that of the CPU, and stands still on a busy machine:
        # what is close to neither in CPU seconds can only have waited.
        if figures["cpu_seconds"] > new["seconds"] * threads:
            return True
        if figures["fit_seconds"] > 2 * new["seconds"]:
            return True
    lower = new["memory_mb"] < old["memory_mb"]
    return status != "memory" and lower and figures["memory_mb"] > new["memory_mb"]


def unaffected(
    evaluations: Iterable[tuple[str, Mapping[str, float]]],
    old: Mapping[str, float],
    new: Mapping[str, float],
    threads: int = 1,
) -> int:
    """Count the evaluations before the first one that :func:`could_change`."""
    count = 0
    for status, figures in evaluations:
        if could_change(status, figures, old, new, threads):
            break
        count += 1
    return count


def peaks(evaluations: Iterable[tuple[str, Mapping[str, float]]]) -> dict[str, dict[str, float]]:
    """The largest figure of each kind among the evaluations that ended in each way.

    An evaluation with these figures could change wherever one of those could, and nowhere else.
    """
    largest: dict[str, dict[str, float]] = {}
    for status, figures in evaluations:
        mine = largest.setdefault(status, dict.fromkeys(FIGURES, 0.0))
        for name in FIGURES:
            mine[name] = max(mine[name], figures[name])
    return dict(sorted(largest.items()))


def same_search(manifest: Mapping[str, Any], limits: Mapping[str, float]) -> bool:
    """Say whether a finished search would be the same under other limits.

    Parameters
    ----------
    manifest
        What its ``search.json`` holds: ``limits``, ``peaks`` (:func:`peaks`) and ``threads``.
    limits
        The other limits.
    """
    old, threads = manifest.get("limits"), manifest.get("threads", 1)
    if old == limits:
        return True
    largest = manifest.get("peaks")
    if not isinstance(old, dict) or not isinstance(largest, dict):
        return False
    return unaffected(largest.items(), old, limits, threads) == len(largest)
