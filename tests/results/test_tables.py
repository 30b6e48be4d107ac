"""Tables of finished searches, and searches replayed on them, with instant learners."""

import json
import re
import shutil
import time
from dataclasses import replace
from datetime import datetime
from fractions import Fraction
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from ensemble_search.data.split import load_inputs
from ensemble_search.evaluation import table as table_module
from ensemble_search.evaluation.table import Table
from ensemble_search.jobs import Jobs, check_tables
from ensemble_search.results import readers, tables
from ensemble_search.runtime import plugins, provenance
from ensemble_search.runtime.errors import UserError
from ensemble_search.runtime.files import checksums, read_json, write_json, write_npy, write_parquet
from ensemble_search.scoring import ensemble_scores
from ensemble_search.search.run import run_job
from ensemble_search.study import model
from support import hostile_space, instant_search
from support.instant_search import InstantEvaluator, make_job

pytestmark = pytest.mark.slow

PARTS = ("validation", "test")
TIMES = {"suggest_seconds"}
OPTIMIZERS = instant_search.OPTIMIZERS | {
    "divbo": {"optimizer": "divbo"},
}


def hostile_or(load):
    """What loads plugins, and the hostile space."""
    return lambda kind, name: (
        hostile_space.HostileSpace if (kind, name) == ("spaces", "hostile") else load(kind, name)
    )


@pytest.fixture(autouse=True)
def hostile(monkeypatch):
    monkeypatch.setattr(plugins, "load", hostile_or(plugins.load))


def job(optimizer="random", optimizer_=None, **more) -> dict:
    settings = optimizer_ or OPTIMIZERS[optimizer]
    return make_job(settings, **{"budget": {"evaluations": 30}, **more})


@pytest.fixture
def made(tmp_path) -> Path:
    """Two random searches, and the table of both."""
    return make(tmp_path)


def make(folder: Path) -> Path:
    instant_search.make_split(folder / "split")
    for repeat in (0, 1):
        live(folder, repeat=repeat)
    tables.build([folder / "random/0", folder / "random/1"], folder / "table")
    return folder


def live(folder: Path, evaluator=InstantEvaluator, **more) -> Path:
    described = job(**more)
    output = folder / described["search"] / str(described["repeat"])
    places = folder / "split", folder / "checkpoints" / output.name, output
    run_job(described, *places, make_evaluator=evaluator)
    return output


def replay(folder: Path, table="table", **more) -> Path:
    described = job(**more)
    output = folder / "replayed" / described["search"] / str(described["repeat"])
    run_job(
        described,
        folder / "split",
        folder / "checkpoints",
        output,
        table=Table.read(folder / table),
    )
    return output


def observations(folder: Path) -> pd.DataFrame:
    return pd.read_parquet(folder / "observations.parquet")


def values(frame: pd.DataFrame) -> list[str]:
    return frame.filter(like="config.").apply(lambda row: row.to_json(), axis=1).tolist()


def test_a_job_starts_with_its_process_or_when_it_is_said_to(made, tmp_path):
    """Several replays are one process: only the first of them begins with it."""
    for when in (None, time.monotonic() + 100):
        table = Table.read(made / "table")
        run_job(job(), made / "split", tmp_path, tmp_path, table=table, started=when)
        found = json.loads((tmp_path / "search.json").read_text())["started"]
        expected = provenance.past(when or provenance.process_started())
        found, expected = map(datetime.fromisoformat, (found, expected))
        assert abs((found - expected).total_seconds()) <= 60


def test_a_table_is_the_union_of_its_searches(made):
    searches = [observations(made / "random" / str(repeat)) for repeat in (0, 1)]
    both = pd.concat(searches, ignore_index=True)
    found = observations(made / "table")
    assert list(found.iteration) == list(range(1, 61))
    assert found.source.tolist() == ["random/0"] * 30 + ["random/1"] * 30
    columns = both.columns.drop(["iteration", "origin"])
    pd.testing.assert_frame_equal(found[columns], both[columns])
    for part in PARTS:
        name = f"predictions-{part}.npy"
        stored = [readers.predictions(made / "random" / r, part, 30) for r in "01"]
        assert np.isnan(stored).any()  # failed evaluations
        assert np.array_equal(
            np.load(made / "table" / name), np.concatenate(stored), equal_nan=True
        )
    about = read_json(made / "table/table.json")
    assert about["entries"] == 60
    assert about["status"] == both.status.value_counts().sort_index().to_dict()
    assert about["data"] == read_json(made / "split/split.json")["checksum"]


