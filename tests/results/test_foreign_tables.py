"""Tables that somebody else made: their sums are right, and their content is impossible."""

import re
import shutil
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from ensemble_search.data.split import load_inputs
from ensemble_search.evaluation import table as table_module
from ensemble_search.evaluation.table import Table
from ensemble_search.problems.combination import rounded
from ensemble_search.problems.tasks import problem
from ensemble_search.results import tables
from ensemble_search.runtime import files, plugins
from ensemble_search.runtime.errors import UserError
from ensemble_search.runtime.files import checksums, read_json, write_json, write_npy, write_parquet
from ensemble_search.runtime.names import OK, PREDICTIONS
from ensemble_search.search.run import run_job
from support import hostile_space, instant_search
from support.instant_search import InstantEvaluator, make_job

REMEDY = "; copy the table again, or remove it and run the study that makes it"
OBSERVATIONS = "observations.parquet"


@pytest.fixture(scope="module")
def made(tmp_path_factory) -> Path:
    """A study's folder with a split and its table."""
    folder = tmp_path_factory.mktemp("study")
    split = folder / "splits/blobs/fixed"
    split.parent.mkdir(parents=True)
    with pytest.MonkeyPatch.context() as patch:
        hostile(patch)
        instant_search.make_split(split)
        run_job(
            make_job({"optimizer": "random"}, budget={"evaluations": 30}),
            *(split, folder / "checkpoints", folder / "random/0"),
            make_evaluator=InstantEvaluator,
        )
        tables.build([folder / "random/0"], folder / "tables/blobs/fixed")
    return folder


def hostile(patch) -> None:
    load = plugins.load
    own = ("spaces", "hostile")
    patch.setattr(
        plugins,
        "load",
        lambda *name: hostile_space.HostileSpace if name == own else load(*name),
    )


@pytest.fixture
def table(made, tmp_path, monkeypatch) -> Path:
    hostile(monkeypatch)
    shutil.copytree(made, tmp_path / "s")
    return tmp_path / "s/tables/blobs/fixed"


def rows(table: Path, ok: bool = True) -> list[int]:
    """Rows of the table that are ok, or that are not."""
    status = pq.read_table(table / OBSERVATIONS)["status"].to_pylist()
    return [row for row, found in enumerate(status) if (found == OK) is ok]


def forge_column(table: Path, name: str, row: int, value) -> None:
    found = pq.read_table(table / OBSERVATIONS)
    values = found[name].to_pylist()
    values[row] = value
    place = found.schema.get_field_index(name)
    column = pa.array(values, type=found.schema.field(name).type)
    write_parquet(table / OBSERVATIONS, found.set_column(place, name, column))
    seal(table)


def forge_prediction(table: Path, part: str, place: tuple, value) -> None:
    path = table / f"predictions-{part}.npy"
    stored = np.load(path)
    stored[place] = value
    write_npy(path, stored)
    seal(table)


def seal(table: Path, **more) -> None:
    """Write the sums of the files as they are now."""
    about = read_json(table / "table.json")
    about |= {"files": checksums(table, table_module.FILES), **more}
    write_json(table / "table.json", about)


def replay(table: Path) -> None:
    study = table.parents[2]
    run_job(
        make_job({"optimizer": "random"}, budget={"evaluations": 5}),
        *(study / "splits/blobs/fixed", study / "c", study / "o"),
        table=Table.read(table),
    )


def rejected(table: Path, *said: str) -> None:
    """The table is rejected by a replay and by its description, in the same line."""
    with pytest.raises(UserError) as by_replay:
        replay(table)
    with pytest.raises(UserError) as described:
        list(tables.describe(table))
    line = str(by_replay.value)
    assert line == str(described.value)
    assert "\n" not in line and line.endswith(REMEDY)
    for text in said:
        assert text in line


def test_a_table_as_it_was_made(table):
    replay(table)
    (line,) = tables.describe(table)
    assert "not compared" not in line


