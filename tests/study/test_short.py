import json
import shlex

import numpy as np
import pandas as pd
import pytest

from ensemble_search import table_search
from ensemble_search.data import normalise, prepare, sources
from ensemble_search.data import rows as split_rows
from ensemble_search.delivery import doors, own_rows
from ensemble_search.jobs import Jobs
from ensemble_search.runtime import plugins
from ensemble_search.runtime.errors import UserError
from ensemble_search.study import model, short

ARGUMENTS = {"rows": 5000, "columns": 20, "metric": "error", "minutes": 10, "cores": 2}


@pytest.mark.parametrize(
    ("values", "metric"),
    [
        (["a", "b"], "error"),
        ([0, 1], "error"),
        ([f"{i / 8}" for i in range(11)], "squared-error"),
        (range(101), "squared-error"),
        ([f"k{i}" for i in range(50)], "error"),
    ],
)
def test_the_metric_follows_from_the_values_of_the_target(tmp_path, values, metric):
    file = tmp_path / "a.csv"
    file.write_text("x,y\n" + "".join(f"1,{v}\n" for v in [*values, *values, *values, ""]))
    found = short.look_at(str(file), "y", None)
    assert (found.rows, found.metric, found.classes) == (3 * len(values), metric, None)
    assert found.summary.endswith(f", minimising the {metric.replace('-', ' ')}")
    if metric == "error":
        assert short.look_at(str(file), "y", "auc").summary.endswith(", minimising 1 - AUC")


def test_the_positive_class_is_said_and_can_be_chosen(tmp_path):
    file = tmp_path / "a.csv"
    file.write_text("x,y\n" + "1,bad\n2,good\n" * 9)
    for positive, said in [(None, "good"), ("bad", "bad")]:
        found = short.look_at(str(file), "y", None, positive=positive)
        assert found.summary.startswith(f"'y': 2 classes ('{said}' is the positive one), minimis")
    with pytest.raises(UserError, match=r"--positive: .* no class 'goood'; did you mean 'good'\?"):
        short.look_at(str(file), "y", None, positive="goood")
    with pytest.raises(UserError, match="--positive: with the metric squared-error, 'x' has no"):
        short.look_at(str(file), "x", "squared-error", positive="1")
    made = short.content("a", str(file), "y", positive="bad", **ARGUMENTS)
    assert made["datasets"]["a"]["positive"] == "bad"
    assert model.check(made).datasets["a"].source["positive"] == "bad"


@pytest.mark.parametrize(
    ("metric", "said"),
    [
        ("accuracy", "'accuracy'; .*: for accuracy, choose --metric=error$"),
        ("acuracy", "'acuracy'; .*: for accuracy, choose --metric=error$"),
        ("balanced_accuracy", ".*: for balanced-accuracy, choose --metric=balanced-error$"),
        ("eror", "'eror'; did you mean 'error'"),
    ],
)
def test_scores_of_other_packages_are_named_as_losses(tmp_path, metric, said):
    file = tmp_path / "a.csv"
    file.write_text("x,y\n" + "1,bad\n2,good\n" * 9)
    with pytest.raises(UserError, match=f"^--metric: no metric is called {said}"):
        short.look_at(str(file), "y", metric)


def test_classes_or_amounts_must_be_said(tmp_path):
    file = tmp_path / "a.csv"
    file.write_text("x,y\n" + "".join(f"1,{v}\n" for v in [*range(40)] * 3))
    with pytest.raises(UserError, match=r"has 40 distinct integers.*error or squared-error"):
        short.look_at(str(file), "y", None)
    assert short.look_at(str(file), "y", "error").summary.startswith("'y': 40 classes")
    assert short.look_at(str(file), "y", "squared-error").metric == "squared-error"


def test_a_regression_needs_numbers(tmp_path):
    file = tmp_path / "a.csv"
    file.write_text("x,y\n1,a\n1,b\n")
    with pytest.raises(UserError, match="squared-error is for numbers, and 'y' has 'a' in row 1; "):
        short.look_at(str(file), "y", "squared-error")


