"""A study with parts from a folder outside the checkout, from its first run to its reproduction."""

import json
import shutil
import subprocess
import sys

import pandas as pd
import pytest
import yaml

from support import ROOT
from support.checkout import STUDY, Checkout

pytestmark = pytest.mark.slow

EXAMPLE = ROOT / "examples/my_optimizer"
SEARCHES = {"random": {"optimizer": "random"}, "mine": {"optimizer": "aging-evolution"}}
HELPER = "\nfrom ensemble_search.optimizers._shared import VALUE\n"


@pytest.mark.slow
def test_a_folder_outside(tmp_path):
    """Run; rerun nothing; edit a helper: exactly its searches; reproduce it elsewhere."""
    folder = tmp_path / "user/parts/optimizers"
    shutil.copytree(EXAMPLE / "optimizers", folder)
    optimizer, helper = folder / "aging_evolution.py", folder / "_shared.py"
    optimizer.write_text(optimizer.read_text().replace("\nimport numpy", f"{HELPER}import numpy"))
    helper.write_text("VALUE = 1\n")
    (tmp_path / "checkout").mkdir()
    checkout = Checkout(tmp_path / "checkout")
    study = {
        **STUDY,
        "plugins": ["parts/"],
        "budget": {"evaluations": 5},
        "searches": {**SEARCHES, "mine": {**SEARCHES["mine"], "population": 3}},
        "methods": {
            "RS": {"search": "random", "ensemble": "best"},
            "Mine": {"search": "mine", "ensemble": "best"},
        },
    }
    (tmp_path / "user/study.yaml").write_text(yaml.safe_dump(study))
    checkout.command = lambda *more: [
        *("snakemake", "--cores", "2", "--configfile", "../user/study.yaml", *more)
    ]
    checkout.snakemake("--quiet", "all")
    assert checkout.planned() == {}
    found = pd.read_parquet(
        checkout.folder / "results/tiny/searches/wine/mine/0/observations.parquet"
    )
    origins = [json.loads(why)["origin"] for why in found["why"]]
    assert origins == ["initial"] * 3 + ["mutation"] * 2

    made = json.loads((checkout.folder / "results/tiny/manifest.json").read_text())
    assert sorted(made["plugins"]["files"]) == [
        "optimizers/_shared.py",
        "optimizers/aging_evolution.py",
    ]
    for script in ("status", "verify", "partial_report"):
        done = checkout.script(script, "--study", "../user/study.yaml")
        assert done.returncode == 0, done.stderr

    helper.write_text("VALUE = 2\n")
    after = {"all": 1, "ensemble": 1, "manifest": 1, "report": 1, "search": 1}
    assert checkout.planned() == after
    done = checkout.script("why", "--study", "../user/study.yaml")
    assert "the code that it depends on changed (tiny wine mine 0)" in done.stdout

    shutil.rmtree(tmp_path / "user")
    manifest = "results/tiny/manifest.json"
    done = checkout.script("reproduce", manifest, "--cores", "2")
    assert done.returncode == 2
    assert "the manifest has code of its own, which would run here: optimizers/_sh" in done.stderr
    assert len(done.stderr.splitlines()) == 1
    done = checkout.script("reproduce", manifest, "--cores", "2", "--trust")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "tables are equal" in done.stdout
    (again,) = (checkout.folder / "reproduced").glob("*/results/tiny/manifest.json")
    assert json.loads(again.read_text())["plugins"] == made["plugins"]


@pytest.mark.slow
def test_the_example(tmp_path):
    """The commands of its README, on less."""
    text = (EXAMPLE / "README.md").read_text(encoding="utf-8")
    (tmp_path / "checkout").mkdir()
    checkout = Checkout(tmp_path / "checkout")
    shutil.copytree(EXAMPLE, checkout.folder / "examples/my_optimizer")
    study = yaml.safe_load((EXAMPLE / "study.yaml").read_text(encoding="utf-8"))
    commands = [line for line in text.splitlines() if line.startswith(("cp ", "snakemake "))]
    copy, run = commands[0].split(), commands[1].split()
    checkout.command = lambda *more: copy
    checkout.snakemake()
    smaller = {**study, "datasets": {"wine": {"sklearn": "wine"}}, "repeats": 2}
    smaller |= {"budget": {"evaluations": 16}, "tables": {"random": 30}}
    (tmp_path / "my_optimizer/study.yaml").write_text(yaml.safe_dump(smaller))
    checkout.command = lambda *more: [*run, *more]
    checkout.snakemake("--quiet", "all")
    scores = pd.read_csv(checkout.folder / "results/my-optimizer/report/tables/test-error.csv")
    assert {"DivBO", "Mine", "Mine-ES", "RS"} <= {*scores["method"]}


DRAW = """
import random

from ensemble_search.drivers.base import Driver, active, legal


class Draw(Driver):
    def suggest(self, space, evaluations, seed):
        rng = random.Random(seed)
        while True:
            values = {}
            for h in space["hyperparameters"]:
                if active(h, values):
                    kinds = {"integer": rng.randint, "float": rng.uniform}
                    own = kinds.get(h["kind"], lambda *_: rng.choice(h["choices"]))
                    values[h["name"]] = own(h.get("lower"), h.get("upper"))
            if legal(space, values):
                return values
"""
SHORT = """
import numpy as np

from ensemble_search.metrics.base import MeanLoss


class Short(MeanLoss):
    title = "expected error"

    def losses(self, labels, predictions):
        if predictions.shape[1] == 1:
            predictions = np.hstack([1 - predictions, predictions])
        return 1 - predictions[np.arange(len(labels)), labels]
"""


@pytest.mark.slow
def test_the_contract_tests_of_drivers_and_of_metrics_in_float32(tmp_path):
    for name, code in {"drivers/draw": DRAW, "metrics/short": SHORT}.items():
        file = tmp_path / f"{name}.py"
        file.parent.mkdir()
        file.write_text(code, encoding="utf-8")
    command = [sys.executable, "-m", "pytest", "-n", "0", "--contract", str(tmp_path)]
    for tests in ("optimizers/test_ask_tell.py", "metrics/test_metrics.py"):
        assert f"tests/{tests}" in (ROOT / "Makefile").read_text(encoding="utf-8")
        done = subprocess.run(
            [*command, f"tests/{tests}", "-p", "no:cacheprovider"],
            cwd=ROOT, capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stdout
        assert " passed" in done.stdout


@pytest.mark.slow
def test_the_contract_tests_of_the_example():
    """What `make contract` runs; the Makefile adds other kinds."""
    command = [sys.executable, "-m", "pytest", "-n", "0", "--contract", str(EXAMPLE)]
    tests = "tests/optimizers/test_optimizer_contract.py"
    done = subprocess.run(
        [*command, tests, "-p", "no:cacheprovider"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    assert " passed" in done.stdout and "deselected" not in done.stdout
