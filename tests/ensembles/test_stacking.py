"""Stacking: its folds against scikit-learn, what is fitted on what, and what is fitted again."""

import os
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from lightgbm import LGBMClassifier
from sklearn.model_selection import PredefinedSplit, StratifiedKFold, cross_val_predict

from ensemble_search.data.split import load_inputs
from ensemble_search.ensembles.stacking import MODEL, Stacking, _Stack, held_out
from ensemble_search.metrics.base import predicted_labels
from ensemble_search.metrics.error import ERROR
from ensemble_search.problems.classification import CLASSIFICATION
from ensemble_search.runtime import plugins
from ensemble_search.runtime.errors import UserError
from ensemble_search.runtime.files import write_json, write_npy, write_parquet
from ensemble_search.scoring import cross_fitting, ensemble_scores
from ensemble_search.scoring.cross_fitting import fold_inputs
from support import PYTHONPATH, hostile_space, made_results
from support.hostile_refits import EVALUATOR, LIMITS, Here, enabled, hostile
from support.hostile_space import HostileSpace
from support.searches_of_refits import CONFIGURATIONS, make

pytestmark = pytest.mark.slow

SETTINGS = {"type": "stacking", "size": 2, "folds": 3}


@pytest.fixture(scope="module", autouse=True)
def instant_learners():
    with hostile():
        yield


def folds(made, n):
    """The held-out rows of the pool's folds."""
    return held_out(made[2].y_train, n, 4)


@pytest.fixture
def evaluated(monkeypatch):
    """The configurations that were evaluated in this process."""
    monkeypatch.setitem(EVALUATOR, "make_evaluator", Here)
    monkeypatch.setattr(Here, "asked", [])
    return Here.asked


def test_folds_are_those_of_scikit_learn_and_no_row_is_seen_by_its_own_model():
    labels = np.repeat([0, 1, 2], [11, 40, 6])
    rows = held_out(labels, 5, seed=7)
    split = StratifiedKFold(5, shuffle=True, random_state=7).split(labels[:, None], labels)
    assert [r.tolist() for r in rows] == [test.tolist() for _, test in split]
    assert sorted(np.concatenate(rows)) == list(range(57))
    with pytest.raises(UserError, match=r"ensemble.folds: 41 folds need .* the largest has 40"):
        held_out(labels, 41, 0)
    with pytest.raises(UserError, match="folds: 9 folds need as many training rows; there are 8;"):
        held_out(np.linspace(0, 1, 8), 9, 0)


def test_a_worker_gets_the_other_folds_to_fit_and_no_other_label(tmp_path):
    inputs = make(tmp_path)[2]
    rows = held_out(inputs.y_train, 5, 0)
    for held in rows:
        fold = fold_inputs(inputs, held)
        left = np.setdiff1d(np.arange(96), held)
        np.testing.assert_array_equal(fold.X_train, inputs.X_train[left])
        np.testing.assert_array_equal(fold.y_train, inputs.y_train[left])
        np.testing.assert_array_equal(fold.X_validation, inputs.X_train[held])
        together = np.vstack([inputs.X_validation, inputs.X_test])
        np.testing.assert_array_equal(fold.X_test, together)
        assert len(fold.y_validation) == 0


@pytest.mark.parametrize("n_classes", [2, 3])
def test_refits_are_what_the_pipelines_predict_fitted_here(tmp_path, n_classes, request):
    """Every fold by hand: whole pipelines, rows in their place, the mean over the models."""
    if n_classes == 2:  # three classes in workers, the rest of this file in this process
        request.getfixturevalue("evaluated")
    made = make(tmp_path, n_classes)
    inputs = made[2]
    pool = enabled(tmp_path / "kept", made)
    first = 1 if n_classes == 2 else 0
    for index, found in zip([1, 2], pool.refit([1, 2], folds(made, 3)), strict=True):
        learner = HostileSpace().pipeline(CONFIGURATIONS[index], inputs.categorical, 1)
        means = {"validation": [], "test": []}
        for held in held_out(inputs.y_train, 3, 4):
            left = np.setdiff1d(np.arange(96), held)
            learner.fit(inputs.X_train[left], inputs.y_train[left])
            expected = learner.predict_proba(inputs.X_train[held])[:, first:]
            np.testing.assert_allclose(found.out_of_fold[held], expected, atol=1e-6)
            for part, predicted in means.items():
                X = getattr(inputs, f"X_{part}")
                predicted.append(learner.predict_proba(X)[:, first:])
        for part, predicted in means.items():
            np.testing.assert_allclose(getattr(found, part), np.mean(predicted, axis=0), atol=1e-6)
        assert found.predict_seconds > 0


