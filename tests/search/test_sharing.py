"""Searches that share their evaluations find what they find alone, with fewer fits."""

import json
import os
import signal
import threading
import time
from functools import partial

import numpy as np
import pandas as pd
import pytest

from ensemble_search.evaluation.base import EvaluatorError
from ensemble_search.evaluation.table import Table
from ensemble_search.results import tables
from ensemble_search.runtime import files, plugins
from ensemble_search.runtime.errors import UserError
from ensemble_search.runtime.names import ORIGINS
from ensemble_search.search.run import run_job
from support import hostile_space, instant_search

pytestmark = pytest.mark.slow

NAMES = ("random", "bo", "divbo")
BUDGET = 12


@pytest.fixture(scope="module", autouse=True)
def instant():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(plugins, "load", plugins.load)  # to be put back
        instant_search.install()
        yield


@pytest.fixture(scope="module")
def split(tmp_path_factory):
    folder = tmp_path_factory.mktemp("made") / "fixed"
    instant_search.make_split(folder)
    return folder


@pytest.fixture(scope="module")
def alone(split, tmp_path_factory):
    """What every search finds by itself, and its folder."""
    folder = tmp_path_factory.mktemp("alone")
    for name in NAMES:
        assert search(folder / name, split, name) == BUDGET
    return folder


class Counting(instant_search.InstantEvaluator):
    """Counts the fits, and breaks after some."""

    def __init__(self, space, inputs, limits, threads, fits, most):
        super().__init__(space, inputs, limits, threads)
        self.fits, self.most, self.cancelled = fits, most, threading.Event()

    def cancel(self):
        self.cancelled.set()

    def evaluate(self, values, fidelity=1.0):
        if self.cancelled.is_set() or len(self.fits) >= self.most:
            raise EvaluatorError("the processor is on fire")
        self.fits.append(values)
        return super().evaluate(values, fidelity)


def search(folder, split, name, workers=1, most=99, limits=None, fits=None, **more) -> int:
    """Run a search; return the number of its fits, which are appended to ``fits``."""
    fits = [] if fits is None else fits
    job = instant_search.make_job(
        instant_search.OPTIMIZERS[name],
        budget={"evaluations": BUDGET},
        limits=limits or {"seconds": 60.0, "memory_mb": 4096},
    )
    make = partial(Counting, fits=fits, most=most)
    folders = split, folder / "checkpoints", folder / "output"
    run_job(job, *folders, workers=workers, make_evaluator=make, **more)
    return len(fits)


def content(folder) -> dict:
    """What must be the same; and nothing else, as these evaluators measure the same each time."""
    output = folder / "output"
    found = {p.name: p.read_bytes() for p in output.glob("*.npy")}
    table = pd.read_parquet(output / "observations.parquet")
    found["table"] = table.drop(columns=["suggest_seconds", "origin"]).to_json(double_precision=15)
    manifest = json.loads((output / "search.json").read_text(encoding="utf-8"))
    passing = instant_search.PASSING | {"origin"}
    found["manifest"] = {k: v for k, v in manifest.items() if k not in passing}
    return found


def test_a_library_that_the_space_lacks_is_one_line(split, tmp_path, monkeypatch):
    monkeypatch.setattr(hostile_space.HostileSpace, "libraries", ("numpy", "not_there"))
    with pytest.raises(UserError, match=r"^space: hostile requires not_there, not installed in '"):
        search(tmp_path, split, "random")
    assert not (tmp_path / "checkpoints").exists()


def configurations(folder) -> set:
    table = pd.read_parquet(folder / "output/observations.parquet").filter(like="config.")
    return set(table.to_json(orient="records", lines=True, double_precision=15).splitlines())


def origins(folder) -> dict:
    column = pd.read_parquet(folder / "output/observations.parquet").origin
    counted = json.loads((folder / "output/search.json").read_text(encoding="utf-8"))["origin"]
    assert column.value_counts().to_dict() == counted
    assert set(counted) <= set(ORIGINS)
    return counted