@pytest.mark.parametrize(
    ("name", "ok", "value", "said"),
    [
        ("status", True, "fine", "'status' is 'fine'; must be one of ok, timeout, memory, crash"),
        ("status", True, None, "'status' is None; must be one of"),
        ("error", True, float("nan"), "'error' is nan; must be a number from 0 to 1e+12 where"),
        ("error", True, None, "'error' is None; must be a number from 0 to 1e+12 where"),
        ("error", True, -5.0, "'error' is -5.0; must be a number from 0 to 1e+12 where"),
        ("error", True, float("inf"), "'error' is inf; must be"),
        ("error", False, 0.25, "'error' is 0.25; must be a number from 0 to 1e+12 where"),
        (
            "fit_seconds",
            True,
            float("nan"),
            "'fit_seconds' is nan; must be a number from 0 to 1e+12",
        ),
        ("fit_seconds", False, -1.0, "'fit_seconds' is -1.0; must be a number from 0 to 1e+12"),
        ("fit_seconds", True, 1e308, "'fit_seconds' is 1e+308; must be"),  # sums overflow
        ("cpu_seconds", True, float("inf"), "'cpu_seconds' is inf; must be"),
        ("cpu_seconds", False, float("inf"), "'cpu_seconds' is inf; must be"),
        ("memory_mb", True, None, "'memory_mb' is None; must be"),
        ("predict_seconds", True, float("nan"), "'predict_seconds' is nan; must be"),
        ("predict_seconds", False, 1.0, "'predict_seconds' is 1.0; must be"),
        ("fidelity", True, 0.0, "'fidelity' is 0.0; must be more than 0 and at most 1"),
        ("fidelity", True, 2.0, "'fidelity' is 2.0; must be more than 0 and at most 1"),
    ],
)
def test_impossible_columns(table, name, ok, value, said):
    row = rows(table, ok)[1]
    forge_column(table, name, row, value)
    rejected(table, f"{OBSERVATIONS}': row {row}: {said}")


@pytest.mark.parametrize("part", ["validation", "test"])
@pytest.mark.parametrize("value", [7.0, -0.25, np.inf, np.nan])
def test_impossible_predictions(table, part, value):
    row = rows(table)[2]
    forge_prediction(table, part, (row, 3, 0), value)
    name = f"predictions-{part}.npy"
    rejected(table, f"{name}': row {row}: '{name}'[{row}, 3, 0] is {value}; must be probabilities")


def test_predictions_of_a_failure(table):
    row = rows(table, ok=False)[0]
    forge_prediction(table, "test", (row, 0, 0), 0.5)
    rejected(table, f"[{row}, 0, 0] is 0.5; must be NaN where 'status' is not ok")


def test_probabilities_without_the_sum_1(table):
    row = rows(table)[0]
    columns = np.load(table / "predictions-test.npy").shape[2]
    assert columns > 1
    forge_prediction(table, "test", (row, 2), 0.75)
    said = f"row {row}: the probabilities of sample 2 have the sum {0.75 * columns:.6g}; must be 1"
    rejected(table, said)


def test_a_hyperparameter_is_no_list(table):
    found = pq.read_table(table / OBSERVATIONS)
    place = found.schema.get_field_index("config.power")
    lists = pa.array([[1]] * found.num_rows)
    write_parquet(table / OBSERVATIONS, found.set_column(place, "config.power", lists))
    seal(table)
    rejected(table, "column 'config.power' is list<element: int64>, not single values")


def test_no_predictions_at_all(table):
    for part in ("validation", "test"):
        path = table / f"predictions-{part}.npy"
        write_npy(path, np.load(path)[:, :0])
    seal(table)
    rejected(table, "has no predictions")


def test_an_error_that_contradicts_its_predictions(table):
    row = rows(table)[1]
    stored = np.load(table / "predictions-validation.npy")[row]
    labels = load_inputs(table.parents[2] / "splits/blobs/fixed/inputs.npz").y_validation
    loss = problem("error").metric.loss(labels, rounded(stored))
    forge_column(table, "error", row, 0.987)
    said = f"'error' is 0.987, the loss of its predictions {loss:.6g}; must be equal"
    rejected(table, f"{OBSERVATIONS}': row {row}: {said}")


def test_a_table_whose_split_is_elsewhere(table):
    """Its losses cannot be computed, and the description says so."""
    forge_column(table, "error", rows(table)[1], 0.987)
    shutil.rmtree(table.parents[2] / "splits")
    (line,) = tables.describe(table)
    assert line.endswith("errors not checked: the study's folder has no such split")