def test_each_configuration_is_fitted_once_a_fold_and_never_again(tmp_path, evaluated):
    made = make(tmp_path)
    trace = Stacking(size=2, folds=3).build_prefixes(enabled(tmp_path / "kept", made))
    assert [m.indices.tolist() for m in trace] == [[0], [0, 1], [0, 1], [1, 3], [1, 3]]
    # 0, 1 and 3 are ever members, and 3 is the configuration of 0.
    assert evaluated == 3 * [CONFIGURATIONS[0], CONFIGURATIONS[1]]
    again = Stacking(size=2, folds=3).build_prefixes(enabled(tmp_path / "kept", made))
    assert len(evaluated) == 6
    for a, b in zip(trace, again, strict=True):
        for mine, its in zip(a.refits, b.refits, strict=True):
            assert mine.out_of_fold.tobytes() == its.out_of_fold.tobytes()
            assert mine.test.tobytes() == its.test.tobytes()
    # A larger ensemble needs one more.
    Stacking(size=3, folds=3).build_prefixes(enabled(tmp_path / "kept", made))
    assert evaluated[6:] == 3 * [CONFIGURATIONS[2]]


def test_fits_are_not_used_after_a_change(tmp_path, evaluated, monkeypatch):
    made = make(tmp_path)

    def count(**changes):
        before = len(evaluated)
        enabled(tmp_path / "kept", made, **changes).refit([0], folds(made, 2))
        return len(evaluated) - before

    assert (count(), count()) == (2, 0)
    assert count(limits={**LIMITS, "seconds": 30}) == 2
    assert count() == 0  # and those of before are there again
    with monkeypatch.context() as patch:
        patch.setattr(HostileSpace, "libraries", ("pandas",))
        assert count() == 2
    monkeypatch.setattr(cross_fitting, "code_version", lambda *modules: "2")
    assert count() == 2
    path = made[1] / "inputs.npz"
    arrays = dict(np.load(path))
    arrays["X_test"] += 1e-9
    np.savez(path, **arrays)
    assert count() == 2


def test_damaged_fits_are_made_again(tmp_path, evaluated):
    made = make(tmp_path)
    (good,) = enabled(tmp_path / "kept", made).refit([1], folds(made, 2))
    (file, *_) = (tmp_path / "kept").glob("fold-1-*/predictions.f32")
    content = bytearray(file.read_bytes())
    content[5] ^= 1
    file.write_bytes(content)
    (again,) = enabled(tmp_path / "kept", made).refit([1], folds(made, 2))
    assert len(evaluated) == 3
    assert again.out_of_fold.tobytes() == good.out_of_fold.tobytes()


def test_a_killed_job_goes_on_after_its_last_fit(tmp_path, evaluated):
    made = make(tmp_path)
    run = [sys.executable, "-m", "support.hostile_refits", str(tmp_path)]
    environment = os.environ | {"PYTHONPATH": PYTHONPATH}
    done = subprocess.run([*run, "3"], env=environment, capture_output=True, check=False)
    assert done.returncode == -9, done.stderr
    kept = tmp_path / "kept"
    assert len(list(kept.glob("*/inputs.npz"))) == 1  # of the fold under way
    found = enabled(kept, made).refit([0, 1], folds(made, 3))
    assert evaluated == [CONFIGURATIONS[1], *CONFIGURATIONS[:2]]  # 3 of 6 were there
    assert not list(kept.glob("*/inputs.npz"))
    fresh = enabled(tmp_path / "fresh", made).refit([0, 1], folds(made, 3))
    for mine, its in zip(found, fresh, strict=True):
        assert mine.out_of_fold.tobytes() == its.out_of_fold.tobytes()
        assert mine.validation.tobytes() == its.validation.tobytes()


