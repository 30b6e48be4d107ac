"""Predictions made elsewhere become a study: three layouts, whose losses are computed by hand."""

import json
import os
import shutil
import subprocess
import weakref
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from ensemble_search.analysis import datasets
from ensemble_search.data import fetched, normalise, prepare, sources
from ensemble_search.evaluation.table import Table, TableEvaluator
from ensemble_search.jobs import Jobs
from ensemble_search.problems import tasks
from ensemble_search.results import foreign, imported, tables
from ensemble_search.runtime import files, outside, plugins
from ensemble_search.runtime.errors import UserError
from ensemble_search.runtime.names import PARTS
from support import ROOT

pytestmark = pytest.mark.slow

SIZES = {"validation": 40, "test": 60}


@pytest.fixture(autouse=True)
def work(tmp_path, monkeypatch):
    """A work folder; parts from outside are forgotten afterwards."""
    monkeypatch.chdir(tmp_path)
    yield tmp_path
    outside.use([])


def made(classes, seed=0, models=6):
    """Labels (codes) by part, and probabilities of every model, shape (models, rows, classes)."""
    rng = np.random.default_rng(seed)
    labels = {part: rng.permutation(np.arange(size) % classes) for part, size in SIZES.items()}
    right = {part: np.eye(classes)[own] for part, own in labels.items()}
    noise = {p: rng.dirichlet(np.ones(classes), (models, SIZES[p])) for p in PARTS}
    return labels, {part: 0.3 * right[part] + 0.7 * noise[part] for part in PARTS}


MODELS = pd.DataFrame(
    {
        "algorithm": ["knn", "knn", "knn", "svm", "svm", "svm"],
        "k": [1, 5, 9, None, None, None],
        "C": [None, None, None, 1e-3, 0.1, 123.456789123],
        "scaled": [True, False, True, True, False, True],
        "fit_seconds": [1, 2, 3, 4, 5, 6.5],
    }
)


def write(folder, labels, predictions, models=MODELS):
    """The minimal layout."""
    folder.mkdir(parents=True)
    models.to_csv(folder / "models.csv", index=False)
    for part in PARTS:
        pd.DataFrame({"label": labels[part]}).to_csv(folder / f"labels-{part}.csv", index=False)
        np.save(folder / f"predictions-{part}.npy", predictions[part])


def split_of(jobs, dataset):
    """The split that the workflow would make."""
    source = json.loads(jobs.source(jobs.source_key(dataset)))
    frame, about = normalise.normalise(
        sources.read(source, {}), source["columns"], source.get("task", "classification")
    )
    return prepare.make_split(frame, about, json.loads(jobs.split(dataset, "fixed")))


def check(output, dataset, metric, losses):
    """The table fits the study's split, and has the losses (None: failed), as do the test rows."""
    jobs = Jobs.load(str(output / "study.yaml"))
    inputs, test_labels, _ = split_of(jobs, dataset)
    table = Table.read(output / f"tables/{dataset}/fixed")
    problem = tasks.problem(metric)
    shapes = tuple(array.shape[1:] for array in (table.validation, table.test))
    space = plugins.load("spaces", jobs.study.space)().for_task(problem.task)
    table.check(space.name, inputs.checksum(), jobs.study.limits.model_dump(), shapes)
    table.check_space(space.configurations)
    table.check_losses(inputs.y_validation)
    evaluator = TableEvaluator(table, problem)
    for values, expected in zip(table.whole, losses, strict=True):
        found = evaluator.evaluate(values)
        if expected is None:
            assert found.status != "ok"
            continue
        for part, labels in (("validation", inputs.y_validation), ("test", test_labels)):
            loss = problem.metric.loss(labels, getattr(found, part))
            assert loss == pytest.approx(expected[part], rel=1e-5), part
    return table


def errors(labels, predictions):
    """Shares of wrong labels, by model."""
    wrong = {p: (predictions[p].argmax(2) != labels[p]).mean(axis=1) for p in PARTS}
    return [{part: wrong[part][i] for part in PARTS} for i in range(len(predictions["test"]))]


def test_labels_in_two_spellings_are_no_regression(work):
    labels, predictions = made(2)
    write(work / "own/d", labels, {part: own[:, :, 1] for part, own in predictions.items()})
    file = work / "own/d/labels-test.csv"
    file.write_text("label\n" + "".join(f"{n}.0\n" for n in labels["test"]), encoding="utf-8")
    with pytest.raises(UserError, match=r"40 labels and 4 classes \('0', '0.0', '1', '1.0'\) need"):
        imported.write(work / "own", work / "mine")


def test_more_integers_than_a_target_of_classes_may_have(work, monkeypatch):
    """The files say that they are classes."""
    monkeypatch.setattr(normalise, "MAX_INTEGERS", 3)
    labels, predictions = made(5)
    write(work / "own/d", labels, predictions)
    imported.write(work / "own", work / "mine")
    check(work / "mine", "d", "error", errors(labels, predictions))


def test_a_class_that_no_row_has(work):
    """As of the few test rows of a fold of the AutoML benchmark: its probabilities count."""
    folder = work / "runs/f.a/predictions/t/0"
    folder.mkdir(parents=True)
    rows = pd.DataFrame({"a": [0.5, 0.1] * 6, "b": [0.1, 0.2] * 6, "charlie": [0.4, 0.7] * 6})
    rows = rows.assign(predictions="a", truth=["a", "b"] * 6)
    rows.to_csv(folder / "predictions.csv", index=False)
    imported.write(work / "runs", work / "mine")
    inputs, test_labels, _ = split_of(Jobs.load("mine/study.yaml"), "t")
    assert list(inputs.classes) == ["a", "b", "charlie"]
    assert np.unique([inputs.y_validation, test_labels]).tolist() == [0, 1]
    table = Table.read(work / "mine/tables/t/fixed")
    table.check_losses(inputs.y_validation)
    found = tasks.problem("error").metric.loss(test_labels, table.test[0])
    assert found == 0.5  # a is right, and c is wrong where b is meant


