"""Scores of every iteration: by hand, recomputed from the members, and what is rejected."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from ensemble_search.ensembles.base import Members, Pool
from ensemble_search.ensembles.selection import Selection
from ensemble_search.problems import member_diversity
from ensemble_search.problems.classification import CLASSIFICATION
from ensemble_search.problems.regression import REGRESSION
from ensemble_search.results import readers
from ensemble_search.runtime import outside, plugins
from ensemble_search.runtime.errors import UserError
from ensemble_search.runtime.files import atomic, write_json, write_npy, write_parquet
from ensemble_search.scoring import ensemble_scores
from support import SCRIPTS, forks, made_results

pytestmark = pytest.mark.slow

BEST, SELECTION = {"type": "best"}, {"type": "selection", "size": 25}


def make(folder, n=40, n_classes=2, failed=(0, 1, 5, 39), seed=0):
    """Write the folders ``search`` and ``split`` as the jobs before leave them."""
    rng = np.random.default_rng([seed, n_classes])
    labels = {part: rng.integers(0, n_classes, size) for part, size in SIZES.items()}
    noise = rng.normal(size=(n, 1, 1)) ** 2 + 0.5
    search, split = folder / "search", folder / "split"
    errors = np.full(n, np.nan)
    for part, y in labels.items():
        odds = np.exp(np.eye(n_classes)[y] + noise * rng.normal(size=(n, len(y), n_classes)))
        predictions = (odds / odds.sum(axis=2, keepdims=True)).astype(np.float32)
        if part == "validation":
            errors = (predictions.argmax(axis=2) != y).mean(axis=1)
        predictions[list(failed)] = np.nan
        stored = predictions[:, :, 1:] if n_classes == 2 else predictions
        write_npy(search / f"predictions-{part}.npy", stored)
    errors[list(failed)] = np.nan
    columns = {
        "iteration": np.arange(1, n + 1),
        "status": ["timeout" if i in failed else "ok" for i in range(n)],
        "error": errors,
        "predict_seconds": np.where(np.isnan(errors), np.nan, rng.random(n)),
        "fidelity": 1.0,
    }
    write_parquet(search / "observations.parquet", pd.DataFrame(columns))  # null where failed
    write_json(search / "search.json", made_results.search_manifest(evaluations=n))
    write_npy(split / "test_labels.npy", labels["test"])
    with atomic(split / "inputs.npz") as path:
        classes = np.array([f"class {c}" for c in range(n_classes)])
        np.savez(path, y_validation=labels["validation"], classes=classes)
    return search, split


SIZES = {"validation": 90, "test": 70}


def read(output):
    return pd.read_parquet(output / "scores.parquet"), pd.read_parquet(output / "members.parquet")


def test_evaluations_on_a_share_of_the_rows_are_left_out(tmp_path):
    search, split = make(tmp_path)
    table = pd.read_parquet(search / "observations.parquet")
    low = table["error"].nsmallest(10).index
    table.loc[low, "fidelity"] = 0.5
    write_parquet(search / "observations.parquet", table)
    pool = ensemble_scores.load(search, split, 0)[0]
    assert np.isnan(pool.errors).sum() == table["error"].isna().sum() + 10
    ensemble_scores.write(search, split, SELECTION, 3, tmp_path / "out")
    members = read(tmp_path / "out")[1]
    assert not set(members["member"] - 1) & set(low)


@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("settings", [BEST, SELECTION], ids=lambda s: s["type"])
def test_scores_follow_from_the_members(tmp_path, n_classes, settings):
    """Every number of the table recomputed from the members' table and the stored arrays."""
    search, split = make(tmp_path, n_classes=n_classes, seed=5)
    ensemble_scores.write(search, split, settings, 3, tmp_path / "out")
    table, members = read(tmp_path / "out")
    columns = ["iteration", "validation_error", "test_error", "members", "predict_seconds"]
    assert table.columns.tolist() == columns
    assert members.columns.tolist() == ["iteration", "member", "weight"]
    assert table["iteration"].tolist() == list(range(1, 41))
    assert table["validation_error"].isna().tolist() == [True] * 2 + [False] * 38
    labels = {
        "validation": np.load(split / "inputs.npz")["y_validation"],
        "test": np.load(split / "test_labels.npy"),
    }
    arrays = {
        p: CLASSIFICATION.expand(np.load(search / f"predictions-{p}.npy")).astype(float)
        for p in labels
    }
    seconds = pd.read_parquet(search / "observations.parquet")["predict_seconds"]
    current = None
    for row in table.itertuples():
        changed = members[members["iteration"] == row.iteration]
        current = changed if len(changed) else current
        if current is None:
            assert row.members == 0 and np.isnan(row.test_error) and np.isnan(row.predict_seconds)
            continue
        assert row.members == current["member"].nunique() == len(current)
        assert current["member"].max() <= row.iteration
        assert row.predict_seconds == pytest.approx(seconds[current["member"] - 1].sum())
        for part, y in labels.items():
            mean = np.average(
                arrays[part][current["member"] - 1], axis=0, weights=current["weight"]
            )
            expected = np.mean(mean.argmax(axis=1) != y)
            assert getattr(row, f"{part}_error") == pytest.approx(expected, abs=1e-12)
    changes = members["iteration"].nunique()
    assert (3 if settings is SELECTION else 1) < changes < 38
    assert table["members"].max() > 3 if settings is SELECTION else (table["members"] <= 1).all()


