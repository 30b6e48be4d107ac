"""Tables made by a study, and studies replayed on them, as a user runs them."""

import json
import shutil
import subprocess

import numpy as np
import pandas as pd
import pytest

from ensemble_search.evaluation import table as tables
from ensemble_search.results import readers
from support import ROOT
from support.checkout import STUDY, Checkout

pytestmark = pytest.mark.slow

TABLES = STUDY | {
    "study": "tables",
    "methods": {"RS": {"search": "random", "ensemble": "best"}},
    "tables": {"random": 30, "searches": ["bo"]},
}
REPLAYED = STUDY | {
    "study": "replayed",
    "repeats": 2,
    "budget": {"evaluations": 20},
    "evaluation": {"replay": "results/tables/tables"},
    "surrogates": {
        "names": ["forest-kernel"], "repeats": 1, "sizes": [4], "held_out": 3, "configurations": 7,
    },
}  # fmt: skip
SHARD = "results/tables/shards/wine/fixed/0"
TABLE = "results/tables/tables/wine/fixed"
SEARCHES = "results/replayed/searches/wine"
ROUND = STUDY | {"split": {"resample": 2}, "methods": TABLES["methods"]}
TABLES_OF_TWO = ROUND | {"study": "two", "repeats": 3, "tables": {"random": 20}}
REPLAYED_ON_TWO = ROUND | {
    "study": "round", "repeats": 12, "evaluation": {"replay": "results/two/tables"},
}  # fmt: skip

#: Makes its tables, at every fidelity, and replays on them.
SHARES = STUDY | {
    "study": "shares",
    "repeats": 2,
    "budget": {"fits": 6},
    "tables": {"random": 40, "fidelities": ["1/9", "1/3", 1]},
    "evaluation": {"replay": "results/shares/tables"},
    "searches": {
        "hyperband": {"optimizer": "hyperband", "smallest": 0.1},
        "bohb": {"optimizer": "bohb", "smallest": 0.1, "points": 3},
        "random": {"optimizer": "random"},
    },
    "methods": {
        name: {"search": name, "ensemble": "best"} for name in ("hyperband", "bohb", "random")
    },
}  # fmt: skip


@pytest.fixture(scope="module")
def made(tmp_path_factory) -> Checkout:
    """A study of tables, and one replayed on them."""
    result = Checkout(tmp_path_factory.mktemp("made"))
    result.run(TABLES, "--until", "table", "ensemble")
    result.run(REPLAYED)
    return result


def observations(checkout: Checkout, folder: str) -> pd.DataFrame:
    return pd.read_parquet(checkout.folder / folder / "observations.parquet")


def test_a_table_has_its_random_configurations_and_searches(made):
    table = observations(made, TABLE)
    # The search begins with five of the random configurations.
    assert table.source.value_counts().to_dict() == {"table/0": 30, "bo/0": 3}
    about = json.loads((made.folder / TABLE / "table.json").read_text())
    assert about["entries"] == 33
    assert about["limits"]["seconds"] == 60
    shard = np.load(made.folder / SHARD / "predictions-test.npy")
    stored = np.load(made.folder / TABLE / "predictions-test.npy")
    assert np.array_equal(stored[:30], shard, equal_nan=True)


def test_replayed_searches_fit_nothing(made):
    table = observations(made, TABLE)
    for search in ("random", "bo"):
        for repeat in "01":
            found = observations(made, f"{SEARCHES}/{search}/{repeat}")
            assert len(found) == found.entry.nunique() == 20
            assert found.fit_seconds.tolist() == table.fit_seconds[found.entry].tolist()
    assert not list((made.folder / SEARCHES).rglob("*.npy"))
    first, second = (set(observations(made, f"{SEARCHES}/bo/{r}").entry) for r in "01")
    assert first != second


def test_the_report_says_that_it_is_a_replay(made):
    text = (made.folder / "results/replayed/report/index.html").read_text(encoding="utf-8")
    assert "replayed on tables of 33 configurations per data set" in text
    assert "(61 % of them are evaluated)" in text