@pytest.mark.parametrize(
    ("form", "style"),
    [
        ("{}.{:03d},50 €", "numbers with points between thousands and decimal commas in €"),
        ("{}{:03d},5", "numbers with decimal commas"),
        ("${},{:03d}.50", "numbers with commas between thousands in $"),
    ],
)
def test_a_target_may_be_numbers_in_another_form(tmp_path, form, style):
    file, test = tmp_path / "a.csv", tmp_path / "test.csv"
    rows = "".join(f"{i};{form.format(1 + i % 7, i)}\n" for i in range(200))
    for one in (file, test):
        one.write_text(f"x;y\n{rows}", encoding="utf-8")
    found = short.look_at(str(file), "y", None)
    assert found.metric == "squared-error"
    assert found.frame["y"].tolist() == [1000 * (1 + i % 7) + i + 0.5 for i in range(200)]
    assert any(note.endswith(f": read as {style}") for note in found.described["notes"])
    # The same in a file of test rows.
    prepared = {"target": "y", **prepare.fit(found.frame, {"x": "numeric"})[0].to_json()}
    own = own_rows.read(str(test), prepared, {"target": {"mean": 0.5, "std": 2.0}}, [])
    assert own.labels.tolist() == ((found.frame["y"] - 0.5) / 2).tolist()


def test_numbers_of_a_test_file_have_the_form_of_the_table(tmp_path):
    """By itself, 1.234 could be plain."""
    file, test = tmp_path / "a.csv", tmp_path / "test.csv"
    file.write_text("x;y\n" + "".join(f"1.{i},5;2.{i},5 €\n" for i in range(200, 300)))
    test.write_text("x;y\n1.234;1.234\n2.500;2.500 €\n1.200;99 USD\n")
    found = short.look_at(str(file), "y", None)
    settings = {"train": 0.6, "validation": 0.2, "test": 0.2, "seed": 1}
    _, _, made = prepare.make_split(found.frame, found.described, settings)
    own = own_rows.read(str(test), made["preparation"], made, [])
    scale = made["target"]
    labels = scale["mean"] + scale["std"] * own.labels
    assert labels.tolist() == pytest.approx([1234, 2500])
    assert own.X.tolist() == [[1234], [2500]]
    test.write_text("x;y\n1.234;99 USD\n")
    with pytest.raises(UserError, match=r"such as '99 USD'; write them as -1\.234,5 €"):
        own_rows.read(str(test), made["preparation"], made, [])


@pytest.mark.parametrize(
    ("columns", "said"),
    [
        (
            {"times": np.zeros(100)},
            "no rows are left for train: it has too few values, or too many rows of one value",
        ),
        ({"times": np.arange(100)}, "no training row has class 'b'"),
    ],
)
def test_columns_that_cannot_divide_are_those_of_an_option(columns, said):
    """``split.train`` is a setting of a study, which users of a table do not have."""
    settings = {"train": 0.6, "validation": 0.2, "test": 0.2, "seed": 1}
    with pytest.raises(UserError) as raised:
        split_rows.split_rows(np.repeat([0, 1], [90, 10]), "ab", settings, **columns)
    (problem,) = map(table_search._of_option, raised.value.problems)
    assert problem == f"--time: by this column, {said}; name another column, or omit it"
    assert doors.written(problem, "make").startswith("TIME: by this column")


@pytest.mark.parametrize("metric", [None, "squared-error"])
def test_a_target_of_ambiguous_numbers_is_said(tmp_path, metric):
    file = tmp_path / "a.csv"
    file.write_text("x;y\n" + "".join(f"{i};{i},{i + 99} €\n" for i in range(101, 140)))
    said = r"'y' has '101,200 €' in row 1, which may be read as numbers with commas between .* or "
    with pytest.raises(UserError, match=rf"^--target: {said}.* commas in €; write numbers as -12"):
        short.look_at(str(file), "y", metric)


def test_a_positive_class_of_nearly_all_rows_is_noted(tmp_path):
    file = tmp_path / "a.csv"
    file.write_text("x,y\n" + "1,ok\n" * 80 + "2,bad\n" * 20)
    said = "the positive class, 'ok', has 80 of 100 rows: if 'bad' is to be found, --positive='bad'"
    notes = [
        short.look_at(str(file), "y", None, positive=p).described["notes"] for p in (None, "ok")
    ]
    assert [any(note.startswith(said) for note in own) for own in notes] == [True, False]
    # Each door writes the value its own way.
    file.write_text("x,y\n" + "1,ok\n" * 80 + "2,5 $'s\n" * 20)
    note = short.look_at(str(file), "y", None).described["notes"][-1]
    value = note.partition("--positive=")[2].partition(" makes")[0]
    assert shlex.split(value) == ["5 $'s"]
    made = {door: doors.written(note, door).partition("found, ")[2] for door in doors.DOORS}
    assert made["python"].startswith("""positive="5 $'s" makes it""")
    assert made["shell"].startswith(f"--positive={value} makes it")
    assert made["make"].startswith(f"POSITIVE={value} makes it"), "make does not expand it"
    file.write_text("x,y\n" + "1,ok\n" * 80 + '2,"a\nb"\n' * 20)
    notes = short.look_at(str(file), "y", None).described["notes"]
    assert not any("--positive" in note for note in notes)