@pytest.mark.parametrize("numbers", [[1.278e-12, 0.06], [0.5, 2.71e-13]])
def test_hyperparameters_below_what_configspace_rounds_to(work, numbers):
    """As weight decays of TabRepo's networks."""
    labels, predictions = made(2)
    write(work / "own/d", labels, predictions, pd.DataFrame({"decay": [*numbers, 0.1, 1, 2, 3]}))
    imported.write(work / "own", work / "mine")
    table = check(work / "mine", "d", "error", errors(labels, predictions))
    assert [c["decay"] for c in table.whole] == [*numbers, 0.1, 1, 2, 3]


def test_an_archive_of_labels_is_one_file(work):
    with pytest.raises(UserError, match=r"it must hold one file, and holds others or none"):
        with zipfile.ZipFile(work / "label-val.csv.zip", "w") as archive:
            archive.writestr("a", "label")
            archive.writestr("b", "label")
        foreign._csv(work / "label-val.csv.zip")


def test_exploding_predictions_are_cut_as_those_of_a_search(work):
    labels = {part: np.linspace(0, 1, size) for part, size in SIZES.items()}
    predictions = {part: np.tile(own, (6, 1)) for part, own in labels.items()}
    predictions["validation"][1, 0], predictions["test"][1, 0] = 1e300, -1e30
    write(work / "own/d", labels, predictions)
    imported.write(work / "own", work / "mine")
    table = Table.read(work / "mine/tables/d/fixed")
    assert table.validation[1, 0, 0] == -table.test[1, 0, 0] == 1024
    assert table.columns["error"][1] == pytest.approx(1024**2 / 40, rel=0.01)


@pytest.mark.parametrize("classes", [2, 3])
def test_models_of_the_minimal_layout(work, classes):
    labels, predictions = made(classes)
    # As text, "10" is before "9": columns are in the order of the numbers.
    names = np.array([9, 10, 11])
    write(work / "own/d", {part: names[own] for part, own in labels.items()}, predictions)
    imported.write(work / "own", work / "mine")
    table = check(work / "mine", "d", "error", errors(labels, predictions))
    assert table.whole[0] == {"algorithm": "knn", "k": 1, "scaled": "True"}
    assert table.whole[5] == {"algorithm": "svm", "C": pytest.approx(123.45679), "scaled": "True"}
    assert table.columns["fit_seconds"][5] == 6.5 and table.manifest["fit_seconds"] == 21.5


def test_predictions_far_from_the_labels_of_a_regression_are_cut_with_a_note(work):
    rng = np.random.default_rng(0)
    labels = {part: rng.normal(size=size) for part, size in SIZES.items()}
    predictions = {part: np.tile(own, (6, 1)) for part, own in labels.items()}
    predictions["validation"][2] *= 1e30
    predictions["test"][2:4] += 1e4
    write(work / "own/d", labels, predictions)
    lines = imported.write(work / "own", work / "mine")
    assert lines[1] == (
        "note: d: models with predictions more than 1024 standard deviations from the mean label, "
        "which are clipped: 2"
    )


def test_a_table_of_a_space_from_outside_says_how_to_name_it(work):
    write(work / "own/d", *made(2))
    imported.write(work / "own", work / "mine")
    outside.use([])
    with pytest.raises(UserError, match=r"no space is called 'models-of-mine'; .*: PLUGINS=folder"):
        list(tables.describe(work / "mine/tables"))


def test_a_name_that_is_not_possible_is_said_with_one_that_is(work):
    write(work / "own/two words", *made(2))
    with pytest.raises(UserError, match=r"'two words' cannot be the name .* rename it: up to 64"):
        imported.write(work / "own", work / "mine")


def test_another_metric_failed_models_and_the_probability_of_the_second_class(work):
    labels, predictions = made(2)
    single = {part: array[:, :, 1].copy() for part, array in predictions.items()}
    single["test"][3] = np.nan
    models = MODELS.assign(scaled=["1", "2", "2", "auto", "1", "2"])
    words = {part: np.array(["no", "yes"])[own] for part, own in labels.items()}
    write(work / "own/d", words, single, models)
    odd, lines, half, cpu, table_info, _ = imported.write(work / "own", work / "mine", "log-loss")
    assert cpu == "note: CPU seconds are not known; fit_seconds are stored for them, too"
    assert odd.startswith(
        "note: models.csv: 'scaled' has 'auto' among numbers, so it is categorical"
    )
    assert lines.startswith("d: 6 models (5 ok), 40 validation and 60 test rows; the best has a ")
    assert half == "note: d: models without validation or test predictions, treated as failed: 1"
    assert table_info == f"make table-info TABLE={work}/mine/tables PLUGINS={work}/mine"
    chosen = {p: np.take_along_axis(a, labels[p][None, :, None], 2) for p, a in predictions.items()}
    losses = [{p: -np.log(chosen[p][i]).mean() for p in PARTS} for i in range(6)]
    losses[3] = None
    check(work / "mine", "d", "log-loss", losses)


def test_numbers_are_standardised_by_the_labels(work):
    rng = np.random.default_rng(0)
    labels = {part: rng.normal(50, 7, size) for part, size in SIZES.items()}
    predictions = {p: labels[p] + rng.normal(0, 3, (6, SIZES[p])) for p in PARTS}
    write(work / "own/d", labels, predictions)
    imported.write(work / "own", work / "mine")
    scale = labels["validation"].var()
    squares = {p: ((predictions[p] - labels[p]) ** 2).mean(axis=1) / scale for p in PARTS}
    losses = [{part: squares[part][i] for part in PARTS} for i in range(6)]
    check(work / "mine", "d", "squared-error", losses)


