"""The comparison of Parzen estimators with Optuna's, where `make peers` has installed it."""

import subprocess
import sys

import numpy as np
import pytest
from scipy.integrate import trapezoid

from ensemble_search.runtime import plugins
from support import ROOT

sys.path.insert(0, str(ROOT / "benchmarks"))

import costs
import tpe

pytestmark = pytest.mark.slow

PEERS = ROOT / ".venv-openbox/bin/python"
COMMAND = [sys.executable, ROOT / "benchmarks/tpe.py", "--space", "divbo-small"]


def test_what_is_compared_are_densities_in_the_scale_of_the_hyperparameter():
    space = plugins.load("spaces", "divbo-small")()
    made = list(tpe.densities(space, costs.made_history(space, 60, 20, 2)))
    assert len(made) == 2 * len(space.columns)
    for d in made:
        likelihood, low, high = np.exp(d["ours"]), *tpe.ends(d)
        if d["kind"].endswith("float"):
            grid = np.log(d["grid"]) if d["kind"].startswith("log") else d["grid"]
            assert trapezoid(likelihood, grid) == pytest.approx(1, abs=0.05)
            assert low <= min(d["means"]) and max(d["means"]) <= high
        elif len(d["grid"]) == d["bounds"][1] - d["bounds"][0] + 1:
            assert likelihood.sum() == pytest.approx(1)


@pytest.mark.skipif(not PEERS.exists(), reason="`make peers` has not been run")
def test_densities_are_those_of_optunas_kernels():
    command = [*COMMAND, PEERS, "--evaluations", "60"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    kernels = next(line for line in done.stdout.splitlines() if line.startswith("Optuna's kernels"))
    numbers = [float(x) for x in kernels.split()[2:] if x != "-"]
    assert numbers and max(numbers) < 1e-9
    assert "Optuna, weights of up to 1000 observations: 0.0e+00" in done.stdout
    assert "Optuna, number of good ones of up to 1000: the same" in done.stdout