def test_surrogates_are_judged_on_the_table(made):
    assert not (made.folder / "results/replayed/configurations").exists()
    quality = made.folder / "results/replayed/surrogates/wine/forest-kernel/0/quality.parquet"
    assert pd.read_parquet(quality).observations.tolist() == [4, 4]


def test_nothing_is_left_to_do_and_all_is_whole(made):
    assert made.planned() == {}
    assert made.script("verify", "--study", "study.yaml", "--sample", "1").returncode == 0


def test_a_larger_table_fits_what_is_new_and_replays_again(made, tmp_path):
    shutil.copytree(made.folder, tmp_path / "copy", copy_function=shutil.copy2)
    copy = object.__new__(Checkout)
    copy.folder, copy.environment = tmp_path / "copy", made.environment
    before = observations(copy, SHARD)
    copy.run(TABLES | {"tables": {"random": 33, "searches": ["bo"]}}, "--until", "table")
    after = observations(copy, SHARD)
    assert len(after) == 33
    pd.testing.assert_frame_equal(after[:30], before)  # with its measured times
    copy.write(REPLAYED)
    assert copy.planned()["last_replay"] == 2
    run = copy.script("verify", "--study", "study.yaml")
    assert run.returncode == 1
    assert "another than it was" in run.stdout + run.stderr
    copy.snakemake("--until", "last_replayed_ensemble", "surrogate")
    assert copy.planned() == {"report": 1, "manifest": 1, "all": 1}


def test_a_search_begins_with_the_evaluations_of_a_table(made):
    study = {
        **STUDY,
        "study": "warm",
        "repeats": 1,
        "searches": {"bo": {"optimizer": "bo"}, "warm": {"optimizer": "bo", "interleave": 0}},
        "methods": {
            name: {"search": name, "ensemble": "selection-5"} for name in ("bo", "warm")
        },
        "evaluation": {"warm_start": {"warm": "results/tables/tables/"}},
    }  # fmt: skip
    made.run(study)
    assert made.planned() == {}
    verified = made.script("verify", "--study", "study.yaml", "--sample", "1")
    made.write(study | {"evaluation": {}})
    cold = made.planned()
    made.write(REPLAYED)
    assert verified.returncode == 0, verified.stdout + verified.stderr
    table = observations(made, TABLE)
    found = observations(made, "results/warm/searches/wine/warm/0")
    new = STUDY["budget"]["evaluations"]
    assert found.origin.tolist() == ["given"] * 33 + ["fitted"] * new
    assert found.error[:33].tolist() == table.error.tolist()
    assert len(observations(made, "results/warm/searches/wine/bo/0")) == new
    assert cold["search"] == 1
    scores = pd.read_parquet(
        made.folder / "results/warm/ensembles/wine/warm/selection-5/0/scores.parquet"
    )
    drawn = pd.read_csv(
        made.folder / "results/warm/report/figures/each-data-set-validation-wine.csv"
    ).set_index("method")
    assert drawn.loc["warm", "iteration"].tolist() == list(range(1, new + 1))
    assert drawn.loc["warm", "mean"].tolist() == pytest.approx(
        scores.validation_error[33:].tolist()
    )


def test_fewer_repeats_are_explained(made):
    made.write(REPLAYED | {"repeats": 1})
    said = made.script("why", "--study", "study.yaml").stdout
    made.write(REPLAYED)
    jobs = "replayed wine bo; replayed wine random"
    assert f"  2 x its settings changed: repeats: [0, 1] before, [0] now ({jobs})" in said


