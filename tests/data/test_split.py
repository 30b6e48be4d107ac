import json
import shutil
import subprocess
import sys
import tracemalloc
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ensemble_search.data import normalise, prepare, roles, split
from ensemble_search.data.rows import PARTS, fold_numbers, split_rows
from ensemble_search.data.sources import Raw
from ensemble_search.runtime.errors import UserError
from support import SCRIPTS, forks

pytestmark = pytest.mark.slow

PAPER = {"train": 0.6, "validation": 0.2, "test": 0.2, "seed": 1}
FOLDS = {"folds": 3, "test": 0.2, "seed": 1}


def make(frame, settings=PAPER):
    frame, described = normalise.normalise(Raw(frame, "y", "set", {"sklearn": "set"}))
    return prepare.make_split(frame, described, settings)


def mixed(n=100, seed=0):
    """A data set of all kinds of columns, with missing values."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "number": rng.normal(size=n),
            "colour": rng.choice(["red", "green", "bläu"], n),
            "flag": rng.choice([True, False], n),
            "y": rng.choice(["no", "yes", "maybe"], n, p=[0.5, 0.3, 0.2]),
        }
    )
    frame["flag"] = frame["flag"].astype("boolean")
    for column in ("number", "colour", "flag"):
        frame.loc[rng.random(n) < 0.1, column] = None
    return frame


def test_preparation_by_hand():
    kinds = {
        "number": "numeric",
        "nothing": "numeric",
        "tiny": "numeric",
        "flag": "boolean",
        "colour": "categorical",
        "name": "categorical",
        "same": "categorical",
    }
    train = pd.DataFrame(
        {
            "number": [1.0, 2.0, 9.0, None, 4.0],
            "nothing": [np.nan] * 5,
            "tiny": [0, 0, 0, 0, 5e-4],
            "flag": pd.array([True, None, True, False, True], dtype="boolean"),
            "colour": pd.Series(["red", "blue", None, "red", None], dtype="str"),
            "name": pd.Series(["a", "b", "c", "d", "d"], dtype="str"),
            "same": pd.Series(["x"] * 5, dtype="str"),
        }
    )
    test = pd.DataFrame(
        {
            "number": [None, 7.0],
            "nothing": [5.0, 6.0],
            "tiny": [1.0, 1.0],
            "flag": pd.array([None, False], dtype="boolean"),
            "colour": pd.Series([None, "green"], dtype="str"),
            "name": pd.Series(["a", "z"], dtype="str"),
            "same": pd.Series(["y", "x"], dtype="str"),
        }
    )
    X, prepared, dropped = prepare.prepare({"train": train, "test": test}, kinds)
    features, categorical = np.array(prepared.features), prepared.categorical
    assert features.tolist() == ["number", "flag", "colour=blue", "colour=red"]
    assert categorical.tolist() == [False, True, True, True]
    # The median of 1, 2, 9, 4 is 3; a missing flag is True, a missing colour red.
    assert X["train"].tolist() == [
        [1, 1, 0, 1],
        [2, 1, 1, 0],
        [9, 1, 0, 1],
        [3, 0, 0, 1],
        [4, 1, 0, 1],
    ]
    # A colour that the training part does not have is none of its colours.
    assert X["test"].tolist() == [[3, 1, 0, 1], [7, 0, 0, 0]]
    assert dropped == {
        "nothing": "no value in the training rows",
        "name": prepare.WORDLESS,
        # The variance of 0, 0, 0, 0, 5e-4 is 4e-8.
        "tiny": "variance is 1e-07 or less",
        "same=x": "variance is 1e-07 or less",
    }


@pytest.mark.parametrize(("distinct", "numeric"), [(50, False), (51, True)])
def test_many_whole_numbers_are_codes(distinct, numeric):
    codes = pd.Series([str(i % distinct) for i in range(3 * distinct)], dtype="str")
    parts = {
        "train": pd.DataFrame({"code": codes}),
        "test": pd.DataFrame({"code": pd.Series(["7", "unknown", None], dtype="str")}),
    }
    X, prepared, _ = prepare.prepare(parts, {"code": "categorical"})
    features, categorical = np.array(prepared.features), prepared.categorical
    if numeric:
        assert features.tolist() == ["code"]
        assert categorical.tolist() == [False]
        assert X["train"][:, 0].tolist() == [float(c) for c in codes]
        assert X["test"][:, 0].tolist() == [7, 25, 25]
    else:
        assert X["train"].shape == (150, 50)
        assert categorical.all()


def test_codes_that_the_study_calls_categorical_are_categories():
    codes = pd.Series([str(i % 60) for i in range(180)], dtype="str")
    parts, kinds = {"train": pd.DataFrame({"code": codes})}, {"code": "categorical"}
    X, *_ = prepare.prepare(parts, kinds, {"code": "categorical"})
    assert X["train"].shape == (180, 60)


def test_dates_become_numbers():
    far = np.array(["2020-12-31", "9999-12-31", "0001-01-01"], "datetime64[us]")
    train = pd.DataFrame({"d": pd.to_datetime(["1970-01-03 06:30", "2024-02-29 00:00", None]),
                          "s": far,
                          "b": [True, False, True]})  # fmt: skip
    test = pd.DataFrame({"d": pd.to_datetime([None]), "s": pd.to_datetime(["1969-12-31 12:00"]),
                         "b": [True]})  # fmt: skip
    kinds = {"b": "boolean", "d": "date", "s": "date"}
    X, prepared, dropped = prepare.prepare({"train": train, "test": test}, kinds)
    features, categorical = np.array(prepared.features), prepared.categorical
    assert features.tolist() == [
        *("d.year", "d.month", "d.day", "d.weekday", "d.hour", "d.days"),
        *("s.year", "s.month", "s.day", "s.weekday", "s.days", "b"),
    ]
    assert categorical.tolist() == [False] * 11 + [True]
    assert dropped == {}
    # Saturday at half past six, and Thursday; what is missing is the median of both.
    assert X["train"][:, :6].tolist() == [
        [1970, 1, 3, 5, 6.5, 2 + 6.5 / 24],
        [2024, 2, 29, 3, 0, 19782],
        [1997, 1.5, 16, 4, 3.25, (2 + 6.5 / 24 + 19782) / 2],
    ]
    assert X["train"][0, 6:11].tolist() == [2020, 12, 31, 3, 18627]
    # No date of the training part has a time: the hour is no column, but part of the days.
    assert X["test"][0, 6:11].tolist() == [1969, 12, 31, 2, -0.5]


def test_dates_of_a_file_become_numbers_and_not_one_hot_columns(tmp_path):
    days = pd.date_range("2021-01-01", periods=300)
    frame = pd.DataFrame({"when": days.strftime("%Y-%m-%d"), "y": ["a", "b", "c"] * 100})
    frame.loc[::10, "when"] = None
    inputs, *_ = make(pd.concat([frame] * 2, ignore_index=True))
    assert inputs.features.tolist() == ["when.month", "when.day", "when.weekday", "when.days"]
    assert np.isfinite(inputs.X_train).all()


def test_the_preparation_takes_little_more_memory_than_its_result():
    n = 20_000
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({f"x{i}": rng.normal(size=n) for i in range(20)})
    for i in range(5):
        frame[f"c{i}"] = pd.Series(rng.choice([f"value {j}" for j in range(20)], n), dtype="str")
    frame["y"] = rng.choice(["a", "b"], n)
    described = normalise.normalise(Raw(frame, "y", "set", {}))[1]
    tracemalloc.start()
    inputs, *_ = prepare.make_split(frame, described, PAPER)
    inputs.checksum()
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert inputs.X_train.shape[1] == 120
    assert 8 * n * 120 < peak < 1.5 * 8 * n * 120
    assert described["prepared"] == 120


def test_many_words_are_no_codes():
    words = pd.Series([f"w{i % 60}" for i in range(180)], dtype="str")
    X, *_ = prepare.prepare({"train": pd.DataFrame({"w": words})}, {"w": "categorical"})
    assert X["train"].shape == (180, 60)


def test_the_rule_of_distinct_values_counts_values_only():
    # 8 of 10 values are distinct; the missing ones do not count.
    values = pd.Series([*"abcdefgh", "a", "b", *[None] * 90], dtype="str")
    number = pd.Series(range(100), dtype="float64")
    frame = pd.DataFrame({"c": values, "x": number})
    _, prepared, dropped = prepare.prepare({"train": frame}, {"c": "categorical", "x": "numeric"})
    assert dropped == {"c": prepare.WORDLESS}
    assert prepared.features == ["x"]


def test_nothing_left_is_said():
    frame = pd.DataFrame(
        {"x": [1.0] * 30, "id": [f"i{i}" for i in range(30)], "y": ["a", "b"] * 15}
    )
    with pytest.raises(UserError, match=r"drops all columns .*'id': 18 of 18 .*'x': variance"):
        make(frame)
    with pytest.raises(UserError, match=r"drops all columns .*'id': 18 of 18"):
        make(frame.drop(columns="x"))


@settings(max_examples=20)
@given(st.integers(0, 2**16), st.sampled_from(["validation", "test"]))
def test_the_preparation_learns_from_the_training_part_only(seed, part):
    frame, described = normalise.normalise(Raw(mixed(seed=seed), "y", "set", {"sklearn": "set"}))
    options = {**PAPER, "seed": seed}
    before, labels, _ = prepare.make_split(frame, described, options)
    codes = np.unique(frame["y"].to_numpy(dtype=str), return_inverse=True)[1]
    chosen = split_rows(codes, before.classes, options)[part]
    changed = frame.copy()
    changed.loc[chosen, "number"] = 1e6
    changed.loc[chosen, "colour"] = "violet"
    changed.loc[chosen, "flag"] = pd.NA
    after, labels_after, _ = prepare.make_split(changed, described, options)
    assert after.features.tolist() == before.features.tolist()
    for name in ("X_train", "y_train", "y_validation", "X_validation", "X_test"):
        same = np.array_equal(getattr(after, name), getattr(before, name))
        assert same == (name != f"X_{part}")
    assert np.array_equal(labels, labels_after)


def test_with_folds_the_validation_rows_are_the_training_rows():
    inputs, test_labels, described = make(mixed(), FOLDS)
    assert np.array_equal(inputs.X_validation, inputs.X_train)
    assert np.array_equal(inputs.y_validation, inputs.y_train)
    assert inputs.folds.tolist() == fold_numbers(inputs.y_train, 3).tolist()
    assert described["settings"] == FOLDS
    assert described["sizes"] == {"train": 80, "validation": 80, "test": 20}
    assert described["classes"]["validation"] == described["classes"]["train"]
    assert len(test_labels) == 20
    assert make(mixed())[0].folds.size == 0


def test_codes_follow_the_sorted_labels():
    inputs, test_labels, described = make(mixed())
    assert inputs.classes.tolist() == ["maybe", "no", "yes"]
    assert inputs.n_outputs == 3
    total = {c: sum(described["classes"][p][c] for p in PARTS) for c in inputs.classes}
    assert total == mixed()["y"].value_counts().to_dict()
    for part, codes in [("validation", inputs.y_validation), ("test", test_labels)]:
        assert np.bincount(codes).tolist() == list(described["classes"][part].values())


@pytest.mark.parametrize("settings", [PAPER, FOLDS])
def test_the_positive_class_is_class_1(settings):
    """Precision, recall and thresholds are about class 1."""
    frame = mixed()[lambda rows: rows["y"] != "maybe"].reset_index(drop=True)
    frame["x"] = np.where(frame["y"] == "no", 1.0, 0.0)
    raw = Raw(frame, "y", "set", {"sklearn": "set"})
    for positive, classes in [("no", ["yes", "no"]), ("yes", ["no", "yes"])]:
        rows, described = normalise.normalise(raw, positive=positive)
        inputs, test_labels, split = prepare.make_split(rows, described, settings)
        assert inputs.classes.tolist() == classes
        x = inputs.features.tolist().index("x")
        for part, codes in [
            ("train", inputs.y_train),
            ("validation", inputs.y_validation),
            ("test", test_labels),
        ]:
            X = getattr(inputs, f"X_{part}")
            assert np.array_equal(X[:, x] == 1, np.array(classes)[codes] == "no")
            assert np.bincount(codes).tolist() == list(split["classes"][part].values())


def test_rows_keep_their_labels():
    # The label is a function of the one feature: after the split it must still be.
    x = np.arange(90.0)
    inputs, test_labels, _ = make(pd.DataFrame({"x": x, "y": np.where(x % 3 == 0, "b", "a")}))
    for X, y in [
        (inputs.X_train, inputs.y_train),
        (inputs.X_validation, inputs.y_validation),
        (inputs.X_test, test_labels),
    ]:
        assert ((X[:, 0] % 3 == 0) == (y == 1)).all()


@pytest.fixture(scope="module")
def dataset(tmp_path_factory):
    folder = tmp_path_factory.mktemp("data") / "sklearn-set"
    normalise.write(*normalise.normalise(Raw(mixed(), "y", "set", {"sklearn": "set"})), folder)
    return folder


def run_split(dataset, output, ensembles=None, **change):
    wanted = {key: value for key, value in {**PAPER, **change}.items() if value is not None}
    options = {
        "dataset": dataset,
        "output": output,
        "settings": json.dumps(wanted),
        "ensembles": json.dumps(ensembles or {}),
    }
    return subprocess.run(
        ["python", str(SCRIPTS / "split.py"), *(f"--{k}={v}" for k, v in options.items())],
        capture_output=True,
        text=True,
        check=False,
        env=forks.environment(Path.home()),
    )


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (3, "split.train_rows: "),
        ({}, "split.train_rows.share: is missing"),
        ({"share": 0.5, "by": "kdpp"}, "split.train_rows.by: must be 'uniform', "),
    ],
)
def test_settings_of_a_part_of_the_rows_are_checked(dataset, tmp_path, wrong, said):
    done = run_split(dataset, tmp_path / "a", train_rows=wrong)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert done.stderr.startswith(f"error: {said}")


def test_the_script_writes_what_the_searches_read(dataset, tmp_path):
    for folder in ("a", "b"):
        done = run_split(dataset, tmp_path / folder)
        assert done.returncode == 0, done.stderr
        assert done.stderr == ""
    names = ["inputs.npz", "preparation.json", "split.json", "test_labels.npy"]
    assert sorted(p.name for p in (tmp_path / "a").iterdir()) == names
    for name in names:
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()

    with np.load(tmp_path / "a" / "inputs.npz", allow_pickle=False) as arrays:
        types = {name: arrays[name].dtype.kind + str(arrays[name].ndim) for name in arrays.files}
    assert types == {
        **dict.fromkeys(["X_train", "X_validation", "X_test"], "f2"),
        **dict.fromkeys(["y_train", "y_validation", "folds"], "i1"),
        "categorical": "b1",
        "classes": "U1",
        "features": "U1",
    }
    inputs = split.load_inputs(tmp_path / "a")
    test_labels = np.load(tmp_path / "a" / "test_labels.npy", allow_pickle=False)
    assert len(test_labels) == len(inputs.X_test)
    assert test_labels.dtype == inputs.y_train.dtype == np.int64
    assert np.isfinite(inputs.X_train).all()
    described = json.loads((tmp_path / "a" / "split.json").read_text(encoding="utf-8"))
    source = json.loads((dataset / "dataset.json").read_text(encoding="utf-8"))
    assert described["source_checksum"] == source["checksum"]
    assert described["checksum"] == inputs.checksum()
    assert described["sizes"] == {
        "train": len(inputs.y_train),
        "validation": len(inputs.y_validation),
        "test": len(test_labels),
    }
    expected, expected_labels, _ = make(mixed())
    assert expected.checksum() == inputs.checksum()
    assert np.array_equal(expected_labels, test_labels)


def test_the_log_names_columns_that_are_dropped(tmp_path):
    frame = mixed().assign(name=[f"n{i}" for i in range(100)], one=1.0)
    frame["colour"] = ["red"] * 100
    described = normalise.normalise(Raw(frame, "y", "set", {"sklearn": "set"}))
    normalise.write(*described, tmp_path / "data")
    done = run_split(tmp_path / "data", tmp_path / "a")
    assert done.stderr.splitlines() == [
        "note: column 'name' dropped: 60 of 60 values are distinct (names or identifiers)",
        "note: column 'one' dropped: variance is 1e-07 or less",
    ]


def test_the_checksum_sees_every_array(dataset, tmp_path):
    inputs, *_ = make(mixed(), FOLDS)
    weights = {f"{part}weights": np.arange(1.0, 4) for part in ("", "validation_", "test_")}
    inputs = replace(inputs, **weights)
    sums = {inputs.checksum()}
    for name in split.Inputs.__dataclass_fields__:
        arrays = {n: getattr(inputs, n).copy() for n in split.Inputs.__dataclass_fields__}
        arrays[name] = arrays[name][::-1]
        sums.add(split.Inputs(**arrays).checksum())
    assert len(sums) == 1 + len(split.Inputs.__dataclass_fields__)


def test_the_script_ends_with_one_line(dataset, tmp_path):
    done = run_split(dataset, tmp_path / "a", train=0.9)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert done.stderr.startswith("error: split: train + validation + test is 1.3")
    damaged = tmp_path / "damaged"
    shutil.copytree(dataset, damaged)
    (damaged / "dataset.parquet").write_bytes(b"PAR1")
    done = run_split(damaged, tmp_path / "a")
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "damaged/dataset.parquet': Parquet " in done.stderr
    done = run_split(tmp_path / "none", tmp_path / "a")
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "is not a folder that fetch.py wrote" in done.stderr
    assert not (tmp_path / "a").exists()


def test_more_rows_than_there_are_is_no_fault_of_a_class(dataset, tmp_path):
    done = run_split(dataset, tmp_path / "a", train=70, validation=30, test=None)
    assert (done.returncode, done.stderr) == (
        2,
        "error: split: the data set has 100 rows; 70 training and 30 validation rows are 100, and "
        "test rows must remain\n",
    )
    assert run_split(dataset, tmp_path / "b", train=60, validation=30, test=None).returncode == 0


def test_a_split_with_too_few_rows_for_an_ensemble_is_not_made(dataset, tmp_path):
    made, _, described = make(mixed())
    largest, rows = max(described["classes"]["train"].values()), len(made.y_train)
    ensembles = {"fits": {"type": "stacking", "folds": largest}}
    assert run_split(dataset, tmp_path / "a", ensembles).returncode == 0
    ensembles["stack"] = {"type": "stacking", "folds": largest + 1}
    ensembles["bags"] = {"type": "diverse-bagging", "bags": rows + 1, "share": 1e-5}
    done = run_split(dataset, tmp_path / "b", ensembles)
    assert done.returncode == 2
    assert done.stderr.splitlines() == [
        f"error: ensembles.stack.folds: {largest + 1} folds need a class with as many training "
        f"rows; the largest has {largest}; lower folds",
        f"error: ensembles.bags.bags: {rows + 1} disjoint bags need as many training rows, and "
        f"there are {rows}; lower bags",
    ]
    assert not (tmp_path / "b").exists()


def test_reading_inputs_imports_neither_pandas_nor_sklearn():
    code = "import sys, ensemble_search.data.split; print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=SCRIPTS
    )
    assert "ensemble_search.data.split" in done.stdout.split()
    assert not {"pandas", "sklearn", "pyarrow", "openml"} & set(done.stdout.split())


def numbers(n=50, seed=0):
    rng = np.random.default_rng(seed)
    return pd.DataFrame({"x": rng.normal(size=n), "y": 40 + 3 * rng.normal(size=n)})


@pytest.mark.parametrize("settings", [PAPER, FOLDS])
def test_a_regression_is_standardised_by_the_training_rows(settings):
    frame = numbers()
    raw = Raw(frame, "y", "set", {"sklearn": "set"})
    inputs, test, described = prepare.make_split(
        *normalise.normalise(raw, task="regression"), settings
    )
    assert inputs.task == "regression"
    assert (inputs.n_outputs, inputs.classes.tolist()) == (1, [])
    assert inputs.y_train.mean() == pytest.approx(0)
    assert inputs.y_train.std() == pytest.approx(1)
    mean, std = described["target"]["mean"], described["target"]["std"]
    parts = [inputs.y_train, test]
    if settings is PAPER:
        assert described["sizes"] == {"train": 30, "validation": 10, "test": 10}
        parts.append(inputs.y_validation)
    else:
        assert np.bincount(inputs.folds).tolist() == [14, 13, 13]
    values = np.concatenate(parts) * std + mean
    np.testing.assert_allclose(np.sort(values), np.sort(frame["y"]))
    split._check(inputs)
    for wrong in (inputs.y_train[1:], inputs.y_train.astype("float32"), inputs.y_train * np.inf):
        with pytest.raises(ValueError, match="y_train has no number for each row"):
            split._check(replace(inputs, y_train=wrong))


@pytest.mark.parametrize(
    ("target", "message"),
    [
        ([1.0] * 49 + [2.0], "all training rows have the same target value"),
        ([1e200, 2e200] * 25, "values too large to square"),
        ([1e-200, 2e-200] * 25, "values too small to square"),
    ],
)
def test_numbers_that_cannot_be_standardised(target, message):
    raw = Raw(numbers().assign(y=target), "y", "set", {"sklearn": "set"})
    frame, described = normalise.normalise(raw, task="regression")
    with pytest.raises(UserError, match=message):
        for seed in range(20):  # the odd one is not always a training row
            prepare.make_split(frame, described, PAPER | {"seed": seed})


def test_a_number_far_from_the_others_is_rejected_in_whatever_part_it_is():
    """Its square would be infinite as a loss."""
    target = np.append(np.arange(49.0), 1e200)
    raw = Raw(numbers().assign(y=target), "y", "set", {"sklearn": "set"})
    frame, described = normalise.normalise(raw, task="regression")
    said = set()
    for seed in range(20):
        with pytest.raises(UserError) as error:
            prepare.make_split(frame, described, PAPER | {"seed": seed})
        said.add(str(error.value))
    assert said == {
        "split: the target has values too large to square; rescale it",
        "split: the target 1e+200 is more than 1e+15 standard deviations from the mean of "
        "the training rows; correct or remove that row",
    }


def with_rows(**columns) -> tuple[pd.DataFrame, dict]:
    frame = mixed()
    return normalise.normalise(
        Raw(frame.assign(patient=np.arange(100) // 4, weight=np.arange(100) + 0.5), "y", "set", {}),
        columns,
    )


def test_columns_of_rows_are_no_features_and_divide_them():
    frame, described = with_rows(group=["patient"], weight=["weight"])
    assert not {"patient", "weight"} & set(described["columns"])
    assert "column 'patient' is the group of the rows, not a feature" in described["notes"]
    inputs, *_ = prepare.make_split(frame, described, PAPER)
    assert not any(name.startswith(("patient", "weight")) for name in inputs.features)
    parts = [inputs.weights, inputs.validation_weights, inputs.test_weights]
    rows = [(part - 0.5).astype(int) for part in parts]
    assert sorted(np.concatenate(rows)) == list(range(100))
    assert sum(len(set(part // 4)) for part in rows) == 25  # patients
    folds, *_ = prepare.make_split(frame, described, FOLDS)
    patient = (folds.weights - 0.5).astype(int) // 4
    assert all(len(set(folds.folds[patient == p])) == 1 for p in set(patient))
    assert (folds.validation_weights == folds.weights).all()


def test_weights_are_stored_and_read(tmp_path):
    frame, described = with_rows(weight=["weight"])
    split.write(*prepare.make_split(frame, described, PAPER), tmp_path)
    inputs = split.checked_inputs(tmp_path)
    assert len(inputs.weights) == len(inputs.y_train)
    for wrong in (-inputs.weights, inputs.weights[1:], inputs.weights.astype(int)):
        with pytest.raises(ValueError, match="weights has no number above 0"):
            split._check(replace(inputs, weights=wrong))


def test_rows_are_divided_by_dates():
    days = pd.date_range("2020-01-01", periods=100).strftime("%d.%m.%Y")
    frame, described = normalise.normalise(
        Raw(mixed().assign(day=days, weight=np.arange(100) + 0.5), "y", "set", {}),
        {"time": ["day"], "weight": ["weight"]},
    )
    (said,) = (note for note in described["notes"] if "'day' is the time of the rows" in note)
    assert said.endswith("a trend or a season, make it one by 'columns: {date: [day]}'")
    inputs, *_ = prepare.make_split(frame, described, PAPER)
    assert inputs.weights.max() < inputs.validation_weights.min()
    assert inputs.validation_weights.max() < inputs.test_weights.min()


@pytest.mark.parametrize(
    ("role", "features"),
    [("date", ["day.month", "day.day", "day.weekday", "day.days"]), ("numeric", ["day"])],
)
def test_the_time_of_the_rows_may_be_a_feature(role, features):
    days = pd.date_range("2020-01-01", periods=100)
    days = days.strftime("%d.%m.%Y") if role == "date" else days
    raw = Raw(mixed().assign(day=days, weight=np.arange(100) + 0.5), "y", "set", {})
    columns = {"time": ["day"], role: ["day"], "weight": ["weight"]}
    roles.check(columns, "columns")
    frame, described = normalise.normalise(raw, columns)
    assert described["checksum"] == normalise.checksum(
        frame, described["columns"], described["of_rows"]
    )
    assert not any("'day' is the time" in note for note in described["notes"])
    assert len(set(described["notes"])) == len(described["notes"])
    inputs, _, made = prepare.make_split(frame, described, PAPER)
    own = [i for i, name in enumerate(inputs.features) if name.startswith("day")]
    assert inputs.features[own].tolist() == features
    assert inputs.weights.max() < inputs.validation_weights.min()
    assert inputs.validation_weights.max() < inputs.test_weights.min()
    assert [row[0] for row in made["columns"]].count("day") == 1
    assert roles.suffix(columns) != roles.suffix({"time": ["day"], "weight": ["weight"]})
    # It may be the only feature.
    roles.check_names({"time": ["day"], role: ["day"], "drop": ["x"]}, ["day", "x", "y"], "y")
    with pytest.raises(UserError, match=rf"columns.{role}: 'day' is listed twice; keep one"):
        roles.check({"time": ["day"], role: ["day", "day"]}, "columns")
    with pytest.raises(UserError, match=r"columns.numeric: 'day' is in 'time', too; keep one"):
        roles.check({"time": ["day"], "date": ["day"], "numeric": ["day"]}, "columns")


def test_a_time_that_is_a_feature_has_a_value_in_every_row():
    """As numbers, all can be read; as dates, the last cannot."""
    days = [*range(20_200_101, 20_200_111)] * 9 + [20_201_399] * 10
    raw = Raw(mixed().assign(day=days), "y", "set", {})
    assert normalise.normalise(raw, {"time": ["day"]})[1]["of_rows"]["time"]["kind"] == "numeric"
    with pytest.raises(UserError, match="in 10 rows; each row needs its time"):
        normalise.normalise(raw, {"time": ["day"], "date": ["day"]})


def test_rows_are_divided_as_their_column_says():
    parts = np.array([*PARTS, "test"] * 25)
    frame, described = normalise.normalise(
        Raw(mixed().assign(fold=parts, weight=np.arange(100) + 0.5), "y", "set", {}),
        {"part": ["fold"], "weight": ["weight"]},
    )
    inputs, *_ = prepare.make_split(frame, described, PAPER)
    assert not any(name.startswith("fold") for name in inputs.features)
    # Validation and test rows keep their order.
    assert (inputs.validation_weights - 0.5).tolist() == list(range(1, 100, 4))
    assert (inputs.test_weights - 0.5).tolist() == np.flatnonzero(parts == "test").tolist()
    assert sorted(inputs.weights - 0.5) == list(range(0, 100, 4))


def test_weights_that_leave_few_rows_are_noted():
    frame = mixed().assign(weight=[1e9] * 3 + [1.0] * 97, even=np.arange(100) + 1.0)
    for name, noted in (("weight", True), ("even", False)):
        notes = normalise.normalise(Raw(frame, "y", "set", {}), {"weight": [name]})[1]["notes"]
        assert any("their effective number is 3 of 100" in note for note in notes) == noted


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"weight": ["number"]}, r"column 'number': has no value, .* in \d+ rows; each"),
        ({"weight": ["endless"]}, "'endless': has no value, or an infinite or .* in 1 row; each"),
        ({"weight": ["zero"]}, r"column 'zero': has the weight 0; weights must be above 0"),
        (
            {"weight": ["tiny"]},
            "'tiny': has the weight 1e-40; weights must be from 1e-30 to 1e.30: m",
        ),
        ({"part": ["zero"]}, r"column 'zero': has the part '0.*'; parts are train, validation, t"),
        ({"time": ["colour"]}, r"column 'colour': cannot be the time of the rows: it holds n"),
    ],
)
def test_columns_that_cannot_have_their_role(columns, message):
    frame = mixed().assign(zero=np.arange(100.0), endless=[np.inf] + [1.0] * 99, tiny=1e-40)
    with pytest.raises(UserError, match=message):
        normalise.normalise(Raw(frame, "y", "set", {}), columns)


@pytest.mark.parametrize(
    ("words", "of_all", "of_train"),
    [
        ([f"{i}" for i in [*range(52), *[0, 1] * 124]], "codes, used as one number",
         "each in the training rows becomes a feature"),
        ([f"k{i}" for i in [*range(150), *[0, 1] * 75]],
         "each in the training rows becomes a feature",
         "dropped by the base preparation, as 150 of 180 values are"),
        ([f"k{i}" for i in [*[0, 1] * 25, *range(250)]],
         "dropped by the base preparation (names or identifiers)",
         "each in the training rows becomes a feature"),
    ],
)  # fmt: skip
def test_a_note_says_how_the_training_rows_are_used(words, of_all, of_train):
    """They are the first 180, or, of the codes, the last."""
    part = np.repeat(["train", "validation", "test"], [180, 60, 60])
    if "codes" in of_all:
        part = part[::-1]
    frame = pd.DataFrame({"c": words, "x": np.arange(300) % 7, "part": part})
    frame["y"] = ["p", "q"] * 150
    described = normalise.normalise(Raw(frame, "y", "set", {}), {"part": ["part"]})
    said = "column 'c' has "
    (before,) = [note for note in described[1]["notes"] if note.startswith(said)]
    _, _, made = prepare.make_split(*described, PAPER)
    (after,) = [note for note in made["notes"] if note.startswith(said)]
    assert f": {of_all}" in before and f": {of_train}" in after and of_all not in after


def test_a_note_does_not_promise_features_of_what_is_dropped():
    """Fewer rows have larger shares of distinct values: 75 % of all, 87 % of the training rows."""
    frame = pd.DataFrame({"x": np.arange(300) % 7, "y": ["p", "q"] * 150})
    times = pd.Series([f"{i // 60:02d}:{i % 60:02d}" for i in range(225)])
    frame["t"] = pd.concat([times, times[:75]], ignore_index=True)
    described = normalise.normalise(Raw(frame, "y", "set", {}))[1]
    said = "column 't' has 225 distinct among 300 values, such as '00:00': "
    assert any(
        note.startswith(said + "each in the training rows becomes a feature")
        for note in described["notes"]
    )
    _, _, made = make(frame)
    assert "t" in made["dropped"]
    (note,) = [note for note in made["notes"] if note.startswith(said)]
    assert f": dropped by the base preparation, as {made['dropped']['t']}" in note
    assert "becomes a feature" not in note