def test_an_evaluation_made_twice_is_kept_once(made):
    searches = [made / "random/0", made / "random/1", made / "random/0"]
    tables.build(searches, made / "again")
    for name in ("observations.parquet", "predictions-test.npy"):
        assert (made / "again" / name).read_bytes() == (made / "table" / name).read_bytes()


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_a_replay_finds_in_the_table_what_was_found_live(made, optimizer):
    output = replay(made, optimizer=optimizer)
    found, table = observations(output), observations(made / "table")
    assert found.entry.nunique() == len(found) == 30
    of_entry = table.loc[found.entry].reset_index(drop=True)
    assert values(found) == values(of_entry)
    for column in ("status", "error", "fit_seconds", "cpu_seconds", "memory_mb", "message"):
        pd.testing.assert_series_equal(found[column], of_entry[column])
    for part in PARTS:
        stored = np.load(made / "table" / f"predictions-{part}.npy")[found.entry]
        assert np.array_equal(readers.predictions(output, part, 30), stored, equal_nan=True)
    assert not list(output.glob("*.npy"))


def test_a_replay_is_the_same_every_time(made):
    first = replay(made, optimizer="divbo")
    before = observations(first).drop(columns=TIMES)
    shutil.rmtree(first)
    after = observations(replay(made, optimizer="divbo")).drop(columns=TIMES)
    pd.testing.assert_frame_equal(before, after)
    other = observations(replay(made, optimizer="divbo", repeat=1)).drop(columns=TIMES)
    assert values(other) != values(after)


def test_ensembles_of_a_replay_are_those_of_its_evaluations(made):
    """The same search, with its predictions beside it instead of in the table."""
    replayed = replay(made, optimizer="bo")
    copy = made / "copy"
    shutil.copytree(replayed, copy)
    for part in PARTS:
        write_npy(copy / f"predictions-{part}.npy", readers.predictions(replayed, part, 30))
    manifest = read_json(copy / "search.json")
    del manifest["table"]
    manifest["files"] = checksums(copy, ["observations.parquet"])
    write_json(copy / "search.json", manifest)
    settings = {"type": "selection", "size": 5}
    found = []
    for search in (replayed, copy):
        ensemble_scores.write(search, made / "split", settings, 0, made / "out" / search.name)
        found.append((made / "out" / search.name / "members.parquet").read_bytes())
    assert found[0] == found[1]
    made_from = read_json(made / "out" / replayed.name / "ensemble.json")["search"]
    written = read_json(replayed / "search.json")["files"]
    assert made_from.items() <= written.items()


def test_a_search_can_use_up_its_table(made):
    output = replay(made, optimizer="bo", budget={"evaluations": 60})
    assert sorted(observations(output).entry) == list(range(60))
    output = replay(made, optimizer="random", budget={"seconds": 1e6})
    assert sorted(observations(output).entry) == list(range(60))


def test_the_table_of_a_single_algorithm_is_its_part(made, monkeypatch):
    """No entry comes twice there either."""
    settings = {"optimizer": "tpe", "algorithm": "euclid", "initial": 3}
    monkeypatch.setitem(OPTIMIZERS, "tpe", settings)
    known = observations(made / "table")
    own = known.index[known["config.algorithm"] == "euclid"].tolist()
    output = replay(made, optimizer="tpe", budget={"seconds": 1e6})
    assert sorted(observations(output).entry) == own
    with pytest.raises(UserError, match=f"has {len(own)} configurations for this search, which"):
        replay(made, optimizer="tpe", budget={"evaluations": len(own) + 1})


def test_seconds_are_those_that_were_measured_live(made):
    found = observations(replay(made, budget={"seconds": 12.0}))
    assert found.fit_seconds.sum() == 12  # a second each


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"budget": {"evaluations": 61}},
            "has 60 configurations for this search, which needs 61; lower",
        ),
        ({"space": "divbo"}, "space is 'hostile', the study's 'divbo'"),
        (
            {"limits": {"seconds": 5.0, "memory_mb": 4096}},
            "limits.seconds is 60.0, the study's 5.0",
        ),
    ],
)
def test_a_table_that_is_not_of_the_study(made, change, message):
    with pytest.raises(UserError, match=re.escape(message)):
        replay(made, **change)