@pytest.mark.parametrize("name", ["observations.parquet", "predictions-test.npy"])
def test_a_lost_file_of_a_table(made, name):
    path = made.folder / TABLE / name
    kept = path.rename(path.with_name("kept"))
    replayed = made.script("why", "--study", "study.yaml").stderr
    made.write(TABLES)
    own = made.script("why", "--study", "study.yaml").stdout
    made.write(REPLAYED)
    kept.rename(path)
    assert replayed.startswith(
        f"error: study.yaml: evaluation.replay: there is no '{TABLE}/{name}'"
    )
    assert "table: 1 job\n  1 x not computed yet (tables wine fixed)" in own


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"evaluation": {"replay": "results/nothing"}}, "there is no 'results/nothing/wine/fixed/"),
        (
            {"budget": {"evaluations": 34}},
            "33 configurations, and search 'bo' needs 34; enlarge it, or lower budget.evaluations",
        ),
        ({"limits": {"seconds": 9}}, "limits.seconds is 60.0, the study's 9.0"),
        ({"split": {"seed": 7}}, "is not of this study: split: seed is 1, the study's 7"),
        ({"tables": {"searches": ["bo"]}}, "tables.searches: the searches of this study are repl"),
        (
            {"evaluation": {"warm_start": {"bo": "results/nothing"}}},
            "evaluation.warm_start.bo: there is no 'results/nothing/wine/fixed/",
        ),
        (
            {"evaluation": {"warm_start": {"bo": "results/tables/tables"}}, "space": "divbo"},
            "evaluation.warm_start.bo: 'results/tables/tables/wine/fixed' is not of this study: "
            "space is",
        ),
    ],
)
def test_bad_input(made, change, message):
    made.write({**REPLAYED, "study": "bad", **change})
    text = made.snakemake(fails=True)
    made.write(REPLAYED)
    assert message in text
    assert "Traceback" not in text


@pytest.fixture(scope="module")
def going_round(tmp_path_factory) -> Checkout:
    """A study of tables of two splits, and twelve repeats that are replayed on them: two jobs."""
    result = Checkout(tmp_path_factory.mktemp("round"))
    result.run(TABLES_OF_TWO, "--until", "table", "ensemble")
    result.run(REPLAYED_ON_TWO)
    return result


def test_repeats_go_round_over_the_splits_of_the_tables(going_round):
    folder = going_round.folder / "results"
    made = [folder / f"two/tables/wine/repeat-{split}" for split in (0, 1)]
    errors = [pd.read_parquet(table / "observations.parquet").error for table in made]
    assert errors[0].tolist() != errors[1].tolist()
    for repeat in range(12):
        split = repeat % 2
        run = folder / f"round/searches/wine/random/{repeat}"
        found = pd.read_parquet(run / "observations.parquet")
        assert found.error.tolist() == errors[split][found.entry].tolist()
        used = json.loads((run / "search.json").read_text())["table"]["folder"]
        assert used == f"results/two/tables/wine/repeat-{split}"
        # The test error of the best model, by hand from the predictions and labels of that split.
        best = found.entry[found.error.idxmin()]
        predicted = np.load(made[split] / "predictions-test.npy")[best].argmax(axis=1)
        labels = np.load(folder / f"round/splits/wine/repeat-{split}/test_labels.npy")
        scores = folder / f"round/ensembles/wine/random/best/{repeat}/scores.parquet"
        wrong = predicted != labels
        assert pd.read_parquet(scores).test_error.iloc[-1] == pytest.approx(wrong.mean())
        assert readers.losses(scores.parent)[1][-1].tolist() == wrong.tolist()
    text = (folder / "round/report/index.html").read_text(encoding="utf-8")
    assert "The 12 repeats of a data set cycle through 2 splits." in text
    assert "per data set and split (the repeats cycle through 2)" in text
    assert going_round.planned() == {}
    assert going_round.script("verify", "--study", "study.yaml", "--sample", "1").returncode == 0


def test_other_splits_run_only_the_repeats_that_use_others(going_round):
    last = {"report": 1, "manifest": 1, "all": 1}
    going_round.write(TABLES_OF_TWO | {"repeats": 4})
    assert going_round.planned() == {"search": 1, "ensemble": 1, **last}
    # Of repeats 0, 1 and 2 the last went back to the first split.
    going_round.write(TABLES_OF_TWO | {"split": {"resample": 3}})
    new = {"split": 1, "shard": 1, "table": 1}
    assert going_round.planned() == {"search": 1, "ensemble": 1, **new, **last}
    going_round.write(TABLES_OF_TWO | {"split": {"resample": "per-repeat"}})
    assert going_round.planned() == {"search": 1, "ensemble": 1, **new, **last}


