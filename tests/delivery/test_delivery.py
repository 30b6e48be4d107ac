"""Delivering an ensemble of a finished search, and using what was delivered."""

import csv
import json
import os
import re
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_wine
from sklearn.frozen import FrozenEstimator
from sklearn.inspection import permutation_importance
from sklearn.metrics import accuracy_score
from sklearn.utils.estimator_checks import (
    check_estimator_repr,
    check_estimator_tags_renamed,
    check_valid_tag_types,
)
from sklearn.utils.validation import check_is_fitted

import predict as predict_script
from ensemble_search import table_search
from ensemble_search.data import sources
from ensemble_search.data.preparation import Categories, Numbers, Preparation
from ensemble_search.data.split import load_inputs
from ensemble_search.delivery import (
    build,
    calibration,
    card,
    limits,
    measures,
    onnx_ensemble,
    onnx_export,
    own_rows,
)
from ensemble_search.ensembles.base import Members, Pool
from ensemble_search.evaluation import live
from ensemble_search.evaluation.base import Evaluation
from ensemble_search.metrics.balanced_error import BalancedError
from ensemble_search.metrics.error import ERROR
from ensemble_search.predictor import ensemble, rows
from ensemble_search.predictor.ensemble import (
    MANIFEST,
    PREPARATION,
    calibrated,
    load_ensemble,
)
from ensemble_search.runtime import plugins
from ensemble_search.runtime.errors import UserError
from ensemble_search.runtime.files import checksums, sha256
from ensemble_search.scoring import ensemble_scores
from support import SCRIPTS, delivered_folder, finished_study, forks

pytestmark = pytest.mark.slow

SETTINGS = {"repeat": 0, "iteration": None, "rows": "train", "limits": {}, "calibrate": False,
            "onnx": False}  # fmt: skip
ABOUT = {"study": "tiny", "dataset": "wine", "method": "<b>RS-ES</b>", "metric": "error",
         "command": "snakemake"}  # fmt: skip
FRAME = load_wine(as_frame=True).data


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    folder = tmp_path_factory.mktemp("study")
    finished_study.make(folder)
    return folder


def deliver(root, output, **settings):
    source = build.Source(
        search=root / finished_study.SEARCH,
        split=root / finished_study.SPLIT,
        of={"dataset": "wine", "search": "random", "repeat": 0},
        ensemble={"type": "selection", "size": 5},
        seed=0,
        space="divbo-small",
        limits={"seconds": 60, "memory_mb": 4096},
        threads=1,
    )
    build.deliver(source, SETTINGS | settings, ABOUT, output)
    return output


@pytest.fixture(scope="module")
def delivered(root):
    return deliver(root, root / "delivered")


@pytest.fixture
def copied(delivered, tmp_path):
    return shutil.copytree(delivered, tmp_path / "elsewhere")


def test_it_predicts_as_the_ensemble_of_the_search(root, delivered):
    model = load_ensemble(delivered)
    check_is_fitted(model)
    parity = json.loads((delivered / "parity.json").read_text(encoding="utf-8"))
    assert parity["largest_difference_from_the_search"] == 0
    inputs = load_inputs(root / finished_study.SPLIT)
    stored = np.load(root / finished_study.SEARCH / "predictions-test.npy")
    places = [m["evaluation"] - 1 for m in model.manifest["members"]]
    by_hand = sum(w * stored[i].astype(float) for i, w in zip(places, model.weights_, strict=True))
    found = model.combine(model.member_predictions(inputs.X_test))
    np.testing.assert_allclose(found, by_hand, atol=1e-8)
    # From the raw rows: which are test rows is found by their features.
    features = model.prepare(FRAME)
    test = [int(np.flatnonzero((features == row).all(axis=1))[0]) for row in inputs.X_test]
    np.testing.assert_array_equal(model.predict_proba(FRAME.iloc[test]), found)
    labels = load_wine().target_names[found.argmax(axis=1)]
    assert model.predict(FRAME.iloc[test]).tolist() == labels.tolist()


def test_iterations_do_not_count_given_evaluations(root, tmp_path):
    shutil.copytree(root / "results", tmp_path / "results")
    file = tmp_path / finished_study.SEARCH / "search.json"
    manifest = json.loads(file.read_text(encoding="utf-8"))
    n = manifest["evaluations"]
    file.write_text(json.dumps(manifest | {"origin": {"given": n - 2, "fitted": 2}}))
    for number, last in ((1, n - 1), (2, n)):
        pool = ensemble_scores.load(file.parent, tmp_path / finished_study.SPLIT, 0)[0].first(last)
        expected = plugins.load("ensembles", "selection")(size=5).build(pool)
        made = deliver(tmp_path, tmp_path / "delivered", iteration=number)
        members = json.loads((made / "ensemble.json").read_text(encoding="utf-8"))["members"]
        assert {m["evaluation"] for m in members} == {i + 1 for i in expected.indices}
    with pytest.raises(UserError, match=r"iteration: the search has 2 evaluations, fewer than 3"):
        deliver(tmp_path, tmp_path / "delivered", iteration=3)


def test_the_forms_of_rows_that_it_takes(delivered):
    model = load_ensemble(delivered)
    expected = model.predict_proba(FRAME)
    assert expected.shape == (len(FRAME), 3)
    np.testing.assert_allclose(expected.sum(axis=1), 1)
    shuffled = FRAME.assign(more=1)[["more", *reversed(FRAME.columns)]]
    for form in (FRAME.to_numpy(), FRAME.to_numpy().tolist(), shuffled, dict(FRAME.astype(str))):
        np.testing.assert_array_equal(model.predict_proba(form), expected)
    assert model.predict(FRAME[:0]).shape == (0,)
    assert model.feature_names_in_.tolist() == list(FRAME)
    with pytest.raises(ValueError, match=r"X has 12 features, but .* is expecting 13"):
        model.predict(FRAME.to_numpy()[:, 1:])
    with pytest.raises(ValueError, match="Reshape your data"):
        model.predict(FRAME.to_numpy()[0])
    with pytest.raises(UserError, match="there is no column 'hue'; the ensemble needs alcohol"):
        model.predict(FRAME.drop(columns="hue"))
    with pytest.raises(UserError, match="cannot be fitted again"):
        model.fit(FRAME)


