"""Which evaluations could be affected by a change of limits.

An evaluation within both the old and the new limits has the same result under both.
"""

from collections.abc import Iterable, Mapping

from ensemble_search.runtime.schema import Amount, Stored

#: Measurements that are compared with the limits.
FIGURES = ("cpu_seconds", "fit_seconds", "memory_mb")


class Limits(Stored):
    """Limits of one evaluation."""

    seconds: Amount
    memory_mb: Amount


def could_change(
    status: str,
    figures: Mapping[str, float],
    old: Mapping[str, float],
    new: Mapping[str, float],
    threads: int = 1,
) -> bool:
    """Whether an evaluation that had this status could end differently under other limits.

    ``figures`` are the :data:`FIGURES`, in seconds and MiB; limits are ``seconds`` (CPU seconds per
    thread) and ``memory_mb``.
    """
    if status == "timeout" and new["seconds"] > old["seconds"]:
        return True
    if status == "memory" and new["memory_mb"] > old["memory_mb"]:
        return True
    if status != "timeout" and new["seconds"] < old["seconds"]:
        # The wall-clock limit is more than twice the CPU limit and pauses on a busy machine, so an
        # evaluation that used far fewer CPU seconds must have been waiting.
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
    """Count the evaluations before the first that :func:`could_change`."""
    count = 0
    for status, figures in evaluations:
        if could_change(status, figures, old, new, threads):
            break
        count += 1
    return count
