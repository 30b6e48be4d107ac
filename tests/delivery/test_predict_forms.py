"""Forms of the input and the output of ``predict.py``, and columns that it copies."""

import datetime
import sys

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_wine

import predict
from ensemble_search.data.preparation import Numbers, Preparation
from ensemble_search.delivery import build
from ensemble_search.predictor import rows
from ensemble_search.predictor.ensemble import load_ensemble
from ensemble_search.runtime.errors import UserError
from support import finished_study

FRAME = load_wine(as_frame=True).data.assign(id=[f"=k{i}" for i in range(178)])
OUTPUT = ["target", *(f"probability of class_{k}" for k in range(3))]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    root = tmp_path_factory.mktemp("study")
    finished_study.make(root)
    source = build.Source(
        search=root / finished_study.SEARCH,
        split=root / finished_study.SPLIT,
        of={"dataset": "wine", "search": "random", "repeat": 0},
        ensemble={"type": "best"},
        seed=0,
        space="divbo-small",
        limits={"seconds": 60, "memory_mb": 4096},
        threads=1,
    )
    settings = {"repeat": 0, "iteration": None, "rows": "train", "limits": {}, "calibrate": False,
                "onnx": False}  # fmt: skip
    about = {"study": "tiny", "dataset": "wine", "method": "RS", "metric": "error", "command": ""}
    build.deliver(source, settings, about, root / "made")
    return root / "made"


@pytest.fixture
def run(folder, monkeypatch, tmp_path):
    monkeypatch.setattr(predict.csv, "field_size_limit", lambda size: None)

    def run(file, output, *more):
        arguments = ["--model", folder, "--input", tmp_path / file, "--output", tmp_path / output]
        monkeypatch.setattr(sys, "argv", ["predict.py", *map(str, arguments), *more])
        predict.main()
        return tmp_path / output

    run.folder = folder
    return run


@pytest.mark.parametrize("file", ["a.csv.gz", "a.parquet"])
@pytest.mark.parametrize("output", ["out.csv", "out.parquet"])
def test_columns_are_copied(run, folder, tmp_path, monkeypatch, file, output):
    if file == "a.parquet":
        FRAME.to_parquet(tmp_path / file)
    else:
        FRAME.to_csv(tmp_path / file, index=False, sep=";")
    monkeypatch.setattr("ensemble_search.predictor.rows.CHUNK", 50)
    made = run(file, output, "--keep", "id", "hue")
    found = pd.read_csv(made) if output == "out.csv" else pd.read_parquet(made)
    assert [*found] == ["id", "hue", *OUTPUT]
    # A spreadsheet would run them as formulas.
    assert found.id.tolist() == [f"{chr(39) * (output == 'out.csv')}{i}" for i in FRAME.id]
    assert found.hue.astype(float).tolist() == FRAME.hue.tolist()
    model = load_ensemble(folder)
    assert found.target.tolist() == model.predict(FRAME).tolist()
    np.testing.assert_allclose(found[OUTPUT[1:]], model.predict_proba(FRAME), atol=1e-12)


@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_the_target_can_be_copied_beside_its_predictions(run, tmp_path, form):
    truth = [f"class_{k}" for k in load_wine().target]
    frame = FRAME.assign(target=truth)
    frame.to_csv(tmp_path / "a.csv") if form == "csv" else frame.to_parquet(tmp_path / "a.parquet")
    made = run(f"a.{form}", f"out.{form}", "--keep", "id", "target")
    found = pd.read_csv(made) if form == "csv" else pd.read_parquet(made)
    assert [*found] == ["id", "true target", *OUTPUT]
    assert found["true target"].tolist() == truth
    assert (found.target == truth).mean() > 0.9


def test_formulas_that_were_never_calculated_are_said(run, tmp_path, capsys):
    FRAME.assign(alcohol="=1+1").head(3).to_excel(tmp_path / "a.xlsx", index=False)
    assert len(pd.read_csv(run("a.xlsx", "out.csv"))) == 3
    assert "note: formulas were never calculated, and are missing values, in 'alcohol' (3): " in (
        capsys.readouterr().err
    )