def test_a_configuration_that_fails_is_left_out_and_not_fitted_further(tmp_path, evaluated, capsys):
    bad = {"algorithm": "euclid", "sharpness": 1.0, "behaviour": "raises"}  # now, not before
    made = make(tmp_path, configurations=[CONFIGURATIONS[0], bad, CONFIGURATIONS[2], bad])
    trace = Stacking(size=2, folds=2).build_prefixes(enabled(tmp_path / "kept", made))
    assert [m.indices.tolist() for m in trace] == [[0], [0], [0], [3]]
    assert trace[1] is trace[0] and isinstance(trace[0], _Stack)
    assert type(trace[3]) is not _Stack  # 1 and 3 fail: the better one of them, as it is stored
    stack, pool = Stacking(size=2, folds=2), enabled(tmp_path / "kept", made)
    lacks = [stack.unfitted(m, pool.first(n)).tolist() for n, m in enumerate(trace, start=1)]
    assert lacks == [[], [1], [1], [1, 3]]
    assert evaluated.count(bad) == 1
    Stacking(size=2, folds=2).build_prefixes(enabled(tmp_path / "kept", made))
    assert evaluated.count(bad) == 1  # a failure is kept, too
    lines = capsys.readouterr().err.splitlines()
    told = [line for line in lines if "crash" in line]
    assert len(told) == 2 and all("refit 1 of 2: crash of {" in line for line in told)
    assert any(line.startswith("not refitted: evaluations 2, 4. Stacks omit") for line in lines)
    assert all(line.endswith('"raises", "sharpness": 1.0}: bad') for line in told)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_second_level_is_lightgbm_on_predictions_side_by_side(n_classes):
    """Labels equal those of the model fitted here; two classes have one column per member."""
    from lightgbm import LGBMClassifier

    rng = np.random.default_rng(n_classes)
    sizes = {"out_of_fold": 200, "validation": 60, "test": 40}
    labels = rng.integers(0, n_classes, 200)
    columns = n_classes if n_classes > 2 else 1
    parts = {p: rng.random((2, n, columns), dtype=np.float32) for p, n in sizes.items()}
    for part, values in parts.items():
        values[0, :, -1] *= n_classes if part != "out_of_fold" else 1
    parts["out_of_fold"][0, :, -1] += labels
    made = tuple(
        cross_fitting.Refit(*(parts[p][i] for p in sizes), predict_seconds=0.5 + i) for i in (0, 1)
    )
    stack = _Stack(np.array([3, 8]), np.full(2, 0.5), made, labels, 0, CLASSIFICATION)
    found = stack.predict_both(np.empty((9, 60, columns)), np.empty((9, 40, columns)))
    side = {p: np.concatenate([a[0], a[1]], axis=1).astype(float) for p, a in parts.items()}
    assert MODEL == {"max_depth": 4, "learning_rate": 0.05, "n_estimators": 150}
    model = LGBMClassifier(**MODEL, random_state=0, n_jobs=1, deterministic=True, verbose=-1)
    model.fit(side["out_of_fold"], labels)
    for part, probabilities in zip(("validation", "test"), found, strict=True):
        assert probabilities.shape == (sizes[part], columns)
        labels_found = predicted_labels(probabilities)
        assert labels_found.tolist() == model.predict(side[part]).tolist()
        assert len(set(labels_found)) == n_classes
    assert stack.total_seconds(np.full(10, 99.0)) == 2.0


