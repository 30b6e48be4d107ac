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
#: Every optimizer and surrogate, all digits. The learners are other people's code.
NUMBERS = """
import json
from support.recorded_numbers import searches, surrogates
print(json.dumps([searches(), surrogates()]))
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
    done = run(dict(settings), "-c", NUMBERS)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_suggestions_have_the_same_bits(processor):
    assert numbers(tuple(processor.items())) == numbers()


def test_the_recorded_numbers_hold(processor):
    files = ["tests/workflow/test_drift.py"]
    if processor == PROCESSORS["SSE"]:  # equal bits keep it everywhere, if the least of them does
        files.append("tests/optimizers/test_optimizer_contract.py")
    done = run(processor, "-m", "pytest", "-q", "-p", "no:cacheprovider", *files)
    assert done.returncode == 0, done.stdout