@pytest.mark.parametrize("order", [NAMES, NAMES[::-1]])
@pytest.mark.parametrize("workers", [1, 3])
def test_searches_that_share_find_the_same_with_fewer_fits(tmp_path, split, alone, order, workers):
    fits = {n: search(tmp_path / n, split, n, workers, share=tmp_path / "all") for n in order}
    for name in NAMES:
        assert content(tmp_path / name) == content(alone / name)
        assert origins(alone / name) == {"fitted": BUDGET}
        assert origins(tmp_path / name).get("fitted", 0) == fits[name]
    expected, known = {}, set()
    for name in order:
        expected[name] = len(configurations(alone / name) - known)
        known |= configurations(alone / name)
    assert fits == expected
    assert sum(fits.values()) <= len(NAMES) * BUDGET - 2 * 5  # the same five begin all
    stored = list((tmp_path / "all").rglob("*.*"))
    assert len(stored) == sum(fits.values())
    assert {p.parent.parent for p in stored} == {tmp_path / "all/blobs/fixed"}


def test_searches_at_once_fit_nothing_twice(tmp_path, split, alone):
    def run(name):
        time.sleep(0.01)
        fits.append(search(tmp_path / name, split, name, 2, share=tmp_path / "all"))

    fits = []
    threads = [threading.Thread(target=run, args=(name,)) for name in NAMES]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sum(fits) == len(set.union(*(configurations(alone / name) for name in NAMES)))
    assert all(content(tmp_path / name) == content(alone / name) for name in NAMES)


@pytest.mark.parametrize("workers", [1, 3])
def test_an_interrupted_search_goes_on_and_fits_nothing_again(tmp_path, split, alone, workers):
    share = {"share": tmp_path / "all", "workers": workers}
    fits = []
    with pytest.raises(EvaluatorError, match="on fire"):
        search(tmp_path / "bo", split, "bo", most=7, fits=fits, **share)
    assert 7 <= len(fits) < BUDGET
    assert search(tmp_path / "bo", split, "bo", **share) == BUDGET - len(fits)
    assert content(tmp_path / "bo") == content(alone / "bo")


def test_evaluations_under_other_conditions_are_not_looked_up(tmp_path, split, alone):
    share = tmp_path / "all"
    assert search(tmp_path / "1", split, "random", share=share) == BUDGET
    other = {"seconds": 59.0, "memory_mb": 4096}
    assert search(tmp_path / "2", split, "random", share=share, limits=other) == BUDGET
    assert search(tmp_path / "3", split, "random", share=share, threads=2) == BUDGET
    assert search(tmp_path / "4", split, "random", share=share) == 0


@pytest.fixture(scope="module")
def table(alone, tmp_path_factory):
    """Folder of tables: one, with the evaluations of the random search."""
    root = tmp_path_factory.mktemp("tables")
    tables.build([alone / "random/output"], root / "blobs/fixed")
    return root


@pytest.mark.parametrize("workers", [1, 3])
def test_tables_are_looked_up_in_first(tmp_path, split, alone, table, workers):
    where = {"share": tmp_path / "all", "tables": table, "workers": workers}
    shared = len(configurations(alone / "bo") & configurations(alone / "random"))
    assert shared >= 5
    assert search(tmp_path / "bo", split, "bo", **where) == BUDGET - shared
    assert search(tmp_path / "random", split, "random", **where) == 0
    assert origins(tmp_path / "bo") == {"fitted": BUDGET - shared, "table": shared}
    assert origins(tmp_path / "random") == {"table": BUDGET}
    for name in ("bo", "random"):
        assert content(tmp_path / name) == content(alone / name)


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("space", "divbo", "is not of this study: space is 'divbo', the study's 'hostile'"),
        ("data", "0", "is not of this study: data, split or seed are others"),
        ("limits", {"seconds": 9.0, "memory_mb": 4096}, "limits.seconds is 9.0, the study's 60.0"),
        ("threads", 2, "cannot be mixed with fits: threads: 2 there, 1 here"),
        ("versions", {"numpy": "1"}, r"cannot be mixed with fits: .*versions\.numpy: 1 there"),
    ],
)
def test_tables_made_under_other_conditions_are_rejected(
    tmp_path, split, table, key, value, message
):
    folder = tmp_path / "tables/blobs/fixed"
    folder.mkdir(parents=True)
    for file in (table / "blobs/fixed").iterdir():
        (folder / file.name).write_bytes(file.read_bytes())
    about = json.loads((folder / "table.json").read_text(encoding="utf-8"))
    files.write_json(folder / "table.json", about | {key: value})
    with pytest.raises(UserError, match=message):
        search(tmp_path, split, "bo", share=tmp_path / "all", tables=tmp_path / "tables")
    assert not (tmp_path / "all").exists()