def test_numbers_with_a_stray_word_are_no_classes(tmp_path):
    file = tmp_path / "a.csv"
    words = [0.5, "", "new", *range(20)] * 3
    file.write_text("x,y\n" + "".join(f"1,{v}\n" for v in words))
    with pytest.raises(UserError, match="has numbers, but also 'new' in row 3; write numbers"):
        short.look_at(str(file), "y", None)
    assert short.look_at(str(file), "y", "error").metric == "error"
    file.write_text(file.read_text().replace("new", "inf"))
    with pytest.raises(UserError, match="has numbers, but also 'inf' in row 3; write numbers"):
        short.look_at(str(file), "y", None)
    file.write_text("x,y\n" + "".join(f'1,"{v},500"\n' for v in range(1, 30)))  # 1.5 or 1500
    with pytest.raises(
        UserError, match=r"'1,500' in row 1, which may .*; write numbers as -1234\.5"
    ):
        short.look_at(str(file), "y", None)


@pytest.mark.parametrize("metric", ["error", "balanced-error", "log-loss", "squared-error"])
@pytest.mark.parametrize("rows", [100, 5000])
def test_it_is_a_study(tmp_path, metric, rows):
    file = tmp_path / "a.csv"
    file.write_text("x,y\n1,2\n")
    arguments = {**ARGUMENTS, "metric": metric, "rows": rows}
    study = model.check(short.content("a", str(file), "y", **arguments))
    assert study.split.folds == (5 if rows == 100 else None)
    assert study.ensembles["selection"]["metric"] == ("brier" if metric == "error" else None)
    assert study.deliver.calibrate is (metric != "squared-error")
    assert study.searches["divbo"]["batch"] == 4
    # A default of each algorithm, and whatever the time at least one suggestion.
    assert study.searches["divbo"]["design"] == "defaults"
    space = plugins.load("spaces", short.SPACE)().for_task(plugins.load("metrics", metric).task)
    assert study.searches["divbo"]["initial"] == len(space.algorithms)
    assert study.searches["divbo"]["initial"] < table_search.LEAST


def test_a_large_table_is_searched_on_a_part_of_its_training_rows():
    def split(**changed):
        return short.content("a", "a.csv", "y", **{**ARGUMENTS, "columns": 50, **changed})["split"]

    whole = {"train": 0.6, "validation": 0.2}
    assert split(rows=33_000) == whole  # 19,800 x 50 cells, 30 seconds
    part = split(rows=33_001)
    assert (part["train"], part["validation"], part["test"]) == (0.6, 0.2, 0.2)
    assert part["train_rows"]["share"] == 0.999
    large = split(rows=1_000_000, minutes=3)
    assert large == {
        "train": 0.98, "validation": 0.01, "test": 0.01, "train_rows": {"share": 0.007}
    }  # fmt: skip
    assert split(rows=1_000_000, minutes=6100) == whole
    for rows in (100_000, 10**9):
        made = short.content("a", "a.csv", "y", **{**ARGUMENTS, "columns": 100, "rows": rows})
        split_rows.check_settings({**made["split"], "seed": 1})


def test_a_rare_class_is_validated_in_all_of_its_rows():
    """By a fifth of eight rows, which search is best is chance."""

    def split(**changed):
        return short.content("a", "a.csv", "y", **{**ARGUMENTS, "rows": 4000, **changed})["split"]

    assert split(rarest=149) == {"folds": 5}
    assert split(rarest=150) == split(rarest=None) == {"train": 0.6, "validation": 0.2}
    assert "folds" not in split(rarest=8, rows=400_000)
    assert "folds" not in split(rarest=8, roles_of={"time": ["day"]})


def test_an_evaluation_may_take_a_part_of_the_time():
    def seconds(minutes):
        made = short.content("a", "a.csv", "y", **{**ARGUMENTS, "minutes": minutes})
        return made["limits"]["seconds"]

    assert [seconds(m) for m in (0.1, 10, 60)] == [10, 30, 180]


@pytest.mark.parametrize(
    ("file", "name"),
    [
        ("/a/my table.csv", "my-table"),
        ("x.csv", "x"),
        ("x.csv.gz", "x"),
        ("_a.b_.csv", "a.b"),
        ("é-1.csv", "1"),
    ],
)
def test_the_name_is_the_stem_of_the_file(file, name):
    assert short.name_of(file, None) == name
    assert short.name_of(file, "mine.2") == "mine.2"