def test_a_member_that_cannot_predict_is_named(delivered):
    model = load_ensemble(delivered)
    evaluation = model.manifest["members"][1]["evaluation"]

    def fail(X):
        raise ValueError("input contains infinity")

    model.members_[1].predict_proba = fail
    with pytest.raises(UserError, match=f"evaluation {evaluation} cannot predict .* infinity"):
        model.predict(FRAME)


def test_tools_of_scikit_learn_take_it(delivered):
    model = load_ensemble(delivered)
    labels = load_wine().target_names[load_wine().target]
    assert model.score(FRAME, labels) == np.mean(model.predict(FRAME) == labels) > 0.9
    for wrong in (labels[:1], labels[:, None], None):
        with pytest.raises(UserError, match=r"y has the shape .* 178 rows need 178 values"):
            model.score(FRAME, wrong)
    with pytest.raises(ValueError, match="Complex data not supported"):
        model.predict(FRAME.to_numpy(complex))
    found = permutation_importance(model, FRAME, labels, n_repeats=1, random_state=0)
    assert found.importances_mean.max() > 0
    scaled = CalibratedClassifierCV(FrozenEstimator(model)).fit(FRAME, labels)
    assert scaled.predict_proba(FRAME).shape == (len(FRAME), 3)
    for check in (
        check_estimator_repr,
        check_estimator_tags_renamed,
        check_valid_tag_types,
    ):
        check(type(model).__name__, model)


def test_onnx_leaves_out_members_that_cannot_be_converted(root, delivered, tmp_path, monkeypatch):
    """The first member of the ensemble: the others predict as the smaller ensemble does."""
    first = load_ensemble(delivered).manifest["members"][0]["evaluation"]
    export, rejected = onnx_export.export, []

    def without_the_first(*arguments):
        if not rejected:
            rejected.append(first)
            raise onnx_export.NotConvertible("no counterpart")
        return export(*arguments)

    monkeypatch.setattr(onnx_export, "export", without_the_first)
    folder = deliver(root, tmp_path / "onnx", onnx=True)
    said = f"not in ONNX: evaluation {first} (no counterpart): "
    assert said in (folder / "card.md").read_text(encoding="utf-8").replace("\\", "")
    model = load_ensemble(folder)
    used = [member["evaluation"] for member in model.manifest["members"]]
    assert used and first not in used
    parity = json.loads((folder / "parity.json").read_text(encoding="utf-8"))
    assert list(parity["largest_difference_of_onnx"]) == [str(number) for number in used]
    said = (folder / "card.html").read_text(encoding="utf-8")
    assert "pipeline.onnx reproduce them within" in said
    assert "ensemble.onnx, from columns to output, does so within" in said
    assert (folder / "ensemble.onnx").is_file()
    features, found = model.prepare(FRAME), 0
    for member, weight in zip(model.manifest["members"], model.weights_, strict=True):
        content = (folder / member["folder"] / "pipeline.onnx").read_bytes()
        found = found + weight * onnx_export.predict(content, features)
    np.testing.assert_allclose(found, model.predict_proba(FRAME), atol=1e-5)


def test_a_graph_that_cannot_be_is_a_note(root, tmp_path, monkeypatch):
    monkeypatch.setattr(onnx_ensemble, "impossible", lambda preparation: ["column 'a' is text"])
    folder = deliver(root, tmp_path / "onnx", onnx=True)
    assert not (folder / "ensemble.onnx").exists()
    said = (folder / "card.html").read_text(encoding="utf-8")
    assert "Note: there is no ensemble.onnx: column &#39;a&#39; is text." in said


@pytest.mark.parametrize("kind", [int, bool])
def test_labels_are_predicted_as_they_are_in_the_table(kind, tmp_path, monkeypatch):
    """So that scikit-learn's scores accept them; ONNX has their text."""
    raw, labels = sources.read({"sklearn": "wine"}, {}), load_wine().target.astype(kind)
    raw = replace(raw, frame=raw.frame.assign(**{raw.target: labels}))
    monkeypatch.setattr(sources, "read", lambda *given: raw)
    finished_study.make(tmp_path)
    folder = deliver(tmp_path, tmp_path / "made", rows="all", onnx=True)
    model = load_ensemble(folder)
    assert model.classes_.tolist() == [*map(kind, range(kind(2) + 1))]
    found = model.predict(FRAME)
    assert accuracy_score(labels, found) == model.score(FRAME, labels) > 0.9
    rows = onnx_ensemble.inputs(model.preparation, FRAME)
    text, _ = onnx_ensemble.session((folder / "ensemble.onnx").read_bytes()).run(None, rows)
    assert text.tolist() == [*map(str, found.tolist())]


def test_the_card_tests_on_a_file_of_its_own(root, tmp_path):
    names = load_wine().target_names
    rows = FRAME.assign(target=names[load_wine().target]).iloc[::3]
    rows.iloc[:2, -1] = "another", None
    rows.to_csv(tmp_path / "more.csv", index=False)
    folder = deliver(root, tmp_path / "made", rows="all", test=str(tmp_path / "more.csv"))
    rows, model = rows[2:], load_ensemble(folder)
    wrong = (model.predict(rows) != rows["target"]).mean()
    said = (folder / "card.md").read_text(encoding="utf-8")
    assert f"{len(rows)} test rows of more.csv, which also are in the table in part." in said
    assert f"| error | {wrong:.4g} |" in said
    assert (
        "rows of more.csv with an unknown class in 'target' are left out: 1, such as 'another'"
        in said
    )
    assert "rows of more.csv without a value of 'target' left out: 1" in said
    assert "Caution: 1 row of more.csv, with a class that the table lacks, would be" in said
    assert "refitted on all rows" in said
    assert "is not fitted again: it stays that of the training rows" in said
    assert "Before they were refitted" not in said
    copies = f"{len(rows)} of the {len(rows)} test rows are also in the table"
    assert copies in said
    assert {row["column"] for row in model.explain()} == set(FRAME)


