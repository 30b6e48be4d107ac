"""The study file: what is accepted, and the one line that each mistake gets."""

import copy
import json
import re
import sys
from collections import Counter
from pathlib import Path

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel

from ensemble_search.data import rows, sources
from ensemble_search.jobs import Jobs, notes
from ensemble_search.optimizers.ask_tell import AskTell
from ensemble_search.results import layout, states
from ensemble_search.runtime import plugins
from ensemble_search.runtime.errors import UserError
from ensemble_search.search.run import JOB
from ensemble_search.study import model, schema
from support import ROOT, STUDIES

pytestmark = pytest.mark.slow

GOOD = {
    "study": "s",
    "datasets": {"wine": {"sklearn": "wine"}},
    "searches": {"random": {"optimizer": "random"}, "bo": {"optimizer": "bo"}},
    "ensembles": {"best": {"type": "best"}, "es": {"type": "selection", "size": 10}},
    "methods": {
        "RS": {"search": "random", "ensemble": "best"},
        "BO-ES": {"search": "bo", "ensemble": "es"},
    },
}


SURROGATES = {"names": ["forest-kernel"]}


def changed(path: str, value) -> dict:
    """The good study with one value replaced; a value of ... removes the key."""
    content = copy.deepcopy(GOOD)
    *parents, last = path.split("/")
    node = content
    for key in parents:
        node = node.setdefault(key, {})
    if value is ...:
        del node[last]
    else:
        node[last] = value
    return content


@pytest.mark.parametrize("metric", ["auc", "balanced-error", "error", "log-loss"])
def test_every_metric_may_be_a_studys(metric):
    assert model.check(changed("metric", metric)).metric == metric


def test_defaults_are_written_out():
    checked = model.check(GOOD)
    assert checked.budget.evaluations == 250
    assert checked.limits.seconds == 300
    assert checked.ensembles["es"] == {
        "type": "selection",
        "size": 10,
        "ties": "random",
        "metric": None,
    }
    assert checked.searches["bo"]["initial"] == 5
    explicit = changed("searches/bo/initial", 5)
    assert Jobs(model.check(explicit)).search("wine", "bo", 0) == Jobs(checked).search(
        "wine", "bo", 0
    )