def test_a_table_of_another_split(made, tmp_path):
    other = tmp_path / "other"
    other.mkdir()
    (other / "split").mkdir()
    hostile_space.write_inputs(other / "split", n_rows=40, seed=5, test_rows=9)
    checksum = load_inputs(other / "split/inputs.npz").checksum()
    write_json(other / "split/split.json", {"checksum": checksum})
    with pytest.raises(UserError, match=r"is not of this study: data, split or seed are others$"):
        run_job(job(), other / "split", other / "c", other / "o", table=Table.read(made / "table"))


@pytest.mark.parametrize("name", ["observations.parquet", "predictions-test.npy", "table.json"])
def test_a_damaged_table(made, name):
    path = made / "table" / name
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(UserError, match=rf"^(cannot read )?'[^']*{name}'.*; copy the table again"):
        replay(made)
    with pytest.raises(UserError, match=name):
        list(tables.describe(made))


@pytest.fixture
def study(made, monkeypatch) -> dict:
    """A study that is replayed on the table."""
    monkeypatch.chdir(made)
    shutil.copytree("table", "results/other/tables/blobs/fixed")
    return {
        "study": "s",
        "datasets": {"blobs": {"sklearn": "wine"}},
        "repeats": 3,
        "limits": {"seconds": 60},
        "budget": {"evaluations": 60},
        "searches": {"random": {"optimizer": "random"}},
        "ensembles": {"best": {"type": "best"}},
        "methods": {"RS": {"search": "random", "ensemble": "best"}},
        "evaluation": {"replay": "results/other/tables"},
    }


def check(study: dict) -> None:
    check_tables(Jobs(model.check(study).model_copy(update={"space": "hostile"})))


def test_a_study_is_checked_against_its_table(study, monkeypatch):
    read = []
    glance = table_module.glance
    monkeypatch.setattr(table_module, "glance", lambda f: read.append(f) or glance(f))
    check(study)
    assert read == [Path("results/other/tables/blobs/fixed")], "once, for all repeats"
    says = r"60 configurations, and search 'random' needs 61; enlarge it, or lower budget\.eval"
    with pytest.raises(UserError, match=says):
        check(study | {"budget": {"evaluations": 61}})
    with pytest.raises(UserError, match=r"limits\.seconds is 60\.0, the study's 9\.0"):
        check(study | {"limits": {"seconds": 9}})


def test_a_table_of_another_split_is_rejected_when_the_study_is_read(study):
    """If the split is beside the table, as in the results of a study."""
    table = read_json(Path("results/other/tables/blobs/fixed/table.json"))
    splits = Path("results/other/splits/blobs/fixed/split.json")
    settings = {"train": 0.6, "validation": 0.2, "test": 0.2, "seed": 1}
    about = {"checksum": table["data"], "settings": settings}
    about["classes"] = {part: {} for part in ("train", "validation", "test")}
    write_json(splits, about)
    check(study)
    with pytest.raises(UserError, match=r"not of this study: split: seed is 1, the study's 2$"):
        check(study | {"split": {"seed": 2}})
    with pytest.raises(UserError, match=r"split: train is 0\.6, the study's not set; split: valid"):
        check(study | {"split": {"folds": 3}})
    write_json(splits, about | {"checksum": "0" * 64})  # made again since
    check(study | {"split": {"seed": 2}})


def test_surrogates_need_configurations_that_could_be_fitted(study):
    table = Path("results/other/tables/blobs/fixed/observations.parquet")
    usable = pq.read_table(table)["status"].to_pylist().count("ok")
    assert usable < 60
    section = {"names": ["forest-kernel"], "held_out": 5}
    check(study | {"surrogates": section | {"sizes": [usable - 5]}})
    with pytest.raises(
        UserError,
        match=rf"{usable} of its configurations could be fitted; surrogates\.sizes and "
        rf"surrogates\.held_out need {usable + 1}$",
    ):
        check(study | {"surrogates": section | {"sizes": [usable - 4]}})
    own = study | {"tables": {"random": 30}, "surrogates": section | {"sizes": [26]}}
    del own["evaluation"]
    with pytest.raises(UserError, match=r"tables\.random: 30 configurations are too few; surrog"):
        check(own)