def test_rows_of_a_file_to_test_on(tmp_path):
    columns = [Numbers("a", "numeric", {"a": 0.0})]
    prepared = {"target": "y", **Preparation(columns, ["a"]).to_json()}
    described = {"target": {"mean": 10.0, "std": 2.0}, "by": {"group": "g", "weight": "w"}}
    file = tmp_path / "rows.csv"

    def read(text):
        file.write_text(text, encoding="utf-8")
        return own_rows.read(str(file), prepared, described, [])

    found = read("w,y,g,a\n1,12,p,3\n2,8,q,\n1,,q,1\n3,10,p,x\n")
    assert found.X.tolist() == [[3], [0], [0]]
    assert found.labels.tolist() == [1, -1, 0]
    assert found.weights.tolist() == [1, 2, 3]
    assert found.groups.tolist() == [0, 1, 0]
    assert read("w;y;g;a\n1,5;12;p;3\n2,5;8;q;1\n").weights.tolist() == [1.5, 2.5]
    assert read("w;y;g;a\n1;12,5;p;3\n2;8,5;q;1\n").labels.tolist() == [1.25, -0.75]
    assert "rows of rows.csv without a number in 'y' are left out: 1" in found.notes[0]
    unread = "column 'a': 1 value that cannot be read, treated as missing: 'x'"
    assert found.notes[1].startswith(f"rows.csv: {unread}")  # the table may have such a note, too
    uneven = read("w,y,g,a\n1e9,12,p,3\n" + "1,8,q,1\n" * 20).notes
    assert [note.partition(" weights rows")[0] for note in uneven] == ["rows.csv: column 'w'"]
    long = read(f"y,g,a,w\n1,2,3,1\n{'x' * 999},2,3,1\n").notes[0]
    assert long.endswith(f"are left out: 1, such as '{'x' * 39}…'")
    for text, line in (
        ("y,g,w\n1,2,3\n", "has no column 'a'"),
        ("y,g,a\n1,2,3\n", "has no column 'w'"),
        ("y,g,a,w\n1,2,3,0\n", "column 'w': has the weight 0; weights must be above 0"),
        ("y,g,a,w\n1,2,3,1\n1,,3,1\n", "column 'g': has no value, .* in 1 row"),
        ("y,g,a,w\n?,2,3,1\n", "has no row with a known value of 'y'; it has values such as"),
        ("y;g;a;w\n3,500;2;3;1\n", "'y'; it has values such as '3,500'; write them as -1234.5"),
        ("y,g,a,w\n", "has no rows"),
        ("y,g,a,w\n1,2,p,1\n2,2,,1\n", "column 'a' of .* has no number, unlike that of the table"),
    ):
        with pytest.raises(UserError, match=line):
            read(text)


def test_a_file_to_test_on_has_the_classes_of_the_study(tmp_path):
    prepared = {
        "target": "y",
        **Preparation([Numbers("a", "numeric", {"a": 0.0})], ["a"]).to_json(),
    }
    file = tmp_path / "rows.csv"
    file.write_text("a,y\n1,u\n2,v\n3,w\n4,x\n", encoding="utf-8")
    found = own_rows.read(str(file), prepared, {}, ["u", "v+w"], ["u", ["v", "w"]])
    assert found.labels.tolist() == [0, 1, 1] and found.unknown == 0
    note = "rows of rows.csv with another class in 'y' are left out: 1, such as 'x'"
    assert [*found.notes] == [note]
    assert own_rows.read(str(file), prepared, {}, ["u", "v"]).unknown == 2


def test_columns_that_are_not_needed_may_hold_anything_in_a_file_to_test_on(tmp_path):
    prepared = {
        "target": "y",
        **Preparation([Numbers("a", "numeric", {"a": 0.0})], ["a"]).to_json(),
    }
    table = pd.DataFrame({"a": [1.0, 2.0], "tags": [["p"], ["q", "r"]], "y": ["u", "v"]})
    table.to_parquet(tmp_path / "rows.parquet")
    file = str(tmp_path / "rows.parquet")
    assert own_rows.read(file, prepared, {}, ["u", "v"]).X.tolist() == [[1], [2]]
    table_search._check_test(file, "y", {"columns": {"a": "numeric"}})
    with pytest.raises(UserError, match=r"^--test: column 'tags' of .* holds list"):
        table_search._check_test(file, "y", {"columns": {"tags": "categorical"}})


def test_onnx_needs_a_member(root, tmp_path, monkeypatch):
    def reject(*arguments):
        raise onnx_export.NotConvertible("no counterpart")

    monkeypatch.setattr(onnx_export, "export", reject)
    with pytest.raises(UserError, match=r"deliver.onnx: no member .*\(no counterpart\)"):
        deliver(root, tmp_path / "none", onnx=True)
    assert not (tmp_path / "none").exists()


def predict(folder, blocked, *arguments):
    """Run the folder's own program; modules in ``blocked``, if it is a folder, hide others."""
    environment = {**os.environ, "PYTHONPATH": str(blocked)}
    if blocked is None:
        environment = forks.environment(folder.parent)
    python = "python" if blocked is None else sys.executable
    return subprocess.run(
        [python, str(folder / "predict.py"), *map(str, arguments)],
        capture_output=True, text=True, env=environment, check=False, timeout=300,
    )  # fmt: skip


def test_the_folder_predicts_a_csv_file_by_itself(copied, delivered, tmp_path):
    file, output = tmp_path / "new.csv", tmp_path / "predictions.csv"
    FRAME.assign(alcohol=["?", "text", *FRAME["alcohol"][2:]], more="x").to_csv(file, index=False)
    blocked = tmp_path / "blocked"
    blocked.mkdir()
    for name in ("pandas", "pyarrow", "pydantic", "snakemake", "ConfigSpace", "yaml", "psutil",
                 "lightgbm", "xgboost", "catboost"):  # fmt: skip
        (blocked / f"{name}.py").write_text("raise ImportError('blocked')", encoding="utf-8")
    done = predict(copied, blocked, "--model", copied, "--input", file, "--output", output)
    assert done.returncode == 0, done.stderr
    said = (
        "column 'alcohol': 1 value that cannot be read, treated as missing: 'text'; write numbers"
    )
    assert said in done.stderr
    found = list(csv.reader(output.open(encoding="utf-8")))
    assert found[0] == ["target", *(f"probability of class_{k}" for k in range(3))]
    model = load_ensemble(delivered)
    expected = model.predict_proba(FRAME.assign(alcohol=[None, None, *FRAME["alcohol"][2:]]))
    np.testing.assert_array_equal([row[1:] for row in found[1:]], expected.astype(str))


