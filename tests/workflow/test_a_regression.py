"""A regression, as a user runs it."""

import json
import os

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_diabetes

from ensemble_search.predictor.ensemble import load_ensemble
from ensemble_search.results import readers
from support.checkout import STUDY, Checkout

pytestmark = pytest.mark.slow

TEST = "fur{th}er.csv"  # braces are no wildcards
REGRESSION = STUDY | {
    "metric": "squared-error",
    "datasets": {"diabetes": {"sklearn": "diabetes"}},
    "searches": {
        "random": {"optimizer": "random"},
        "divbo": {"optimizer": "divbo"},
    },
    "ensembles": {
        "best": {"type": "best"},
        "selection-5": {"type": "selection", "size": 5},
        "agnostic-bayes": {"type": "agnostic-bayes"},
        "stacking": {"type": "stacking", "size": 2},
    },
    "methods": {
        "RS": {"search": "random", "ensemble": "best"},
        "ERS": {"search": "random", "ensemble": "agnostic-bayes"},
        "stacked": {"search": "random", "ensemble": "stacking"},
        "DivBO": {"search": "divbo", "ensemble": "selection-5"},
    },
    "surrogates": {
        "names": ["forest-kernel"], "repeats": 1, "sizes": [4], "held_out": 3, "configurations": 7,
    },
    "deliver": {"method": "DivBO", "rows": "train", "test": TEST},
}  # fmt: skip
AUC = {"type": "selection", "metric": "auc"}
SPLIT = "splits/diabetes/fixed"
SEARCH = "searches/diabetes/random/0"


@pytest.fixture(scope="module")
def made(tmp_path_factory) -> Checkout:
    result = Checkout(tmp_path_factory.mktemp("regression"))
    frame = load_diabetes(as_frame=True).frame
    frame.head(60).to_csv(result.folder / TEST, index=False)
    result.run(REGRESSION)
    return result


def errors(made: Checkout, search: str, ensemble: str) -> pd.DataFrame:
    folder = made.folder / "results/tiny/ensembles/diabetes" / search / ensemble / "0"
    return pd.read_parquet(folder / "scores.parquet")


def test_the_report_shows_r2(made):
    """1 - squared error / squared error of the training rows' mean, which is 0."""
    labels = np.load(made.folder / "results/tiny" / SPLIT / "test_labels.npy")
    tables = made.folder / "results/tiny/report/tables"
    table = pd.read_csv(next(tables.glob("*r2.csv"))).set_index("method")
    final = errors(made, "divbo", "selection-5")["test_error"].iloc[-1]
    assert table.loc["DivBO", "mean"] == pytest.approx(1 - final / np.mean(labels**2))
    assert 0.2 < table.loc["DivBO", "mean"] < 0.7


def test_the_delivered_ensemble_predicts_in_the_unit_of_the_target(made):
    model = load_ensemble(made.folder / "results/tiny/delivered/diabetes/DivBO")
    frame = load_diabetes(as_frame=True)
    found = model.predict(frame.data)
    assert found.shape == frame.target.shape
    final = errors(made, "divbo", "selection-5")["test_error"].iloc[-1]
    inputs = np.load(made.folder / "results/tiny" / SPLIT / "inputs.npz")
    labels = np.load(made.folder / "results/tiny" / SPLIT / "test_labels.npy")
    mean, std = model.manifest["mean"], model.manifest["std"]
    features = model.prepare(frame.data)
    test = [int(np.flatnonzero((features == row).all(axis=1))[0]) for row in inputs["X_test"]]
    assert np.mean(((found[test] - mean) / std - labels) ** 2) == pytest.approx(final)
    assert 0 < model.score(frame.data, frame.target) < 1