def test_more_repeats_run_only_the_last_that_were_fewer_than_ten(going_round):
    last = {"last_replay": 1, "last_replayed_ensemble": 1, "report": 1, "manifest": 1, "all": 1}
    going_round.write(REPLAYED_ON_TWO | {"repeats": 13})
    assert going_round.planned() == last
    going_round.write(REPLAYED_ON_TWO | {"repeats": 21})
    assert going_round.planned() == last | {"replay": 1, "replayed_ensemble": 1}
    going_round.write(REPLAYED_ON_TWO | {"repeats": 10})
    assert going_round.planned() == {"report": 1, "manifest": 1, "all": 1}
    going_round.write(REPLAYED_ON_TWO)


@pytest.mark.parametrize(
    ("name", "jobs"),
    [
        ("searches/wine/random/3/search.json", {"replay", "replayed_ensemble"}),
        ("searches/wine/random/10/search.json", {"last_replay", "last_replayed_ensemble"}),
        ("ensembles/wine/random/best/4/scores.parquet", {"replayed_ensemble"}),
        ("ensembles/wine/random/best/11/scores.parquet", {"last_replayed_ensemble"}),
    ],
)
def test_a_lost_result_of_one_repeat(going_round, name, jobs):
    path = going_round.folder / "results/round" / name
    kept = path.rename(path.with_name("kept"))
    planned = going_round.planned()
    kept.rename(path)
    assert planned == dict.fromkeys([*jobs, "report", "manifest", "all"], 1)


def test_a_split_that_has_no_table(going_round):
    going_round.write(REPLAYED_ON_TWO | {"study": "bad", "split": {"resample": 3}})
    lines = going_round.snakemake(fails=True).splitlines()
    assert [line for line in lines if line.startswith("error: ")] == [
        "error: study.yaml: evaluation.replay: there is no "
        "'results/two/tables/wine/repeat-2/table.json'; there are tables of repeat-0, repeat-1; "
        "change split.resample"
    ]
    assert not (going_round.folder / "results/bad").exists()


def test_one_study_from_fetch_to_report_and_evidence(tmp_path):
    """Hyperband and BOHB are replayed on tables that the study makes; their rows name the table."""
    checkout = Checkout(tmp_path)
    checkout.run(SHARES)
    table = observations(checkout, "results/shares/tables/wine/fixed")
    assert table.fidelity.round(3).value_counts().to_dict() == {0.111: 40, 0.333: 40, 1.0: 40}
    for search in SHARES["searches"]:
        spent = observations(checkout, f"results/shares/searches/wine/{search}/1").fidelity.sum()
        assert 6 - 1e-6 <= spent < 7
    page = checkout.folder / "results/shares/report/pages/rank-curves.html"
    assert "Average ranks over full fits" in page.read_text(encoding="utf-8")
    curve = pd.read_csv(next(page.parents[1].glob("figures/each-data-set-test-*.csv")))
    assert sorted(set(curve.iteration)) == [1, 2, 3, 4, 5, 6]

    def evidence() -> str:
        run = subprocess.run(
            ["python", ROOT / "workflow_scripts/evidence.py", "--study", "study.yaml"],
            cwd=tmp_path, env=checkout.environment, capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert run.returncode == 0, run.stderr
        return run.stdout.splitlines()[-1]

    assert evidence() == "evidence/shares: 2 of 2 repeats, 6 rows, 0 stale"
    about = json.loads((tmp_path / "results/shares/tables/wine/fixed/table.json").read_text())
    rows = pd.read_csv(tmp_path / "evidence/shares/runs.csv", dtype=str)
    assert set(rows.table) == {tables.checksum(about)[:12]}
    shutil.rmtree(tmp_path / "results")
    assert evidence() == "evidence/shares: 2 of 2 repeats, 6 rows, 0 stale"