def test_scikit_learn_is_needed_by_nearest_neighbours_only(copied, tmp_path):
    """These are not in the smaller space; requirements and checks of versions do not ask for it."""
    needed = (copied / "requirements.txt").read_text(encoding="utf-8")
    assert "numpy==" in needed
    assert "scikit" not in needed
    (tmp_path / "sklearn.py").write_text("raise ModuleNotFoundError('no', name='sklearn')")
    FRAME[:3].to_csv(tmp_path / "new.csv", index=False)
    arguments = ("--model", copied, "--input", tmp_path / "new.csv", "--output", tmp_path / "o.csv")
    done = predict(copied, tmp_path, *arguments)
    assert (done.returncode, done.stderr.count("\n")) == (0, 1), done.stderr


@pytest.mark.parametrize("task", ["classification", "regression"])
def test_thresholds_and_intervals_are_for_their_tasks(tmp_path, task):
    folder, file, output = (tmp_path / name for name in ("m", "new.csv", "out.csv"))
    delivered_folder.make(folder, task)
    build.copy_code(folder)
    pd.DataFrame(delivered_folder.columns(20)).to_csv(file, index=False)
    arguments = ("--model", folder, "--input", file, "--output", output)
    said = {
        "--threshold": "it is for two classes, and this ensemble is of "
        + ("3 classes" if task == "classification" else "a regression"),
        "--interval": "it is for predictions of numbers" if task == "classification" else
        "an interval for a share of 0.9 needs 9 validation rows (effective ones, if they have "
        "weights), and this ensemble has 0; deliver it again",
    }  # fmt: skip
    for option, why in said.items():
        done = predict(folder, None, *arguments, option, "0.9")
        assert (done.returncode, done.stderr.count("\n")) == (2, 1), done.stderr
        assert why in done.stderr
        done = predict(folder, None, *arguments, option, "1")
        assert f"{option}: 1 is not between 0 and 1" in done.stderr
    assert not output.exists()
    if task == "regression":
        manifest = json.loads((folder / MANIFEST).read_text())
        delivered_folder.write_manifest(
            folder, {**manifest, "residuals": [0.1 * i for i in range(9)]}
        )
        assert predict(folder, None, *arguments, "--interval", "0.9").returncode == 0
        found = pd.read_csv(output)
        # The ninth of nine residuals, 0.8, and a standard deviation of 2.
        np.testing.assert_allclose(found["upper"] - found["t"], 1.6)
        np.testing.assert_allclose(found["t"] - found["lower"], 1.6)
        done = predict(folder, None, *arguments, "--interval", "0.95")
        assert "needs 19 validation rows " in done.stderr
        assert "and this ensemble has 9; choose at most 0.9" in done.stderr
        for odd in ([0.2, 0.1], [-1.0], "x"):
            delivered_folder.write_manifest(folder, {**manifest, "residuals": odd})
            with pytest.raises(UserError, match=r"ensemble\.json"):
                load_ensemble(folder)


def test_a_threshold_predicts_the_second_class_from_a_probability_on(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["predict.py", "--threshold", "0.3", "--model", "m",
                                      "--input", "in.csv", "--output", "out.csv"])  # fmt: skip
    monkeypatch.chdir(tmp_path)
    (tmp_path / "in.csv").write_text("a,b\n" + "1,2\n" * 4)
    column = Numbers("a", "numeric", {"a": 1.0})
    model = SimpleNamespace(
        classes_=np.array(["no", "yes"]), rows_=100, notes_=[], feature_names_in_=["a"],
        manifest={"target": "left", "files": {}}, preparation=Preparation([column], ["a"]),
        predict_both=lambda X: (None, np.array([[0.71, 0.29], [0.7, 0.3], [0.2, 0.8], [1, 0]])),
    )  # fmt: skip
    monkeypatch.setattr(ensemble, "load_ensemble", lambda *arguments: model)
    # That of the whole process, which other tests share.
    monkeypatch.setattr(predict_script.csv, "field_size_limit", lambda size: None)
    predict_script.main()
    assert pd.read_csv(tmp_path / "out.csv")["left"].tolist() == ["no", "yes", "yes", "no"]


def test_intervals_hold_as_many_new_values_as_promised():
    """If the residuals are of rows like the new ones."""
    rng = np.random.default_rng(0)
    model = object.__new__(ensemble.DeliveredRegressor)
    inside = []
    for _ in range(300):
        model._residuals = sorted(np.abs(rng.standard_t(3, 50)).tolist())
        inside.append(np.mean(np.abs(rng.standard_t(3, 200)) <= model.half_width(0.9)))
    assert np.mean(inside) == pytest.approx(46 / 51, abs=0.01)  # the 46th of 50


def test_a_missing_library_is_named(copied, tmp_path):
    (tmp_path / "numpy.py").write_text("raise ModuleNotFoundError('no', name='numpy')")
    (tmp_path / "new.csv").write_text("x")
    arguments = ("--model", copied, "--input", tmp_path / "new.csv", "--output", tmp_path / "o.csv")
    done = predict(copied, tmp_path, *arguments)
    assert done.returncode == 2
    assert re.fullmatch(
        r"error: this Python \(.*\) has no module 'numpy': install .*\n", done.stderr
    )


def test_links_pipes_and_devices_stay_what_they_are(copied, tmp_path):
    """And what is said of new rows is safe for a terminal."""
    file, link, pipe = (tmp_path / name for name in ("new.csv", "link.csv", "pipe.csv"))
    long = "x" * 200_000  # more than Python's limit of a field
    FRAME[:2].assign(alcohol=["\x1b[31mred", "13"], more=long).to_csv(file, index=False)
    (tmp_path / "real").mkdir()
    (tmp_path / "real/out.csv").write_text("old")
    link.symlink_to("real/out.csv")
    os.mkfifo(pipe)
    arguments = ("--model", copied, "--input", file, "--output")
    told = predict(copied, None, *arguments, "/dev/stdout")
    assert told.stdout.startswith("target,probability of class_0")
    assert "'\\x1b[31mred'" in told.stderr
    assert predict(copied, None, *arguments, link).returncode == 0
    assert link.is_symlink()
    assert (tmp_path / "real/out.csv").read_text(encoding="utf-8") == told.stdout
    with subprocess.Popen(["cat", str(pipe)], stdout=subprocess.PIPE, text=True) as reader:
        try:
            assert predict(copied, None, *arguments, pipe).returncode == 0
            assert reader.communicate(timeout=60)[0] == told.stdout
        finally:
            reader.kill()  # if nobody opened the pipe, it would wait forever
    assert pipe.is_fifo()