def test_only_configurations_on_all_rows_can_be_replayed(study):
    """As in a table of Hyperband: what was fitted on fewer rows does not count."""
    path = Path("results/other/tables/blobs/fixed/observations.parquet")
    table = pq.read_table(path)
    fidelities = pa.array([0.5] * 20 + [1.0] * 40)
    place = table.schema.get_field_index("fidelity")
    write_parquet(path, table.set_column(place, "fidelity", fidelities))
    with pytest.raises(UserError, match=r"40 configurations, and search 'random' needs 60"):
        check(study)
    halving = {"optimizer": "successive-halving", "eta": 2, "smallest": 0.5}
    several = study | {"budget": {"fits": 40}, "searches": {"random": halving}}
    with pytest.raises(UserError, match=r"20 configurations, and search 'random' needs \d+; enl"):
        check(several)
    manifest = path.parent / "table.json"
    about = read_json(manifest)
    write_json(manifest, about | {"files": checksums(path.parent, table_module.FILES)})
    (line,) = tables.describe(path.parent)
    assert "40 configurations of 'hostile' and 20 evaluations on a part of the rows" in line


@pytest.mark.parametrize("name", ["observations.parquet", "predictions-test.npy", "table.json"])
def test_a_table_that_lost_a_file_or_a_part_of_one(study, name):
    path = Path("results/other/tables/blobs/fixed") / name
    content = path.read_bytes()
    path.write_bytes(content[:-20])
    with pytest.raises(UserError, match=f"cannot read '{path}'.*; copy the table again"):
        check(study)
    path.unlink()
    with pytest.raises(UserError, match=f"there is no '{path}'; make these tables first"):
        check(study)


@pytest.mark.parametrize("name", ["observations.parquet", "predictions-test.npy", "table.json"])
def test_a_table_of_its_own_may_be_missing_but_not_damaged(study, name):
    own = study | {"study": "other", "tables": {"random": 99}}
    path = Path("results/other/tables/blobs/fixed") / name
    check(own)
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(UserError, match=f"cannot read '{path}'"):
        check(own)
    path.unlink()
    check(own)
    shutil.rmtree("results")
    check(own)


def test_a_table_that_has_changed_since_a_search(made):
    output = replay(made)
    tables.build([made / "random/1"], made / "table")
    with pytest.raises(UserError, match="is another than it was"):
        readers.predictions(output, "test", 30)


class ShareEvaluator(InstantEvaluator):
    """Says in the seconds of an evaluation on which share of the rows it was."""

    def evaluate(self, values, fidelity=1.0):
        return replace(super().evaluate(values, fidelity), fit_seconds=fidelity)


SHARES = [1 / 27, 1 / 9, 1 / 3, 1.0]


@pytest.fixture(scope="module")
def shares(tmp_path_factory) -> Path:
    """A table of 60 random configurations at four fidelities, and of another one on all rows."""
    folder = tmp_path_factory.mktemp("shares")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(plugins, "load", hostile_or(plugins.load))
        instant_search.make_split(folder / "split")
        shard = {"optimizer": "random", "fidelities": SHARES}
        live(folder, ShareEvaluator, optimizer_=shard, budget={"evaluations": 240})
        live(folder, ShareEvaluator, repeat=1, budget={"evaluations": 1})
    tables.build([folder / "random/0", folder / "random/1"], folder / "table")
    return folder


@pytest.mark.parametrize(
    ("optimizer", "fits"), [("hyperband", 12), ("successive-halving", 8), ("bohb", 12)]
)
def test_a_replay_at_several_fidelities(shares, optimizer, fits):
    """Every configuration is looked up at the fidelity that was asked for, and ensembles follow."""
    table = observations(shares / "table")
    assert table.fidelity.tolist() == SHARES * 60 + [1.0]
    settings = {"optimizer": optimizer}
    output = replay(shares, optimizer_=settings, budget={"fits": fits})
    found = observations(output)
    assert found.fit_seconds.tolist() == found.fidelity.tolist(), "each at its own fidelity"
    assert found.fidelity.tolist() == table.fidelity[found.entry].tolist()
    assert values(found) == values(table.iloc[found.entry])
    assert 240 not in set(found.entry), "it is not there at every fidelity"
    spent = [Fraction(f).limit_denominator(27) for f in found.fidelity]
    assert sum(spent[:-1]) < fits <= sum(spent), "failed ones included"
    assert (found.status != "ok").any()
    ensemble_scores.write(output, shares / "split", {"type": "best"}, 0, shares / optimizer)
    members = pd.read_parquet(shares / optimizer / "members.parquet")
    assert (found.fidelity[members.member - 1] == 1).all()
    whole = found[(found.fidelity == 1) & (found.status == "ok")]
    scores = pd.read_parquet(shares / optimizer / "scores.parquet")
    assert scores.validation_error.iloc[-1] == whole.error.min()


