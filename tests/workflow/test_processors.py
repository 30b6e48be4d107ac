"""The same suggestions on every processor: numpy and OpenBLAS compute as on others."""

import json
import os
import signal
import subprocess
import sys
from functools import cache

import pytest
from numpy._core._multiarray_umath import __cpu_dispatch__

from support import PYTHONPATH, ROOT
from support.recorded_numbers import FILE

pytestmark = pytest.mark.slow

#: Kinds of processors by what numpy and OpenBLAS choose on them; the last has no AVX at all.
OPENBLAS = {
    "AVX-512": {"OPENBLAS_CORETYPE": "SkylakeX"},
    "AVX2": {"OPENBLAS_CORETYPE": "Haswell"},
    "AVX": {"OPENBLAS_CORETYPE": "Sandybridge"},
    "SSE": {"OPENBLAS_CORETYPE": "Nehalem"},
}
NUMPY = {
    "AVX2": [name for name in __cpu_dispatch__ if "512" in name or name == "X86_V4"],
    "SSE": __cpu_dispatch__,
}
PROCESSORS = {
    name: {**OPENBLAS[name], "NPY_DISABLE_CPU_FEATURES": " ".join(NUMPY.get(name, []))}
    for name in OPENBLAS
}
#: Every optimizer and surrogate, all digits; the learners, which are others' code, as recorded.
NUMBERS = """
import json
from support.recorded_numbers import pipelines, rounded, searches, surrogates
print(json.dumps([searches(), surrogates()]))
"""
PIPELINES = """
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


@pytest.fixture(params=PROCESSORS)
def processor(request) -> dict[str, str]:
    settings = PROCESSORS[request.param]
    if run(settings, "-c", PRODUCT).returncode == -signal.SIGILL:
        pytest.skip(f"this processor has no {request.param}")
    return settings


@cache
def numbers(settings: tuple[tuple[str, str], ...] = ()) -> list:
    """Suggestions, and of another kind of processor than this one errors of pipelines, too."""
    done = run(dict(settings), "-c", NUMBERS + PIPELINES * bool(settings))
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_suggestions_have_the_same_bits(processor):
    assert numbers(tuple(processor.items()))[0] == numbers()[0]


def test_pipelines_have_the_recorded_numbers(processor):
    recorded = json.loads(FILE.read_text(encoding="utf-8"))
    assert numbers(tuple(processor.items()))[1] == recorded["pipeline"]


def test_optimizers_keep_their_contract_on_the_least_of_them():
    """And with equal bits on all others."""
    settings = PROCESSORS["SSE"]
    contract = "tests/optimizers/test_optimizer_contract.py"
    done = run(settings, "-m", "pytest", "-q", "-p", "no:cacheprovider", contract)
    assert done.returncode == 0, done.stdout