def test_a_killed_search_leaves_a_store_that_others_use(tmp_path, split, alone):
    """SIGKILL in the middle of an evaluation, with its lock held."""

    class Killed(instant_search.InstantEvaluator):
        count = 0

        def evaluate(self, values, fidelity=1.0):
            Killed.count += 1
            if Killed.count == 4:
                os.kill(os.getpid(), signal.SIGKILL)
            return super().evaluate(values, fidelity)

    child = os.fork()
    if not child:
        job = instant_search.make_job(
            instant_search.OPTIMIZERS["random"], budget={"evaluations": 9}
        )
        folders = split, tmp_path / "killed/checkpoints", tmp_path / "killed/output"
        run_job(job, *folders, share=tmp_path / "all", make_evaluator=Killed)
        os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL
    assert [p.suffix for p in sorted((tmp_path / "all").rglob("*.*"))].count(".lock") == 1
    assert search(tmp_path / "divbo", split, "divbo", share=tmp_path / "all") == BUDGET - 3
    assert origins(tmp_path / "divbo") == {"fitted": BUDGET - 3, "shared": 3}
    assert content(tmp_path / "divbo") == content(alone / "divbo")
    assert not list((tmp_path / "all").rglob("*.lock"))
    assert np.array_equal(
        np.load(tmp_path / "divbo/output/predictions-test.npy"),
        np.load(alone / "divbo/output/predictions-test.npy"),
        equal_nan=True,
    )


@pytest.mark.parametrize("workers", [1, 3])
def test_a_warm_start_begins_with_given_evaluations(tmp_path, split, alone, table, workers):
    """They are its first records; the budget and the sums are of its own ones."""
    warm = Table.read(table / "blobs/fixed")
    assert search(tmp_path / "bo", split, "bo", workers, warm_start=warm) == BUDGET
    found = pd.read_parquet(tmp_path / "bo/output/observations.parquet")
    assert found.origin.tolist() == ["given"] * BUDGET + ["fitted"] * BUDGET
    source = pd.read_parquet(alone / "random/output/observations.parquet")
    same = [c for c in source if c.startswith("config.")] + ["status", "error", "fit_seconds"]
    pd.testing.assert_frame_equal(found[same][:BUDGET], source[same])
    first = np.load(tmp_path / "bo/output/predictions-test.npy")[:BUDGET]
    np.testing.assert_array_equal(first, np.load(alone / "random/output/predictions-test.npy"))
    # They cover the initial design: the first suggestion is by the model, of what is known.
    why = [json.loads(text) for text in found.why]
    assert [w["origin"] for w in why[:BUDGET]] == ["given"] * BUDGET
    assert any("expected_improvement" in w for w in why[BUDGET : BUDGET + 5])
    made = found[BUDGET:].filter(like="config.").to_json(orient="records", lines=True)
    assert not set(made.splitlines()) & configurations(alone / "random")
    about = json.loads((tmp_path / "bo/output/search.json").read_text(encoding="utf-8"))
    assert about["wall_seconds"] == pytest.approx(BUDGET + about["suggest_seconds"])
    assert about["fingerprint"]["given"] == warm.description["checksum"]


@pytest.mark.parametrize("most", [0, 1, 7])
def test_an_interrupted_warm_start_goes_on(tmp_path, split, table, most):
    warm = {"warm_start": Table.read(table / "blobs/fixed")}
    search(tmp_path / "whole", split, "bo", **warm)
    with pytest.raises(EvaluatorError, match="on fire"):
        search(tmp_path / "cut", split, "bo", most=most, **warm)
    (journal,) = (tmp_path / "cut/checkpoints").glob("*/journal.jsonl")
    if not most:  # killed while the given ones were written
        lines = journal.read_bytes().splitlines(keepends=True)
        journal.write_bytes(b"".join(lines[:5]) + lines[5][:9])
    assert search(tmp_path / "cut", split, "bo", **warm) == BUDGET - most
    assert content(tmp_path / "cut") == content(tmp_path / "whole")


def test_wrong_sources_of_a_warm_start_are_rejected(tmp_path, split, table):
    warm = Table.read(table / "blobs/fixed")
    with pytest.raises(UserError, match=r"--warm-start: .* looks its evaluations up"):
        search(tmp_path, split, "bo", warm_start=warm, table=warm)
    other = {"seconds": 9.0, "memory_mb": 4096}
    with pytest.raises(UserError, match=r"limits\.seconds is 60\.0, the study's 9\.0"):
        search(tmp_path, split, "bo", warm_start=warm, limits=other)
    assert not list(tmp_path.iterdir())