@pytest.mark.parametrize("classes", [2, 3])
def test_tabrepo(work, classes):
    labels, predictions = made(classes)
    folder = work / "model_predictions/anneal/0"
    folder.mkdir(parents=True)
    stored = predictions if classes > 2 else {p: a[:, :, 1] for p, a in predictions.items()}
    names = ["LightGBM_c1_BAG_L1", "LightGBM_r2_BAG_L1", *"ABCD"]
    about = {"models": names, "dataset": "anneal", "fold": 0, "dtype": "float32"}
    for part, short in zip(PARTS, ("val", "test"), strict=True):
        stored[part].astype(np.float32).tofile(folder / f"pred-{short}.dat")
        about[f"pred_{short}_shape"] = stored[part].shape
        pd.Series(labels[part], name="class").to_csv(folder / f"label-{short}.csv.zip")
    (folder / "metadata.json").write_text(json.dumps(about), encoding="utf-8")
    imported.write(work / "model_predictions", work / "tabrepo")
    table = check(work / "tabrepo", "anneal", "error", errors(labels, predictions))
    assert table.whole[1] == {"algorithm": "LightGBM", "model": "LightGBM_r2_BAG_L1"}
    (folder / "pred-val.dat").write_bytes(b"123")
    with pytest.raises(UserError, match=r"pred-val.dat'.* its size is not that of float32 \(6, 40"):
        imported.write(work / "model_predictions", work / "again")


def write_tabrepo(folder, labels, predictions, names):
    """Write files as TabRepo's ``to_data_dir`` does; all labels are codes."""
    folder.mkdir(parents=True)
    about = {"models": names, "dataset": folder.parent.name, "fold": int(folder.name)}
    about["dtype"] = "float32"
    for part, short in zip(PARTS, ("val", "test"), strict=True):
        memory = np.memmap(
            folder / f"pred-{short}.dat", "float32", "w+", shape=predictions[part].shape
        )
        memory[:] = predictions[part]
        memory.flush()
        about[f"pred_{short}_shape"] = predictions[part].shape
        rows = np.arange(len(labels[part]))[::-1] * 3  # those of the data set
        made = pd.Series(labels[part], index=rows, name="class")
        made.to_csv(folder / f"label-{short}.csv.zip", index=True)
    (folder / "metadata.json").write_text(json.dumps(about), encoding="utf-8")


#: As written by TabArena; TabRepo's has no more than the last key, and ``model_type``.
CONFIGURATIONS = {
    "LightGBM_c1": {},
    "LightGBM_r1": {"extra_trees": True, "learning_rate": 0.03, "proc.skew": None},
    "LightGBM_r2": {"extra_trees": False, "learning_rate": 0.1, "proc.skew": 0.9},
    "MLP_r1": {"layers": [200, 100], "max": 0.5},
    "MLP_r2": {"layers": [400], "max": "sqrt"},
    "MLP_r3": {"layers": [400], "max": "sqrt"},
}
CONFIGURATIONS = {
    name: {"model_type": "X", "hyperparameters": {**own, "ag_args": {"name_suffix": name[-3:]}}}
    for name, own in CONFIGURATIONS.items()
}


def write_context(context, names, times=True):
    """Write the files of a context beside ``model_predictions``."""
    known = {name: CONFIGURATIONS[name.removesuffix("_BAG_L1")] for name in names}
    known = {name.removesuffix("_BAG_L1"): about for name, about in known.items()}
    (context / "configs_hyperparameters.json").write_text(json.dumps(known), encoding="utf-8")
    if times:
        seconds = {"time_train_s": np.arange(1.0, len(names) + 1), "time_infer_s": 0.5}
        frame = pd.DataFrame({"dataset": "anneal", "fold": 1, "framework": names, **seconds})
        frame = pd.concat([frame.assign(fold=0, time_train_s=99.0), frame], ignore_index=True)
        frame.to_parquet(context / "configs.parquet")


@pytest.mark.parametrize("source", ["context", "context/model_predictions"])
def test_hyperparameters_and_times_of_tabrepo(work, source):
    """Configurations that set less than the others of their family are algorithms of their own."""
    labels, predictions = made(3)
    names = [f"{name}_BAG_L1" for name in CONFIGURATIONS]
    write_tabrepo(work / "context/model_predictions/anneal/1", labels, predictions, names)
    write_context(work / "context", names)
    imported.write(work / source, work / "tabrepo", fold=1)
    table = check(work / "tabrepo", "anneal", "error", errors(labels, predictions))
    tree, net = {"algorithm": "LightGBM"}, {"algorithm": "MLP"}
    assert [dict(c) for c in table.whole] == [
        {"algorithm": "LightGBM_c1"},
        {**tree, "LightGBM.extra_trees": "true", "LightGBM.learning_rate": 0.03,
         "LightGBM.proc.skew": "null"},
        {**tree, "LightGBM.extra_trees": "false", "LightGBM.learning_rate": 0.1,
         "LightGBM.proc.skew": "0.9"},
        {**net, "MLP.layers": "[200, 100]", "MLP.max": "0.5", "model": "MLP_r1"},
        # Alike but for their names:
        {**net, "MLP.layers": "[400]", "MLP.max": "sqrt", "model": "MLP_r2"},
        {**net, "MLP.layers": "[400]", "MLP.max": "sqrt", "model": "MLP_r3"},
    ]  # fmt: skip
    rows = pd.read_parquet(work / "tabrepo/tables/anneal/fixed/observations.parquet")
    assert rows["fit_seconds"].tolist() == [1, 2, 3, 4, 5, 6]
    assert rows["predict_seconds"].tolist() == [0.5] * 6
    pd.DataFrame({"dataset": [], "fold": []}).to_parquet(work / "context/configs.parquet")
    with pytest.raises(UserError, match=r"configs.parquet': it has no column 'framework'$"):
        imported.write(work / source, work / "again", fold=1)


