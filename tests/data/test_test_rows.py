"""A file of training and validation rows, and another one of test rows."""

import json

import numpy as np
import pytest

from ensemble_search.data import normalise, prepare, sources
from ensemble_search.jobs import Jobs
from ensemble_search.runtime.errors import UserError
from ensemble_search.study import model

TRAIN = "x,c,y\n" + "".join(f"{i},{'uvw'[i % 3]},{'ab'[i % 2]}\n" for i in range(40))
TEST = "c,y,x\n" + "".join(f"{'uv'[i % 2]},{'ab'[i % 2]},{100 + i}\n" for i in range(8))
SHARES = {"train": 0.6, "validation": 0.2, "test": 0.2, "seed": 3}
STUDY = {
    "study": "s",
    "searches": {"random": {"optimizer": "random"}},
    "ensembles": {"best": {"type": "best"}},
    "methods": {"RS": {"search": "random", "ensemble": "best"}},
}


@pytest.fixture(autouse=True)
def _here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def files(train=TRAIN, test=TEST, suffix="csv", **source):
    for name, text in (("train", train), ("test", test)):
        with open(f"{name}.{suffix}", "w", encoding="utf-8") as file:
            file.write(text)
    return {"file": f"train.{suffix}", "test": f"test.{suffix}", "target": "y", **source}


def read(source):
    task = source.get("task", "classification")
    return normalise.normalise(
        sources.read(source), source.get("columns"), task, source.get("classes")
    )


@pytest.mark.parametrize("task", ["classification", "regression"])
@pytest.mark.parametrize("settings", [SHARES, {"folds": 4, "test": 0.5, "seed": 0}])
def test_the_rows_of_the_second_file_are_the_test_rows(task, settings):
    source = files(target="x" if task == "regression" else "y", task=task)
    frame, described = read(source)
    inputs, labels, made = prepare.make_split(frame, described, settings)
    assert made["sizes"]["test"] == 8 and len(frame) == 48
    if "folds" in settings:
        assert made["sizes"]["train"] == 40
    else:
        assert (made["sizes"]["train"], made["sizes"]["validation"]) == (30, 10)
    if task == "regression":
        scale = made["target"]
        assert np.allclose(sorted(labels * scale["std"] + scale["mean"]), range(100, 108))
    else:
        x = inputs.features.tolist().index("x")
        assert sorted(inputs.X_test[:, x]) == [*range(100, 108)]
        assert inputs.X_train[:, x].max() < 40 and labels.tolist().count(0) == 4
    assert described["source"] == {k: source[k] for k in ("file", "target", "test")}


def test_columns_of_two_files_are_read_as_those_of_one():
    """Codes, words and odd numbers of one of the files count for both."""
    rows = [f"{i},{i},{i % 7},{'ab'[i % 2]}\n" for i in range(40)]
    odd = [f"0{i},{i if i else 'unknown'},None,{'ab'[i % 2]}\n" for i in range(8)]
    source = files("code,n,few,y\n" + "".join(rows), "code,n,few,y\n" + "".join(odd))
    frame, described = read(source)
    with open("one.csv", "w", encoding="utf-8") as file:
        file.write("code,n,few,y\n" + "".join(rows + odd))
    whole, of_one = read({"file": "one.csv", "target": "y"})
    assert {k: described["columns"][k] for k in of_one["columns"]} == of_one["columns"]
    for name in of_one["columns"]:
        assert frame[name].astype(object).equals(whole[name].astype(object)), name


def test_codes_of_the_test_file_keep_their_zeros_if_a_label_is_missing():
    rows = [f"{12345 + i},{'ab'[i % 2]}\n" for i in range(40)]
    odd = [f"0{1234 + i % 2},{'ab'[i % 2]}\n" for i in range(8)]
    source = files("zip,y\n" + "".join(rows) + "12345,\n", "zip,y\n" + "".join(odd))
    frame, described = read(source)
    assert described["columns"]["zip"] == "categorical"
    assert {"12345", "01234", "01235"} < {*frame["zip"]}


ARFF = "@relation r\n@attribute x {}\n@attribute y {{a,b}}\n@data\n" + "1,a\n2,b\n" * 4