@pytest.mark.parametrize(
    ("path", "value", "key", "says"),
    [
        ("repaets", 3, "repaets", "did you mean 'repeats'?"),
        ("budget", {"evaluation": 40}, "budget.evaluation", "did you mean 'evaluations'?"),
        ("methods/RS/serach", "x", "methods.RS.serach", "did you mean 'search'?"),
        ("searches/bo/inital", 5, "searches.bo.inital", "did you mean 'initial'?"),
        ("ensembles/es/sise", 5, "ensembles.es.sise", "did you mean 'size'?"),
        ("searches/bo/optimizer", "divob", "searches.bo.optimizer", "did you mean 'divbo'?"),
        ("searches/bo/optimizer", ..., "searches.bo", "needs 'optimizer:'"),
        ("ensembles/es/type", "selecton", "ensembles.es.type", "did you mean 'selection'?"),
        ("space", "divb", "space", "did you mean 'divbo'?"),
        ("metric", "eror", "metric", "did you mean 'error'?"),
        ("metric", "F1", "metric", "there is no 'F1'; did you mean 'f1'?"),
        ("metric", "acuracy", "metric", "'acuracy'; losses are minimised here: for accuracy, cho"),
        (
            "searches/bo/surrogate",
            "random_forest",
            "searches.bo.surrogate",
            "mean 'random-forest'?",
        ),
        ("space", {"divbo": 1}, "space", "must be text; found a mapping"),
        ("budget", 50, "budget", "must be a mapping of keys to values; found 50"),
        ("budget", {}, "budget", "'fits', 'seconds' or 'cpu_seconds'"),
        ("budget", {"seconds": 9, "evaluations": 9}, "budget", "keep one, and set the others"),
        ("budget", {"fits": 0}, "budget.fits", "greater than or equal to 1; found 0"),
        ("budget", {"fits": 3}, "budget.fits", "3 is below what search 'bo' needs, 6"),
        ("tables", {"fidelities": ["1/3"]}, "tables.fidelities", "1/3 lack all rows; add 1"),
        ("tables", {"fidelities": ["1/0"]}, "tables.fidelities.0", "must be a number"),
        ("tables", {"fidelities": [1, 1]}, "tables.fidelities", "names a share twice; keep one"),
        ("budget", {"seconds": 0}, "budget.seconds", "greater than 0; found 0"),
        ("searches/bo", None, "searches.bo", "must be a mapping of keys to values; found nothing"),
        ("study", 2024, "study", "must be text: YAML reads it as 2024; quote it"),
        ("budget", {"evaluations": 10**20}, "budget.evaluations", "less than or equal to 1000000"),
        ("repeats", 0, "repeats", "greater than or equal to 1; found 0"),
        ("repeats", "three", "repeats", "valid integer; found 'three'"),
        ("repeats", 2.5, "repeats", "valid integer"),
        ("repeats", True, "repeats", "valid integer; found True"),
        ("budget", {"evaluations": 3}, "budget.evaluations", "below what search 'bo' needs"),
        ("limits", {"seconds": 0}, "limits.seconds", "greater than 0; found 0"),
        ("split", {"train": 0.7}, "split", "is 1.1; it must be 1"),
        ("split", {"folds": 1}, "split.folds", "greater than or equal to 2; found 1"),
        ("split", {"folds": 3, "train": 0.6}, "split", "not both; set the others to null"),
        ("split", {"folds": 3, "test": 1.0}, "split.test", "less than 1; found 1"),
        (
            "datasets/wine/columns/weight",
            ["ash", "hue"],
            "datasets.wine.columns.weight",
            "one column",
        ),
        ("split", {"train": 1.0}, "split.train", "a share from 0.001 to below 1, or a number"),
        ("split", {"train": 800, "validation": 0.2}, "split", "takes shares or numbers of rows"),
        ("split", {"train": 800, "validation": 80, "test": 0.2}, "split", "takes no 'test'"),
        ("autogluon", {"seconds": 0}, "autogluon.seconds", "greater than 0; found 0"),
        ("workers", 0, "workers", "greater than or equal to 1; found 0"),
        ("split", {"resample": "always"}, "split.resample", "'never' or 'per-repeat'"),
        ("split", {"resample": 0}, "split.resample", "a number of splits from 1 on; found 0"),
        ("split", {"resample": -3}, "split.resample", "from 1 on; found -3"),
        ("split", {"resample": "3"}, "split.resample", "from 1 on; found '3'"),
        ("split", {"resample": 2.0}, "split.resample", "from 1 on; found 2.0"),
        ("split", {"resample": True}, "split.resample", "from 1 on; found True"),
        ("split", {"resample": None}, "split.resample", "from 1 on; found None"),
        ("split", {"resample": [3]}, "split.resample", "from 1 on"),
        ("split", {"resample": 11}, "split.resample", "11 splits are more than there are repeats"),
        ("methods/RS/search", "randon", "methods.RS.search", "did you mean 'random'?"),
        ("methods/RS/ensemble", "es-25", "methods.RS.ensemble", "'es-25' is not among ensembles"),
        ("methods/X", {"search": "bo", "ensemble": "es"}, "methods.X", "ensemble as 'BO-ES'"),
        ("report", {"reference": "DivBO"}, "report.reference", "'DivBO' is not among methods"),
        ("datasets", {}, "datasets", "is empty"),
        ("datasets", ..., "datasets", "is missing"),
        ("datasets/wine", {}, "datasets.wine", "exactly one of openml, openml_task, file, sklearn"),
        ("datasets/wine/openml", 187, "datasets.wine", "found openml and sklearn"),
        ("datasets/wine/sklearn", "mnist", "datasets.wine.sklearn", "'digits'"),
        (
            "datasets/wine/target",
            "x",
            "datasets.wine.target",
            "goes with 'openml:' or 'file:' only",
        ),
        ("datasets/wine/classes", ["a"], "datasets.wine.classes", "not a list of two classes"),
        ("datasets/wine/classes", ["a", []], "datasets.wine.classes", "not a list of two classes"),
        ("datasets/wine/classes", ["1", [2, 1]], "datasets.wine.classes", "'1' is duplicated"),
        ("datasets/wine/classes", ["a+b", ["a", "b"]], "datasets.wine.classes", "called 'a+b'"),
        ("datasets/wine/classes", "a", "datasets.wine.classes", "list"),
        ("datasets/x", {"openml": -3}, "datasets.x.openml", "or a name; found -3"),
        ("datasets/x", {"openml": 1.5}, "datasets.x.openml", "or a name; found 1.5"),
        ("datasets/x", {"openml": "7"}, "datasets.x.openml", "an id has no quotes; found '7'"),
        ("datasets/x", {"openml": ""}, "datasets.x.openml", "or a name; found ''"),
        ("datasets/x", {"openml": "a\nb"}, "datasets.x.openml", "or a name; found"),
        ("datasets/x", {"openml": 3, "md5": "zz"}, "datasets.x.md5", "match pattern"),
        ("datasets/x", {"file": "none.csv", "target": "y"}, "datasets.x.file", "no file 'none"),
        ("datasets/x", {"file": "none.csv"}, "datasets.x.target", "is missing"),
        ("datasets/x", {"file": "a.txt", "target": "y"}, "datasets.x.file", "must end in .csv"),
        ("datasets/x", {"file": "a", "target": "y"}, "datasets.x.file", "must end in .csv"),
        ("datasets/wine/columns", {"drop": "x"}, "datasets.wine.columns.drop", "valid list"),
        ("datasets/wine/columns", {"drop": [1]}, "datasets.wine.columns.drop.0", "quote it"),
        ("datasets/wine/columns", {"dorp": ["x"]}, "datasets.wine.columns.dorp", "mean 'drop'?"),
        ("datasets/wine/columns", {"drop": ["x"] * 2}, "datasets.wine.columns.drop", "twice"),
        (
            "datasets/wine/columns",
            {"drop": ["x"], "date": ["x"]},
            "datasets.wine.columns.date",
            "'x' is in 'drop', too; keep one",
        ),
        (
            "datasets/wine/version",
            1,
            "datasets.wine.version",
            "goes with 'openml:' or 'openml_task:' only",
        ),
        ("limits", {"seconds": float("inf")}, "limits.seconds", "finite number; found inf"),
        ("limits", {"seconds": float("nan")}, "limits.seconds", "found nan"),
        ("searches/d", {"optimizer": "divbo", "beta": float("inf")}, "searches.d.beta", "finite"),
        ("searches/d", {"optimizer": "divbo", "beta": "0.1"}, "searches.d.beta", "valid number"),
        ("searches/bo/initial", "7", "searches.bo.initial", "valid integer; found '7'"),
        (
            "searches/d",
            {"optimizer": "divbo", "diversity_surrogate": "x"},
            "searches.d.diversity_surrogate",
            "no surr",
        ),
        ("ensembles/es/use_best", True, "ensembles.es.use_best", "unknown key"),
        ("openml", {"cache": "no/such"}, "openml.cache", "there is no folder 'no/such'"),
        ("surrogates", {"names": ["forest-kernle"]}, "surrogates.names", "mean 'forest-kernel'?"),
        ("surrogates", {"names": []}, "surrogates.names", "is empty"),
        ("surrogates", {}, "surrogates.names", "is missing"),
        ("surrogates", SURROGATES | {"datasets": ["wein"]}, "surrogates.datasets", "mean 'wine'?"),
        ("surrogates", SURROGATES | {"sizes": [9, 9]}, "surrogates.sizes", "'9' is written twice"),
        ("surrogates", SURROGATES | {"sizes": [1]}, "surrogates.sizes.0", "equal to 2; found 1"),
        (
            "surrogates",
            SURROGATES | {"configurations": 299},
            "surrogates.configurations",
            "299 are too few to fit on 250 of them and to hold 50 out; 300 are needed",
        ),
        ("surrogates", SURROGATES | {"size": [9]}, "surrogates.size", "did you mean 'sizes'?"),
        ("deliver", {}, "deliver.method", "is missing"),
        ("deliver", {"method": "BO"}, "deliver.method", "known: RS, BO-ES"),
        ("deliver", {"method": "RS", "repeat": 10}, "deliver.repeat", "0 to 9"),
        ("deliver", {"method": "RS", "iteration": 251}, "deliver.iteration", "more than"),
        ("deliver", {"method": "RS", "datasets": ["win"]}, "deliver.datasets", "'wine'"),
        ("deliver", {"method": "RS", "datasets": ["wine"] * 2}, "deliver.datasets", "twice"),
        ("deliver", {"method": "RS", "rows": "test"}, "deliver.rows", "'all'"),
        ("deliver", {"method": "RS", "limits": {"members": 0}}, "deliver.limits.members", "1"),
        ("deliver", {"method": "RS", "limits": {"size": 1}}, "deliver.limits.size", "size_mb"),
        ("spread", {"sizes": [10, 0]}, "spread.sizes.1", "equal to 1; found 0"),
        ("spread", {"sizes": [2001]}, "spread.sizes.0", "equal to 2000; found 2001"),
        ("spread", {"sizes": [5, 7, 5]}, "spread.sizes", "'5' is written twice"),
        ("spread", {"sizes": []}, "spread.sizes", "is empty"),
        ("spread", {"samples": 0}, "spread.samples", "equal to 1; found 0"),
        ("spread", {"sample": 3}, "spread.sample", "did you mean 'samples'?"),
        ("divisions", 1, "divisions", "equal to 2; found 1"),
        ("divisions", 9, "divisions", "the methods use 2 searches (random, bo), whose paths"),
        ("searches/bo/optimizer", "b0", "searches.bo.optimizer", "did you mean 'bo'? known: ask-t"),
        ("searches/bo/optimizer", "zzz", "searches.bo.optimizer", "there is no 'zzz'; known: ask-"),
        ("datasets/wine/sklearn", "whine", "datasets.wine.sklearn", "; did you mean 'wine'?"),
        ("study", "data", "study", "choose another name"),
        ("study", "Data", "study", "choose another name"),
    ],
)
def test_each_mistake_gets_one_line(path, value, key, says):
    with pytest.raises(UserError) as caught:
        model.check(changed(path, value), "study.yaml")
    message = str(caught.value)
    assert message.startswith(f"study.yaml: {key}:"), message
    assert says in message
    assert "\n" not in message