@pytest.mark.parametrize("source", ["methods", "methods/MLP", "methods/MLP/processed"])
def test_methods_of_tabarena_are_put_together(work, source):
    labels, predictions = made(2)
    for method, first, last in (("LightGBM", 0, 3), ("MLP", 3, 6)):
        names = [*CONFIGURATIONS][first:last]
        context = work / f"methods/{method}/processed"
        own = {part: array[first:last, :, 1] for part, array in predictions.items()}
        write_tabrepo(context / "model_predictions/anneal/0", labels, own, names)
        write_context(context, names, times=False)
    found = dict(foreign.read(work / source))["anneal"]
    together = 6 if source == "methods" else 3
    assert len(found.models) == together
    for part, array in found.predictions.items():
        assert array == pytest.approx(predictions[part][-together:], abs=1e-6)
    other = {part: own[::-1] for part, own in labels.items()}
    shutil.rmtree(work / "methods/MLP/processed/model_predictions")
    write_tabrepo(work / "methods/MLP/processed/model_predictions/anneal/0", other, own, names)
    with pytest.raises(UserError, match=r"its validation labels are not those of '.*LightGBM"):
        imported.write(work / "methods", work / "mine")


@pytest.mark.parametrize("part", [*PARTS, None])
def test_codes_of_tabrepo_that_some_rows_lack(work, part):
    """Of the last of three classes, the rows of a part, or of both, have none."""
    labels, predictions = made(3)
    for own in PARTS if part is None else [part]:
        labels[own] = np.where(labels[own] == 2, 0, labels[own])
    names = [f"X_r{i}" for i in range(6)]
    write_tabrepo(work / "model_predictions/anneal/0", labels, predictions, names)
    imported.write(work / "model_predictions", work / "mine")
    check(work / "mine", "anneal", "error", errors(labels, predictions))


@pytest.mark.parametrize(("content", "said"), [
    ('{"LightGBM_c1": {}}', "'LightGBM_c1' has no 'hyperparameters'"), ("{", "configs_hyper"),
    ('{"LightGBM_c1": 3}', "'LightGBM_c1' has no 'hyperparameters'"), ("[]", "configs_hyper"),
])  # fmt: skip
def test_damaged_hyperparameters_of_tabrepo(work, content, said):
    labels, predictions = made(3)
    write_tabrepo(work / "model_predictions/anneal/0", labels, predictions, [*CONFIGURATIONS])
    (work / "configs_hyperparameters.json").write_text(content, encoding="utf-8")
    with pytest.raises(UserError, match=said):
        imported.write(work / "model_predictions", work / "mine")
    assert not (work / "mine").exists()


def test_the_metric_chooses_classifications_or_regressions(work):
    """TabArena has both, below the same folder."""
    labels, predictions = made(2)
    names = [f"X_r{i}" for i in range(6)]
    write_tabrepo(work / "c/model_predictions/churn/0", labels, predictions, names)
    numbers = {part: own * 1.5 + np.arange(len(own)) for part, own in labels.items()}
    values = {part: predictions[part][:, :, 1] + numbers[part] for part in PARTS}
    write_tabrepo(work / "c/model_predictions/houses/0", numbers, values, names)
    both = r"^METRIC \(--metric\): .* and regressions; choose by the metric, such as error or squ"
    with pytest.raises(UserError, match=both):
        imported.write(work / "c", work / "mine")
    for metric, name, other in (("log-loss", "churn", "houses"), ("rmse", "houses", "churn")):
        lines = imported.write(work / "c", work / metric, metric)
        assert f"note: left out, because the metric does not fit: {other}" in lines
        assert [*Jobs.load(f"{metric}/study.yaml").study.datasets] == [name]


def test_predictions_are_in_memory_data_set_by_data_set(work, monkeypatch):
    """All of a context of TabRepo are larger than memory."""
    labels, predictions = made(3)
    for name in "abcd":
        write(work / "own" / name, labels, predictions)
    alive, read = [], foreign._minimal

    def watch(folder):
        assert sum(array() is not None for array in alive) <= 1
        found = read(folder)
        alive.append(weakref.ref(found))
        return found

    monkeypatch.setattr(foreign, "_minimal", watch)
    imported.write(work / "own", work / "mine")
    assert len(alive) == 8


def test_results_of_the_automl_benchmark(work):
    labels, predictions = made(3)
    names = np.array(["a", "b", "c"])
    for i, run in enumerate(
        ("flaml.test.1h8c.local.20240101", "autogluon.test.1h8c.local.20240101")
    ):
        folder = work / f"results/{run}/predictions/kc2/0"
        folder.mkdir(parents=True)
        frame = pd.DataFrame(predictions["test"][i], columns=names)
        frame["predictions"] = names[predictions["test"][i].argmax(1)]
        frame["truth"] = names[labels["test"]]
        if i == 0:  # such as a framework's own thresholds
            frame.loc[:6, "predictions"] = names[predictions["test"][i].argmin(1)[:7]]
        frame.to_csv(folder / "predictions.csv", index=False)
    (work / "results/failed.test.1h8c.local.20240101/predictions").mkdir(parents=True)
    shutil.copytree(folder, folder.parents[1] / "later/1")
    said = imported.write(work / "results", work / "amlb")
    assert "note: left out, without predictions of fold 0: later" in said
    assert "note: kc2: no predictions of failed.test.1h8c.local.20240101" in said
    (other,) = [line for line in said if "most probable" in line]
    assert other.startswith("note: '") and "/flaml.test." in other
    assert "in 7 of 60 rows, the column 'predictions' names a class that is not the most" in other
    jobs = Jobs.load("amlb/study.yaml")
    inputs, test_labels, _ = split_of(jobs, "kc2")
    table = Table.read(work / "amlb/tables/kc2/fixed")
    table.check_losses(inputs.y_validation)
    assert [c["model"] for c in table.whole] == ["autogluon", "flaml"]
    # Half of the rows of each class are in either part; together, all are there.
    assert [np.bincount(own).tolist() for own in (inputs.y_validation, test_labels)] == [
        [10] * 3
    ] * 2
    for row, i in ((1, 0), (0, 1)):
        both = np.concatenate([table.validation[row], table.test[row]])
        known = np.concatenate([inputs.y_validation, test_labels])
        wrong = (both.argmax(1) != known).mean()
        assert wrong == pytest.approx((predictions["test"][i].argmax(1) != labels["test"]).mean())


