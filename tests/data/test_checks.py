"""What is said of a table before a search: groups, leaks, duplicated rows and rare classes."""

import re

import numpy as np
import pandas as pd
import pytest

from ensemble_search.data import checks, normalise, prepare
from ensemble_search.data.sources import Raw

SETTINGS = {"train": 0.6, "validation": 0.2, "test": 0.2, "seed": 1}
N = 1000


def said(frame, columns=None, task="classification", metric=None):
    raw = Raw(pd.DataFrame(frame), "y", "mine", {"file": "mine.csv"})
    frame, described = normalise.normalise(raw, columns, task)
    rows = prepare.divide(frame, described, SETTINGS)[0]
    return checks.notes(frame, described, rows, metric)


def random(seed=0, n=N):
    """Two columns and a target that one of them tells to some degree."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=n)
    y = np.where(x + rng.normal(size=n) > 0, "ill", "well")
    return {"x": x, "hue": rng.choice(["red", "blue", "green"], n), "y": y}


def patients(name, n=100, seed=1):
    """Ten rows of each patient, in random order, whose target is the patient's own."""
    rng = np.random.default_rng(seed)
    who = np.repeat(np.arange(n), 10)
    frame = pd.DataFrame(
        {
            "x": rng.normal(size=10 * n),
            "who": [name(i) for i in who],
            "y": rng.choice(["ill", "well"], n)[who],
        }
    )
    return frame.sample(frac=1, random_state=0, ignore_index=True)


def test_nothing_is_said_of_an_ordinary_table():
    assert said(random()) == []
    assert said({**random(), "y": random()["x"] * 2 + 1, "x": np.arange(N) % 7},
                task="regression") == []  # fmt: skip


@pytest.mark.parametrize("name", ["P{:04d}".format, lambda i: 7919 * i % 1009])
def test_names_of_groups_are_said(name):
    table = patients(name)
    (note,) = said(table)
    assert note.startswith("column 'who' may name groups: its 100 values repeat, and by themselves")
    assert "predict 100 % of the target" in note
    assert "'columns: {group: [who]}' divides by them" in note
    assert said(table, {"group": ["who"]}) == []


@pytest.mark.parametrize("task", ["classification", "regression"])
def test_identifiers_that_repeat_are_said(task):
    """Effects of patients are seldom so large that they predict three quarters of the target."""
    rng = np.random.default_rng(0)
    table = patients("P{:04d}".format).assign(y=rng.choice(["ill", "well"], N))
    if task == "regression":
        table["y"] = rng.normal(size=N)
    (note,) = said(table, task=task)
    assert note.startswith("column 'who' has 100 identifiers that repeat, such as 'P")
    assert "'columns: {group: [who]}' divides by them" in note
    assert said(table, {"group": ["who"]}, task) == []
    for names in ("P{:04d}".format, "no digit {}".format):  # few, or not one word
        few = patients(names, n=100 if "digit" in names(1) else 40)
        assert said(few.assign(y=rng.choice(["ill", "well"], len(few)))) == []


def test_groups_of_a_regression_are_said():
    table = patients(lambda i: 7919 * i % 1009)
    own = np.random.default_rng(2).normal(size=1009)
    table["y"] = own[table.who] + np.random.default_rng(3).normal(0, 0.2, N)
    (note,) = said(table, task="regression")
    assert note.startswith("column 'who' may name groups")
    # A smooth function of the values is none of groups, and neither a leak with this noise.
    table["y"] = np.sin(table.who / 200) + np.random.default_rng(3).normal(0, 0.2, N)
    assert said(table, task="regression") == []


@pytest.mark.parametrize("values", ["copy", "number", "order"])
def test_a_leak_is_said(values):
    table = pd.DataFrame(random())
    if values == "copy":
        table["code"] = table.y.map({"ill": 5, "well": 7})
    elif values == "number":
        table["code"] = np.where(table.y == "ill", 10.0, 0) + random(1)["x"]
    else:
        table = table.sort_values("y", ignore_index=True)
        table["code"] = np.arange(N)
    (note,) = said(table)
    assert note.startswith("column 'code' alone predicts ")
    assert "'columns: {drop: [code]}'" in note


def test_a_leak_of_a_regression_is_said():
    table = random()
    table["y"] = table["x"] ** 3
    (note,) = said(table, task="regression")
    assert note.startswith("column 'x' alone predicts 100.0 % of the target")


