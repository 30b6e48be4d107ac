"""Rows of evidence: what they hold, when they are current, and how they are merged."""

import json
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from ensemble_search.analysis import load, losses
from ensemble_search.evidence import rows as evidence
from ensemble_search.runtime import files
from ensemble_search.runtime.errors import UserError
from support import made_results as made
from support.recorded_numbers import FILE

pytestmark = pytest.mark.slow

RECORDED = json.loads(FILE.read_text(encoding="utf-8"))


def test_means_that_differ_by_digits_not_stored_are_equal():
    """Of 150 rows, 71, 69 and 71 errors are as many as 73, 68 and 70; 212 are one more."""
    counts = {"ESMBO": (71, 69, 71), "RS": (73, 68, 70), "SMBO": (72, 70, 70), "ERS": (0, 0, 0)}
    stored = {
        method: np.mean([float(evidence.text(n / 150)) for n in own])
        for method, own in counts.items()
    }
    means = pd.DataFrame([stored, {**stored, "RS": np.nan}])
    assert means.iloc[0].nunique() == 4
    found = evidence.levelled(means)
    assert found["ESMBO"][0] == found["RS"][0] < found["SMBO"][0]
    np.testing.assert_allclose(found, means, rtol=1e-5)
    assert found.isna().to_numpy().tolist() == means.isna().to_numpy().tolist()


def study(**changes) -> dict:
    content = made.study(("RS", "DivBO"), ("d", "e"), repeats=2, budget=10)
    content["searches"]["search-divbo"] = {"optimizer": "divbo"}
    return {**content, **changes}


def results(folder, content):
    made.write(
        folder, content, lambda m, d, r: ([0.3, 0.2] * 5, [0.5 - t / 100 for t in range(10)])
    )


def test_rows_by_hand(tmp_path):
    content = study()
    results(tmp_path, content)
    rows = evidence.rows(content, tmp_path, RECORDED)
    assert [(r["dataset"], r["method"], r["repeat"]) for r in rows] == [
        (d, m, r) for d in "de" for m in ("RS", "DivBO") for r in "01"
    ]
    row = rows[0]
    assert (row["validation"], row["test"]) == ("0.2", "0.41")
    assert row["test_tenths"] == "0.5 0.49 0.48 0.47 0.46 0.45 0.44 0.43 0.42 0.41"
    assert row["validation_curve"] == "1:0.3 2:0.2"
    assert (row["evaluations"], row["test_rows"], row["stale"]) == ("10", "100", "")
    # The learners' losses alternate between 0.3 and 0.2.
    assert (row["suggested_error"], row["suggested_beats"]) == ("0.25", "0.5")
    assert set(row) == set(evidence.COLUMNS)


def test_searches_outside_a_repository_have_an_unknown_commit(tmp_path):
    content = study()
    results(tmp_path, content)
    for i, path in enumerate(sorted(tmp_path.rglob("search.json"))):
        about = json.loads(path.read_text(encoding="utf-8"))
        of = {"commit": "ab" * 20, "dirty": i == 0} if i < 2 else {"commit": None, "dirty": None}
        files.write_json(path, {**about, **of})
    found = [row["commit"] for row in evidence.rows(content, tmp_path, RECORDED)]
    assert sorted(found) == ["ab" * 6, "ab" * 6 + "+", *["unknown"] * 6]


def test_what_is_written_is_read(tmp_path):
    content = study()
    results(tmp_path, content)
    rows = evidence.rows(content, tmp_path, RECORDED)
    current = evidence.numbers(content, RECORDED)
    merged = evidence.merge([], rows, current)
    evidence.write(tmp_path / "evidence", merged)
    assert evidence.read(tmp_path / "evidence") == merged
    assert evidence.missing(content, merged) == []
    assert evidence.missing({**content, "repeats": 3}, merged) == [(2, "d"), (2, "e")]
    assert evidence.read(tmp_path / "nothing") == []


def test_new_numbers_make_rows_stale_and_new_rows_replace_them():
    content = study()
    old = evidence.numbers(content, RECORDED)
    moved = json.loads(json.dumps(RECORDED))
    moved["search"]["divbo"]["errors"][0] = 0.123
    new = evidence.numbers(content, moved)
    assert (new["RS"], new["DivBO"] != old["DivBO"]) == (old["RS"], True)

    def row(method, numbers, test="0.1"):
        blank = dict.fromkeys(evidence.COLUMNS, "")
        key = {"dataset": "d", "repeat": "0", "method": method}
        return {**blank, **key, "numbers": numbers, "test": test}

    kept = [row("RS", old["RS"]), row("DivBO", old["DivBO"]), row("gone", "12")]
    merged = evidence.merge(kept, [], new)
    assert {r["method"]: r["stale"] for r in merged} == {"DivBO": "yes", "RS": "", "gone": "yes"}
    assert (0, "d") in evidence.missing(content, merged)
    merged = evidence.merge(merged, [row("DivBO", new["DivBO"], "0.2")], new)
    assert {r["method"]: (r["stale"], r["test"]) for r in merged if r["method"] != "gone"} == {
        "DivBO": ("", "0.2"),
        "RS": ("", "0.1"),
    }