def test_spellings_of_classes_in_the_automl_benchmark(work):
    """Its encoder writes classes in lower case, frameworks their own; columns follow the case."""
    truth = np.array(["B-two", "a One", "C"])[np.arange(24) % 3]
    rows = np.random.default_rng(0).dirichlet(np.ones(3), (2, 24))  # of: a one, b-two, c
    written = (["a one", "b-two", "c"], ["B-two", "C", "a One"])
    for run, own, order in zip("fg", written, ([0, 1, 2], [1, 2, 0]), strict=True):
        folder = work / f"results/{run}.test.1h8c.local.20240101/predictions/t/0"
        folder.mkdir(parents=True)
        frame = pd.DataFrame(rows["fg".index(run)][:, order], columns=own)
        frame = frame.assign(predictions="C", truth=truth if run == "f" else np.char.lower(truth))
        frame.assign(own="of the framework").to_csv(folder / "predictions.csv", index=False)
    imported.write(work / "results", work / "mine")
    found = dict(foreign.read(work / "results"))["t"]
    assert found.classes == ["a one", "b-two", "c"]
    together = np.concatenate([*found.predictions.values()], axis=1)
    assert np.sort(together, axis=1) == pytest.approx(np.sort(rows, axis=1))
    known = {label: rows[0][np.char.lower(truth) == label] for label in found.classes}
    for label, own in known.items():  # rows of a label have this label's predictions
        mine = together[0][np.concatenate([*found.labels.values()]) == label]
        assert np.sort(mine, axis=0) == pytest.approx(np.sort(own, axis=0))


@pytest.mark.parametrize(("columns", "said"), [
    ({"a": 0.5, "A ": 0.5, "predictions": "a", "truth": "a"}, "two of its classes are 'a' in low"),
    ({"predictions": 1.5, "truth": 1, "0.5": 1.5, "repeated_item_id": 3}, "forecasts of time ser"),
])  # fmt: skip
def test_other_results_of_the_automl_benchmark(work, columns, said):
    folder = work / "results/flaml/predictions/kc2/0"
    folder.mkdir(parents=True)
    pd.DataFrame(columns, index=range(12)).to_csv(folder / "predictions.csv", index=False)
    with pytest.raises(UserError, match=said):
        imported.write(work / "results", work / "amlb")


@pytest.mark.parametrize(
    ("column", "word", "said"),
    [
        ("a", "0.3x", "column 'a' has '0.3x' in row 3, not a number"),
        ("b", "1_0", "column 'b' has '1_0' in row 3, not a number"),
        ("b", "", "predictions of model 0 .* are not all finite"),
    ],
)
def test_a_text_among_the_numbers_of_the_automl_benchmark(work, column, word, said):
    folder = work / "results/flaml/predictions/kc2/0"
    folder.mkdir(parents=True)
    frame = pd.DataFrame(
        {"a": ["0.5"] * 12, "b": "0.5", "predictions": "a", "truth": ["a", "b"] * 6}
    )
    frame.loc[2, column] = word
    frame.to_csv(folder / "predictions.csv", index=False)
    with pytest.raises(UserError, match=said):
        imported.write(work / "results", work / "amlb")


@pytest.mark.parametrize(("truth", "word"), [("1.5", "1,5"), ("", "0.5")])
def test_a_text_among_the_numbers_of_a_regression(work, truth, word):
    folder = work / "results/flaml/predictions/kc2/0"
    folder.mkdir(parents=True)
    frame = pd.DataFrame({"predictions": ["0.5"] * 12, "truth": [str(i) for i in range(12)]})
    frame.loc[2] = [word, truth]
    frame.to_csv(folder / "predictions.csv", index=False)
    said = f"column '{'predictions' if truth else 'truth'}' has '{truth and word}' in row 3, not"
    with pytest.raises(UserError, match=said):
        imported.write(work / "results", work / "amlb")


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("dtype", None), ("dtype", "int32"), ("dtype", 3),
        ("pred_val_shape", None), ("pred_val_shape", [2.5, 4]), ("pred_test_shape", "ab"),
        ("pred_test_shape", [0, 4]), ("pred_test_shape", [8]),
    ],
)  # fmt: skip
def test_metadata_of_tabrepo_are_checked(work, key, value):
    folder = work / "model_predictions/anneal/0"
    folder.mkdir(parents=True)
    about = {"dtype": "float32", "models": ["a", "b"]}
    about |= {"pred_val_shape": [2, 4], "pred_test_shape": [2, 4]}
    for short in ("val", "test"):
        np.full((2, 4), 0.5, np.float32).tofile(folder / f"pred-{short}.dat")
        with zipfile.ZipFile(folder / f"label-{short}.csv.zip", "w") as archive:
            archive.writestr("label.csv", ",label\n0,a\n1,b\n2,a\n3,b\n")
    (folder / "metadata.json").write_text(json.dumps({**about, key: value}))
    with pytest.raises(UserError, match=f"metadata.json': its '{key}' is not "):
        imported.write(work / "model_predictions", work / "again")