@pytest.mark.parametrize(
    ("rows", "says"),
    [
        (pd.concat([FRAME, FRAME[["hue"]]], axis=1), "two columns called 'hue'; rename one"),
        (dict(FRAME.iloc[0]), "column 'alcohol' is one value; give a list of values"),
        (FRAME.assign(hue=[[1]] * len(FRAME)), "column 'hue' holds lists or the like"),
        (dict(FRAME) | {"hue": np.ones((len(FRAME), 2))}, "column 'hue' has 2 dimensions"),
        (dict(FRAME) | {"hue": np.array(1.0)}, "column 'hue' has 0 dimensions"),
        (dict(FRAME) | {"hue": set(range(len(FRAME)))}, "column 'hue' is a set; give a list"),
        (dict(FRAME) | {"hue": dict(FRAME["hue"])}, "column 'hue' is a dict; give a list"),
    ],
)
def test_rows_of_an_odd_form_are_told_by_their_column(delivered, rows, says):
    with pytest.raises(UserError, match=says):
        load_ensemble(delivered).predict(rows)


def test_masked_values_are_missing(delivered):
    model = load_ensemble(delivered)
    values = np.ma.array(FRAME.to_numpy(), mask=False)
    values[::2, 3] = np.ma.masked
    missing = FRAME.copy()
    missing.iloc[::2, 3] = np.nan
    expected = model.predict_proba(missing)
    assert (expected != model.predict_proba(FRAME)).any()
    for masked in (values, dict(zip(FRAME, values.T, strict=True))):
        np.testing.assert_array_equal(model.predict_proba(masked), expected)


def test_mistakes_at_the_command_line_get_one_line(copied, tmp_path):
    fine = tmp_path / "new.csv"
    FRAME[:3].to_csv(fine, index=False)
    short = tmp_path / "short.csv"
    short.write_text(fine.read_text(encoding="utf-8") + "1,2\n", encoding="utf-8")
    FRAME[:3].rename(columns={"hue": "Hue"}).to_csv(tmp_path / "other.csv", index=False)
    FRAME[:3].drop(columns=["hue", "proline"]).to_csv(tmp_path / "fewer.csv", index=False)
    (tmp_path / "empty.csv").write_bytes(b"")
    (tmp_path / "latin.csv").write_bytes(fine.read_bytes() + b"\x81\n")
    # In one process: each start takes seconds.
    program = (
        "import sys, predict\n"
        "from ensemble_search.runtime.errors import UserError\n"
        "for arguments in eval(sys.argv[1]):\n"
        "    sys.argv[1:] = arguments\n"
        "    try: predict.main(); print('done')\n"
        "    except UserError as error: print(error)\n"
    )
    cases = {
        ("no", fine): "'no' is not a delivered ensemble: it has no file 'ensemble.json'",
        (copied, "missing.csv"): "'missing.csv' cannot be read: No such file or directory",
        (copied, tmp_path / "other.csv"): "has no column 'hue'; did you mean 'Hue'?",
        (copied, tmp_path / "fewer.csv"): "has no columns 'hue', 'proline'; ",
        (copied, tmp_path / "empty.csv"): "line 1 of",
        (copied, tmp_path / "latin.csv"): "is neither UTF-8 nor Latin-1 text",
        (copied, short): "line 5 of",
        (copied, tmp_path): "Is a directory",
    }
    calls = [["--model", str(m), "--input", str(i), "--output", str(tmp_path / "out.csv")]
             for m, i in cases]  # fmt: skip
    calls.append(["--model", str(copied), "--input", str(fine), "--output", str(fine)])
    calls.append([*calls[1][:2], "--input", str(fine), "--output", str(tmp_path / "no/out.csv")])
    calls.append([*calls[1][:2], "--input", str(fine), "--output", str(tmp_path)])
    calls.append([*calls[1][:2], "--input", str(fine), "--output", str(copied / "predict.py")])
    done = subprocess.run(
        [sys.executable, "-c", program, repr(calls)],
        capture_output=True, text=True, cwd=copied, check=False, timeout=300,
    )  # fmt: skip
    lines = done.stdout.splitlines()
    expected = [*cases.values(), "--output: it is the file of --input", "there is no folder",
                "is a folder; name a file", "is a file of the ensemble"]  # fmt: skip
    assert len(lines) == len(expected), done.stdout + done.stderr
    for line, text in zip(lines, expected, strict=True):
        assert text in line
    assert not (tmp_path / "out.csv").exists()


def test_a_changed_folder_is_rejected(copied):
    manifest = (copied / MANIFEST).read_bytes()
    load_ensemble(copied, sha256(copied / MANIFEST))
    with pytest.raises(UserError, match="it is another ensemble, or was changed"):
        load_ensemble(copied, "0" * 64)
    for name in json.loads(manifest)["files"]:
        whole = (copied / name).read_bytes()
        (copied / name).write_bytes(whole + b" ")
        with pytest.raises(UserError, match="was changed after the delivery"):
            load_ensemble(copied)
        (copied / name).unlink()
        with pytest.raises(UserError, match="is missing"):
            load_ensemble(copied)
        (copied / name).write_bytes(whole)
    load_ensemble(copied)


