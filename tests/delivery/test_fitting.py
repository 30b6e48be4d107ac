"""`fit`: what `make ensemble` does, from Python; and the notebook that shows it."""

import datetime
import json
import subprocess
import sys
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from ensemble_search import fit
from ensemble_search.data import sources
from ensemble_search.delivery import fitting
from ensemble_search.runtime.code_version import FACADE
from ensemble_search.runtime.errors import UserError
from support import ROOT, SCRIPTS, forks

NOTEBOOK = ROOT / "examples/notebook/ensemble.ipynb"
FRAME = pd.DataFrame({"a": [1.0, 2.0, None] * 20, "b": [True, False] * 30, "y": ["p", "q"] * 30})


@pytest.fixture(scope="module")
def notebook(tmp_path_factory):
    """What its cells have made, executed one after the other, and their folder."""
    cells = json.loads(NOTEBOOK.read_text(encoding="utf-8"))["cells"]
    made = {}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "path", [*sys.path])
        patch.chdir(tmp_path_factory.mktemp("notebook"))
        for cell in cells:
            if cell["cell_type"] == "code":
                source = "".join(cell["source"])
                exec(source.replace("minutes=1)", "minutes=0.01, cores=2)"), made)
    return made


@pytest.mark.slow
def test_the_notebook_does_what_it_says(notebook):
    assert set(notebook["predictions"]["predicted"]) <= {"no", "yes"}
    assert notebook["predictions"]["yes"].between(0, 1).all()
    assert set(notebook["importance"]["column"]) == {"size", "colour", "arrived"}
    # Among so few pipelines, neighbours can be the best, to which the other columns matter, too.
    assert notebook["importance"].set_index("column")["rise"]["size"] > 0.1
    assert notebook["importance"]["rise"].is_monotonic_decreasing
    assert notebook["page"].is_file()
    model, articles = notebook["model"], notebook["articles"]
    assert model.score(articles, articles["left"]) > 0.8
    with pytest.raises(ValueError, match="exists; name another folder"):
        model.save(notebook["copy"])
    with pytest.raises(ValueError, match="there is no column 'size'"):
        model.predict(articles[["colour"]])


@pytest.mark.slow
def test_it_is_the_study_of_make_ensemble(notebook):
    """The script finds what `fit` has made finished, as it has the same table and settings."""
    place = notebook["model"].folder.parents[4]
    before = (place / "results/left/study.yaml").read_bytes()
    command = ["python", str(fitting.SCRIPT), "--data", "results/left.parquet"]
    command += ["--target", "left", "--minutes", "0.01", "--cores", "2"]
    environment = forks.environment(place)
    done = subprocess.run(
        command, cwd=place, env=environment, capture_output=True, text=True, check=True
    )
    assert "of the search left" not in done.stderr
    assert "member 1" not in done.stderr
    assert f"card:    {notebook['page'].relative_to(place)}" in done.stdout
    assert (place / "results/left/study.yaml").read_bytes() == before


@pytest.mark.parametrize(
    ("given", "line"),
    [
        ({"frame": [[1, 2]]}, "frame: a list is neither a pandas frame nor a file"),
        ({"target": "z"}, "target: the frame has no column 'z'; known: a, b, y"),
        ({"name": "a b"}, "name: 'a b' is not possible; take up to 64 of .*"),
        ({"name": "con"}, "name: 'con' is a device's name on Windows; choose another"),
        ({"name": 1}, "name: 1 is not text"),
        ({"folder": None}, "folder: None is not text"),
        ({"frame": FRAME.assign(a=1j)}, "frame: .* type complex; .* drop the column"),
        ({"frame": FRAME.assign(a=[object()] * 60)}, "frame: column 'a' has a value of type obj.*"),
        ({"frame": FRAME.assign(a=[(1, "x")] * 60)}, "frame: column 'a' has a value of type tup.*"),
        ({"columns": ["a"]}, "columns: give names by role, .*"),
        ({"folder": "no/where"}, "folder: 'no/where' cannot be made: No such file or directory"),
        ({"folder": "new", "target": "z"}, "target: the frame has no column 'z'; known: a, b, y"),
        ({"frame": pd.DataFrame([[1, 2]], columns=["y", "y"])}, "frame: there are two columns .*"),
        ({"test": FRAME.head(0)}, "test: it has no rows"),
        ({"test": FRAME[["a", "b"]]}, "test: it has no column 'y'; known: a, b"),
        ({"test": {"a": [1]}}, "test: a dict is neither a pandas frame nor a file"),
    ],
)
def test_mistakes_in_arguments_cost_a_line(given, line, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ValueError, match=f"^{line}$"):
        fit(**{"frame": FRAME, "target": "y", **given})
    assert [*tmp_path.iterdir()] == []