def test_scores_of_a_search(tmp_path, evaluated):
    """Through the script's function: errors of the second level, cost of the fold models."""
    search, split, inputs = make(tmp_path)
    given = {"space": "divbo-small", "limits": LIMITS, "threads": 1, "folder": tmp_path / "kept"}
    given |= EVALUATOR
    with pytest.raises(UserError, match="'stacking' refits pipelines: give --refits"):
        ensemble_scores.write(search, split, SETTINGS, 4, tmp_path / "out")
    ensemble_scores.write(search, split, SETTINGS, 4, tmp_path / "out", given)
    table = pd.read_parquet(tmp_path / "out/scores.parquet")
    assert table["members"].tolist() == [1, 2, 2, 2, 2]
    # The stored predictions are all alike, so what is right comes from the fits.
    majority = 1 - np.bincount(inputs.y_validation).max() / len(inputs.y_validation)
    assert table["validation_error"].max() < majority
    pool = enabled(tmp_path / "kept", (search, split, inputs))
    last = Stacking(size=2, folds=3).build_prefixes(pool)[-1]
    validation, test = last.predict_both(pool.predictions, pool.predictions)
    assert table["validation_error"].iloc[-1] == ERROR.loss(inputs.y_validation, validation)
    assert table["test_error"].iloc[-1] == ERROR.loss(np.load(split / "test_labels.npy"), test)
    assert table["predict_seconds"].tolist() == [
        m.total_seconds(pool.predict_seconds)
        for m in Stacking(size=2, folds=3).build_prefixes(pool)
    ]
    members = pd.read_parquet(tmp_path / "out/members.parquet")
    assert members["weight"].tolist() == [1, 0.5, 0.5, 0.5, 0.5]


def test_other_ensembles_do_not_depend_on_the_code_of_evaluations():
    from ensemble_search.runtime import code_version

    others = [n for n in plugins.available("ensembles") if n != "stacking"]
    modules = [f"ensemble_search.ensembles.{n.replace('-', '_')}" for n in others]
    found = code_version.files("ensemble", *modules)
    assert not [f for f in found if "evaluation" in f or "cross_fitting" in f or "space" in f]
    assert "ensemble_search/evaluation/worker.py" in code_version.files(
        "ensemble_search.scoring.cross_fitting"
    )


@pytest.mark.parametrize("n_classes", [2, 3])
def test_with_folds_the_second_level_learns_from_the_search_itself(tmp_path, evaluated, n_classes):
    """No fit; validation rows are predicted by a second level that has not seen their fold."""
    (tmp_path / "split").mkdir()
    path = hostile_space.write_inputs(tmp_path / "split", n_rows=96, n_classes=n_classes, folds=4)
    inputs, search, rng = load_inputs(path), tmp_path / "search", np.random.default_rng(0)
    labels = {"validation": inputs.y_train, "test": np.load(path.with_name("test_labels.npy"))}
    stored = {}
    for part, y in labels.items():
        odds = np.exp(2 * np.eye(n_classes)[y] + rng.normal(size=(3, len(y), n_classes)))
        probabilities = (odds / odds.sum(axis=2, keepdims=True)).astype(np.float32)
        stored[part] = probabilities[:, :, 1:] if n_classes == 2 else probabilities
        write_npy(search / f"predictions-{part}.npy", stored[part])
    frame = pd.DataFrame({"iteration": [1, 2, 3], "error": [0.4, 0.2, 0.3], "fidelity": 1.0})
    frame["predict_seconds"], frame["config.algorithm"] = 0.25, "euclid"
    write_parquet(search / "observations.parquet", frame)
    write_json(search / "search.json", made_results.search_manifest(evaluations=3))

    pool = enabled(tmp_path / "kept", (search, path.parent, inputs))
    stack = Stacking(size=2).build(pool)
    assert stack.indices.tolist() == [1, 2]
    assert not evaluated
    assert stack.total_seconds(pool.predict_seconds) == 0.5
    X = {part: np.hstack(stored[part][1:]).astype(float) for part in stored}
    model = LGBMClassifier(**MODEL, random_state=pool.seed, n_jobs=1, verbose=-1)
    folds = PredefinedSplit(inputs.folds)
    expected = {
        "validation": cross_val_predict(
            model, X["validation"], inputs.y_train, cv=folds, method="predict_proba"
        ),
        "test": model.fit(X["validation"], inputs.y_train).predict_proba(X["test"]),
    }
    found = stack.predict_both(pool.predictions, stored["test"])
    for part, predictions in zip(("validation", "test"), found, strict=True):
        columns = expected[part][:, 1:] if n_classes == 2 else expected[part]
        np.testing.assert_allclose(predictions, columns, atol=1e-6)