@pytest.mark.parametrize("name", ["../x", "a b", "", "x" * 65, "-x", ".x", "a/b", "ü", "a\n"])
@pytest.mark.parametrize("section", ["study", "datasets", "searches", "ensembles", "methods"])
def test_names_that_are_no_folder_names(section, name):
    content = copy.deepcopy(GOOD)
    if section == "study":
        content["study"] = name
    else:
        content[section][name] = next(iter(content[section].values()))
    with pytest.raises(UserError, match="is not a name for a folder"):
        model.check(content)


def test_every_mistake_is_named_at_once():
    content = changed("repeats", 0)
    content["methodes"] = {}
    with pytest.raises(UserError) as caught:
        model.check(content, "f")
    assert str(caught.value).count("\nerror: f: ") == 1


def test_target_of_a_csv_file(tmp_path):
    file = tmp_path / "mine.csv"
    file.write_text("a,lable\n1,x\n", encoding="utf-8")
    with pytest.raises(UserError, match="has no column 'label'; did you mean 'lable'"):
        model.check(changed("datasets/x", {"file": str(file), "target": "label"}))
    model.check(changed("datasets/x", {"file": str(file), "target": "lable"}))


def test_columns_of_a_file(tmp_path):
    file = tmp_path / "a.csv"
    file.write_text("first,second,label\n1,2,a\n")
    source = {"file": str(file), "target": "label"}
    model.check(changed("datasets/x", {**source, "columns": {"drop": ["second"]}}))
    columns = {"drop": ["secnd", "first"], "numeric": ["label"]}
    with pytest.raises(UserError) as caught:
        model.check(changed("datasets/x", {**source, "columns": columns}))
    assert str(caught.value).splitlines() == [
        "study: datasets.x.columns.drop: there is no column 'secnd'; did you mean 'second'?",
        "error: study: datasets.x.columns.numeric: 'label' is the target; name another column",
    ]
    columns = {"group": "first", "weight": "second"}
    with pytest.raises(UserError, match=r"x\.columns: no column beside the target 'label' is left"):
        model.check(changed("datasets/x", {**source, "columns": columns}))


