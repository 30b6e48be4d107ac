"""The numbers of a recorded tiny study: a library or an edit that moves one is found here.

After an intended change, `make record` rewrites tests/recorded/numbers.json. Optimizers, ensembles
and surrogates that it does not have yet are new, and move nothing.
"""

import copy
import json
from functools import cache

import pytest

from support.recorded_numbers import FILE, numbers, versions

pytestmark = pytest.mark.slow

LINES = 30
#: Keys down to this depth are names: of sections, of optimizers or surrogates, of ensembles.
DEPTH = 3


@cache
def recorded() -> dict:
    return json.loads(FILE.read_text(encoding="utf-8"))


@cache
def computed() -> dict:
    return numbers()


def flat(content, name: str = "") -> dict:
    """Numbers and texts by their path."""
    if isinstance(content, dict | list):
        pairs = content.items() if isinstance(content, dict) else enumerate(content, 1)
        return {k: v for key, part in pairs for k, v in flat(part, f"{name} / {key}").items()}
    return {name.removeprefix(" / "): content}


def moved(recorded: dict, now: dict) -> list[str]:
    """Return which numbers are not those recorded, and by how much."""
    before, after = flat(recorded), flat(now)
    lines = []
    for name in {**before, **after}:
        a, b = before.get(name, "nothing"), after.get(name, "nothing")
        if a != b:
            both = all(type(value) in (int, float) for value in (a, b))
            lines.append(f"{name}: {a} recorded, {b} now" + (f" ({b - a:+.3g})" if both else ""))
    return lines


def take_new(known: dict, now: dict, depth: int = DEPTH, above: str = "") -> list[str]:
    """Remove the names that have no record yet from ``now``, and list them."""
    new = [name for name in now if name not in known]
    lines = [f"{above}{name}" for name in new]
    for name in new:
        del now[name]
    for name, part in now.items():
        if depth > 1 and isinstance(part, dict):
            lines += take_new(known[name], part, depth - 1, f"{above}{name} / ")
    return lines


def test_numbers_are_those_recorded():
    before, now = dict(recorded()), copy.deepcopy(computed())
    known = before.pop("versions")
    take_new(before, now)
    if lines := moved(before, now):
        others = moved(known, versions())
        told = ["versions are not those recorded:", *others] if others else ["same versions"]
        more = [f"and {len(lines) - LINES} more"] if len(lines) > LINES else []
        pytest.fail(
            "\n".join([f"{len(lines)} numbers moved; {told[0]}", *told[1:], *lines[:LINES], *more])
        )


def test_all_numbers_are_recorded():
    if new := take_new(recorded(), copy.deepcopy(computed())):
        pytest.skip(f"not recorded yet, `make record` records them: {', '.join(new)}")


def test_new_names_are_not_compared():
    known = {"search": {"bo": {"errors": [0.5], "best": [0.5]}, "old": {"errors": [0.5]}}}
    now = {
        "search": {
            "bo": {"errors": [0.5, 0.25], "mine": [1.0], "best": [0.5]},
            "mine": {"errors": [1.0]},
        },
        "surrogate": {"mine": {"why": {"mean": 1.0}}},
    }
    new = ["surrogate", "search / mine", "search / bo / mine"]
    assert take_new(known, now) == new
    assert moved(known, now) == [
        "search / old / errors / 1: 0.5 recorded, nothing now",
        "search / bo / errors / 2: nothing recorded, 0.25 now",
    ]
    known = {"surrogate": {"old": {"why": {"mean": 1.0}}}}
    now = {"surrogate": {"old": {"why": {"mean": 1.0, "std": 2.0}}}}
    assert take_new(known, now) == []
    assert moved(known, now) == ["surrogate / old / why / std: nothing recorded, 2.0 now"]


def test_a_number_that_moved_is_named():
    before = {"a": {"errors": [0.5, 0.25]}, "b": "x", "c": True}
    now = {"a": {"errors": [0.5, 0.125]}, "b": "y", "c": True, "d": 1}
    assert moved(before, now) == [
        "a / errors / 2: 0.25 recorded, 0.125 now (-0.125)",
        "b: x recorded, y now",
        "d: nothing recorded, 1 now",
    ]
    assert moved(before, before) == []