def test_a_file_without_a_name_needs_one():
    with pytest.raises(UserError, match=r"--name: 'é.csv' gives no name"):
        short.name_of("é.csv", None)


@pytest.mark.parametrize("name", ["../up", "my bool", ".hidden", "a" * 65])
def test_a_name_that_is_no_folder_is_rejected(name):
    with pytest.raises(UserError, match=r"--name: .* is not possible; take up to 64"):
        short.name_of("a.csv", name)


@pytest.mark.parametrize(("values", "said"), [("aaa", "the single value 'a'"), ("", "no values")])
def test_a_constant_target_is_rejected(values, said, tmp_path):
    file = tmp_path / "a.csv"
    file.write_text("x,y\n" + "".join(f"1,{v}\n" for v in values))
    with pytest.raises(UserError, match=f"--target: 'y' has {said}; two are needed"):
        short.look_at(str(file), "y", None)


def test_words_for_missing_values_are_no_amounts(tmp_path):
    file = tmp_path / "a.csv"
    file.write_text("x,y\n" + "".join(f"1,{v}\n" for v in ["NA", *range(200), "n/a"]))
    found = short.look_at(str(file), "y", None)
    assert (found.rows, found.metric) == (200, "squared-error")
    assert "2 rows without a value of the target 'y' left out" in found.described["notes"]


def test_classes_of_one_or_two_rows_are_left_out_with_a_note(tmp_path):
    file = tmp_path / "rare.csv"
    labels = ["up", "down"] * 10 + ["1", "z", "z"]
    file.write_text("x,y\n" + "".join(f"{i},{v}\n" for i, v in enumerate(labels)))
    found = short.look_at(str(file), "y", None)
    assert (found.rows, found.classes) == (20, ["down", "up"])
    assert found.summary.startswith(
        "'y': 2 classes ('up' is the positive one) of 3 rows or more, as each part of a split "
        "needs one, minimising"
    )
    said = "3 rows left out because of the class: 'z' (2), '1' (1)"
    assert [note for note in found.described["notes"] if "left out" in note] == [said]
    study = short.content("a", str(file), "y", **ARGUMENTS, classes=found.classes)
    assert model.check(study)
    assert study["datasets"]["a"]["classes"] == ["down", "up"]
    file.write_text("x,y\n1,a\n2,a\n3,a\n4,b\n5,c\n")
    with pytest.raises(UserError, match="'y' has one class of 3 rows or more; two are needed"):
        short.look_at(str(file), "y", None)


def test_a_table_that_cannot_be_read_names_the_option(tmp_path):
    (tmp_path / "a.csv").write_text("x,y\n1,a\n1,a,b\n")
    with pytest.raises(UserError, match=r"^--data: line 3 of '.*a.csv' has 3 fields"):
        short.look_at(str(tmp_path / "a.csv"), "y", None)


def test_amounts_are_no_classes(tmp_path):
    """All distinct ones are counted, not only those that are frequent enough for a class."""
    file = tmp_path / "a.csv"
    file.write_text("x,y\n" + "".join(f"1,{v}\n" for v in [*range(200), *range(120), *range(120)]))
    said = "--metric: error is for classes, and 'y' has 200 distinct numbers; choose --metric=squ"
    with pytest.raises(UserError, match=said):
        short.look_at(str(file), "y", "error")


def test_what_is_converted_or_treated_as_missing_is_said_before_the_search(tmp_path):
    file = tmp_path / "odd.csv"
    cells = [f"{i / 8}" for i in range(99)] + ["n/a"]
    file.write_text("x,y\n" + "".join(f"{v},{'ab'[i % 2]}\n" for i, v in enumerate(cells)))
    found = short.look_at(str(file), "y", None)
    assert "column 'x' has 1 value treated as missing: 'n/a' (1)" in found.described["notes"]


def divided(tmp_path, frame, **by):
    """The study of a table that a column divides, its split, and the table's values of it."""
    file = tmp_path / "t.csv"
    frame.to_csv(file, index=False)
    columns = {role: [name] for role, name in by.items()}
    table = short.look_at(str(file), "y", None, columns)
    study = model.check(
        short.content(
            *("t", str(file), "y"), rows=table.rows, columns=len(table.described["columns"]),
            metric=table.metric, minutes=1, cores=1, roles_of=columns, groups=table.groups,
        )
    )  # fmt: skip
    source = study.datasets["t"].source
    made = normalise.normalise(sources.read(source), source["columns"])
    settings = json.loads(Jobs(study).split("t", "fixed"))
    inputs, _, split = prepare.make_split(*made, settings)
    return inputs, split