def test_columns_are_part_of_what_a_data_set_is():
    def key(**columns):
        content = changed("datasets/wine", {"sklearn": "wine", "columns": columns})
        return Jobs(model.check(content)).source_key("wine")

    assert key() == key(drop=[]) == "sklearn-wine"
    keys = [key(drop=["a", "b"]), key(drop=["a"]), key(date=["a"]), key(drop=["a"], date=["b"])]
    assert len(set(keys)) == 4
    assert all(k.startswith("sklearn-wine-") for k in keys)
    assert key(drop=["b", "a"], numeric=[]) == keys[0]
    both = {"a": {"openml": 44, "columns": {"drop": ["x"]}}, "b": {"openml": 44}}
    model.check(changed("datasets", both))


def test_a_csv_header_is_read_as_the_file_is(tmp_path):
    file = tmp_path / "mine.csv"
    file.write_text("\ufeffa, y\n1, u\n", encoding="utf-8")
    model.check(changed("datasets/x", {"file": str(file), "target": "y"}))
    assert list(sources.read({"file": str(file), "target": "y"}).frame) == ["a", "y"]


def test_a_huge_csv_header(tmp_path):
    file = tmp_path / "mine.csv"
    file.write_text("a" * 200_000 + ",y\n1,u\n", encoding="utf-8")
    with pytest.raises(UserError, match=r"^study: datasets\.x\.file: .* field larger") as caught:
        model.check(changed("datasets/x", {"file": str(file), "target": "y"}))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("ending", [".parquet", ".pq", ".arff"])
def test_targets_of_other_files(tmp_path, ending):
    import pandas as pd

    file = tmp_path / f"mine{ending}"
    if ending == ".arff":
        head = "% c\n@RELATION r\n@ATTRIBUTE 'a b' NUMERIC\n@attribute lable {u, v}\n@Data\n"
        file.write_text(head + "1,u\n", encoding="utf-8")
    else:
        pd.DataFrame({"a b": [1], "lable": ["u"]}, index=pd.Index([3])).to_parquet(file)
    for target in ("a b", "lable"):
        model.check(changed("datasets/x", {"file": str(file), "target": target}))
    for target, hint in (("label", "did you mean 'lable'?"), ("row", "known: a b, lable")):
        with pytest.raises(UserError, match=re.escape(f"no column '{target}'; {hint}")):
            model.check(changed("datasets/x", {"file": str(file), "target": target}))
    file.write_bytes(b"broken")
    with pytest.raises(UserError, match=r"^study: datasets\.x\.file: .*cannot be read as "):
        model.check(changed("datasets/x", {"file": str(file), "target": "lable"}))


def test_the_cache_may_be_below_home(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "cache").mkdir()
    loaded = model.check(changed("openml", {"cache": "~/cache"}))
    assert loaded.openml.cache == str(tmp_path / "cache")


def test_one_source_with_two_pins():
    content = changed("datasets", {"a": {"openml": 44}, "b": {"openml": 44, "version": 1}})
    with pytest.raises(UserError, match=r"datasets\.b: the same source as 'a', pinned otherwise"):
        model.check(content)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("a: [1", "line 1: not valid YAML"),
        ("- a\n", "must be a mapping of keys to values: study"),
        ("", "is empty; it needs study"),
        ("study: s\nstudy: t\n", "line 2: key 'study' is written twice"),
        ("methods:\n  A: {search: x}\n  A: {search: y}\n", "line 3: key 'A' is written twice"),
        ("a: 1\n[a, b]: 1\n", "line 2: a key must be plain text"),
        ("? {a: b}\n: 1\n", "line 1: a key must be plain text"),
        ("a: 1\nb: \x07\n", "line 2: not valid YAML: the character U+0007"),
        ("a: 1\nx: 2024-13-45\n", "line 2: a value that cannot be read: month must be in 1..12"),
        ("2024-13-45: 1\n", "line 1: a value that cannot be read"),
        ("a: !!int x\n", "line 1: a value that cannot be read"),
        ("a: !!bool x\n", "line 1: a value that cannot be read"),
        ("a: " + "[" * 5000, "nested too deeply"),
        ("1: x\n", ": 1: "),
        ("x: !!python/object/apply:os.system ['true']\n", "not valid YAML"),
    ],
)
def test_files_that_are_no_study(tmp_path, text, says):
    file = tmp_path / "s.yaml"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(UserError) as caught:
        model.load(file)
    assert says in str(caught.value)
    assert str(caught.value).startswith(f"{file}: ")
    assert all(line.startswith(f"error: {file}") for line in str(caught.value).split("\n")[1:])


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        ("studies/quickstrat.yaml", "did you mean 'studies/quickstart.yaml'?"),
        ("study/quickstart.yml", "did you mean 'studies/quickstart.yaml'?"),
        ("confg.yaml", "did you mean 'config.yaml'?"),
        ("zzz.yaml", "name a study file, such as studies/quickstart.yaml"),
    ],
)
def test_a_misspelt_file_is_guessed(tmp_path, monkeypatch, given, meant):
    (tmp_path / "studies").mkdir()
    for name in ("studies/quickstart.yaml", "studies/rules.yaml", "config.yaml"):
        (tmp_path / name).touch()
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UserError) as caught:
        model.load(given)
    assert str(caught.value) == f"{given}: cannot be read: No such file or directory; {meant}"