def test_best_is_the_running_minimum_of_the_observed_errors(tmp_path):
    search, split = make(tmp_path)
    ensemble_scores.write(search, split, BEST, 0, tmp_path / "out")
    table, members = read(tmp_path / "out")
    observed = pd.read_parquet(search / "observations.parquet")["error"]
    assert table["validation_error"].tolist() == pytest.approx(
        observed.cummin().ffill().tolist(), nan_ok=True
    )
    assert members["member"].tolist() == members["iteration"].tolist()  # it changes to the newest


@pytest.mark.parametrize("metric", ["balanced-error", "auc"])
def test_the_metric_of_the_search_counts(tmp_path, metric):
    """Errors are losses by the metric that the search was made with; selection minimises them."""
    search, split = make(tmp_path, n_classes=3)
    manifest = made_results.search_manifest(evaluations=40, metric=metric)
    write_json(search / "search.json", manifest)
    ensemble_scores.write(search, split, SELECTION, 0, tmp_path / "out")
    table, members = read(tmp_path / "out")
    loss = plugins.load("metrics", metric)().loss
    pool, test, test_labels = ensemble_scores.load(search, split, 0)
    last = members[members["iteration"] == members["iteration"].max()]
    final = Members(last["member"].to_numpy() - 1, last["weight"].to_numpy())
    both = final.predict_both(pool.predictions, test)
    assert table["validation_error"].iloc[-1] == pytest.approx(loss(pool.labels, both[0]))
    assert table["test_error"].iloc[-1] == pytest.approx(loss(test_labels, both[1]))
    ensemble_scores.write(split=split, search=search, settings=BEST, seed=0, output=tmp_path / "b")
    alone = read(tmp_path / "b")[0]["validation_error"].iloc[-1]
    assert table["validation_error"].iloc[-1] < alone


def test_errors_by_hand(tmp_path):
    """Two evaluations of class 1 by 0.75, 0.25 and by 0.25, 1: first one, then both half each."""
    search, split = tmp_path / "search", tmp_path / "split"
    validation = np.float32([[0.75, 0.25, 0.75], [0.375, 1.0, 0.0]])[:, :, None]
    test = np.float32([[1.0, 0.0], [0.0, 1.0]])[:, :, None]  # the mean ties, so it is class 0
    write_npy(search / "predictions-validation.npy", validation)
    write_npy(search / "predictions-test.npy", test)
    columns = {"iteration": [1, 2], "error": np.array([2, 1]) / 3, "fidelity": [1.0, 1.0]}
    columns["predict_seconds"] = [0.5, 0.25]
    write_parquet(search / "observations.parquet", columns)
    write_json(search / "search.json", made_results.search_manifest(evaluations=2))
    write_npy(split / "test_labels.npy", np.array([0, 1]))
    with atomic(split / "inputs.npz") as path:
        np.savez(path, y_validation=np.array([1, 1, 0]), classes=np.array(["no", "yes"]))
    ensemble_scores.write(search, split, {"type": "selection", "size": 2}, 0, tmp_path / "out")
    table, members = read(tmp_path / "out")
    # Sums of the second and either one: 1.125 1.25 0.75 is always right, 0.75 2 0 errs once.
    assert table["validation_error"].tolist() == pytest.approx([2 / 3, 0])
    assert table["test_error"].tolist() == [1, 0.5]
    assert table["members"].tolist() == [1, 2]
    assert table["predict_seconds"].tolist() == [0.5, 0.75]
    assert members.to_dict("list") == {
        "iteration": [1, 2, 2],
        "member": [1, 1, 2],
        "weight": [1, 0.5, 0.5],
    }