def test_a_configuration_that_is_there_twice(table):
    found = pq.read_table(table / OBSERVATIONS)
    order = pa.array([*range(found.num_rows), 4])
    numbers = pa.array(range(1, len(order) + 1))
    place = found.schema.get_field_index("iteration")
    write_parquet(table / OBSERVATIONS, found.take(order).set_column(place, "iteration", numbers))
    for part in ("validation", "test"):
        path = table / f"predictions-{part}.npy"
        write_npy(path, np.load(path)[order.to_numpy()])
    seal(table, entries=found.num_rows + 1)
    rejected(table, f"row {found.num_rows}: it repeats row 4, ", "; configurations differ;")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"files": {}}, "files: Value error, has no sha256 of 'observations.parquet'"),
        (
            {"files": dict.fromkeys([OBSERVATIONS, *PREDICTIONS, "../../x"], "0" * 64)},
            "files: Value error, names '../../x', which is not a file of a table",
        ),
        ({"metric": "luck"}, "metric: Value error, no metric is called 'luck'"),
    ],
)
def test_forged_manifests(table, change, said):
    write_json(table / "table.json", read_json(table / "table.json") | change)
    rejected(table, said)
    with pytest.raises(UserError, match=re.escape(said)):
        table_module.glance(table)


def test_an_archive_under_the_name_of_an_array(table):
    with (table / PREDICTIONS[0]).open("wb") as file:
        np.savez(file, a=np.ones(3))
    seal(table)
    for read in (Table.read, table_module.glance):
        with pytest.raises(UserError, match=f"cannot read '.*{PREDICTIONS[0]}'") as caught:
            read(table)
        assert "\n" not in str(caught.value)


def test_predictions_in_half_precision(table):
    path = table / PREDICTIONS[1]
    write_npy(path, np.load(path).astype(np.float16))
    seal(table)
    rejected(table, "holds float16 (", "), not float32 (")


def test_a_configuration_that_is_not_of_the_space(table):
    forge_column(table, "config.algorithm", 0, "magic")
    rejected(table, "row 0: 'algorithm' must be one of ", "not 'magic'")


def test_a_table_is_compared_with_the_same_labels_once(table, monkeypatch):
    calls = []
    check = table_module.table_checks.check_losses
    monkeypatch.setattr(
        table_module.table_checks, "check_losses", lambda *a: calls.append(a) or check(*a)
    )
    found = Table.read(table)
    for _ in range(3):
        found.check_losses(
            load_inputs(table.parents[2] / "splits/blobs/fixed/inputs.npz").y_validation
        )
    assert len(calls) == 1


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"value": 1e9}, "must be a number in"),
        ({"value": -1e300}, "must be a number in"),
        ({"unheard_of": 0.5}, "the space has no hyperparameter 'unheard_of'"),
        ({"value": None}, "hyperparameter"),
    ],
)
def test_configurations_that_are_not_of_the_space(table, change, said):
    found = pq.read_table(table / OBSERVATIONS)
    columns = [name for name in found.column_names if name.startswith("config.")]
    numeric = next(n for n in columns if pa.types.is_floating(found.schema.field(n).type))
    for name, value in change.items():
        place = numeric if name == "value" else f"config.{name}"
        values = found[place].to_pylist() if place in columns else [None] * found.num_rows
        row = next((i for i, v in enumerate(values) if v is not None), 4)
        values[row] = value
        column = pa.array(values, type=pa.float64())
        if place in columns:
            found = found.set_column(found.schema.get_field_index(place), place, column)
        else:
            found = found.append_column(place, column)
    write_parquet(table / OBSERVATIONS, found)
    seal(table)
    rejected(table, f"row {row}: ", said, "configurations must be of the table's space")


def test_configurations_are_checked_together(table):
    """One by one takes 20 times as long."""
    calls = []
    Table.read(table).check_space(lambda many: calls.append(len(many)))
    assert calls == [len(Table.read(table).configurations)]