def test_the_delivered_ensemble_is_tested_on_the_file_of_test_rows(made):
    """Again if another file takes its place, even an older one."""
    card = json.loads((made.folder / "results/tiny/delivered/diabetes/DivBO/card.json").read_text())
    assert card["cautions"][0].startswith("60 of the 60 test rows are also in the table")
    file, why = made.folder / TEST, ("why", "--study", "study.yaml")
    text = file.read_text()
    assert made.script(*why).stdout.startswith("Nothing would be made")
    file.write_text("".join(text.splitlines(keepends=True)[:40]))
    os.utime(file, (10**9, 10**9))
    assert "1 x its settings changed: deliver.test: " in made.script(*why).stdout
    file.write_text(text)
    assert made.script(*why).stdout.startswith("Nothing would be made")


def test_targets_are_those_of_the_data(made):
    folder = made.folder / "results/tiny" / SPLIT
    scale = json.loads((folder / "split.json").read_text())["target"]
    inputs = np.load(folder / "inputs.npz")
    parts = [inputs["y_train"], inputs["y_validation"], np.load(folder / "test_labels.npy")]
    assert [len(part) for part in parts] == [266, 88, 88]
    values = np.concatenate(parts) * scale["std"] + scale["mean"]
    np.testing.assert_allclose(np.sort(values), np.sort(load_diabetes().target))


def test_scores_by_hand(made):
    results = made.folder / "results/tiny"
    observations = pd.read_parquet(results / SEARCH / "observations.parquet")
    labels = np.load(results / SPLIT / "test_labels.npy")
    predictions = np.load(results / SEARCH / "predictions-test.npy")
    assert predictions.shape == (8, 88, 1)
    losses = ((predictions[:, :, 0] - labels) ** 2).mean(axis=1)
    best = observations.error.argmin()
    assert errors(made, "random", "best").test_error.iloc[-1] == pytest.approx(losses[best])
    assert losses[best] < 0.8  # better than the mean of the training rows
    members = pd.read_parquet(
        results / "ensembles/diabetes/random/agnostic-bayes/0/members.parquet"
    )
    members = members[members.iteration == members.iteration.max()]
    mean = (predictions[members.member - 1, :, 0] * members.weight.to_numpy()[:, None]).sum(axis=0)
    found = errors(made, "random", "agnostic-bayes").test_error.iloc[-1]
    assert found == pytest.approx(((mean - labels) ** 2).mean())
    assert errors(made, "random", "stacking").test_error.iloc[-1] < 1


def test_losses_of_single_samples(made):
    """Their means are the test errors, also of a model of predictions, which is not stored."""
    for ensemble in ("best", "agnostic-bayes", "stacking"):
        folder = made.folder / "results/tiny/ensembles/diabetes/random" / ensemble / "0"
        iterations, losses = readers.losses(folder)
        scores = errors(made, "random", ensemble).set_index("iteration")
        assert losses.shape == (len(iterations), 88)
        found = scores.test_error[iterations]
        np.testing.assert_allclose(losses.mean(axis=1), found, rtol=1e-6)


def test_the_report_has_its_numbers(made):
    report = made.folder / "results/tiny/report"
    text = (report / "index.html").read_text(encoding="utf-8")
    assert "test squared error" in text
    assert "predicting their mean has a squared error of about 1" in text
    table = pd.read_csv(report / "tables/test-error.csv").set_index("method")["mean"]
    assert table["RS"] == pytest.approx(errors(made, "random", "best").test_error.iloc[-1])
    quality = made.folder / "results/tiny/surrogates/diabetes/forest-kernel/0/quality.parquet"
    assert len(pd.read_parquet(quality)) == 2
    assert "numbers" in (report / "pages/data-sets.html").read_text(encoding="utf-8")


def test_nothing_is_left_to_do_and_all_is_whole(made):
    assert made.planned() == {}
    run = made.script("verify", "--study", "study.yaml", "--sample", "3")
    assert run.returncode == 0, run.stdout + run.stderr


def test_a_target_of_words(made):
    (made.folder / "words.csv").write_text("x,y\n1,a\n2,b\n")
    words = {"study": "bad", "datasets": {"words": {"file": "words.csv", "target": "y"}}}
    made.write({**REGRESSION, **words})
    text = made.snakemake("--quiet", "rules", "--until", "split", fails=True)
    made.write(REGRESSION)
    assert "holds 'a' in row 1; a regression needs finite" in text
    assert "Traceback" not in text
