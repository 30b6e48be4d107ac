"""The numbers of a recorded tiny study: a library, edit or processor that moves one is found here.

After an intended change, `make record` rewrites tests/recorded/numbers.json. Optimizers, ensembles
and surrogates that it does not have yet are new, and move nothing.
"""

import copy
import json
import os
import signal
import subprocess
import sys
from functools import cache

import pytest
from numpy._core._multiarray_umath import __cpu_dispatch__, __cpu_features__
from threadpoolctl import threadpool_info

from support import PYTHONPATH, ROOT
from support.recorded_numbers import FILE, numbers, searches, surrogates, versions

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


#: Kinds of processors by what numpy and OpenBLAS choose on them; the last has no AVX at all.
OPENBLAS = {"AVX-512": "SkylakeX", "AVX2": "Haswell", "AVX": "Sandybridge", "SSE": "Nehalem"}
NUMPY = {
    "AVX2": [name for name in __cpu_dispatch__ if "512" in name or name == "X86_V4"],
    "SSE": __cpu_dispatch__,
}
PROCESSORS = {
    name: {"OPENBLAS_CORETYPE": kind, "NPY_DISABLE_CPU_FEATURES": " ".join(NUMPY.get(name, []))}
    for name, kind in OPENBLAS.items()
}
#: The kind of this processor, unless it has none of the names.
OWN = [
    name
    for name, kind in OPENBLAS.items()
    if kind in {library.get("architecture") for library in threadpool_info()}
    and not any(__cpu_features__[feature] for feature in NUMPY.get(name, []))
]
#: Every optimizer and surrogate, all digits; the learners, which are others' code, as recorded.
NUMBERS = """
import json
from support.recorded_numbers import pipelines, rounded, searches, surrogates
print(json.dumps([searches(), surrogates()]))
print(json.dumps(rounded(pipelines())))
"""
PRODUCT = "import numpy as np; a = np.ones((300, 300)); a @ a; np.exp(a); np.linalg.eigh(a)"


def run(settings: dict[str, str], *command: str) -> subprocess.CompletedProcess:
    """Run Python on a kind of processor, without a warning for features that this one lacks."""
    return subprocess.run(
        [sys.executable, *command],
        env={**os.environ, **settings, "PYTHONPATH": PYTHONPATH, "OMP_NUM_THREADS": "1"},
        cwd=ROOT,
        text=True,
        capture_output=True,
        check=False,
    )


@pytest.fixture(params=[name for name in PROCESSORS if name not in OWN], scope="module")
def elsewhere(request) -> list:
    """Suggestions, and errors of pipelines, on another kind of processor."""
    settings = PROCESSORS[request.param]
    if run(settings, "-c", PRODUCT).returncode == -signal.SIGILL:
        pytest.skip(f"this processor has no {request.param}")
    done = run(settings, "-c", NUMBERS)
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_suggestions_have_the_same_bits(elsewhere):
    """So the optimizers' contract, which is tested on this processor, holds there, too."""
    assert elsewhere[0] == json.loads(json.dumps([searches(), surrogates()]))


def test_pipelines_have_the_recorded_numbers(elsewhere):
    assert elsewhere[1] == recorded()["pipeline"]