@pytest.mark.filterwarnings("error")
def test_an_infinite_loss_is_not_any_error():
    labels, stored = np.zeros(3), np.full((1, 3, 1), 3e38, dtype=np.float32)
    columns = {"status": [OK], "error": [0.5]}
    with pytest.raises(UserError, match=r"'error' is 0\.5, the loss of its predictions inf"):
        table_module.table_checks.check_losses(
            Path("x"), columns, stored, labels, problem("squared-error")
        )


def test_a_regression_has_one_prediction_of_a_row():
    with pytest.raises(UserError, match="it has 2 predictions of a row, a regression has one"):
        table_module.table_checks.check_predictions(
            Path("x"), np.zeros((1, 3, 2), dtype=np.float32), [OK], "regression"
        )


def test_both_parts_have_the_same_columns_and_the_rows_of_the_split(table):
    path = table / "predictions-test.npy"
    stored = np.load(path)
    write_npy(path, np.concatenate([stored, stored[:, :1]], axis=1))
    seal(table)
    with pytest.raises(UserError, match=r"test rows, the split \d+"):
        list(tables.describe(table))
    write_npy(path, stored[:, :, :1])
    seal(table)
    with pytest.raises(
        UserError, match=r"columns, 'predictions-validation\.npy' .*; must be alike"
    ):
        list(tables.describe(table))


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"status": {"ok": 10**6}}, "'status' is {'ok': 1000000}, its table's {"),
        ({"fit_seconds": 1e9}, "'fit_seconds' is 1e+09, the sum of its table's "),
    ],
)
def test_manifests_that_contradict_their_tables(table, change, said):
    write_json(table / "table.json", read_json(table / "table.json") | change)
    rejected(table, said, "; must be equal")


def test_what_a_table_says_is_printed_in_one_line(table):
    about = read_json(table / "table.json")
    about["versions"] |= {"numpy": "1\x1b[2J\n2"}
    write_json(table / "table.json", about)
    (line,) = tables.describe(table)
    assert r"numpy 1\x1b[2J\n2" in line


def test_rows_are_counted_before_they_are_read(table, monkeypatch):
    """A few bytes can be a billion equal rows."""
    found = pq.read_table(table / OBSERVATIONS)
    write_parquet(table / OBSERVATIONS, found.take(pa.array([0] * 10)))
    seal(table)
    read = pq.ParquetFile.read
    monkeypatch.setattr(pq.ParquetFile, "read", lambda *a, **k: pytest.fail("read"))
    with pytest.raises(UserError, match=r"it has 10 rows, not \d+"):
        Table.read(table)
    monkeypatch.setattr(pq.ParquetFile, "read", read)
    monkeypatch.setattr(files, "MOST_CELLS", 50)
    with pytest.raises(UserError, match=r"it has 10 rows of \d+ columns, too many"):
        files.read_parquet(table / OBSERVATIONS, {"error": "double"})


def test_predictions_are_no_longer_than_their_header_says(table):
    with (table / PREDICTIONS[0]).open("ab") as file:
        file.write(b"more")
    seal(table)
    with pytest.raises(UserError, match="it continues after the"):
        Table.read(table)


def test_predictions_of_more_classes_than_there_are(table):
    for part in ("validation", "test"):
        path = table / f"predictions-{part}.npy"
        stored = np.load(path)
        more = np.where(np.isnan(stored[:, :, :1]), np.float32(np.nan), np.float32(0))
        write_npy(path, np.concatenate([stored, more], axis=2))
    seal(table)
    with pytest.raises(UserError, match="it has 4 columns, the classes need 3; copy the table"):
        list(tables.describe(table))


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda t: t.append_column("error", t["error"]), "it has the column 'error' twice"),
        (lambda t: t.drop_columns(["error"]), "it has no column 'error'"),
        (lambda t: t.drop_columns(["iteration"]), "it has no column 'iteration'"),
        (lambda t: t.take(pa.array([0, 0, *range(2, len(t))])), "row 1: 'iteration' is 1; must be"),
    ],
)
def test_columns_that_are_missing_or_twice_there(table, change, said):
    pq.write_table(change(pq.read_table(table / OBSERVATIONS)), table / OBSERVATIONS)
    seal(table)
    rejected(table, said)