def _spoil(folder, what):
    """Make a mistake in the minimal layout."""
    array = np.load(folder / "predictions-test.npy")
    match what:
        case "shape":
            array = array[:, 1:]
        case "finite":
            array[2, 0, 0] = np.inf
        case "sum":
            array[2, 0] *= 0.9
        case "negative":
            array[2, 0] = [-0.5, 1.5]
        case "integers":
            array = array.astype(int)
        case "label":
            (folder / "labels-test.csv").write_text("label\n" + "nan\n" * 60, encoding="utf-8")
        case "header":
            (folder / "labels-test.csv").write_text("y\n" + "0\n" * 60, encoding="utf-8")
        case "twins":
            MODELS.assign(C=0.1, k=None, algorithm="svm", scaled=True).drop(columns="k").to_csv(
                folder / "models.csv", index=False
            )
        case "partly":
            partly = MODELS.assign(k=[1, None, 9, None, None, None])
            partly.to_csv(folder / "models.csv", index=False)
        case "seconds":
            MODELS.assign(fit_seconds=-1).to_csv(folder / "models.csv", index=False)
        case "missing":
            (folder / "labels-validation.csv").unlink()
        case "index":
            MODELS.to_csv(folder / "models.csv")
        case "semicolons":
            MODELS.to_csv(folder / "models.csv", index=False, sep=";")
        case "same name":
            MODELS.rename(columns={"C": "k"}).to_csv(folder / "models.csv", index=False)
        case "row number":
            MODELS.to_csv(folder / "models.csv", header=["k", "C", "b", "fit_seconds"], columns=[
                "k", "C", "scaled", "fit_seconds"], index=True, index_label=False)  # fmt: skip
        case "failed":
            array[:] = np.nan
        case "long":
            longest = ["1", "2", "3", "4", "5", "1" + 400 * "0"]
            MODELS.assign(fit_seconds=longest).to_csv(folder / "models.csv", index=False)
        case "far":
            MODELS.assign(seed=[1, 2, 3, 4, 5, 1e300]).to_csv(folder / "models.csv", index=False)
        case "tiny":
            MODELS.assign(C=[None] * 3 + [1, 2, 1e-320]).to_csv(folder / "models.csv", index=False)
        case "inexact":
            MODELS.assign(seed=[2**60, 2**60 + 1, 3, 4, 5, 6]).to_csv(
                folder / "models.csv", index=False
            )
        case "ages":
            MODELS.assign(fit_seconds=1e308).to_csv(folder / "models.csv", index=False)
        case "truths":
            MODELS.assign(fit_seconds=True).to_csv(folder / "models.csv", index=False)
        case "versions":
            text = MODELS.assign(version=["1.1", "1.10", "1.2", "2", "3", "4"])
            text.to_csv(folder / "models.csv", index=False)
        case "huge":
            seeds = [2**70, 2, 3, 4, 5, 6]
            MODELS.assign(seed=seeds).to_csv(folder / "models.csv", index=False)
        case "capital":
            MODELS.rename(columns={"fit_seconds": "Fit_seconds "}).to_csv(
                folder / "models.csv", index=False
            )
        case "space in names":
            spaced = MODELS.assign(algorithm=["knn", "knn ", "knn", "svm", "svm", "svm"])
            spaced.drop(columns=["k", "C"]).to_csv(folder / "models.csv", index=False)
        case "space in labels":
            text = "label\n" + "0\n" * 30 + "1 \n" * 30
            (folder / "labels-test.csv").write_text(text, encoding="utf-8")
        case "spelling":
            text = "label\n" + "no\n" * 60
            (folder / "labels-test.csv").write_text(text, encoding="utf-8")
        case "encoding":
            (folder / "labels-test.csv").write_text("label\n" + "0\n" * 60, encoding="utf-16")
        case "zero":
            seeds = ["1e-400", 2, 3, 4, 5, 6]
            MODELS.assign(seed=seeds).to_csv(folder / "models.csv", index=False)
        case "one label":
            for part in PARTS:
                (folder / f"labels-{part}.csv").write_text("label\n" + "1\n" * 60)
        case "no labels":
            (folder.parent / "e").mkdir()
            shutil.copy(folder / "predictions-test.npy", folder.parent / "e")
        case "other folder":
            shutil.copytree(folder, folder.parent / "e")
            (folder.parent / "e" / "models.csv").rename(folder.parent / "e" / "Models.csv")
    np.save(folder / "predictions-test.npy", array)


