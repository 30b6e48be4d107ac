"""Reading a study: whole, in part, broken, or made with other settings."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from ensemble_search.analysis import load, pairwise
from ensemble_search.data import normalise, prepare
from ensemble_search.data.sources import Raw
from ensemble_search.metrics.error import ERROR
from ensemble_search.metrics.squared_error import SQUARED_ERROR
from ensemble_search.papers.divbo import member_diversity, minimum_diversity
from ensemble_search.report.pages import ensemble_diversity
from support import made_results as made

nan = np.nan


def test_load_reads_everything(tmp_path: Path):
    study = made.study(("RS", "DivBO"), ("d", "e"), repeats=2, budget=3)
    made.write(tmp_path, study, lambda m, d, r: ([nan, 0.3, 0.2], [nan, 0.4, 0.1 * (r + 1)]))
    results = load.load(study, tmp_path)
    assert results.missing.empty
    assert results.expected == {"split": 2, "search": 16, "ensemble": 8}
    assert len(results.scores) == 2 * 2 * 2 * 3
    row = results.scores.query("method == 'DivBO' and dataset == 'e' and repeat == 1")
    assert row["test_error"].tolist() == pytest.approx([nan, 0.4, 0.2], nan_ok=True)
    assert len(results.observations) == 24
    assert results.observations["status"].value_counts().to_dict() == {"ok": 16, "timeout": 8}
    assert set(results.observations["algorithm"]) == {"adaboost", "knn", "lda"}
    assert results.datasets["majority_error"].tolist() == pytest.approx([0.3, 0.3])
    assert results.reference == "DivBO"


def test_given_evaluations_do_not_count_towards_the_budget(tmp_path: Path):
    """After 7 given evaluations, a search (warm start) makes as many as the other."""
    study = made.study(("cold", "warm"), ("d",), repeats=1, budget=6)
    given, own = [0.4] * 7, [nan, 0.3, 0.2, 0.2, 0.1, 0.1]
    made.write(tmp_path, study, lambda m, d, r: (own, own))
    known = {"origin": {"given": 7, "fitted": 6}, "budget": {"evaluations": 6}}
    where = tmp_path, "d", "search-warm", 0
    more = {"made_with": made.made_with(study, "search-warm") | known}
    made.write_search(*where, given + own, **more)
    folder = tmp_path / "ensembles/d/search-warm/ensemble-warm/0"
    made.write_ensemble(folder, given + own, given + own)
    results = load.load(study, tmp_path)
    assert results.missing.empty
    scores = results.scores[results.scores["method"] == "warm"]
    made_here = results.observations[results.observations["search"] == "search-warm"]
    for table, column in ((scores, "test_error"), (made_here, "error")):
        assert table["iteration"].tolist() == [1, 2, 3, 4, 5, 6]
        assert table[column].tolist() == pytest.approx(own, nan_ok=True)
    run = "d", "search-warm", 0
    assert results.given(*run) == 7 and len(results.errors(*run)) == 13
    labels = np.zeros(100, dtype=np.int64)
    np.savez(tmp_path / "splits/d/fixed/inputs.npz", y_validation=labels)
    final = member_diversity.read(results, "warm", "d", 0)
    assert final.members == [12, 13] == results.members("warm", "d", 0)["member"].tolist()[-2:]
    followed = minimum_diversity.follow(results, ["cold", "warm"]).set_index("method")
    assert followed["iteration"].tolist() == [6, 6]
    assert followed["average"].tolist() == pytest.approx([0.1, 0.1])
    pages = ensemble_diversity.table(results, results.compared)
    assert pages["measured"].all()
    iterations, losses = results.sample_losses("warm", "d", 0)
    assert iterations.tolist() == [*range(-6, 1), *range(2, 7)]
    assert losses[iterations > 0].mean(axis=1) == pytest.approx(own[1:])
    compared = pairwise.compare(results, results.compared, "cold").probability_curves
    assert compared["probability"].tolist()[1:] == pytest.approx(5 * [0.5]), "of the same models"


def test_majority_is_that_of_the_training_part():
    split = {"classes": {"train": {"a": 6, "b": 5}, "validation": {"a": 1, "b": 1},
                         "test": {"a": 2, "b": 8}}}  # fmt: skip
    assert load.split_summary(split)["majority_error"] == pytest.approx(0.8)


@pytest.mark.parametrize(("metric", "entry"), [(ERROR, "majority"), (SQUARED_ERROR, "mean")])
def test_losses_of_constant_predictions_are_weighted(metric, entry):
    rng = np.random.default_rng(0)
    x = rng.normal(size=200)
    weights = np.where(x > 0.5, 5.0, 1.0)
    y = np.where(x > 0, "a", "b") if metric is ERROR else x
    raw = Raw(pd.DataFrame({"x": rng.normal(size=200), "w": weights, "y": y}), "y", "set", {})
    frame, described = normalise.normalise(raw, {"weight": ["w"]}, metric.task)
    settings = {"train": 0.6, "validation": 0.2, "test": 0.2, "seed": 1}
    inputs, labels, made_split = prepare.make_split(frame, described, settings)
    constant = np.zeros((len(labels), 1))  # class a, or the mean
    expected = metric.loss(labels, constant, inputs.test_weights)
    assert expected != metric.loss(labels, constant)
    found = load.split_summary(json.loads(json.dumps(made_split)))
    assert found[f"{entry}_error"] == pytest.approx(expected)


def test_a_regression_has_no_majority_and_perhaps_the_error_of_the_mean():
    """Older versions of the project did not store the latter."""
    sizes = {"train": 6, "validation": 2, "test": 2}
    split = {"sizes": sizes, "target": {"mean": 3.0, "std": 2.0, "test_square": 0.8}}
    assert load.split_summary(split) == {**sizes, "mean_error": 0.8}
    del split["target"]["test_square"]
    assert np.isnan(load.split_summary(split)["mean_error"])


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"searches": {"search-divbo": {"optimizer": "random", "beta": 0.1}}},
         "beta: 0.05 there, 0.1 here"),
        ({"space": "divbo_small"}, "space: divbo there, divbo_small here"),
        ({"limits": {"seconds": 60, "memory_mb": 4096}}, "limits.seconds: 300 there, 60 here"),
        ({"seed": 7}, "seed: 0 there, 7 here"),
    ],
)  # fmt: skip
def test_load_does_not_count_a_search_made_with_other_settings(tmp_path, change, words):
    study = made.study(("RS", "DivBO"), ("d",), repeats=1, budget=2)
    study["searches"]["search-divbo"]["beta"] = 0.05
    made.write(tmp_path, study, lambda m, d, r: ([0.3, 0.2], [0.3, 0.2]))
    assert load.load(study, tmp_path).missing.empty
    searches = {**study["searches"], **change.get("searches", {})}
    results = load.load({**study, **change, "searches": searches}, tmp_path)
    lost = {"search-divbo"} if "searches" in change else {"search-divbo", "search-rs"}
    reasons = results.missing.query("file.str.endswith('search.json')").set_index("search")
    assert set(reasons.index) == lost
    assert reasons.loc["search-divbo", "reason"] == f"made with other settings: {words}"
    left = {"RS"} if "searches" in change else set()
    assert set(results.scores["method"]) == left
    assert set(results.observations["search"]) == {"search-rs"} - lost
    dropped = results.missing.query("stage == 'ensemble'")
    assert set(dropped["search"]) == lost
    assert set(dropped["reason"]) == {"its search is not usable"}


def test_load_does_not_count_results_of_another_split(tmp_path):
    study = made.study(("RS",), ("d",), repeats=1, budget=2)
    made.write(tmp_path, study, lambda m, d, r: ([0.3, 0.2], [0.3, 0.2]))
    other = load.load({**study, "split": {**study["split"], "seed": 7}}, tmp_path)
    reasons = other.missing.groupby("stage")["reason"].first()
    assert reasons["split"] == "made with other settings: split.seed: 1 there, 7 here"
    assert reasons["search"] == reasons["split"]
    assert other.scores.empty
    part = load.load({**study, "train_rows": {"d": {"share": 0.5, "by": "uniform"}}}, tmp_path)
    assert part.missing["reason"][0].startswith("made with other settings: split.train_rows: None")
    path = tmp_path / "splits/d/fixed/split.json"
    path.write_text(path.read_text().replace("0" * 64, "1" * 64))
    again = load.load(study, tmp_path).missing.groupby("stage")["reason"].first()
    assert again["search"] == "made from other data than its split has now"
    assert "split" not in again


def test_load_does_not_count_an_ensemble_made_with_other_settings(tmp_path):
    study = made.study(("RS", "DivBO"), ("d",), repeats=1, budget=2)
    made.write(tmp_path, study, lambda m, d, r: ([0.3, 0.2], [0.3, 0.2]))
    study["ensembles"]["ensemble-divbo"] = {"type": "selection", "size": 25}
    folder = tmp_path / "ensembles/d/search-divbo/ensemble-divbo/0"
    for size, usable in ((25, True), (100, False)):
        settings = {"type": "selection", "size": size}
        made.write_ensemble(folder, [0.3, 0.2], [0.3, 0.2], settings=settings)
        results = load.load(study, tmp_path)
        assert set(results.scores["method"]) == ({"RS", "DivBO"} if usable else {"RS"})
    assert results.missing["reason"].tolist() == [
        "made with other settings: size: 100 there, 25 here"
    ]


def test_load_lists_what_is_absent_short_or_broken(tmp_path: Path):
    study = made.study(("RS", "DivBO"), ("d",), repeats=3, budget=3)
    made.write(tmp_path, study, lambda m, d, r: ([0.3] * 3, [0.3] * 3), {("RS", "d", 0)})
    (tmp_path / "searches/d/search-divbo/2/search.json").unlink()
    folder = tmp_path / "ensembles/d/search-rs/ensemble-rs"
    made.write_ensemble(folder / "1", [0.3, 0.3], [0.3, 0.3])
    (folder / "2" / "scores.parquet").write_bytes(b"PAR1 not really")
    results = load.load(study, tmp_path)
    reasons = results.missing.set_index(["stage", "repeat"])["reason"].sort_index(kind="stable")
    assert reasons["ensemble", 0] == "not there"
    assert reasons["ensemble", 1] == "2 of 3 iterations"
    assert reasons["ensemble", 2].iloc[0].startswith("unreadable")
    assert reasons["search", 0].tolist() == ["not there", "not there"]
    assert reasons["search", 2].tolist() == ["not there", "its search is not usable"]
    counted = results.scores.drop_duplicates(["method", "repeat"])[["method", "repeat"]]
    assert counted.to_numpy().tolist() == [["DivBO", 0], ["DivBO", 1]]


def test_load_cuts_longer_runs_to_the_budget(tmp_path: Path):
    study = made.study(("RS",), ("d",), repeats=1, budget=3)
    made.write(tmp_path, study, lambda m, d, r: ([0.3] * 5, [0.1, 0.2, 0.3, 0.4, 0.5]))
    results = load.load(study, tmp_path)
    assert results.scores["test_error"].tolist() == [0.1, 0.2, 0.3]
    assert len(results.observations) == 3


def test_load_of_a_budget_in_seconds_repeats_the_last_row_of_shorter_runs(tmp_path: Path):
    study = made.study(("RS",), ("d",), repeats=4)
    study["budget"] = {"evaluations": None, "seconds": 60.0}
    for repeat, (n, seconds) in enumerate([(3, 60.0), (1, 60.0), (2, 60.0), (9, 90.0)]):
        with_settings = {**made.made_with(study, "search-rs"), "budget": {"seconds": seconds}}
        made.write_search(tmp_path, "d", "search-rs", repeat, [0.2] * n, made_with=with_settings)
        test = np.arange(1, n + 1) / 10
        rows = test[:-1] if repeat == 2 else test  # of an ensemble that is not up to date
        made.write_ensemble(tmp_path / f"ensembles/d/search-rs/ensemble-rs/{repeat}", rows, rows)
    results = load.load(study, tmp_path)
    scores = results.scores.set_index("repeat")
    assert scores.loc[0, ["iteration", "test_error"]].to_numpy().tolist() == [
        [1, 0.1],
        [2, 0.2],
        [3, 0.3],
    ]
    assert scores.loc[1, "iteration"].tolist() == [1, 2, 3]
    assert scores.loc[1, "test_error"].tolist() == [0.1] * 3
    assert set(scores.index) == {0, 1}
    reasons = results.missing.set_index(["stage", "repeat"])["reason"]
    assert reasons["ensemble", 2] == "1 of 2 iterations"
    assert "budget.seconds: 90.0 there, 60.0 here" in reasons["search", 3].iloc[0]
    assert len(results.observations) == 3 + 1 + 2


def test_load_of_nothing(tmp_path: Path):
    study = made.study(repeats=2)
    results = load.load(study, tmp_path / "absent")
    assert results.scores.empty
    assert results.observations.empty
    assert len(results.missing) == sum(results.expected.values()) == 2 + 2 * 12 + 12


def test_resampled_studies_have_a_split_a_repeat(tmp_path: Path):
    study = made.study(("RS",), ("d",), repeats=2)
    study["split"]["resample"] = "per-repeat"
    made.write_split(tmp_path, "d", test=(40, 60), name="repeat-0")
    made.write_split(tmp_path, "d", test=(20, 80), name="repeat-1")
    results = load.load(study, tmp_path)
    assert results.resampled
    assert results.splits == ["repeat-0", "repeat-1"]
    assert results.datasets["majority_error"].tolist() == pytest.approx([0.3])
    assert "split" not in set(results.missing["stage"])


def test_repeats_go_round_over_splits(tmp_path: Path):
    study = made.study(("RS",), ("d",), repeats=5)
    study["split"]["resample"] = 2
    made.write_split(tmp_path, "d", test=(40, 60), name="repeat-0")
    results = load.load(study, tmp_path)
    assert results.splits == [f"repeat-{r}" for r in (0, 1, 0, 1, 0)]
    assert results.expected["split"] == 2
    lost = results.missing[results.missing["stage"] == "split"]
    assert lost["file"].tolist() == ["splits/d/repeat-1/split.json"]
