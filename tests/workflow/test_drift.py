"""The numbers of a recorded tiny study: a library or an edit that moves one is found here.

`make record` writes them anew into tests/recorded/numbers.json, for a change that is meant.
"""

import json

import pytest

from support.recorded_numbers import FILE, numbers, versions

LINES = 30


def flat(content, name: str = "") -> dict:
    """Numbers and texts by their path."""
    if isinstance(content, dict | list):
        pairs = content.items() if isinstance(content, dict) else enumerate(content, 1)
        return {k: v for key, part in pairs for k, v in flat(part, f"{name} / {key}").items()}
    return {name.removeprefix(" / "): content}


def moved(recorded: dict, now: dict) -> list[str]:
    """Say which numbers are not those recorded, and by how much."""
    before, after = flat(recorded), flat(now)
    lines = []
    for name in {**before, **after}:
        a, b = before.get(name, "nothing"), after.get(name, "nothing")
        if a != b:
            both = all(type(value) in (int, float) for value in (a, b))
            lines.append(f"{name}: {a} recorded, {b} now" + (f" ({b - a:+.3g})" if both else ""))
    return lines


def test_numbers_are_those_recorded():
    recorded = json.loads(FILE.read_text(encoding="utf-8"))
    known = recorded.pop("versions")
    lines = moved(recorded, numbers())
    if lines:
        others = moved(known, versions())
        told = ["versions are not those recorded:", *others] if others else ["same versions"]
        more = [f"and {len(lines) - LINES} more"] if len(lines) > LINES else []
        pytest.fail(
            "\n".join([f"{len(lines)} numbers moved; {told[0]}", *told[1:], *lines[:LINES], *more])
        )


def test_a_number_that_moved_is_named():
    before = {"a": {"errors": [0.5, 0.25]}, "b": "x", "c": True}
    now = {"a": {"errors": [0.5, 0.125]}, "b": "y", "c": True, "d": 1}
    assert moved(before, now) == [
        "a / errors / 2: 0.25 recorded, 0.125 now (-0.125)",
        "b: x recorded, y now",
        "d: nothing recorded, 1 now",
    ]
    assert moved(before, before) == []