@pytest.mark.parametrize("metric", ["error", "brier", "log-loss"])
@pytest.mark.parametrize("ensemble", ["selection", "agnostic-bayes"])
def test_losses_of_single_samples(tmp_path, metric, ensemble):
    """Their means are the test errors; those of labels are bits, and votes are counted."""
    search, split = make(tmp_path, n_classes=3)
    manifest = made_results.search_manifest(evaluations=40, metric=metric)
    write_json(search / "search.json", manifest)
    ensemble_scores.write(search, split, {"type": ensemble}, 0, tmp_path / "out")
    table, members = read(tmp_path / "out")
    iterations, losses = readers.losses(tmp_path / "out")
    assert iterations.tolist() == sorted(set(members["iteration"]))
    assert losses.shape == (len(iterations), SIZES["test"]) and len(iterations) > 2
    assert losses.dtype == (bool if metric == "error" else np.float32)
    stored = table.set_index("iteration")["test_error"]
    np.testing.assert_allclose(losses.mean(axis=1), stored[iterations], rtol=1e-6)
    if metric == "error" and ensemble == "selection":
        _, test, labels = ensemble_scores.load(search, split, 0)
        last = members[members["iteration"] == members["iteration"].max()]
        final = Members(last["member"].to_numpy() - 1, last["weight"].to_numpy())
        wrong = final.predict(test).argmax(axis=1) != labels
        assert losses[-1].tolist() == wrong.tolist()


def test_a_metric_without_losses_of_single_samples(tmp_path):
    search, split = make(tmp_path)
    manifest = made_results.search_manifest(evaluations=40, metric="auc")
    write_json(search / "search.json", manifest)
    ensemble_scores.write(search, split, BEST, 0, tmp_path / "out")
    iterations, losses = readers.losses(tmp_path / "out")
    assert len(iterations) and losses.shape == (len(iterations), 0)


def test_right_or_wrong_costs_one_bit(tmp_path):
    wrong = np.random.default_rng(0).random((100, 3001)) < 0.2
    for losses, room in ((wrong.astype(np.float32), 1), (wrong * np.float32(0.3), 32)):
        ensemble_scores.write_losses(tmp_path / "losses.npz", np.arange(1, 101), losses)
        assert (tmp_path / "losses.npz").stat().st_size < 100 * 3008 * room / 8 + 2000
        np.testing.assert_array_equal(readers.losses(tmp_path)[1], losses)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_the_diversity_of_the_last_members_is_stored(tmp_path, n_classes):
    search, split = make(tmp_path, n_classes=n_classes)
    ensemble_scores.write(search, split, SELECTION, 3, tmp_path / "out")
    members = read(tmp_path / "out")[1]
    last = members[members["iteration"] == members["iteration"].max()]
    assert last["weight"].nunique() > 1, "weights must differ"
    found = readers.ensemble(tmp_path / "out")["diversity"]
    assert found.pop("iteration") == 40
    for part, stored in found.items():
        p = np.load(search / f"predictions-{part}.npy")[last["member"] - 1]
        y = {"validation": np.load(split / "inputs.npz")["y_validation"],
             "test": np.load(split / "test_labels.npy")}[part]  # fmt: skip
        expected = member_diversity.measures(p, y)
        expected |= member_diversity.decompositions(p, y, last["weight"].to_numpy())
        assert stored == pytest.approx(expected, abs=1e-11)
        assert min(abs(np.array(list(stored.values())))) > 1e-6
    assert found["validation"] != found["test"] and len(found) == 2