@pytest.mark.parametrize(
    ("forge", "said"),
    [
        (lambda m: m.update(format=1), "it has the format 1, this version reads 2"),
        (lambda m: m["members"][0].update(folder="../../secret"), "is not 'members/1'"),
        (lambda m: m["files"].update({"/etc/passwd": "0"}), "outside of its folder"),
        (lambda m: m["files"].update({"./card.md": "0"}), "outside of its folder"),
        (
            lambda m: m["versions"].update({f"numpy{'-' * i}": "1" for i in range(20)}),
            "more than 20",
        ),
        (lambda m: m["members"][0].update(weight=-1), "a weight is not a number from 0 to 1"),
        (lambda m: m["members"][0].update(weight="nan"), "a weight is not a number"),
        (lambda m: m["members"][0].update(weight=True), "a weight is not a number"),
        (lambda m: m["members"][0].update(weight=1e-9), "not positive with sum 1"),
        (lambda m: m["members"][0].update(folder="elsewhere"), "is not 'members/1'"),
        (lambda m: m["members"].append(m["members"][0]), "sum 1"),
        (
            lambda m: m["files"].pop(f"{m['members'][0]['folder']}/member.npz"),
            "not among the files",
        ),
        (lambda m: m.update(members=[]), "not positive with sum 1"),
        (lambda m: m.update(temperature=0), "temperature"),
        (lambda m: m.update(temperature=1e-320), "the temperature is not a number from 0.05 to 20"),
        (lambda m: m.update(temperature="nan"), "the temperature is not a number"),
        (lambda m: m.update(task="shell"), "KeyError"),
        (lambda m: m.pop("classes"), "KeyError"),
        (lambda m: m.update(classes=["a", "b", "c", "d"]), "not those of the members"),
        (lambda m: m.update(classes=["a", "b", "a"]), "not those of the members"),
        (lambda m: m.update(combination="product"), "is none of mean, votes"),
        (lambda m: m.update(target=None), "the target is not text"),
        (lambda m: m["files"].pop("preparation.json"), "not among the files that were delivered"),
        (lambda m: m["files"].update({"x" * 5000: "0"}), "no name is so long"),
        (lambda m: m["members"][0].update(folder="é" * 200), "is not 'members/1'"),
        (lambda m: m["versions"].update({"no-such-library": "1"}), "which is not installed"),
    ],
)
def test_a_forged_manifest_is_rejected_in_one_line(copied, forge, said):
    manifest = json.loads((copied / MANIFEST).read_text(encoding="utf-8"))
    forge(manifest)
    (copied / MANIFEST).write_text(json.dumps(manifest), encoding="utf-8")
    with pytest.raises(UserError, match=said) as error:
        load_ensemble(copied)
    assert "\n" not in str(error.value)


def test_files_of_terabytes_are_rejected_before_they_are_read(copied):
    with open(copied / "parity.json", "wb") as sparse:
        sparse.truncate(2**40)
    with pytest.raises(UserError, match="have more than 8 GiB"):
        load_ensemble(copied)


@pytest.mark.parametrize("name", ["card.md", MANIFEST])
def test_a_link_out_of_the_folder_is_rejected(copied, tmp_path, name):
    shutil.move(copied / name, tmp_path / name)
    (copied / name).symlink_to(tmp_path / name)
    with pytest.raises(UserError, match=f"{name}' is a link; copy"):
        load_ensemble(copied)


def test_members_behind_a_link_are_rejected(copied):
    (copied / "members").rename(copied / "others")
    (copied / "members").symlink_to("others")
    with pytest.raises(UserError, match="members' is a link; copy"):
        load_ensemble(copied)


def another_version(folder):
    manifest = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
    manifest["versions"]["scikit-learn"] = "1.0\n"
    (folder / MANIFEST).write_text(json.dumps(manifest), encoding="utf-8")
    return manifest


def test_another_version_of_a_library_is_told(copied, tmp_path):
    another_version(copied)
    with pytest.warns(UserWarning, match=r"made with scikit-learn 1\.0.*, this is"):
        load_ensemble(copied)


def test_another_version_is_told_before_what_may_be_its_consequence(copied, tmp_path):
    """Its own program prints the warning, then the error, which begins with the versions, too."""
    manifest = another_version(copied)
    name = f"{manifest['members'][0]['folder']}/member.npz"
    (copied / name).write_bytes(b"PK")
    manifest["files"][name] = sha256(copied / name)
    (copied / MANIFEST).write_text(json.dumps(manifest), encoding="utf-8")
    (tmp_path / "new.csv").write_text("x")
    arguments = ("--model", copied, "--input", tmp_path / "new.csv", "--output", tmp_path / "o.csv")
    done = predict(copied, None, *arguments)
    warning, error = done.stderr.splitlines()
    told = r"the ensemble was made with scikit-learn 1\.0.*, this is .*requirements\.txt"
    assert re.match(f"warning: {told}", warning)
    assert re.match(rf"error: {told} .*\. cannot read '.*/member\.npz': ", error)
    assert "forged" not in done.stderr
    assert done.returncode == 2


def test_a_huge_manifest_is_not_read(copied):
    with (copied / MANIFEST).open("ab") as file:
        file.truncate(2**40)
    with pytest.raises(UserError, match="it has more than 16 MiB"):
        load_ensemble(copied)


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("plain", "plain"), ("", ""), ("-1", "-1"), ("+1.5e3", "+1.5e3"), ("-", "-"), ("+", "+"),
        ("a=b", "a=b"), ("<=50K", "<=50K"), ("ä, \"ö\"", "ä, \"ö\""), ("-inf", "-inf"),
        ("=1+1", "'=1+1"), ("+cmd|' /C calc'!A0", "'+cmd|' /C calc'!A0"), ("@SUM(A1)", "'@SUM(A1)"),
        ("-2+3", "'-2+3"), (" =1+1", "' =1+1"), ("\t=1", "\\t=1"), ("\x1b[31m", "\\x1b[31m"),
        ("a\r\nb", "a\\r\\nb"), ("\x00", "\\x00"), ("＝1+1", "'＝1+1"), ("a; =1+1", "a;' =1+1"),
        ("a;b", "a;b"), ("1_000", "1_000"), ("a\u202eb", "a\\u202eb"), ("\ud800", "\\ud800"),
        *((word, word) for word in ("très\xa0bon", "👩\u200d💻", "東京\u3000都", "co\xadop")),
    ],
)  # fmt: skip
def test_text_that_a_spreadsheet_or_a_terminal_would_run_is_written_safely(text, written):
    assert rows.safe(text) == written