def test_missing_file_and_binary_file(tmp_path):
    with pytest.raises(UserError, match="cannot be read: No such file"):
        model.load(tmp_path / "no.yaml")
    (tmp_path / "b.yaml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(UserError, match="not UTF-8"):
        model.load(tmp_path / "b.yaml")


def test_overrides_replace_key_by_key(tmp_path):
    file = tmp_path / "s.yaml"
    file.write_text(yaml.safe_dump({**GOOD, "limits": {"seconds": 5, "memory_mb": 1000}}))
    loaded = model.load(file, {"repeats": 2, "limits": {"seconds": 7}})
    assert (loaded.repeats, loaded.limits.seconds, loaded.limits.memory_mb) == (2, 7, 1000)


def test_overrides_come_as_text_from_snakemake(tmp_path):
    from snakemake.cli import parse_config

    file = tmp_path / "s.yaml"
    file.write_text(yaml.safe_dump({**GOOD, "openml": {"server": "http://x"}}))
    given = [
        "repeats=3",
        "budget={evaluations: 50}",
        "limits={seconds: 7.5}",
        "openml={server: null}",
        "ensembles={es: {type: selection, ties: log-loss}}",
    ]
    loaded = model.load(file, parse_config(given))
    assert (loaded.repeats, loaded.budget.evaluations, loaded.limits.seconds) == (3, 50, 7.5)
    assert loaded.openml.server is None
    assert loaded.ensembles["es"] == {
        "type": "selection",
        "size": 10,
        "ties": "log-loss",
        "metric": None,
    }
    seconds = model.load(file, parse_config(["budget={seconds: 60, evaluations: null}"]))
    assert Jobs(seconds).search("wine", "bo", 0).count('"budget": {"seconds": 60.0}') == 1
    with pytest.raises(UserError, match=r"budget\.evaluations: .* found '2024-01-01'"):
        model.load(file, parse_config(["budget={evaluations: 2024-01-01}"]))


@pytest.mark.parametrize("file", ["config.yaml", *STUDIES.values()])
def test_studies_of_the_repository_are_valid(file, monkeypatch):
    monkeypatch.chdir(ROOT)
    # Environments of other libraries are made by `make peers`.
    monkeypatch.setattr(AskTell, "_python", Path(sys.executable))
    model.load(file)


def test_settings_of_a_split():
    def settings(split):
        return json.loads(Jobs(model.check(changed("split", split))).split("wine", "repeat-2"))

    assert settings({}) == {"train": 0.6, "validation": 0.2, "test": 0.2, "seed": 3}
    assert settings({"train": 0.5, "test": 0.3, "seed": 4})["train"] == 0.5
    assert settings({"folds": 3}) == {"folds": 3, "test": 0.2, "seed": 3}
    rows.check_settings(settings({"folds": 5, "test": 0.4}))
    assert settings({"train": 800, "validation": 700}) == {
        "train": 800,
        "validation": 700,
        "seed": 3,
    }
    rows.check_settings(settings({"train": 800, "validation": 700}))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"ensembles": {"es": {"type": "selection", "metric": "auc"}}},
            "ensembles.es.metric: 'auc' is for classification, and this is a regression",
        ),
        (
            {"datasets": {"wine": {"sklearn": "wine", "task": "classification"}}},
            "datasets.wine.task: classification, but metric 'squared-error' is for regression; "
            "change one of them",
        ),
        (
            {"datasets": {"wine": {"sklearn": "wine", "classes": ["class_0", "class_1"]}}},
            "datasets.wine.classes: a regression has no classes; remove the key",
        ),
        (
            {"datasets": {"wine": {"sklearn": "wine", "positive": "class_0"}}},
            "datasets.wine.positive: a regression has no classes; remove the key",
        ),
    ],
)
def test_what_a_regression_cannot_have(change, message):
    content = {
        "study": "s",
        "metric": "squared-error",
        "datasets": {"diabetes": {"sklearn": "diabetes"}},
        "searches": {"bo": {"optimizer": "bo"}},
        "ensembles": {"es": {"type": "selection"}},
        "methods": {"BO": {"search": "bo", "ensemble": "es"}},
    }
    model.check(content)
    with pytest.raises(UserError) as caught:
        model.check({**content, **change})
    assert str(caught.value) == f"study: {message}"