def test_columns_that_cannot_be_read_are_an_error_and_single_values_a_warning(
    run, tmp_path, capsys
):
    commas = FRAME.assign(alcohol=[f"{value},5" for value in FRAME.alcohol.astype(int)])
    commas.to_csv(tmp_path / "a.csv", index=False)
    said = "column 'alcohol': 178 of 178 values cannot be read .* write numbers as -1234.5"
    with pytest.raises(UserError, match=said):
        run("a.csv", "out.csv")
    assert not (tmp_path / "out.csv").exists()
    with pytest.raises(UserError, match=said):
        load_ensemble(run.folder).predict(commas)
    FRAME.assign(alcohol=["1,5", *FRAME.alcohol[1:]]).to_csv(tmp_path / "a.csv", index=False)
    run("a.csv", "out.csv")
    assert "warning: in the first 178 rows: column 'alcohol': 1 value that" in (
        capsys.readouterr().err
    )


@pytest.mark.parametrize(
    "cell, said", [("#DIV/0!", ""), ("1e39", "warning: in the first 178 rows: column 'alcohol': ")]
)
def test_values_that_training_treats_as_missing_are_never_too_many(
    run, tmp_path, capsys, cell, said
):
    """Or a table's own training file may be rejected."""
    FRAME.assign(alcohol=[cell] * 170 + ["13.5"] * 8).to_csv(tmp_path / "a.csv", index=False)
    run("a.csv", "out.csv")
    about = [line for line in capsys.readouterr().err.splitlines() if "alcohol" in line]
    assert [line.startswith(f"{said}170 values infinite or above") for line in about] == (
        [True] * bool(said)
    )


def test_each_kind_of_note_on_a_column_appears_once(run, tmp_path, capsys, monkeypatch):
    """Not only the first of a column, and not again for later rows."""
    monkeypatch.setattr(rows, "CHUNK", 89)
    odd = ["4000", "forty", *map(str, FRAME.alcohol[2:89])]
    FRAME.assign(alcohol=odd * 2).to_csv(tmp_path / "a.csv", index=False)
    run("a.csv", "out.csv")
    first = "in the first 89 rows: column 'alcohol': 1 value"
    unread, outside = (line for line in capsys.readouterr().err.splitlines() if "alcohol" in line)
    assert unread.startswith(f"warning: {first} that cannot be read")
    assert outside.startswith(f"note: {first} outside the range")


def test_notes_on_columns_of_similar_names_are_all_shown(tmp_path, capsys):
    progress = predict._Progress(tmp_path / "in.csv")
    columns = [Numbers(name, "numeric", {name: 1.0}) for name in ("t: a", "t: b")]
    prepared = Preparation(columns, ["t: a", "t: b"])
    progress.show(1, 0, prepared.transform({"t: a": ["x"], "t: b": ["y"]})[1])
    progress.show(2, 0, prepared.transform({"t: a": ["x", "z"], "t: b": ["1", "2"]})[1])
    unread = "1 value that cannot be read, treated as missing"
    said = [line.partition(";")[0] for line in capsys.readouterr().err.splitlines()]
    assert said == [
        f"warning: in the first row: column 't: a': {unread}: 'x'",
        f"warning: in the first row: column 't: b': {unread}: 'y'",
    ]


def test_labels_of_other_classes_are_not_scored(folder):
    model = load_ensemble(folder)
    truth = [f"class_{k}" for k in load_wine().target]
    assert model.score(FRAME, truth) > 0.9
    assert model.score(FRAME, ["class_7", *truth[1:]]) > 0.9
    said = "y has no class of the ensemble, such as 'class_0', 'class_1', 'class_2': 'True'"
    with pytest.raises(UserError, match=said):
        model.score(FRAME, np.ones(len(FRAME), dtype=bool))


def test_notes_are_those_of_the_last_rows(folder):
    model = load_ensemble(folder)
    model.predict(FRAME.assign(hue=["red", *FRAME.hue[1:]]))
    assert model.notes_
    with pytest.raises(UserError):
        model.predict(FRAME.drop(columns="hue"))
    assert model.notes_ == []