def test_rows_on_both_sides_of_the_division_are_said():
    table = pd.DataFrame(random())
    table.loc[500:599] = table.loc[:99].to_numpy()
    (note,) = said(table)
    equal = int(note.split(" ")[0])
    rows = prepare.divide(
        *normalise.normalise(Raw(table, "y", "mine", {"file": "mine.csv"})), SETTINGS
    )[0]
    keys = [tuple(row) for row in table.itertuples(index=False)]
    train = {keys[i] for i in rows["train"]}
    assert equal == sum(keys[i] in train for i in rows["test"]) > 10
    assert note.startswith(f"{equal} of 200 test rows are equal to training rows, target included")
    # Rows of few categories are equal by chance.
    assert said({"hue": table.hue, "more": table.hue.to_numpy()[::-1], "y": table.y}) == []


def test_rare_classes_are_said():
    table = random()
    table["y"][:4] = "dead"
    (note,) = said(table)
    assert note.startswith("class 'dead' has 4 of 1000 rows: too few to learn and to test it well")
    table["y"][4:12] = "fled"
    assert said(table)[0].startswith("class 'dead' has 4 of 1000 rows (and 1 more such classes): ")
    table["y"][:10] = "dead"
    table["y"][10:20] = "fled"
    assert said(table) == []


@pytest.mark.parametrize(
    ("metric", "line"),
    [
        ("error", "adds only 0.005 to the error; 'metric: balanced-error' .* and log-loss judges"),
        (
            "log-loss",
            "hardly counts in the log-loss; 'metric: balanced-error' counts classes",
        ),
        ("balanced-error", "too few to learn and to test it well; more rows of it would help"),
    ],
)
def test_what_helps_a_rare_class_depends_on_the_metric(metric, line):
    table = random(n=10_000)
    table["y"][:50] = "dead"
    (note,) = said(table, metric=metric)
    assert re.search(line, note)
    assert ("log-loss judges" in note) == (metric == "error")
    table["y"][0] = "well"  # with 49 rows, no metric helps
    (note,) = said(table, metric=metric)
    assert "too few to learn and to test it well" in note


@pytest.mark.parametrize("codes", [[-999.0], [9999999.0], [998.0, 999.0], [-99.0]])
def test_numbers_that_may_stand_for_missing_values_are_said(codes):
    table = random()
    rows = np.arange(0, N, 20)
    table["x"][rows] = np.resize(codes, len(rows))
    (note,) = said(table)
    listed = ", ".join(f"{code:.0f}" for code in codes)
    assert re.match(rf"column 'x' has {listed} in \d+ of 600 training rows, far from its ", note)
    table["x"][rows[1:]] = 0.5  # not repeated
    assert said(table) == []


def test_numbers_of_which_some_are_large_are_not_codes():
    rng = np.random.default_rng(0)
    for values in (
        np.exp(2 * rng.normal(size=N)),
        rng.poisson(1, N) ** 3,
        rng.choice([0, 1, 2, 100], N),
        np.minimum(rng.normal(size=N), 1.5),
        np.where(rng.random(N) < 0.5, 0, rng.normal(10, 2, N)),
    ):
        assert said({**random(), "more": values}) == []


def test_names_that_differ_by_spaces_or_case_are_said():
    table = {**random(), "shoe size": random(1)["x"], "Shoe  Size ": random(2)["x"]}
    (note,) = said(table)
    assert note.startswith("the names of the columns 'shoe size' and 'Shoe  Size ' differ only by")
    assert said(table, {"drop": ["shoe size"]}) == []


@pytest.mark.parametrize("step", [1, -1])
def test_rows_in_order_of_time_are_said(step):
    days = pd.date_range("2023-01-01", periods=N, freq="6h")[::step]
    table = {**random(), "day": days.strftime("%Y-%m-%d %H:%M")}
    (note,) = said(table)
    assert note.startswith("the rows are in order of 'day', but the test rows are drawn at random")
    assert "'columns: {time: [day]}' tests on the latest rows" in note
    assert said(table, {"time": ["day"]}) == []
    shuffled = np.random.default_rng(0).permutation(N)
    assert said({**table, "day": table["day"][shuffled]}) == []


def test_work_is_bounded(monkeypatch):
    """The target is looked up for a part of the training rows of a large table."""
    seen = []
    column = checks._column
    monkeypatch.setattr(checks, "_column", lambda *own: seen.append(len(own[2])) or column(*own))
    monkeypatch.setattr(checks, "ROWS", 200)
    monkeypatch.setattr(checks, "CELLS", 300)
    said(random())
    assert seen == [200, 200]