def test_a_data_set_has_its_own_part_of_the_training_rows():
    """It is the same source, and other data sets are as they were."""
    content = changed("split", {"train_rows": {"share": 0.5}})
    content["datasets"]["small"] = {**content["datasets"]["wine"], "train_rows": {"share": 0.1}}
    study = model.check(content)
    jobs = Jobs(study)
    assert jobs.source_key("small") == jobs.source_key("wine")
    part = {"share": 0.5, "by": "stratified"}
    assert json.loads(jobs.split("wine", "fixed"))["train_rows"] == part
    assert json.loads(jobs.split("small", "fixed"))["train_rows"] == {**part, "share": 0.1}
    assert "train_rows" not in json.loads(Jobs(model.check(GOOD)).split("wine", "fixed"))
    expected = dict.fromkeys(content["datasets"], part) | {"small": {**part, "share": 0.1}}
    assert json.loads(jobs.report())["train_rows"] == expected
    assert "train_rows" not in json.loads(Jobs(model.check(GOOD)).report())


@settings(max_examples=50)
@given(splits=st.integers(1, 30), repeats=st.integers(1, 60), more=st.integers(0, 60))
def test_repeats_go_round_over_splits(splits, repeats, more):
    """Each split has its share of the repeats, and its rows whatever the number of splits."""

    def study(splits, repeats):
        return model.check({**GOOD, "repeats": repeats, "split": {"resample": splits}})

    if splits > repeats:
        with pytest.raises(UserError, match="more than there are repeats"):
            study(splits, repeats)
        return
    made, own = study(splits, repeats), study("per-repeat", repeats)
    names = [made.split_name(repeat) for repeat in range(repeats)]
    assert names[:splits] == own.splits[:splits] == made.splits
    counts = Counter(names)
    assert max(counts.values()) - min(counts.values()) <= 1
    assert {Jobs(made).split("wine", name) for name in made.splits} == {
        Jobs(own).split("wine", name) for name in own.splits[:splits]
    }
    assert [study(splits, repeats + more).split_name(r) for r in range(repeats)] == names
    assert layout.splits(made.model_dump(mode="json")) == names


def test_jobs_say_all_that_a_search_needs():
    jobs = Jobs(model.check(changed("surrogates", SURROGATES)))
    assert set(json.loads(jobs.search("wine", "bo", 0))) == set(JOB)
    assert set(json.loads(jobs.configurations("wine"))) == set(JOB)


def test_workers_are_nothing_that_a_job_or_the_report_is_told():
    one, two = (Jobs(model.check(changed("workers", n))) for n in (1, 2))
    assert one.search("wine", "bo", 0) == two.search("wine", "bo", 0)
    assert one.report() == two.report()


def test_autogluon_is_compared_by_some_metrics_only():
    with pytest.raises(UserError, match="squared-error, absolute-error only, not by 'auc'"):
        model.check({**GOOD, "autogluon": {}, "metric": "auc"})


def test_the_paper_study():
    loaded = model.load(ROOT / "config.yaml")
    assert len(loaded.datasets) == 15
    assert (loaded.repeats, loaded.budget.evaluations) == (10, 250)
    assert (loaded.searches["divbo"]["beta"], loaded.searches["divbo"]["tau"]) == (0.05, 0.2)
    assert loaded.split.model_dump(include={"train", "validation", "test", "resample"}) == {
        "train": 0.6,
        "validation": 0.2,
        "test": 0.2,
        "resample": "never",
    }


def test_every_key_and_setting_has_a_description():
    """In the schema, for editors; settings of ensembles have theirs in docstrings."""
    content = schema.schema()
    nodes = {"study": content, **content["$defs"]}
    for section in ("searches", "ensembles"):
        (choices,) = content["properties"][section]["patternProperties"].values()
        nodes |= {f"{section} {c['title']}": c for c in choices["anyOf"]}
    for kind in ("surrogates", "metrics"):
        for name in plugins.available(kind):
            plugin = plugins.load(kind, name)
            if issubclass(plugin, BaseModel):
                nodes[f"{kind} {name}"] = plugin.model_json_schema()
    lacking = [
        f"{where}: {key}"
        for where, node in nodes.items()
        for key, about in node.get("properties", {}).items()
        if not about.get("description", about.get("const", about.get("$ref")))
    ]
    assert lacking == []
    selection = next(c for name, c in nodes.items() if name == "ensembles Selection")
    described = selection["properties"]["size"]["description"]
    assert described.startswith("Number of rounds; each selects one model")
    assert selection["properties"]["ties"]["description"].startswith("Which of the models")


def test_schema_agrees_with_the_model():
    import jsonschema

    validator = jsonschema.Draft202012Validator(schema.schema())
    assert validator.is_valid(GOOD)
    assert validator.is_valid(changed("split", {"resample": 3}))
    for path, value in [
        ("repaets", 3),
        ("searches/bo/inital", 5),
        ("searches/bo/optimizer", "divob"),
        ("repeats", 0),
        ("split", {"resample": "always"}),
        ("split", {"resample": 0}),
    ]:
        assert not validator.is_valid(changed(path, value))