def test_what_a_single_member_or_a_vote_does_not_have(tmp_path):
    search, split = make(tmp_path)
    ensemble_scores.write(search, split, BEST, 0, tmp_path / "best")
    part = readers.ensemble(tmp_path / "best")["diversity"]["test"]
    assert {part[name] for name in member_diversity.MEASURES} == {None}
    assert part["loss"] == part["member_loss"] and part["ambiguity"] == 0
    ensemble_scores.write(search, split, {"type": "agnostic-bayes"}, 0, tmp_path / "votes")
    part = readers.ensemble(tmp_path / "votes")["diversity"]["test"]
    assert tuple(part) == member_diversity.MEASURES and None not in part.values()


def test_a_regression_has_decompositions_only(tmp_path):
    rng = np.random.default_rng(0)
    labels = rng.normal(size=30)
    predictions = (labels + rng.normal(size=(4, 30)))[:, :, None].astype(np.float32)
    pool = Pool(predictions, labels, np.full(4, 0.5), 0, REGRESSION)
    members = Members(np.array([1, 3]), np.array([0.25, 0.75]))
    found = ensemble_scores.diversity([None, members], pool, predictions[:, :9], labels[:9])
    assert tuple(found["test"]) == member_diversity.DECOMPOSITIONS
    expected = member_diversity.decompositions(
        predictions[[1, 3]], labels, members.weights, "regression"
    )
    assert found["validation"] == pytest.approx(expected, abs=1e-11)


def test_errors_are_taken_only_where_the_ensemble_changed(tmp_path, monkeypatch):
    search, split = make(tmp_path)
    calls = []
    predict = Members.predict
    monkeypatch.setattr(Members, "predict", lambda self, p: calls.append(self) or predict(self, p))
    pool, *test = ensemble_scores.load(search, split, 0)
    built = Selection(size=SELECTION["size"]).build_prefixes(pool)
    _, members, _ = ensemble_scores.score(built, pool, *test)
    assert len(calls) == 2 * len(np.unique(members["iteration"])) < 60


def test_a_search_without_any_success(tmp_path):
    search, split = make(tmp_path, n=3, failed=(0, 1, 2))
    ensemble_scores.write(search, split, SELECTION, 0, tmp_path / "out")
    table, members = read(tmp_path / "out")
    assert table["validation_error"].isna().all() and table["test_error"].isna().all()
    assert table["members"].tolist() == [0, 0, 0]
    assert len(members) == 0
    assert readers.ensemble(tmp_path / "out")["diversity"] is None
    assert [str(t) for t in members.dtypes] == ["int64", "int64", "float64"]
    assert [part.shape for part in readers.losses(tmp_path / "out")] == [(0,), (0, SIZES["test"])]