@pytest.mark.parametrize(
    "change",
    [{"limits": {"seconds": 1}}, {"split": {"train": 0.5}}, {"seed": 1}, {"space": "divbo-small"}],
)
def test_settings_make_rows_stale(change):
    assert evidence.numbers(study(**change), RECORDED) != evidence.numbers(study(), RECORDED)
    assert evidence.numbers(study(repeats=9), RECORDED) == evidence.numbers(study(), RECORDED)


def test_neutral_changes_of_other_parts_make_no_row_stale():
    moved = json.loads(json.dumps(RECORDED))
    moved["search"]["tpe"]["errors"][0] = 0.123
    moved["search"]["new"] = moved["search"]["tpe"]
    moved["versions"]["numpy"] = "9"
    assert evidence.numbers(study(), moved) == evidence.numbers(study(), RECORDED)


def test_an_optimizer_without_recorded_numbers_is_named():
    unknown = {**RECORDED, "search": {}}
    with pytest.raises(UserError, match=r"has no recorded numbers; run: make record"):
        evidence.numbers(study(), unknown)


def test_a_diversity_surrogate_without_recorded_numbers_is_named():
    unknown = {**RECORDED, "surrogate": {}}
    with pytest.raises(UserError, match=r"'forest-kernel' has no recorded numbers; run: make"):
        evidence.numbers(study(), unknown)


def test_searches_by_other_libraries_depend_on_driver_and_pinned_versions(tmp_path, monkeypatch):
    def found(library):
        content = study()
        content["searches"]["search-divbo"] = {"optimizer": "ask-tell", "library": library}
        return evidence.numbers(content, RECORDED)["DivBO"]

    before = found("optuna")
    assert before != found("smac")
    monkeypatch.setattr(evidence, "ENVIRONMENTS", tmp_path)
    (tmp_path / "optuna.txt").write_text("optuna==1\n", encoding="utf-8")
    assert found("optuna") != before


def test_comments_and_docstrings_of_drivers_make_no_row_stale(tmp_path, monkeypatch):
    path = tmp_path / "driver.py"
    monkeypatch.setattr(evidence.inspect, "getfile", lambda made: str(path))

    def found(text):
        path.write_text(text, encoding="utf-8")
        content = study()
        content["searches"]["search-divbo"] = {"optimizer": "ask-tell", "library": "optuna"}
        return evidence.numbers(content, RECORDED)["DivBO"]

    before = found('"""A."""\n\ndef f(x):\n    """B."""\n    return x  # C\n')
    assert found('"""D."""\ndef f(x):\n    """E."""\n    # F\n    return x\n') == before
    assert found('"""A."""\n\ndef f(x):\n    """B."""\n    return -x  # C\n') != before


def test_a_file_with_other_columns_is_named(tmp_path):
    (tmp_path / "runs.csv").write_text("dataset,test\nd,0.1\n", encoding="utf-8")
    with pytest.raises(UserError, match=r"runs.csv': line 2 does not have the columns dataset, "):
        evidence.read(tmp_path)


def test_chances_by_the_test_rows_are_a_further_column(tmp_path, monkeypatch):
    """ESMBO labels both test rows from iteration 3 on, RS none; ERS and SMBO never have a model."""
    content = made.study(("RS", "ERS", "SMBO", "ESMBO"), ("d",), repeats=1, budget=10)
    content |= {"space": "svm", "metric": "error"}
    results(tmp_path, content)
    wrong = np.array([[True, True], [False, False]])
    stored = {"RS": ([1], wrong[:1]), "ESMBO": ([1, 3], wrong)}
    none = [], wrong[:0]
    monkeypatch.setattr(load.Results, "sample_losses", lambda self, m, d, r: stored.get(m, none))
    rows = {row["method"]: row for row in evidence.rows(content, tmp_path, RECORDED)}
    # With one of the two right on two of two rows: Pr(Beta(3, 1) > 1/2) = 1 - 1/8.
    ones, halves = "/".join("1" * 10), "/".join(["0.5"] * 10)
    others = dict(part.split(":") for part in rows["ESMBO"][evidence.BETTER].split())
    assert others == {"RS": "0.5/0.5/" + "/".join(["0.875"] * 8), "ERS": ones, "SMBO": ones}
    others = dict(part.split(":") for part in rows["ERS"][evidence.BETTER].split())
    assert others == {"RS": "/".join("0" * 10), "SMBO": halves, "ESMBO": "/".join("0" * 10)}
    evidence.write(tmp_path / "evidence", rows.values())
    assert evidence.read(tmp_path / "evidence") == [*rows.values()]

    def missing(*of):
        raise files.Missing(tmp_path, "was not stored by older versions")

    monkeypatch.setattr(load.Results, "sample_losses", missing)
    assert evidence.BETTER not in evidence.rows(content, tmp_path, RECORDED)[0]