def test_searches_and_ensembles_that_no_method_uses_are_named():
    assert notes(Jobs(model.check(GOOD))) == []
    unused = model.check(changed("methods/BO-ES", ...))
    assert notes(Jobs(unused)) == [
        "searches.bo: no method uses it; it is left out",
        "ensembles.es: no method uses it; it is left out",
    ]
    assert notes(Jobs(unused, extended=model.check({**GOOD, "study": "base"}))) == []
    content = {**changed("methods/BO-ES", ...), "tables": {"random": 10, "searches": ["bo"]}}
    assert len(notes(Jobs(model.check(content)))) == 1


def test_searches_of_tables_get_the_budget_and_are_counted():
    """Also if no method uses them."""
    content = copy.deepcopy(GOOD) | {"tables": {"random": 0, "searches": ["rb", "kd"]}}
    content["searches"] |= {"rb": {"optimizer": "rising-bandit"}, "kd": {"optimizer": "k-dpp"}}
    made = model.check(content)
    evaluations = made.budget.evaluations
    assert made.searches["rb"]["budget"] == made.searches["kd"]["batch"] == evaluations
    own = {search for _, search, _ in states.searches(made)}
    assert own == {*made.used("search"), "rb", "kd"}
    content["searches"]["rb"] = {"optimizer": "bo", "initial": evaluations}
    with pytest.raises(UserError, match="is below what search 'rb' needs"):
        model.check(content)


def test_slices_change_only_with_their_part_of_the_study():
    before = Jobs(model.check(GOOD))
    more = copy.deepcopy(GOOD)
    more["datasets"]["iris"] = {"sklearn": "iris"}
    more["searches"]["bo2"] = {"optimizer": "bo", "initial": 7}
    more["repeats"] = 11
    after = Jobs(model.check(more))
    assert before.search("wine", "bo", 3) == after.search("wine", "bo", 3)
    assert before.ensemble("es") == after.ensemble("es")
    assert before.split("wine", "fixed") == after.split("wine", "fixed")
    assert before.report() != after.report()
    assert after.search("wine", "bo2", 3) != after.search("wine", "bo", 3)


def test_slices_of_designs_change_only_with_their_part_of_the_study():
    before, other = (Jobs(model.check(changed("spread", {"samples": n}))) for n in (9, 10))
    told = json.loads(before.spread("sobol"))
    sizes = told.pop("sizes")
    assert told == {"sampler": "sobol", "samples": 9, "seed": 0}
    assert (len(sizes), sizes[:4], sizes[-1]) == (30, [1, 2, 3, 4], 500)
    assert sizes == sorted(set(sizes))
    assert before.spread("sobol") != other.spread("sobol")
    assert before.search("wine", "bo", 3) == Jobs(model.check(GOOD)).search("wine", "bo", 3)
    more = changed("repeats", 3) | {"spread": {"samples": 9}}
    assert Jobs(model.check(more)).spread("sobol") == before.spread("sobol")


RULES = changed("divisions", 50)
RULES["methods"] = {"RS": {"search": "random", "ensemble": "best"}}
RULES["methods"]["RS-ES"] = {"search": "random", "ensemble": "es"}


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"split": {"folds": 5}}, "divisions: with split.folds the validation rows are training"),
        ({"ensembles": {**RULES["ensembles"], "es": {"type": "stacking"}}},
         "divisions: ensembles.es refits pipelines, and divisions use stored predictions"),
        ({"datasets": {"wine": {"sklearn": "wine", "columns": {"group": "ash"}}}},
         "datasets.wine.columns.group: divisions draw single rows at random"),
        ({"datasets": {"wine": {"sklearn": "wine", "columns": {"time": "ash"}}}},
         "datasets.wine.columns.time: divisions draw single rows at random"),
    ],
)  # fmt: skip
def test_what_cannot_be_divided_gets_one_line(changes, says):
    model.check(RULES)
    with pytest.raises(UserError) as caught:
        model.check(RULES | changes)
    (problem,) = caught.value.problems
    assert says in problem


def test_slices_of_divisions_are_the_ensembles_and_their_number():
    told = json.loads(Jobs(model.check(RULES)).divisions("random"))
    assert told["divisions"] == 50 and list(told["ensembles"]) == ["best", "es"]
    assert told["ensembles"]["es"]["size"] == 10
    before, after = (Jobs(model.check(RULES | {"divisions": n})) for n in (None, 50))
    assert before.search("wine", "random", 3) == after.search("wine", "random", 3)
    assert before.ensemble("es") == after.ensemble("es")


def test_slices_of_surrogates_change_only_with_their_part_of_the_study():
    """Another surrogate, repeat or data set leaves the others; a size is a surrogate's own."""
    before = Jobs(model.check(changed("surrogates", SURROGATES)))
    assert Jobs(model.check(GOOD)).search("wine", "bo", 3) == before.search("wine", "bo", 3)
    more = SURROGATES | {"names": ["random-forest", "forest-kernel"], "repeats": 12}
    after = Jobs(model.check(changed("surrogates", more)))
    assert before.surrogate("forest-kernel", 3) == after.surrogate("forest-kernel", 3)
    assert before.configurations("wine") == after.configurations("wine")
    sizes = Jobs(model.check(changed("surrogates", SURROGATES | {"sizes": [25, 100]})))
    assert before.surrogate("forest-kernel", 3) != sizes.surrogate("forest-kernel", 3)
    assert before.configurations("wine") == sizes.configurations("wine")