def test_names_of_classes_reach_the_file_safely(copied, tmp_path):
    manifest = json.loads((copied / MANIFEST).read_text(encoding="utf-8"))
    manifest |= {"target": "\x1b]0;t", "classes": ["=1+1", "-1", "c"]}
    prepared = json.loads((copied / PREPARATION).read_text(encoding="utf-8"))
    prepared["target"] = manifest["target"]
    (copied / PREPARATION).write_text(json.dumps(prepared), encoding="utf-8")
    manifest["files"] |= checksums(copied, [PREPARATION])
    (copied / MANIFEST).write_text(json.dumps(manifest), encoding="utf-8")
    FRAME.to_csv(tmp_path / "new.csv", index=False)
    arguments = ("--model", copied, "--input", tmp_path / "new.csv", "--output", "/dev/stdout")
    done = predict(copied, None, *arguments)
    head, *lines = csv.reader(done.stdout.splitlines())
    assert head == ["\\x1b]0;t", *(f"probability of {c}" for c in ("=1+1", "-1", "c"))]
    assert {line[0] for line in lines} == {"'=1+1", "-1", "c"}
    escaped = sum(line[0] == "'=1+1" for line in lines)
    said = "note: values that a spreadsheet or a terminal would run are escaped in "
    assert f"{said}'names of columns' (1), '\\x1b]0;t' ({escaped}); Parquet" in done.stderr


def test_the_card_says_what_it_is_and_escapes_names(delivered):
    page = (delivered / "card.html").read_text(encoding="utf-8")
    assert "<b>RS-ES</b>" not in page
    assert "&lt;b&gt;RS-ES&lt;/b&gt;" in page
    text = (delivered / "card.md").read_text(encoding="utf-8")
    assert "\\<b\\>RS-ES" in text
    assert "Requested limits: none.\n" in text
    for title in ("How good is it?", "By class", "Calibration", "Columns", "The search", "Checks"):
        assert f"## {title}" in text
        assert f"<h2>{title}</h2>" in page


def test_the_card_warns_of_a_search_that_mostly_failed(root, tmp_path, monkeypatch, delivered):
    assert "were ok" not in (delivered / "card.md").read_text(encoding="utf-8")
    monkeypatch.setattr(build, "most_failed", lambda counts: f"{counts['ok']} were ok")
    text = (deliver(root, tmp_path / "out") / "card.md").read_text(encoding="utf-8")
    assert re.search(r"^Caution: \d+ were ok\.$", text, re.M)


def test_the_card_says_what_the_data_lost():
    columns = [Numbers("x", "numeric", {"x": 1.0}), Categories("c", ["a"], ["b"], "a")]
    preparation = Preparation(columns, ["x", "c"])
    note = "column 'x' has 2 values treated as missing: 'n/a' (2)"
    dropped = {"name": "9 of 9 values are distinct", "c=b": "variance is 1e-07 or less"}
    assert card._reading({"dropped": dropped, "notes": [note]}, preparation) == [
        note,
        "column 'name' dropped: 9 of 9 values are distinct",
    ]
    note = "column 'name' has 9 distinct among 9 values: dropped by the base preparation (UUIDs)"
    assert card._reading({"dropped": dropped, "notes": [note]}, preparation) == [note]
    assert card._reading({"dropped": {}}, preparation) == [
        "All columns and rows of the table were used unchanged."
    ]


def test_the_card_has_no_rounding_errors():
    assert [f"{card._near(n):.4g}" for n in (3.469e-18, -1e-17, 1.5e-9)] == ["0", "0", "1.5e-09"]


def test_limits_are_written_in_their_units():
    given = {"predict_ms_per_row": 10, "members": 3, "size_mb": 0.5}
    assert limits.in_words(given) == "3 pipelines, 0.5 MB, 10 ms per row"
    assert limits.in_words({"members": None}) == "none"


def test_limits_drop_members_and_select_again(root, tmp_path, delivered):
    """And refits on all rows, calibrated."""
    folder = deliver(root, tmp_path / "d", rows="all", calibrate=True, limits={"members": 1})
    model = load_ensemble(folder)
    assert len(model.members_) == 1
    heaviest = max(load_ensemble(delivered).manifest["members"], key=lambda m: m["weight"])
    assert model.manifest["members"][0]["evaluation"] == heaviest["evaluation"]
    assert model.manifest["temperature"] != 1
    text = (folder / "card.md").read_text(encoding="utf-8")
    assert "limits (1 pipeline)" in text
    assert "Requested limits: 1 pipeline.\n" in text
    assert "no rows are left to test them" in text
    own, once = load_inputs(root / finished_study.SPLIT), load_ensemble(delivered)
    assert not np.array_equal(  # fitted on other rows
        model.member_predictions(own.X_test)[0], once.member_predictions(own.X_test)[0]
    )
    # Numbers in rows that the members were refitted on are not outside the training rows' range.
    rows = np.concatenate([own.X_train, own.X_validation, own.X_test])
    low, high = np.transpose([column.ends for column in model.preparation.columns])
    assert np.array_equal(low, rows.min(axis=0)) and np.array_equal(high, rows.max(axis=0))
    low, high = np.transpose([column.ends for column in once.preparation.columns])
    assert np.array_equal(low, own.X_train.min(axis=0)) and not (high == rows.max(axis=0)).all()
    with pytest.raises(UserError, match="no member is within them; the cheapest have size_mb"):
        deliver(root, tmp_path / "e", limits={"size_mb": 1e-6})


def test_a_refit_that_takes_too_long_is_said_in_seconds_of_the_processor(
    root, tmp_path, monkeypatch, capsys
):
    evaluate, refitted = live.LiveEvaluator.evaluate, []

    def slow(self, *given, **more):
        found = evaluate(self, *given, **more)
        refitted.append(found)
        return found if len(refitted) > 1 else Evaluation(
            "timeout", validation=None, test=None, fit_seconds=1.0, cpu_seconds=1.0,
            predict_seconds=None, memory_mb=1.0, error_type="TimeoutError",
            message="more than 120 s of CPU time per thread, or 245 s wall-clock",
        )  # fmt: skip

    monkeypatch.setattr(live.LiveEvaluator, "evaluate", slow)
    text = (deliver(root, tmp_path / "d") / "card.md").read_text(encoding="utf-8")
    for said in (text, capsys.readouterr().err):
        assert "could not be refitted: evaluation" in said
        assert "(timeout: more than 120 s of CPU time)" in said
        assert "wall-clock" not in said