@pytest.mark.slow
@pytest.mark.parametrize(
    ("given", "line"),
    [
        ({"cores": 0}, "cores: 0 is not between 1 and 1000"),
        ({"minutes": 0}, "minutes: '0' is not a positive number of minutes, up to 100000"),
        ({"metric": "x"}, "metric: no metric is called 'x'; known: .*"),
        ({"group": "z"}, "group: there is no column 'z'; known: a, b"),
        ({"columns": {"drop": None}}, "columns.drop: None is not a list of names, such as .*"),
        ({"columns": {"drop": "z"}}, "columns: drop: there is no column 'z'; known: a, b"),
        ({"frame": "none.csv"}, "frame: there is no file .*none.csv.*"),
        ({"test": FRAME.assign(a="x")}, "test: column 'a' of .*y-test.parquet' has no number, .*"),
    ],
)
def test_mistakes_in_the_table_cost_a_line(given, line, tmp_path, capsys, monkeypatch):
    if commands := forks.commands():
        monkeypatch.setattr(sys, "executable", str(commands / "python"))
    with pytest.raises(ValueError, match=f"^{line}$"):
        fit(**{"frame": FRAME, "target": "y", "folder": tmp_path, **given})
    assert capsys.readouterr().out == ""  # the exception has it
    assert [*tmp_path.iterdir()] == []


