"""AutoGluon: what it is given, what is written, and what happens where it is not installed."""

import argparse
import json
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import yaml

import run_autogluon
from ensemble_search.data import split
from support import ROOT
from support.checkout import STUDY, Checkout

pytestmark = pytest.mark.slow

# A stand-in for AutoGluon: predicts class 1 wherever the first feature is positive.
FAKE = """
class TabularPredictor:
    def __init__(self, **arguments):
        self.made = arguments

    def fit(self, train, tuning_data, **arguments):
        if arguments["time_limit"] < 1:
            raise RuntimeError("no models\\nwere trained")
        type(self).given = {"train": train, "validation": tuning_data, **self.made, **arguments}
        return self

    def predict(self, frame):
        assert "class" not in frame
        return (frame["x0"] > 0).astype(int)

    def predict_oof(self):
        return self.predict(self.given["train"].drop(columns="class"))

    def model_names(self):
        return ["A", "B"]

    model_best = "B"
"""


@pytest.fixture
def fake(tmp_path, monkeypatch):
    """A package that is found as AutoGluon."""
    package = tmp_path / "fake/autogluon/tabular"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text(FAKE)
    metadata = tmp_path / "fake/autogluon_tabular-9.1.dist-info/METADATA"
    metadata.parent.mkdir()
    metadata.write_text("Metadata-Version: 2.1\nName: autogluon.tabular\nVersion: 9.1\n")
    monkeypatch.syspath_prepend(tmp_path / "fake")
    yield
    for name in [n for n in sys.modules if n.split(".")[0] == "autogluon"]:
        monkeypatch.delitem(sys.modules, name)


@pytest.fixture
def options(tmp_path):
    """A split with two features; class 1 is where the first one is positive, but for some rows."""
    X = np.column_stack([np.tile([1.0, -1.0], 5), np.arange(10.0)])
    y = np.tile([1, 0], 5)
    validation, test = y.copy(), y.copy()
    validation[:1] = 1 - y[:1]
    test[:4] = 1 - y[:4]
    classes, features = np.array(["no", "yes"]), np.array(["a", "b=[c]"])
    folds = np.empty(0, dtype=np.int64)
    inputs = split.Inputs(X, X, X, y, validation, np.array([False, True]), classes, features, folds)
    split.write(inputs, test, {}, tmp_path / "split")
    return argparse.Namespace(
        split=tmp_path / "split", metric="error", seconds=5.0, threads=2, memory_mb=2048
    )


def test_it_is_given_the_split_and_limits_and_its_errors_are_counted(fake, options):
    found = run_autogluon.scores(options)
    assert found.pop("seconds") >= 0
    assert found == {
        "status": "ok",
        "reason": "",
        "validation_error": 0.1,
        "test_error": 0.4,
        "version": "9.1",
        "models": ["A", "B"],
        "chosen": "B",
    }
    given = sys.modules["autogluon.tabular"].TabularPredictor.given
    assert given["train"]["class"].tolist() == [1, 0] * 5
    assert given["validation"]["class"].tolist() == [0, 0] + [1, 0] * 4
    assert list(given["train"]) == ["x0", "x1", "class"]
    assert (given["eval_metric"], given["problem_type"]) == ("accuracy", "binary")
    assert (given["time_limit"], given["num_cpus"], given["memory_limit"]) == (5, 2, 2)
    assert given["num_bag_folds"] == given["num_stack_levels"] == given["auto_stack"] == 0
    assert sorted(given["hyperparameters"]) == ["CAT", "GBM", "KNN", "RF", "XGB", "XT"]
    assert not Path(given["path"]).exists(), "its models are left behind"


@pytest.mark.parametrize(
    ("metric", "theirs", "validation", "test"),
    [
        ("squared-error", "mean_squared_error", 0.05, 1.2),
        ("absolute-error", "mean_absolute_error", 0.1, 0.6),
    ],
)
def test_a_regression_has_losses_by_its_metric(fake, options, metric, theirs, validation, test):
    """It predicts 1 and 0 in turn: 0.5 too low for 2 validation rows, 2 for 3 test rows."""
    numbers = np.tile([1.0, 0.0], 5)
    inputs = split.load_inputs(options.split)
    inputs = replace(
        inputs,
        classes=inputs.classes[:0],
        y_train=numbers,
        y_validation=numbers + np.repeat([0.5, 0], [2, 8]),
    )
    split.write(inputs, numbers + np.repeat([2, 0], [3, 7]), {}, options.split)
    options.metric = metric
    found = run_autogluon.scores(options)
    assert found["validation_error"] == pytest.approx(validation)
    assert found["test_error"] == pytest.approx(test)
    given = sys.modules["autogluon.tabular"].TabularPredictor.given
    assert (given["eval_metric"], given["problem_type"]) == (theirs, "regression")
    assert given["hyperparameters"]["RF"] == given["hyperparameters"]["XT"] == {}


def test_with_folds_it_bags_over_as_many(fake, options):
    inputs = split.load_inputs(options.split)
    folds = np.arange(10) % 3
    inputs = replace(inputs, folds=folds, y_train=inputs.y_validation)
    split.write(inputs, np.load(options.split / "test_labels.npy"), {}, options.split)
    found = run_autogluon.scores(options)
    assert (found["validation_error"], found["test_error"]) == (0.1, 0.4)
    given = sys.modules["autogluon.tabular"].TabularPredictor.given
    assert (given["num_bag_folds"], given["validation"]) == (3, None)


def test_what_it_raises_is_a_result_of_one_line(fake, options):
    options.seconds = 0.5
    assert run_autogluon.scores(options) == {
        "status": "failed",
        "reason": "RuntimeError: no models were trained",
        "version": "9.1",
    }


def test_without_it_the_workflow_says_so_and_runs_it_once_it_is_there(tmp_path):
    checkout = Checkout(tmp_path)
    checkout.write({**STUDY, "autogluon": {"seconds": 5}})
    file = "results/tiny/autogluon/wine/scores.json"
    checkout.snakemake("--quiet", "all", "--", file)
    found = json.loads((tmp_path / file).read_text())
    assert (found["status"], found["limit_seconds"]) == ("not run", 5)
    assert "make autogluon" in found["reason"]
    assert checkout.planned("--", file) == {}
    environment = tmp_path / ".venv-autogluon/bin/python"
    environment.parent.mkdir(parents=True)
    environment.symlink_to(sys.executable)
    assert checkout.planned()["autogluon"] == 1, "the report asks for it"


def test_environments_agree():
    """The package that the script imports has the same pin for pip and for conda, without torch."""
    lines = (ROOT / "envs/autogluon.in").read_text().splitlines()
    pins = dict(line.split("==") for line in lines if "==" in line)
    lock = (ROOT / "envs/autogluon.lock").read_text()
    assert "torch" not in lock
    assert "://" not in lock
    content = yaml.safe_load((ROOT / "envs/autogluon.yaml").read_text())
    conda = dict(pin.split("=") for pin in content["dependencies"])
    for name, version in pins.items():
        assert conda[name.split("[")[0]] == version
    for name in conda.keys() - {"python", "py-xgboost"}:
        assert f"\n{name.replace('.', '-')}=={conda[name]} " in lock, "run: make lock"
    assert f"\nxgboost-cpu=={conda['py-xgboost']} " in lock