def run_script(*arguments):
    return subprocess.run(
        ["python", SCRIPTS / "ensemble.py", *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
        env=forks.environment(Path.home()),
    )


def test_script_writes_the_same_bytes_as_the_library(tmp_path):
    search, split = make(tmp_path, n_classes=3)
    ensemble_scores.write(search, split, SELECTION, 7, tmp_path / "library")
    done = run_script(
        "--search", search, "--split", split, "--settings", json.dumps(SELECTION),
        "--seed", 7, "--output", tmp_path / "script",
    )  # fmt: skip
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert sorted(os.listdir(tmp_path / "script")) == [
        *("ensemble.json", "losses.npz", "members.parquet", "scores.parquet")
    ]
    for name in os.listdir(tmp_path / "script"):
        script, library = (tmp_path / d / name for d in ("script", "library"))
        assert script.read_bytes() == library.read_bytes()


def test_scores_say_what_they_were_made_with(tmp_path):
    import pyarrow.parquet as pq

    search, split = make(tmp_path)
    ensemble_scores.write(search, split, {"type": "selection", "size": 3}, 0, tmp_path / "out")
    metadata = pq.read_schema(tmp_path / "out/scores.parquet").metadata
    expected = {"type": "selection", "size": 3, "ties": "random", "metric": None}
    assert json.loads(metadata[b"ensemble_search.settings"]) == expected


def test_script_ends_with_one_line(tmp_path):
    search, split = make(tmp_path, n=4, failed=())
    common = ("--search", search, "--split", split, "--output", tmp_path / "out")
    stacking = ('{"type": "stacking"}', "--checkpoints", tmp_path / "fits", "--refits")
    limits = '{"seconds": 9}'
    for settings, message in (
        (("{type: best}",), "error: --settings is not JSON: "),
        (('{"type": "selektion"}',), "error: ensemble.type: there is no 'selektion'; did you mean"),
        ((*stacking, '{"space": "divbo"}'), "error: --refits: key 'limits' is missing; needed: "),
        ((*stacking, "7"), "error: --refits: key 'space' is missing; needed: space, limits"),
        (
            (*stacking, f'{{"space": "divbo", "limits": {limits}}}'),
            "error: --refits: limits: key 'memory_mb' is missing; needed: seconds, memory_mb",
        ),
    ):
        done = run_script(*common, "--settings", *settings)
        assert done.returncode == 2
        assert done.stderr.startswith(message) and done.stderr.count("\n") == 1
    assert not (tmp_path / "out").exists()


def test_nothing_heavy_is_imported(tmp_path):
    """Thousands of such jobs run, and pandas alone would double the time of one."""
    search, split = make(tmp_path)
    code = """
import sys
from pathlib import Path
from ensemble_search.scoring import ensemble_scores
search, split, output = map(Path, sys.argv[1:])
ensemble_scores.write(search, split, {"type": "selection"}, 0, output)
names = {"pandas", "sklearn", "lightgbm", "ConfigSpace", "matplotlib", "scipy", "pyarrow.dataset"}
print(sorted(names & set(sys.modules)), "pyarrow" in sys.modules)
"""
    done = subprocess.run(
        [sys.executable, "-c", code, search, split, tmp_path / "out"],
        capture_output=True,
        text=True,
        check=True,
        env=os.environ | {"PYTHONPATH": str(SCRIPTS)},
    )
    assert done.stdout == "[] True\n"


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"size": 25}, "ensemble: needs 'type:', one of agnostic-bayes, bagging, best, "),
        ([], "ensemble: needs 'type:', one of agnostic-bayes, bagging, best, "),
        ({"type": 3}, "ensemble: needs 'type:', one of agnostic-bayes, bagging, best, "),
        ({"type": "bests"}, "ensemble.type: there is no 'bests'; did you mean 'best'?"),
        (SELECTION | {"sice": 3}, "ensemble.sice: unknown key; did you mean 'size'?"),
        (BEST | {"size": 3}, "ensemble.size: unknown key; known: none"),
        (SELECTION | {"size": 0}, "ensemble.size: input should be greater than or equal to 1"),
    ],
)
def test_wrong_settings(tmp_path, settings, message):
    with pytest.raises(UserError) as caught:
        ensemble_scores.write(tmp_path, tmp_path, settings, 0, tmp_path / "out")
    assert str(caught.value).startswith(message) and "\n" not in str(caught.value)


def shorten(path):
    write_npy(path, np.load(path)[:-1])


def drop_sample(path):
    write_npy(path, np.load(path)[:, :-1])


def add_column(path):
    write_npy(path, CLASSIFICATION.expand(np.load(path)))


def drop_label(path):
    write_npy(path, np.load(path)[:-1])


def truncate(path):
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def spoil(path):
    """Flip a byte within the first array; the archive's directory stays whole."""
    content = bytearray(path.read_bytes())
    content[200] ^= 255
    path.write_bytes(content)


def make_objects(path):
    np.save(path, np.array([{}, 1], dtype=object), allow_pickle=True)


def lose_prediction(path):
    array = np.load(path)
    array[10] = np.nan
    write_npy(path, array)


def drop_error(path):
    write_parquet(path, pd.read_parquet(path).drop(columns="error"))


def shift_iterations(path):
    frame = pd.read_parquet(path)
    write_parquet(path, frame.assign(iteration=frame["iteration"] + 1))


def drop_validation_labels(path):
    with atomic(path) as temporary:
        np.savez(temporary, classes=np.array(["a", "b"]))


VALIDATION, TEST = "search/predictions-validation.npy", "search/predictions-test.npy"
OBSERVATIONS, INPUTS = "search/observations.parquet", "split/inputs.npz"