@pytest.mark.parametrize(
    ("what", "message"),
    [
        (
            "shape",
            r"test predictions are of shape \(6, 59, 2\); 6 models, 60 labels and 2 ",
        ),
        ("finite", r"test predictions of model 2 \(from 0\) are not all finite; NaN in all"),
        ("sum", r"with the sum 1: those of model 2 and row 0 \(from 0\) are 0\.\d+, 0\.\d+$"),
        ("negative", r"with the sum 1: those of model 2 and row 0 \(from 0\) are -0.5, 1.5$"),
        ("zero", r"models.csv': 'seed' has 1e-400, which is 0 as a float"),
        ("no labels", r"own/e/models.csv': it does not exist"),
        ("integers", r"test predictions are of type int64, not floats"),
        ("label", r"test row 1 has no label"),
        ("header", r"labels-test.csv': has the columns y; give one column, 'label'"),
        ("twins", r"models 1 and 2 have the same hyperparameters; remove one"),
        ("partly", r"models.csv: 'k' is missing for some models of the algorithm 'knn'"),
        ("seconds", r"models.csv: 'fit_seconds' is not a number .* in every row: '.*own/d' has"),
        ("missing", r"labels-validation.csv'"),
        ("index", r"models.csv': column 1 has no name; name it, or leave it out"),
        ("semicolons", r"models.csv': its fields are separated by ';'; separate them by commas"),
        ("same name", r"models.csv': two columns are called 'k'; rename one"),
        ("row number", r"models.csv': line 2 has 5 fields, the header has 4"),
        ("failed", r"own/d': no model has both validation and test predictions"),
        ("long", r"models.csv: 'fit_seconds' is not a number from 0 to 1e\+12"),
        ("far", r"models.csv: 'seed' has 1e\+300; numbers must be 0, or from 1e-100 to 1e\+100"),
        ("tiny", r"models.csv: 'C' has 9.99989e-321; numbers must be 0, or from 1e-100 to"),
        ("inexact", r"models.csv: 'seed' has 1152921504606846976; integers are exact up to"),
        ("ages", r"models.csv: 'fit_seconds' is not a number from 0 to 1e\+12"),
        ("truths", r"models.csv: 'fit_seconds' is not a number from 0 to 1e\+12"),
        ("versions", r"models.csv': 'version' has 1.1 and 1.10, which are one number; write vers"),
        ("huge", r"models.csv: 'seed' has 1180591620717411303424; integers are exact up to"),
        ("capital", r"models.csv: 'Fit_seconds ' is not a known column; write fit_seconds"),
        (
            "space in names",
            r"models.csv: 'algorithm' has 'knn' and 'knn ', which differ only in surrounding",
        ),
        ("space in labels", r"own/d': labels '1' and '1 ' differ in space around them only"),
        ("spelling", r"labels and 3 classes \('0', '1', 'no'\) need"),
        ("one label", r"own/d': all labels are '1'; two classes or numbers are needed"),
        ("encoding", r"labels-test.csv': it is not text in UTF-8; save it so, uncompressed"),
        ("other folder", r"own/e/models.csv': it does not exist"),
    ],
)
def test_what_does_not_fit_is_one_line(work, what, message):
    labels, predictions = made(2)
    write(work / "own/d", labels, predictions)
    _spoil(work / "own/d", what)
    with pytest.raises(UserError, match=message) as caught:
        imported.write(work / "own", work / "mine")
    assert "\n" not in str(caught.value)
    assert not (work / "mine").exists()


def test_a_fold_of_a_layout_without_folds(work):
    write(work / "own/d", *made(2))
    with pytest.raises(
        UserError, match=r"^FOLD \(--fold\): 1 is not possible: '.*/own' has no folds$"
    ):
        imported.write(work / "own", work / "mine", fold=1)


def test_other_mistakes_are_named(work):
    with pytest.raises(UserError, match=r"^OUTPUT \(--output\): it is empty; name a new folder"):
        imported.write(work, Path())
    (work / "empty").mkdir()
    with pytest.raises(
        UserError, match=r"own/d' is the folder of a data set; give the folder that"
    ):
        write(work / "own/d", *made(2))
        imported.write(work / "own/d", work / "mine")
    shutil.rmtree(work / "own")
    with pytest.raises(UserError, match=r"holds no predictions: neither <data set>/models.csv nor"):
        imported.write(work / "empty", work / "mine")
    with pytest.raises(UserError, match=r"there is no folder '.*nowhere'"):
        imported.write(work / "nowhere", work / "mine")
    labels, predictions = made(2)
    write(work / "own/d", labels, predictions)
    with pytest.raises(UserError, match=r"'squared-error' is for regression, but this is a classi"):
        imported.write(work / "own", work / "mine", "squared-error")
    with pytest.raises(
        UserError, match=r"^METRIC \(--metric\): no metric is called 'best'; known: "
    ):
        imported.write(work / "own", work / "mine", "best")
    for name in (".mine", "nul", "slurm", "mine\n"):
        with pytest.raises(UserError, match=rf"'{name.strip()}.*' cannot be the name of a study"):
            imported.write(work / "own", work / name)
    for name, said in (("con", r"'con' cannot be"), ("D", r"own/D': differs from 'd' only in")):
        shutil.copytree(work / "own/d", work / "own" / name)
        with pytest.raises(UserError, match=said):
            imported.write(work / "own", work / "mine")
        shutil.rmtree(work / "own" / name)
    with pytest.raises(UserError, match=r"'\.mine' cannot be the name of a study"):
        imported.write(work / "own", work / ".mine")
    imported.write(work / "own", work / "mine")
    with pytest.raises(UserError, match=r"mine' already exists; remove it, or name another folder"):
        imported.write(work / "own", work / "mine")


def test_most_models_worse_than_the_most_frequent_class_are_noted(work):
    labels, predictions = made(2)
    reversed_ = {part: array[:, :, ::-1] for part, array in predictions.items()}
    write(work / "own/d", labels, reversed_)
    assert "check the order of classes and rows" in imported.write(work / "own", work / "mine")[1]


@pytest.mark.parametrize("task", ["classification", "regression"])
def test_rows_of_one_part_in_another_order_are_noted(work, task):
    labels = {part: np.arange(size) % 3 for part, size in SIZES.items()}
    predictions = {part: np.stack([np.eye(3)[own]] * 6) for part, own in labels.items()}
    if task == "regression":
        labels = {part: own + np.arange(len(own)) / 700 for part, own in labels.items()}
        predictions = {part: np.stack([own] * 6) for part, own in labels.items()}
    write(work / "own/d", labels, predictions)
    file = work / "own/d/labels-test.csv"
    assert not any("check the order" in line for line in imported.write(work / "own", work / "a"))
    head, *rows = file.read_text().splitlines()
    file.write_text("\n".join([head, *rows[1:], rows[0]]) + "\n")
    lines = imported.write(work / "own", work / "mine")
    (note,) = (line for line in lines if "check the order" in line)
    assert "6 of 6 models are worse than predicting the m" in note and "on the test rows" in note