@pytest.mark.parametrize(("patients", "folds"), [(100, True), (10, False)])
def test_rows_of_one_group_are_never_divided(tmp_path, patients, folds):
    numbers = np.arange(1000)
    frame = pd.DataFrame({"patient": numbers // (1000 // patients), "x": numbers % 1000})
    frame["y"] = np.where(numbers % 3 < 1, "a", "b")
    inputs, split = divided(tmp_path, frame, group="patient")
    assert split["by"] == {"group": "patient"}
    assert "patient" not in inputs.features
    parts = [inputs.X_train, inputs.X_test] + ([] if folds else [inputs.X_validation])
    own = [{*(part[:, 0] // (1000 // patients))} for part in parts]
    assert not set.intersection(*own) and sum(map(len, own)) == patients
    assert bool(inputs.folds.size) == folds
    for fold in np.unique(inputs.folds):
        mine = inputs.folds == fold
        groups = inputs.X_train[:, 0] // (1000 // patients)
        assert not {*groups[mine]} & {*groups[~mine]}


def test_later_rows_are_for_testing(tmp_path):
    numbers = np.arange(500)
    days = pd.Timestamp(2020, 1, 1) + pd.to_timedelta(numbers // 2, unit="D")
    frame = pd.DataFrame({"sold": days.strftime("%d.%m.%Y"), "x": numbers})
    frame["y"] = np.where(numbers % 3 < 1, "a", "b")
    inputs, split = divided(tmp_path, frame.sample(frac=1, random_state=0), time="sold")
    assert split["by"] == {"time": "sold"}
    parts = [inputs.X_train, inputs.X_validation, inputs.X_test]
    low, high = zip(*((part.min(), part.max()) for part in parts), strict=True)
    assert low == (0, high[0] + 1, high[1] + 1) and high[2] == 499


def test_the_first_fold_is_for_testing(tmp_path):
    numbers = np.arange(600)
    frame = pd.DataFrame({"part": numbers % 6 - 1, "x": numbers})
    frame["y"] = np.where(numbers % 4 < 1, "a", "b")
    inputs, split = divided(tmp_path, frame, fold="part")
    assert split["by"] == {"fold": "part"}
    assert {*(inputs.X_test[:, 0] % 6)} == {1} and len(inputs.X_test) == 100


@pytest.mark.parametrize(
    ("by", "message"),
    [
        ({"group": "z"}, "^--group: there is no column 'z'; known: "),
        ({"time": "y"}, "^--time: 'y' is the target; name another column"),
        ({"group": "a", "fold": "x"}, "^--fold: --group and --fold both divide the rows; keep one"),
        ({"time": "a"}, "column 'a': cannot be the time of the rows: it holds neither dates nor"),
        ({"fold": "x"}, "column 'x': has the fold 0.5; folds are integers"),
    ],
)
def test_columns_that_cannot_divide_the_rows(tmp_path, by, message):
    file = tmp_path / "t.csv"
    file.write_text("a,x,y\n" + "".join(f"{'pq'[i % 2]},{i / 2},{'uv'[i % 2]}\n" for i in range(9)))
    with pytest.raises(UserError, match=message):
        short.look_at(str(file), "y", None, {role: [name] for role, name in by.items()})


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({}, "^--target: no column beside the target 'y' is left"),
        ({"drop": ["x"]}, "^--columns: drop: no column beside the target 'y' is left"),
        ({"group": ["x"]}, "^--columns: no column beside the target 'y' is left"),
    ],
)
def test_a_feature_is_needed(tmp_path, columns, message):
    file = tmp_path / "t.csv"
    file.write_text("x,y\n1,u\n2,v\n" if columns else "y\nu\nv\n")
    with pytest.raises(UserError, match=message):
        short.look_at(str(file), "y", None, columns)


def test_how_rows_are_divided_is_said():
    assert prepare.divided({}) == "rows are divided at random"
    assert prepare.divided({"group": "id"}).startswith("rows with the same 'id' stay together: ")


def test_a_target_whose_rows_would_mostly_be_left_out_is_rejected(tmp_path):
    file = tmp_path / "dates.csv"
    labels = ["a"] * 3 + ["b"] * 3 + [f"2020-01-{i:02}" for i in range(1, 9)]
    file.write_text("x,y\n" + "".join(f"{i},{v}\n" for i, v in enumerate(labels)))
    with pytest.raises(UserError, match=r"'y' has 8 classes of one or two rows, .* most rows"):
        short.look_at(str(file), "y", None)