def test_rows_with_weights_are_refitted_and_tested_with_them(tmp_path):
    column = {"sklearn": "wine", "columns": {"weight": ["hue"]}}
    finished_study.make(tmp_path, datasets={"wine": column})
    inputs = load_inputs(tmp_path / finished_study.SPLIT)
    labels = np.load(tmp_path / finished_study.SPLIT / "test_labels.npy")
    for on in ("train", "train+validation", "all"):
        chosen = build.chosen_rows(inputs, labels, on)
        assert len(chosen.weights) == len(chosen.y_train)
    assert chosen.weights[-len(labels) :].tolist() == inputs.test_weights.tolist()
    text = (deliver(tmp_path, tmp_path / "out", rows="all") / "card.md").read_text("utf-8")
    assert "Rows are weighted by the column" in text
    assert "hue" not in text.partition("## Columns")[2].partition("## ")[0]


def test_the_time_of_a_call_is_not_that_of_a_row(root, tmp_path, delivered):
    """The few rows here would take long each if a call's fixed time was divided among them."""
    seconds = pd.read_parquet(root / finished_study.SEARCH / "observations.parquet")
    members = load_ensemble(delivered).manifest["members"]
    total = seconds["predict_seconds"].iloc[[m["evaluation"] - 1 for m in members]].sum()
    limits = {"predict_ms_per_row": 1000 * total / 1900}  # for 2000 rows, it suffices
    kept = load_ensemble(deliver(root, tmp_path / "d", limits=limits)).manifest["members"]
    assert [m["evaluation"] for m in kept] == [m["evaluation"] for m in members]


def test_affordable_members_by_hand():
    members = Members(np.array([2, 5, 7, 9]), np.array([0.4, 0.2, 0.2, 0.2]))
    errors = np.array([np.nan] * 5 + [0.3, 0, 0.1, 0, 0.2])
    costs = {"members": [1, 1, 1, 1], "size_mb": [5, 1, 3, 1]}
    kept = limits.affordable(members, errors, costs, {"size_mb": 7})
    # 5 MB of the heaviest; 3 more of 7, the best of the others, do not fit; 9 and 5 do.
    assert kept.tolist() == [0, 1, 3]
    assert limits.affordable(members, errors, costs, {"members": 2}).tolist() == [0, 2]
    assert limits.affordable(members, errors, costs, {}).tolist() == [0, 1, 2, 3]
    assert limits.affordable(members, errors, costs, {"size_mb": 0.5}).tolist() == []


def test_reselection_uses_the_candidates_only():
    rng = np.random.default_rng(0)
    predictions = rng.random((6, 40, 1)).astype(np.float32)
    labels = (predictions[0, :, 0] > 0.5).astype(int)
    errors = np.array([ERROR.loss(labels, p.astype(float)) for p in predictions])
    found = limits.reselected(Pool(predictions, labels, errors, 0), np.array([2, 3, 5]))
    assert set(found.indices.tolist()) <= {2, 3, 5}


def test_the_temperature_undoes_what_was_done():
    rng = np.random.default_rng(1)
    honest = rng.dirichlet([1, 1, 1], size=20_000)
    labels = (rng.random((len(honest), 1)) > honest.cumsum(axis=1)).sum(axis=1)
    found = calibration.temperature(calibrated(honest, 0.5), labels)
    assert found == pytest.approx(2, rel=0.05)
    curve = calibration.curve(honest, labels)
    assert calibration.expected_error(curve) < 0.02
    assert calibration.expected_error(calibration.curve(calibrated(honest, 0.2), labels)) > 0.1
    np.testing.assert_allclose(calibrated(np.array([[0.5, 0.5, 0], [0.8, 0.2, 0]]), 0.5),
                               [[0.5, 0.5, 0], [16 / 17, 1 / 17, 0]])  # fmt: skip


def test_rows_without_a_wrong_one_do_not_make_probabilities_certain():
    """By the log loss alone, the temperature would end at its lowest value."""
    labels = np.arange(120) % 2
    p = np.where(np.arange(2) == labels[:, None], 0.9, 0.1)
    for n in (120, 20):
        found = calibrated(p[:n], calibration.temperature(p[:n], labels[:n]))
        assert found.min(axis=1) == pytest.approx(1 / (n + 2))
    certain = np.eye(2)[labels]
    assert calibration.temperature(certain, labels) == 1


def test_intervals_by_hand():
    labels = np.array([0] * 10)
    predictions = np.array([[0.9]] + [[0.1]] * 9)  # one of ten is wrong
    low, high = measures.interval(ERROR, labels, predictions)
    assert (low, high) == pytest.approx((0.0179, 0.4042), abs=1e-4)  # Wilson's for 1 of 10
    low, high = measures.interval(ERROR, labels, np.zeros((10, 1)))
    assert low == 0, "and not 1.7e-18"
    assert high == pytest.approx(0.2775, abs=1e-4)
    labels = np.array([0, 1] * 100)
    predictions = np.where(np.arange(200) % 10 == 0, 0.9, labels)[:, None]
    low, high = measures.interval(BalancedError(), labels, predictions)
    assert low < BalancedError().loss(labels, predictions) < high


def test_chunks_of_a_file_are_its_rows(tmp_path):
    file = tmp_path / "f.csv"
    file.write_text('a, b,c\n1,"x,\ny",3\n\n4, 5,6\n7,8,9\n', encoding="utf-8")
    for size in (1, 2, 3):
        found = [columns for columns, _ in rows.chunks(file, ["b", "a"], size)]
        assert all(len(columns["a"]) <= size for columns in found)
        assert [b for columns in found for b in columns["b"]] == ["x,\ny", "5", "8"]
        assert [a for columns in found for a in columns["a"]] == ["1", "4", "7"]


def test_the_code_that_is_copied_is_what_runs(delivered):
    for file in delivered.rglob("*.py"):
        name = file.relative_to(delivered)
        assert file.read_bytes() == (SCRIPTS / name).read_bytes()
    assert not list(delivered.rglob("*.pkl"))
    assert (
        pd.Series([p.suffix for p in (delivered / "members").rglob("*.*")])
        .isin([".npz", ".json"])
        .all()
    )
    assert Path(delivered / "requirements.txt").read_text(encoding="utf-8").startswith("# Python 3")