def test_labels_of_a_regression_that_are_no_numbers_are_named(work):
    labels, predictions = made(3)
    labels = {part: [f"{n / 7:.3f}" for n in range(len(own))] for part, own in labels.items()}
    labels["validation"][3] = "3,5"
    write(work / "own/d", labels, {part: own[:, :, 0] for part, own in predictions.items()})
    with pytest.raises(UserError, match=r"for a regression, labels are numbers, not '3,5'$"):
        imported.write(work / "own", work / "mine")
    labels["validation"][3] = "1e-400"
    pd.DataFrame({"label": labels["validation"]}).to_csv(
        work / "own/d/labels-validation.csv", index=False
    )
    with pytest.raises(UserError, match="label 1e-400 is 0 as a float"):
        imported.write(work / "own", work / "mine")


def test_labels_that_are_all_the_same_are_of_a_named_folder(work):
    labels, predictions = made(3)
    labels["validation"] = np.full(40, 3.5)
    labels["test"] = np.arange(60) / 7
    write(work / "own/d", labels, {part: own[:, :, 0] for part, own in predictions.items()})
    with pytest.raises(
        UserError, match=r"own/d': split: all training rows have the same target value"
    ):
        imported.write(work / "own", work / "mine")


def test_errors_are_compared_before_the_study_has_run(work):
    labels, predictions = made(3)
    write(work / "own/d", labels, predictions)
    imported.write(work / "own", work / "mine")
    outside.use([work / "mine"])
    (line,) = tables.describe(work / "mine/tables")
    assert "errors not checked" not in line
    folder = work / "mine/tables/d/fixed"
    found = pq.read_table(folder / "observations.parquet")
    errors = found["error"].to_pylist()
    place = found.schema.get_field_index("error")
    column = pa.array([errors[0] + 0.01, *errors[1:]])
    files.write_parquet(folder / "observations.parquet", found.set_column(place, "error", column))
    about = files.read_json(folder / "table.json")
    about["files"] = files.checksums(folder, about["files"])
    files.write_json(folder / "table.json", about)
    with pytest.raises(UserError, match=r"row 0: 'error' is .*, the loss of its predictions"):
        list(tables.describe(work / "mine/tables"))


def test_the_study_runs_from_the_command_line(work):
    """Its single best model is the best of those that a search has found."""
    labels, predictions = made(2)
    write(work / "own/d", labels, predictions)
    command = ["make", "--no-print-directory", "-C", str(ROOT), "table", f"FROM={work}/own"]
    ended = subprocess.run(
        [*command, f"OUTPUT={work}/mine"], capture_output=True, text=True, check=False
    )
    assert ended.returncode == 0, ended.stderr
    study = work / "mine/study.yaml"
    assert ended.stdout.splitlines()[-1] == f"snakemake --cores 2 --configfile {study}"
    ended = subprocess.run(
        ["snakemake", "--snakefile", str(ROOT / "Snakefile"), "--cores", "1", "--configfile",
         str(study), "--config", "repeats=2", "budget={evaluations: 6}", "--quiet", "all", "--",
         "results/mine/ensembles/d/bo/best/1/scores.parquet"],
        capture_output=True, text=True, check=False, env={**os.environ},
    )  # fmt: skip
    assert ended.returncode == 0, ended.stderr
    scores = pd.read_parquet("results/mine/ensembles/d/bo/best/1/scores.parquet")
    losses = errors(labels, predictions)
    assert scores["validation_error"].iloc[-1] == pytest.approx(
        min(loss["validation"] for loss in losses)
    )
    assert fetched.read(next(work.glob("results/data/*")))[1]["rows"] == 140
    content = json.loads(Jobs.load("mine/study.yaml").report())
    assert datasets.by(content, Path("results/mine")) == {"d": {"part": "part"}}


@pytest.mark.parametrize("name", ["fit_second", "train-time", "cpuSeconds"])
def test_columns_of_times_with_unknown_names_are_noted(tmp_path, name):
    """Their models would seem to take no time."""
    models = MODELS.assign(**{name: np.linspace(0, 1, len(MODELS))})
    write(tmp_path / "in/d", *made(3), models=models)
    said = imported.write(tmp_path / "in", tmp_path / "out")
    assert any(f"'{name}' is read as a hyperparameter; measured times" in line for line in said)


@pytest.mark.parametrize("name", ["error", "validation_error", "valLoss", "AUC", "test-score"])
def test_results_of_models_are_no_hyperparameters(tmp_path, name):
    """A search would see how good models are before it evaluates them."""
    models = MODELS.assign(**{name: np.linspace(0, 1, len(MODELS))})
    write(tmp_path / "in/d", *made(3), models=models)
    with pytest.raises(UserError, match=f"'{name}' looks like a result, which searches must not"):
        imported.write(tmp_path / "in", tmp_path / "out")
    for odd in ("-", "5%"):  # one word must not make the others harmless
        texts = ["0.5" if i else odd for i in range(len(MODELS))]
        MODELS.assign(**{name: texts}).to_csv(tmp_path / "in/d/models.csv", index=False)
        with pytest.raises(UserError, match=f"'{name}' looks like a result, which searches must"):
            imported.write(tmp_path / "in", tmp_path / "out")
    words = MODELS.assign(**{name: [f"hinge-{i}" for i in range(len(MODELS))]})
    words.to_csv(tmp_path / "in/d/models.csv", index=False)
    imported.write(tmp_path / "in", tmp_path / "out")