def test_brackets_need_a_configuration_for_each_of_their_beginnings(shares):
    """240 evaluations are enough for 12 fits, but three brackets begin with 27 configurations."""
    message = r"has 60 configurations .*, which needs 81; lower budget\.fits, or enlarge the table"
    with pytest.raises(UserError, match=message):
        replay(shares, optimizer_={"optimizer": "successive-halving"}, budget={"fits": 12})


def test_a_search_on_all_rows_has_the_whole_table(shares):
    output = replay(shares, budget={"fits": 61})
    assert sorted(observations(output).entry) == [*range(3, 240, 4), 240]
    with pytest.raises(UserError, match=r"61 configurations .* which needs 62; lower budget\.fits"):
        replay(shares, budget={"fits": 62})


def test_a_study_may_ask_for_no_fidelity_that_its_table_lacks(study):
    section = {"searches": {"h": {"optimizer": "hyperband"}}, "budget": {"fits": 12}}
    section["methods"] = {"H": {"search": "h", "ensemble": "best"}}
    with pytest.raises(
        UserError,
        match="has no evaluations on 1/27, 1/9, 1/3 of the rows, which search 'h' may ask for",
    ):
        check(study | section)
    own = study | section | {"evaluation": {"replay": "results/s/tables"}}
    fidelities = ["1/27", "1/9", "1/3", 1]
    check(own | {"tables": {"random": 46, "fidelities": fidelities}})
    with pytest.raises(UserError, match=r"tables\.fidelities: search 'h' may ask for 1/27, 1/9 of"):
        check(own | {"tables": {"random": 46, "fidelities": fidelities[2:]}})
    own["searches"] = {"h": {"optimizer": "hyperband", "smallest": "1/9"}}
    with pytest.raises(UserError) as found:  # all searches need all rows: it is said once
        check(own | {"tables": {"random": 46, "fidelities": ["1/9", "1/3"]}})
    assert len(found.value.problems) == 1 and "1/9, 1/3 lack all rows; add 1" in str(found.value)
    own["searches"]["h"]["smallest"] = "1/0"
    with pytest.raises(UserError, match=r"a fraction such as 1/3; found '1/0'$"):
        check(own | {"tables": {"random": 46, "fidelities": fidelities}})


def test_a_fidelity_that_the_table_lacks(made):
    table = Table.read(made / "table")
    with pytest.raises(UserError, match=r"at fidelity 1 only, and the optimizer asks for 1/2; "):
        table.row(table.configurations[0], 0.5)


def test_searches_that_do_not_belong_together(made):
    limits = {"seconds": 9.0, "memory_mb": 4096}
    other = live(made, repeat=7, limits=limits)
    with pytest.raises(UserError, match=r"limits\.seconds: 60\.0 there, 9\.0 here"):
        tables.build([made / "random/0", other], made / "new")
    other = made / "other"
    other.mkdir()
    hostile_space.write_inputs(other, n_rows=40, seed=5, test_rows=9)
    checksum = load_inputs(other / "inputs.npz").checksum()
    write_json(other / "split.json", {"checksum": checksum})
    run_job(job(), other, made / "c", made / "o", make_evaluator=InstantEvaluator)
    with pytest.raises(
        UserError, match=r"'.*/o' does not belong .*: data, split or seed are others$"
    ):
        tables.build([made / "random/0", made / "o"], made / "new")
    with pytest.raises(
        UserError, match=r"/nothing' is not a finished search: it has no search\.json"
    ):
        tables.build([made / "nothing"], made / "new")
    with pytest.raises(UserError, match="was replayed on a table"):
        tables.build([replay(made)], made / "new")
    assert not (made / "new").exists()


def test_the_description(made):
    (line,) = tables.describe(made)
    assert "60 configurations of 'hostile'" in line
    with pytest.raises(UserError, match="there is no table below"):
        list(tables.describe(made / "split"))


def test_a_forged_manifest_is_rejected(made):
    path = made / "table/table.json"
    about = json.loads(path.read_text())
    path.write_text(json.dumps(about | {"entries": 10**12}))
    with pytest.raises(UserError, match="has 60 rows, not 1000000000000"):
        replay(made)
    del about["status"]
    path.write_text(json.dumps(about))
    with pytest.raises(UserError, match=r"table\.json': status: Field required; copy"):
        list(tables.describe(made))