def test_outer_blanks_of_names_of_columns_do_not_matter(run, tmp_path):
    """Readers of CSV files keep some of them."""
    model, blank = load_ensemble(run.folder), FRAME.rename(columns={"hue": " hue ", "ash": " ash"})
    expected = model.predict_proba(FRAME)
    assert model.predict_proba(blank).tolist() == expected.tolist()
    blank.to_csv(tmp_path / "a.csv", index=False)
    blank.to_parquet(tmp_path / "a.parquet")
    blank.assign(id="x").to_excel(tmp_path / "a.xlsx", index=False)
    for name in ("a.csv", "a.parquet", "a.xlsx"):
        found = pd.read_csv(run(name, "out.csv"))
        np.testing.assert_allclose(found[OUTPUT[1:]], expected, atol=1e-12)
    twice = blank.assign(**{"hue  ": 1.0})
    for frame, said in ((twice, " hue "), (FRAME.rename(columns={"ash": "ASH"}), "ASH")):
        with pytest.raises(UserError, match=f"did you mean '{said}'"):
            model.predict(frame)


def test_mistakes_cost_a_line(run, tmp_path):
    FRAME.to_csv(tmp_path / "a.csv", index=False)
    FRAME.drop(columns="hue").to_parquet(tmp_path / "a.parquet")
    (tmp_path / "b.parquet").write_bytes(b"PAR1")
    for file, keep, said in (
        ("a.csv", ["idd"], "has no column 'idd'; did you mean 'id'?"),
        ("a.csv", ["target"], "has no column 'target'; "),
        ("a.csv", ["id", "id"], "--keep: the output would have two columns called 'id'"),
        ("a.parquet", ["id"], "has no column 'hue'; "),
        ("b.parquet", ["id"], "b.parquet' cannot be read: "),
        ("c.parquet", ["id"], "c.parquet' cannot be read: No such file or directory"),
    ):
        with pytest.raises(UserError, match=said):
            run(file, "out.csv", "--keep", *keep)
        assert not (tmp_path / "out.csv").exists()


def test_copied_columns_keep_their_types(run, tmp_path, monkeypatch):
    """Whatever the first rows hold."""
    late = {
        "count": pd.array([None] * 100 + [2**64 - 1] * 78, "UInt64"),
        "day": [None] * 100 + [datetime.date(2020, 1, 2)] * 78,
        "kind": pd.Categorical([None] * 100 + ["k"] * 78),
    }
    FRAME.assign(**late).to_parquet(tmp_path / "a.parquet")
    monkeypatch.setattr("ensemble_search.predictor.rows.CHUNK", 50)
    found = pd.read_parquet(
        run("a.parquet", "out.parquet", "--keep", *late), dtype_backend="pyarrow"
    )
    assert [str(found[name].dtype)[:6] for name in late] == ["uint64", "date32", "string"]
    for name, values in late.items():
        assert found[name].dropna().tolist() == [*values][100:]


@pytest.mark.parametrize(
    "values", [[1, "x"], [datetime.date(2020, 1, 2), 1], [datetime.timedelta(1), 2], [1.5, True]]
)
def test_values_without_a_common_type_cost_a_line(values, tmp_path):
    """Arrow would read 1 beside a date as 1970-01-02."""
    with (
        (tmp_path / "a.parquet").open("wb") as stream,
        predict._Parquet(stream, {}) as writer,
        pytest.raises(UserError, match=r"--keep: the values of 'a' have no type in common: .*csv"),
    ):
        writer.write({"a": values})


@pytest.mark.parametrize("name", ["o.xlsx", "o.csv.gz", "o.JSON", "o.tsv"])
def test_other_formats_are_not_written(run, tmp_path, name):
    FRAME.to_csv(tmp_path / "a.csv", index=False)
    with pytest.raises(UserError, match=r"--output: .* must be CSV or Parquet; name a .csv or"):
        run("a.csv", name)
    assert not (tmp_path / name).exists()


@pytest.mark.parametrize("name", ["a.arff", "a.json", "a.xls"])
def test_other_formats_are_not_read(run, name):
    with pytest.raises(UserError, match=rf"--input: '.*{name}' must be CSV, Parquet or Excel"):
        run(name, "o.csv")


def test_no_rows_are_a_table_without_rows(run, tmp_path):
    FRAME[:0].to_parquet(tmp_path / "a.parquet")
    assert [*pd.read_parquet(run("a.parquet", "out.parquet"))] == OUTPUT
    assert run("a.parquet", "out.csv").read_text().splitlines() == [",".join(OUTPUT)]