def test_a_space_without_a_form_for_the_task(monkeypatch):
    monkeypatch.setattr(plugins.load("spaces", "divbo-small"), "tasks", ("classification",))
    with pytest.raises(UserError, match="space: 'divbo-small' has no form for regression, which"):
        model.check(changed("metric", "squared-error") | {"space": "divbo-small"})


def test_the_metric_decides_the_task():
    either = changed("datasets", {"digits": {"sklearn": "digits"}})
    classes = model.check(either)
    assert classes.task == "classification"
    numbers = model.check(either | {"metric": "squared-error"})
    assert numbers.task == "regression"
    assert {d.source["task"] for d in numbers.datasets.values()} == {"regression"}
    assert Jobs(numbers).source_key("digits") == "sklearn-digits-regression"
    assert Jobs(classes).source_key("digits") == "sklearn-digits"


@pytest.mark.parametrize(
    ("columns", "changes", "message"),
    [
        (
            {"group": "ash", "time": "hue"},
            {},
            r"columns.time: 'group' and 'time' both divide the rows",
        ),
        (
            {"part": "ash", "time": "hue"},
            {},
            r"columns.part: 'time' and 'part' both divide the rows",
        ),
        ({"part": "hue"}, {"split": {"folds": 3}}, r"columns.part: it names the validation rows"),
        ({"part": "hue"}, {"split": {"resample": 2}}, r"columns.part: the split is the same for"),
        ({"time": "hue"}, {"split": {"folds": 3}}, r"columns.time: folds are in no order"),
        ({"time": "hue"}, {"split": {"resample": 2}}, r"columns.time: the split is the same for"),
        (
            {"group": "hue"},
            {"split": {"folds": 3}, "autogluon": {"seconds": 9}},
            r"columns.group: AutoGluon's folds divide groups",
        ),
        ({"group": "hue"}, {"ensembles/es/type": "stacking"}, r"columns.group: ensembles.es fits"),
        ({"weight": "hue"}, {"tables": {"random": 9}}, r"columns.weight: 'tables' does not regard"),
        ({"weight": "hue"}, {"evaluation": {"replay": "x"}}, r"weight: 'evaluation.replay' does"),
    ],
)
def test_columns_of_rows_that_the_study_cannot_use(columns, changes, message):
    content = changed("datasets/wine/columns", columns)
    content.update({key: value for key, value in changes.items() if "/" not in key})
    if "ensembles/es/type" in changes:
        content["ensembles"]["es"] = {"type": "stacking"}
    with pytest.raises(UserError, match=message):
        model.check(content)


def test_every_name_that_is_unknown_or_repeated_costs_one_line():
    given = ["wein", "wein", "wein", "wine", "wine", "wni"]
    with pytest.raises(UserError) as caught:
        model.check(changed("deliver", {"method": "RS", "datasets": given}))
    found = [re.findall("'(.*?)' is (.*?)[ ;]", line)[0] for line in caught.value.problems]
    assert found == [("wein", "not"), ("wni", "not"), ("wein", "written"), ("wine", "written")]


@pytest.mark.parametrize("settings", [{}, {"type": "nope"}])
def test_a_column_of_rows_beside_an_ensemble_of_no_known_type(settings):
    content = changed("datasets/wine/columns", {"group": "ash"})
    content["ensembles"]["es"] = settings
    with pytest.raises(UserError, match=r"^study: ensembles\.es[.:]") as caught:
        model.check(content)
    assert len(caught.value.problems) == 1


def test_a_column_of_rows_is_one_name():
    with_stacking = changed("datasets/wine/columns", {"part": "ash"})
    with_stacking["ensembles"]["es"] = {"type": "stacking"}
    model.check(with_stacking)
    checked = model.check(changed("datasets/wine/columns", {"group": "ash", "drop": ["hue"]}))
    assert checked.datasets["wine"].source["columns"] == {"drop": ["hue"], "group": ["ash"]}


def test_a_file_of_data_is_looked_for_beside_the_study_too(tmp_path, monkeypatch):
    """In the work folder first, where all commands run."""
    (tmp_path / "studies").mkdir()
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "studies/mine.yaml"
    source = {"file": "mine.csv", "test": "test.csv", "target": "y"}
    path.write_text(yaml.safe_dump(changed("datasets", {"mine": source})))
    with pytest.raises(UserError, match=r"start at .*, or else at the study file's folder"):
        model.load("studies/mine.yaml")
    for folder in ("studies", "."):
        for name in ("mine.csv", "test.csv"):
            Path(folder, name).write_text("x,y\n1,a\n2,b\n")
        found = model.load("studies/mine.yaml").datasets["mine"]
        where = "studies/" if folder == "studies" else ""
        assert (found.file, found.test) == (f"{where}mine.csv", f"{where}test.csv")
        path.write_text(yaml.safe_dump(GOOD | {"deliver": {"method": "RS", "test": "test.csv"}}))
        assert model.load("studies/mine.yaml").deliver.test == f"{where}test.csv"
        path.write_text(yaml.safe_dump(changed("datasets", {"mine": source})))