def test_nominal_values_of_two_files_are_categories():
    frame, described = read(files(ARFF.format("{1,2}"), ARFF.format("{2,1,3}"), "arff"))
    assert described["columns"]["x"] == "categorical" and {*frame["x"]} == {"1", "2"}
    source = files(ARFF.format("{1,2}"), ARFF.format("numeric"), "arff")
    with pytest.raises(UserError, match=r"^test: column 'x' of 'test.arff' holds numbers, that of"):
        read(source)


def test_a_nominal_column_without_values_in_the_test_file():
    train = ARFF.format("{1,2}")
    empty = train.replace("\n1,", "\n?,").replace("\n2,", "\n?,")
    frame, described = read(files(train, empty, "arff"))
    assert described["columns"]["x"] == "categorical" and described["missing"] == 8
    assert {*frame["x"].dropna()} == {"1", "2"}


@pytest.mark.parametrize(
    ("test", "message"),
    [
        ("c,x\nu,1\n", r"target: 'test.csv' has no column 'y'; known: c, x"),
        ("y,x\na,1\n", r"test: 'test.csv' has no column 'c', which 'train.csv' has"),
        ("x,c,y,z\n1,u,a,1\n", r"test: 'train.csv' has no column 'z', which 'test.csv' has"),
        ("", r"test: 'test.csv' is empty"),
        (None, r"test: there is no file 'test.csv'"),
    ],
)
def test_mistakes_in_the_header_of_the_test_file(test, message):
    source = files(test=test or "")
    if test is None:
        source["test"] = "no/test.csv"
        message = message.replace("test.csv", "no/test.csv")
    with pytest.raises(UserError, match=rf"^study: datasets\.d\.{message}") as caught:
        model.check({**STUDY, "datasets": {"d": source}})
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("test", "message"),
    [
        ("x,c,y\n", "test: 'test.csv' has no rows"),
        ("x,c,y\n1,u,a\n2,u,z\n", "test: 'test.csv' has the class 'z' in row 2, which no row of"),
        ("x,c,y\n1,u,\n", "test: no row of 'test.csv' has a value of the target 'y'"),
        ("x,c,y\n1,u\n", "test: line 2 of 'test.csv' has 2 fields, the header has 3"),
    ],
)
def test_mistakes_in_the_rows_of_the_test_file(test, message):
    with pytest.raises(UserError, match=rf"^{message}"):
        read(files(test=test))


def test_notes_on_the_test_file_name_it():
    source = files(test=TEST)
    with open("test.csv", "wb") as file:
        file.write(TEST.replace("u", "ü").encode("latin-1"))
    notes = read(source)[1]["notes"]
    assert "'test.csv': the file is not UTF-8 text: read as Latin-1 (Windows-1252)" in notes


def test_keys_that_do_not_go_with_a_test_file():
    files()
    good = {"file": "train.csv", "test": "test.csv", "target": "y"}
    for source, message in (
        ({**good, "columns": {"group": ["c"]}}, r"d\.test: 'group' and 'fold' both divide the row"),
        (
            {**good, "columns": {"fold": ["c"]}},
            r"d\.test: it and columns\.fold both divide the row",
        ),
        ({**good, "test": "test.arff"}, r"d\.test: there is no file 'test.arff'"),
        ({"sklearn": "iris", "test": "test.csv"}, r"d\.test: goes with 'file:' only"),
    ):
        with pytest.raises(UserError, match=message):
            model.check({**STUDY, "datasets": {"d": source}})
    numbers = {"split": {"train": 10, "validation": 10}}
    with pytest.raises(UserError, match=r"d\.test: names the test rows; split needs shares"):
        model.check({**STUDY, **numbers, "datasets": {"d": good}})


def test_either_file_reruns_the_fetch_when_it_changes(tmp_path):
    jobs = Jobs(model.check({**STUDY, "datasets": {"d": files()}}))
    (key,) = jobs.sources
    assert key != sources.source_key({"file": "train.csv", "target": "y"})
    known = {jobs.source_content(key)}
    files(train=TRAIN + "1,u,a\n")
    known.add(jobs.source_content(key))
    files(test=TEST + "u,a,1\n")
    known.add(jobs.source_content(key))
    assert len(known) == 3
    files()
    described = read(json.loads(jobs.source(key)))[1]
    elsewhere = {**files(), "file": f"{tmp_path}/train.csv", "test": f"{tmp_path}/test.csv"}
    assert read(elsewhere)[1]["checksum"] == described["checksum"]
    assert described["of_rows"]["fold"]["column"] == "rows of test.csv"
    assert described["md5"] == json.loads(jobs.source_content(key))["content"]