def test_divisions_are_a_further_column(tmp_path):
    content = study(divisions=2)
    results(tmp_path, content)
    for parts in content["methods"].values():
        ensembles = {parts["ensemble"]: content["ensembles"][parts["ensemble"]]}
        columns = {"ensemble": list(ensembles) * 2, "division": [1, 2]}
        columns |= {key: [0.25, 1 / 3] for key in ("validation_error", "test_error")}
        job = {"ensemble_search.job": json.dumps({"divisions": 2, "ensembles": ensembles})}
        folder = tmp_path / f"divisions/d/{parts['search']}/0"
        files.write_parquet(folder / "divisions.parquet", columns, job)
    rows = evidence.rows(content, tmp_path, RECORDED)
    # Runs that have none yet are not finished.
    assert [(r["dataset"], r["method"], r["repeat"]) for r in rows] == [
        ("d", "RS", "0"),
        ("d", "DivBO", "0"),
    ]
    assert [r[evidence.DIVISIONS] for r in rows] == ["0.25 0.333333"] * 2
    evidence.write(tmp_path / "evidence", rows)
    assert evidence.read(tmp_path / "evidence") == rows
    # Another number of them makes rows stale.
    numbers = [evidence.numbers(study(divisions=n), RECORDED)["RS"] for n in (None, 2, 3)]
    assert numbers[0] == evidence.numbers(study(), RECORDED)["RS"]
    assert len(set(numbers)) == 3


def replayed(**changes) -> dict:
    return study(evaluation={"replay": "tables"}, **changes)


def test_rows_of_a_replay_depend_on_its_table_instead_of_pipelines():
    moved = json.loads(json.dumps(RECORDED))
    moved["pipeline"] = {}
    assert evidence.numbers(replayed(), moved) == evidence.numbers(replayed(), RECORDED)
    assert evidence.numbers(study(), moved) != evidence.numbers(study(), RECORDED)
    current = evidence.numbers(replayed(), RECORDED)
    blank = dict.fromkeys(evidence.COLUMNS, "") | {"dataset": "d", "split": "fixed"}
    row = {**blank, "repeat": "0", "method": "RS", "numbers": current["RS"], "table": "aa"}
    for now, stale in (({}, ""), ({"table": "aa"}, ""), ({"table": "bb"}, "yes")):
        there = {("d", "fixed"): now}
        assert evidence.merge([row], [], current, there)[0]["stale"] == stale


def test_rows_depend_on_their_data_sets_own_training_rows(tmp_path):
    part = {"share": 0.5, "by": "uniform"}
    content = study(train_rows={"e": part})
    results(tmp_path, content)
    split = tmp_path / "splits/e/fixed/split.json"
    stored = json.loads(split.read_text())
    stored["settings"]["train_rows"] = part
    split.write_text(json.dumps(stored))
    current = evidence.numbers(content, RECORDED)
    rows = evidence.merge([], evidence.rows(content, tmp_path, RECORDED), current)
    assert [row.get("train_rows") for row in rows] == 4 * [None] + 4 * [json.dumps(part)]

    def stale(**parts):
        there = evidence.data(study(train_rows=parts))
        found = evidence.merge(rows, [], current, there)
        return {row["dataset"] for row in found if row["stale"]}

    assert stale(e=part) == set()
    assert stale(d=part, e=part | {"share": 0.1}) == {"d", "e"}
    assert stale() == {"e"}


def test_rows_depend_on_the_pipelines_of_their_own_space():
    moved = json.loads(json.dumps(RECORDED))
    moved["space"]["svm"] = {}
    for space, same in (("svm", False), ("mlp", True), ("divbo", True)):
        content = study(space=space)
        assert (evidence.numbers(content, moved) == evidence.numbers(content, RECORDED)) is same
    with pytest.raises(UserError, match=r"space: 'mine' has no recorded numbers; run: make record"):
        evidence.numbers(study(space="mine"), RECORDED)


@pytest.mark.parametrize(("metric", "disagreement"), [("error", 0.25), ("squared-error", np.nan)])
def test_members_of_regressions_have_no_disagreement(monkeypatch, metric, disagreement):
    final = SimpleNamespace(members=[1, 3], disagreement=0.25)
    monkeypatch.setattr(evidence.member_diversity, "read", lambda *run: final)
    found = SimpleNamespace(
        study={"methods": {"A": {"search": "a"}}},
        errors=lambda *run: np.array([0.5, 0.0, 0.25]),
        losses=losses.of({"metric": metric}),
    )
    assert evidence._members(found, "d", "A", 0) == pytest.approx(
        {"member_error": 0.375, "disagreement": disagreement}, nan_ok=True
    )