def test_files_are_named_as_make_ensemble_is_given_them(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert fitting._from(tmp_path, "more/mine.csv") == "more/mine.csv"
    assert fitting._from(tmp_path / "other", "mine.csv") == str(tmp_path / "mine.csv")


def test_values_of_several_types_are_text(tmp_path):
    (tmp_path / "results").mkdir()
    frame = pd.DataFrame({0: [1, "x", None], "y": pd.Categorical(["a", "b", "a"])})
    frame["in"], frame["month"] = pd.cut([1, 5, 9], 2), pd.period_range("2024-01", periods=3)
    frame["large"] = pd.Series([2**70, 1, 2], dtype=object)
    frames = fitting._Frames(tmp_path)
    file = frames.write(frame, "y", "mine", "frame")
    found = pd.read_parquet(tmp_path / file)
    assert found["large"].tolist() == [2**70, 1, 2]
    assert found["0"].tolist()[:2] == ["1", "x"]
    assert found["0"].isna().tolist() == [False, False, True]
    assert found["y"].tolist() == ["a", "b", "a"]
    assert found["in"].tolist()[1:] == ["(0.992, 5.0]", "(5.0, 9.0]"]
    assert found["month"].tolist()[0] == "2024-01-01"
    half = frame.assign(half=pd.Series(["\ud800", 1, 2], dtype=object))
    with pytest.raises(UserError, match=r"^frame: the text '.ud800' is not valid Unicode$"):
        frames.write(half, "y", "mine", "frame")
    frame["lists"] = [[1], [2], [3]]
    frame["odd"] = [object(), 1, 2]
    with pytest.raises(UserError, match=r"column 'lists' holds lists.* drop the column"):
        frames.write(frame, "y", "mine", "frame")
    file = fitting._Frames(tmp_path, ["lists", "odd", "0"]).write(frame, "y", "mine", "frame")
    found = pd.read_parquet(tmp_path / file)
    assert found["lists"].isna().all() and found["odd"].isna().all()
    assert found["0"].tolist()[:2] == ["1", "x"]
    names = sources.check_file(str(tmp_path / file), "y", ["lists", "odd"])
    assert names == [*map(str, frame)]


def test_numbers_of_any_type_stay_numbers(tmp_path):
    (tmp_path / "results").mkdir()
    numbers = {
        "sparse": pd.arrays.SparseArray([0, 0, 3]),
        "long": np.array([0.5, 1, 2], dtype=np.longdouble),
        "fractions": [Fraction(1, 2), 3, None],
        "endless": [10**400, -(10**400), 1],
        "missing": pd.Series([Fraction(1, 2), pd.NA, 3], dtype=object),
        "infinite": [Decimal("Infinity"), Decimal("1.5"), None],
    }
    frame = pd.DataFrame({"y": ["a", "b", "a"], **numbers})
    file = fitting._Frames(tmp_path).write(frame, "y", "mine", "frame")
    found = pd.read_parquet(tmp_path / file)
    assert found["sparse"].tolist() == [0, 0, 3]
    assert found["long"].tolist() == [0.5, 1, 2]
    assert found["fractions"].tolist()[:2] == [0.5, 3]
    assert found["endless"].tolist() == [np.inf, -np.inf, 1]
    np.testing.assert_array_equal(found["missing"], [0.5, np.nan, 3])
    np.testing.assert_array_equal(found["infinite"], [np.inf, 1.5, np.nan])


def test_arrow_converts_no_value_to_the_type_of_another(tmp_path):
    """It would read 1.5 as 1, 1 as 1970-01-01, and drop the time of day."""
    (tmp_path / "results").mkdir()
    day, time = datetime.date(2020, 2, 3), datetime.datetime(2020, 2, 3, 4, 5)
    columns = {
        "half": [np.float16(1.5), 2, 3],
        "long": [np.longdouble(1.5), 2, None],
        "decimal": [Decimal("1.5"), 2.25, 3],
        "day": [day, 1, 2],
        "length": [datetime.timedelta(1), 1, 2],
        "time": [day, time, None],
        "truth": [True, 1.5, 2],
        "dates": [day, 1, 1],
    }
    objects = {name: pd.Series(own, dtype=object) for name, own in columns.items()}
    objects["dates"] = objects["dates"].astype("category")
    frame = pd.DataFrame({"y": ["a", "b", "a"], **objects})
    file = fitting._Frames(tmp_path).write(frame, "y", "mine", "frame")
    found = pd.read_parquet(tmp_path / file)
    assert found["half"].tolist() == [1.5, 2, 3]
    assert found["long"].tolist()[:2] == [1.5, 2]
    assert found["decimal"].tolist() == [1.5, 2.25, 3]
    assert found["day"].tolist()[1:] == found["length"].tolist()[1:] == ["1", "2"]
    assert found["dates"].tolist()[1:] == ["1", "1"]
    assert found["time"].tolist()[:2] == ["2020-02-03T00:00:00", "2020-02-03T04:05:00"]
    assert found["truth"].tolist() == ["True", "1.5", "2"]


def test_importing_the_package_imports_nothing_else():
    """Its file counts as empty in versions of code: nothing that it imports affects a search."""
    program = "import sys; before = {*sys.modules}; import ensemble_search\n"
    program += "print(*{name.partition('.')[0] for name in {*sys.modules} - before})"
    command = [sys.executable, "-c", program]
    found = subprocess.run(command, cwd=SCRIPTS, capture_output=True, text=True, check=True)
    assert set(found.stdout.split()) <= {"ensemble_search", *sys.stdlib_module_names}
    assert (SCRIPTS / FACADE).is_file()


def test_labels_are_scored_as_they_are_in_the_data(monkeypatch):
    from ensemble_search.predictor.ensemble import DeliveredClassifier

    model = DeliveredClassifier.__new__(DeliveredClassifier)
    model.classes_ = np.array(["0", "1"])
    monkeypatch.setattr(model, "predict", lambda X: np.array(["1", "0", "1"]), raising=False)
    assert model.score(None, [1, 0, 0]) == pytest.approx(2 / 3)
    assert model.score(None, [1.0, 0.0, 1.0]) == 1
    assert model.score(None, ["1", "0", "1"]) == 1
    for absent in (np.nan, None, pd.NA, ""):
        with pytest.raises(UserError, match="y has no label in 2 of 3 rows: leave them out"):
            model.score(None, [1, absent, absent])
    model.classes_ = np.array(["1", "NA"])
    assert model.score(None, ["1", "NA", "1"]) == pytest.approx(2 / 3)


def test_numbers_that_are_all_equal_have_a_score(monkeypatch):
    from ensemble_search.predictor.ensemble import DeliveredRegressor

    model = DeliveredRegressor.__new__(DeliveredRegressor)
    monkeypatch.setattr(model, "predict", lambda X: np.array(X, float), raising=False)
    assert model.score([1, 1], [1, 1]) == 1
    assert model.score([1, 2], [1, 1]) == 0
    assert model.score([1, 2], [1, 2.5]) == pytest.approx(1 - 0.25 / 1.125)
    with pytest.raises(UserError, match="there are no rows to score"):
        model.score([], [])
    with pytest.raises(UserError, match="None is not a path; name a new folder"):
        model.save(None)


def test_another_frame_needs_another_name(tmp_path):
    (tmp_path / "results/y").mkdir(parents=True)
    FRAME.to_parquet(tmp_path / "results/y.parquet", index=False)
    before = (tmp_path / "results/y.parquet").read_bytes()
    with pytest.raises(ValueError, match=r"^name: '.*/y' belongs to another table; .*"):
        fit(FRAME.head(30), "y", folder=tmp_path)
    assert (tmp_path / "results/y.parquet").read_bytes() == before
    assert fitting._holds(tmp_path / "results/y.parquet", pa.Table.from_pandas(FRAME))


def test_a_rejected_call_restores_the_frame_of_an_earlier_one(tmp_path, monkeypatch):
    def run(status, change=False):
        def ran(*arguments):
            if change:
                (tmp_path / "results/mine").mkdir(exist_ok=True)
                (tmp_path / "results/mine/automl.json").write_text("{}")
            return status, ["error: --minutes: 'x' is odd"]

        monkeypatch.setattr(fitting, "_run", ran)
        with pytest.raises(ValueError, match=r"x' is odd|is not a delivered ensemble"):
            fit(FRAME.head(30), "y", folder=tmp_path, name="mine", test=FRAME)

    FRAME.to_parquet(tmp_path / "before.parquet")
    before = (tmp_path / "before.parquet").read_bytes()
    (tmp_path / "results").mkdir()
    file = tmp_path / "results/mine.parquet"
    file.write_bytes(before)
    run(2)
    assert (file.read_bytes(), [*file.parent.iterdir()]) == (before, [file])
    run(2, change=True)  # it began
    assert len(pd.read_parquet(file)) == 30
    file.write_bytes(before)
    run(0)  # it had ended before, but its folder cannot be read
    assert len(pd.read_parquet(file)) == 30


def test_it_needs_snakemake(monkeypatch):
    monkeypatch.setitem(sys.modules, "snakemake", None)
    with pytest.raises(ValueError, match=r"^snakemake is missing: .*'workflow'.*"):
        fit(FRAME, "y")


@pytest.mark.parametrize("beside", [Decimal(2), 2, "two"])
def test_signalling_nans_are_missing_and_infinite_decimals_are_read(beside):
    made = []
    for missing in (Decimal("sNaN"), None):
        values = pd.Series([missing, beside, None] * 2, dtype=object)
        frame = pd.DataFrame({"a": values, "y": ["p", "q", "p"] * 2})
        made.append(fitting._table(frame, "y", "frame"))
    assert made[0]["a"].null_count == 4
    assert made[0].equals(made[1])
    values = [Decimal("-Infinity"), Decimal(2)]
    made = fitting._table(pd.DataFrame({"a": values, "y": ["p", "q"]}), "y", "frame")
    assert made["a"].to_pylist() == [-np.inf, 2.0]