@pytest.mark.parametrize(
    ("name", "harm", "message"),
    [
        (VALIDATION, shorten, "holds float32 (39, 90, 1), not float32 (40, rows, columns)"),
        (VALIDATION, drop_sample, "has shape (40, 89, 1), but (40, 90, 1) belongs to"),
        (VALIDATION, add_column, "has shape (40, 90, 2), but (40, 90, 1) belongs to"),
        (VALIDATION, truncate, "cannot read"),
        (VALIDATION, make_objects, "cannot read"),
        (VALIDATION, lose_prediction, "evaluation 11 has an error, but its validation"),
        (VALIDATION, Path.unlink, "does not exist"),
        (TEST, shorten, "holds float32 (39, 70, 1), not float32 (40, rows, columns)"),
        (TEST, truncate, "cannot read"),
        ("split/test_labels.npy", drop_label, "has shape (40, 70, 1), but (40, 69, 1) belongs to"),
        ("split/test_labels.npy", Path.unlink, "does not exist"),
        (INPUTS, truncate, "cannot read"),
        (INPUTS, spoil, "cannot read"),
        (INPUTS, drop_validation_labels, "has no array 'y_validation'"),
        (OBSERVATIONS, Path.unlink, "does not exist; remove the folder"),
        (OBSERVATIONS, truncate, "cannot read"),
        (OBSERVATIONS, drop_error, "cannot read"),
        (OBSERVATIONS, shift_iterations, "column 'iteration' must count 1, 2, ... 40"),
    ],
)
def test_files_that_do_not_belong_together(tmp_path, name, harm, message):
    search, split = make(tmp_path)
    harm(tmp_path / name)
    with pytest.raises(UserError) as caught:
        ensemble_scores.write(search, split, SELECTION, 0, tmp_path / "out")
    text = str(caught.value)
    assert message in text and "\n" not in text
    assert str(tmp_path) in text  # it names the file or its folder
    assert not (tmp_path / "out").exists()


def test_member_without_test_predictions(tmp_path):
    search, split = make(tmp_path, n=3, failed=())
    path = search / "predictions-test.npy"
    array = np.load(path)
    array[0, 2] = np.nan
    write_npy(path, array)
    with pytest.raises(UserError, match="test predictions of evaluation 1 are not numbers"):
        ensemble_scores.write(search, split, BEST, 0, tmp_path / "out")


@pytest.mark.parametrize(
    ("indices", "weights", "said"),
    [
        ("[2]", "[3.0]", "the weights sum to 3; they must sum to 1"),
        ("[2]", "[np.nan]", "weights are not a number above 0 for each member"),
        ("[2]", "[0.5, 0.5]", "weights are not a number above 0 for each member"),
        ("[0]", "[1.0]", "indices are not positions of evaluations that succeeded"),
        ("[2.0]", "[1.0]", "indices are not positions of evaluations that succeeded"),
        ("[2, 2]", "[0.5, 0.5]", "indices are not one or more positions in ascending order"),
    ],
)
def test_wrong_members_of_an_ensemble_from_outside(tmp_path, indices, weights, said):
    text = f"""import numpy as np
from ensemble_search.ensembles.base import Ensemble, Members
class Own(Ensemble):
    def build(self, pool):
        return Members(np.array({indices}), np.array({weights}))
"""
    file = tmp_path / "parts/ensembles/own.py"
    file.parent.mkdir(parents=True)
    file.write_text(text)
    search, split = make(tmp_path)
    outside.use([str(tmp_path / "parts")])
    try:
        with pytest.raises(UserError) as raised:
            ensemble_scores.write(search, split, {"type": "own"}, 0, tmp_path / "out")
    finally:
        outside.use([])
    assert str(raised.value).startswith(f"{file}: after evaluation 3, {said}")
    assert not (tmp_path / "out").exists()


def test_search_and_split_are_only_read(tmp_path):
    """The search's files may lie on a read-only disk, and pieces of them are never loaded."""
    search, split = make(tmp_path)
    shutil.copytree(tmp_path, tmp_path / "copy")
    ensemble_scores.write(search, split, SELECTION, 0, tmp_path / "out")
    for file in (tmp_path / "copy").rglob("*.*"):
        assert (tmp_path / file.relative_to(tmp_path / "copy")).read_bytes() == file.read_bytes()
    pool, test_predictions, _ = ensemble_scores.load(search, split, 0)
    assert isinstance(pool.predictions, np.memmap) and isinstance(test_predictions, np.memmap)
