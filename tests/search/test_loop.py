"""The search loop: failures are data, an interruption changes nothing, the test set stays away."""

import itertools
import json
import math
import signal
import subprocess
import threading
import time
from dataclasses import fields, replace
from datetime import datetime

import numpy as np
import pytest

from ensemble_search.evaluation.base import Evaluation, EvaluatorError
from ensemble_search.evaluation.live import LiveEvaluator
from ensemble_search.metrics.error import ERROR
from ensemble_search.optimizers.base import History, Observation, Suggestion
from ensemble_search.optimizers.random import RandomSearch
from ensemble_search.problems.classification import CLASSIFICATION
from ensemble_search.runtime import plugins
from ensemble_search.runtime.errors import UserError
from ensemble_search.search.budget import Budget
from ensemble_search.search.journal import Journal
from ensemble_search.search.loop import run
from ensemble_search.search.observe import generator, observation
from ensemble_search.search.results import write_manifest
from support import SCRIPTS, TESTS, forks, hostile_space, instant_search
from support.hostile_search import content, search

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def inputs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("inputs")
    hostile_space.write_inputs(folder, n_rows=60, n_features=3, n_classes=2, seed=0, test_rows=30)
    return folder


@pytest.fixture(autouse=True)
def python_path(monkeypatch):
    monkeypatch.setenv("PYTHONPATH", str(TESTS))


@pytest.fixture
def forked(python_path, monkeypatch, tmp_path):
    """The environment in which `python` is a fork; its programs set ``sys.path`` themselves."""
    with monkeypatch.context() as patch:
        patch.delenv("PYTHONPATH")
        return forks.environment(tmp_path)


#: Searches, and kills itself some seconds after a number of new records, but at most three records
#: later: FOLDER INPUTS OPTIMIZER EVALUATIONS RECORDS SECONDS. On a busy machine, another process,
#: or the thread alone, could be too late.
PROGRAM = f"""
import os, signal, sys, threading, time
sys.path[:0] = [{str(SCRIPTS)!r}, {str(TESTS)!r}]
os.environ["PYTHONPATH"] = {str(TESTS)!r}
from itertools import count
from pathlib import Path
from ensemble_search.search.journal import Journal
from support.hostile_search import search
folder, inputs, optimizer, budget, records, seconds = sys.argv[1:]
append, appended = Journal.append, count(1)

def kill(seconds):
    time.sleep(seconds)
    os.kill(os.getpid(), signal.SIGKILL)

def append_and_kill(journal, record):
    append(journal, record)
    late = next(appended) - int(records)
    if late == 0:
        threading.Thread(target=kill, args=[float(seconds)], daemon=True).start()
    if late == 3:
        kill(0)

Journal.append = append_and_kill
search(Path(folder), Path(inputs), optimizer, int(budget))
"""


@pytest.mark.parametrize(
    ("optimizer", "budget"),
    [
        ("random", 150),
        ("random side by side", 150),
        ("bo", 30),
        ("bo side by side", 30),
        ("divbo", 30),
    ],
)
def test_killed_again_and_again_it_finds_the_same(tmp_path, inputs, optimizer, budget, forked):
    """SIGKILL at random moments, mostly in the middle of the evaluations."""
    expected = content(search(tmp_path / "whole", inputs, optimizer, budget))
    (program := tmp_path / "program.py").write_text(PROGRAM, encoding="utf-8")
    command = ["python", program, tmp_path / "cut", inputs, optimizer, str(budget)]
    rng = np.random.default_rng(len(optimizer))
    journal = tmp_path / "cut/journal.jsonl"
    sizes = []
    for _ in range(4):
        after = str(rng.integers(1, 4)), str(rng.uniform(0, 0.02))
        done = subprocess.run([*command, *after], env=forked, check=False, timeout=300)
        assert done.returncode == -signal.SIGKILL
        sizes.append(journal.stat().st_size)
    assert sizes == sorted(set(sizes))
    assert content(search(tmp_path / "cut", inputs, optimizer, budget)) == expected


def test_seconds_beside_suggesting_and_fitting_are_kept_over_attempts(tmp_path, monkeypatch):
    # The clock is set while the search runs.
    clock, jumps = time.time, itertools.cycle([0, 4e7, -3e7, 5e7])
    monkeypatch.setattr(time, "time", lambda: clock() + next(jumps))

    class Slow(Clockwork):
        def evaluate(self, values, fidelity=1.0):
            time.sleep(0.05)  # which it says is no fitting
            return replace(super().evaluate(values), fit_seconds=0.0)

    def search(evaluations, since):
        optimizer, space = plugins.load("optimizers", "random")(), hostile_space.HostileSpace()
        with Journal(tmp_path / "j", {}, ((2, 1), (2, 1))) as journal:
            budget = Budget(evaluations=evaluations)
            return run(
                optimizer, space, np.zeros(2, int), [Slow()], journal,
                budget=budget, seed=(0, 0), since=since,
            )  # fmt: skip

    now = time.monotonic()
    search(2, now - 1000)
    records = search(4, now - 500)
    assert search(4, now) == records
    assert [r.rest_seconds >= 0.05 for r in records] == [True] * 4
    assert [round(r.rest_seconds, -2) for r in records] == [1000, 0, 500, 0]
    write_manifest(tmp_path, {"resumed_after": 2}, records, now - 500, ())
    manifest = json.loads((tmp_path / "search.json").read_text())
    assert round(manifest["rest_seconds"], -2) == 1500
    assert round(manifest["job_seconds"], -2) == 1500


def test_search_json_counts_all_attempts(tmp_path, forked):
    """A job, and another one that continues it; each takes a while to start."""
    instant_search.make_split(tmp_path / "split")
    code = (
        f"import sys; sys.path[:0] = [{str(SCRIPTS)!r}, {str(TESTS)!r}]\n"
        "from pathlib import Path; from support import instant_search\n"
        "instant_search.install()\n"
        "folder, split = map(Path, sys.argv[1:3])\n"
        "instant_search.run_search(folder, split, 'random', int(sys.argv[3]))"
    )
    (program := tmp_path / "program.py").write_text(code, encoding="utf-8")
    made = []
    for budget in ("2", "4", "3"):
        began = time.time()
        command = ["python", program, tmp_path / "job", tmp_path / "split", budget]
        subprocess.run(command, env=forked, check=True)
        took = time.time() - began
        made.append(json.loads((tmp_path / "job/output/search.json").read_text()))
        assert made[-1]["job_seconds"] == made[-1]["wall_seconds"] + made[-1]["rest_seconds"]
        if budget == "2":
            first, latest = began - 1, began + took  # to the second
        assert first <= datetime.fromisoformat(made[-1]["started"]).timestamp() <= latest
    assert [m["resumed_after"] for m in made] == [0, 2, 3]
    (journal,) = (tmp_path / "job").rglob("journal.jsonl")
    rest = [json.loads(line.split(" ", 1)[1])["rest_seconds"] for line in journal.open()]
    assert made[1]["rest_seconds"] >= sum(rest)
    assert made[2]["rest_seconds"] >= sum(rest[:3])
    assert made[0]["started"] == made[1]["started"] == made[2]["started"]


def test_a_larger_budget_continues(tmp_path, inputs):
    first = search(tmp_path / "a", inputs, "bo", 10)
    more = search(tmp_path / "a", inputs, "bo", 16)
    assert content(more[:10]) == content(first)
    assert [r.fit_seconds for r in more[:10]] == [r.fit_seconds for r in first], "evaluated again"
    assert content(more) == content(search(tmp_path / "b", inputs, "bo", 16))
    assert content(search(tmp_path / "a", inputs, "bo", 10)) == content(first)


class Clockwork:
    """An evaluator whose evaluations fail after 1, 2, 3, ... seconds of fitting."""

    calls = 0

    def evaluate(self, values, fidelity=1.0):
        self.calls += 1
        empty = dict.fromkeys(f.name for f in fields(Evaluation))
        seconds = {"fit_seconds": float(self.calls), "cpu_seconds": 0.0, "memory_mb": 1.0}
        said = {"status": "crash", "error_type": "ValueError", "origin": "fitted"}
        return Evaluation(**{**empty, **said, **seconds})


@pytest.mark.parametrize("name", ["random side by side", "bo side by side"])
def test_workers_change_no_result(tmp_path, inputs, name):
    one, three = (
        content(search(tmp_path / str(workers), inputs, name, 14, workers)) for workers in (1, 3)
    )
    assert one == three
    # With another number of workers it continues, in the middle of a batch too.
    search(tmp_path / "both", inputs, name, 7, 3)
    assert content(search(tmp_path / "both", inputs, name, 14, 1)) == one


class Reversing(Clockwork):
    """Evaluators that end every evaluation at an even place only after the one that follows it."""

    def __init__(self, order, ended):
        self.order, self.ended, self.cancelled = order, ended, False

    def evaluate(self, values, fidelity=1.0):
        place, end = self.order.index(dict(values)), time.monotonic() + 60
        while place % 2 == 0 and place + 1 not in self.ended:
            assert time.monotonic() < end, "the next one was not started"
            time.sleep(0.001)
        self.ended.append(place)
        return super().evaluate(values)

    def cancel(self):
        self.cancelled = True


def side_by_side(folder, evaluators, budget, optimizer="random"):
    optimizer, space = plugins.load("optimizers", optimizer)(), hostile_space.HostileSpace()
    with Journal(folder, {}, ((2, 1), (2, 1))) as journal:
        labels = np.zeros(2, int)
        return run(optimizer, space, labels, evaluators, journal, budget=budget, seed=(0, 0))


def test_evaluations_run_side_by_side_and_are_stored_in_the_order_of_suggestions(tmp_path):
    one = side_by_side(tmp_path / "one", [Clockwork()], Budget(evaluations=6))
    order, ended = [r.configuration for r in one], []
    evaluators = [Reversing(order, ended), Reversing(order, ended)]
    records = side_by_side(tmp_path / "two", evaluators, Budget(evaluations=6))
    assert ended == [1, 0, 3, 2, 5, 4]
    assert [r.configuration for r in records] == order
    assert [r.planned_after for r in records] == [0] * 6
    assert all(e.cancelled for e in evaluators)


def test_a_slow_evaluation_keeps_no_other_evaluator_waiting(tmp_path):
    """The first one ends only after all the others, which one evaluator has to do."""
    one = side_by_side(tmp_path / "one", [Clockwork()], Budget(evaluations=6))
    order = [r.configuration for r in one]

    class FirstEndsLast(Reversing):
        def evaluate(self, values, fidelity=1.0):
            end = time.monotonic() + 60
            while dict(values) == order[0] and len(self.ended) < 5:
                assert time.monotonic() < end, "the others were not started"
                time.sleep(0.001)
            self.ended.append(order.index(dict(values)))
            return Clockwork.evaluate(self, values)

    ended = []
    evaluators = [FirstEndsLast(order, ended), FirstEndsLast(order, ended)]
    records = side_by_side(tmp_path / "two", evaluators, Budget(evaluations=6))
    assert ended == [1, 2, 3, 4, 5, 0]
    assert [r.configuration for r in records] == order


def test_an_error_of_one_evaluator_ends_the_others(tmp_path):
    class Broken(Clockwork):
        def evaluate(self, values, fidelity=1.0):
            raise EvaluatorError("broken")

        def cancel(self):
            pass

    class Endless(Clockwork):
        cancelled = threading.Event()

        def evaluate(self, values, fidelity=1.0):
            assert self.cancelled.wait(60)
            raise EvaluatorError("cancelled")

        def cancel(self):
            self.cancelled.set()

    with pytest.raises(EvaluatorError, match="broken"):
        side_by_side(tmp_path, [Broken(), Endless()], Budget(evaluations=6))


def test_a_live_evaluation_is_cancelled(inputs):
    space = hostile_space.__name__
    with LiveEvaluator(space, inputs / "inputs.npz", 1000, 2048, 1) as evaluator:
        threading.Timer(1, evaluator.cancel).start()
        with pytest.raises(EvaluatorError, match="cancelled"):
            evaluator.evaluate({"behaviour": "sleep", "seconds": 500})


def test_an_optimizer_that_plans_nothing_is_named(tmp_path):
    class Speechless(RandomSearch):
        def plan(self, history, generators):
            if len(history) < 2:
                yield self.suggest(history, next(generators))

    space, asked = hostile_space.HostileSpace(), Clockwork()
    with (
        Journal(tmp_path / "j", {}, ((2, 1), (2, 1))) as journal,
        pytest.raises(UserError, match="Speechless: its plan after 2 evaluations is empty"),
    ):
        run(
            Speechless(), space, np.zeros(2, int), [asked], journal,
            budget=Budget(evaluations=4), seed=(0, 0),
        )  # fmt: skip
    assert asked.calls == len(journal.records) == 2


@pytest.mark.parametrize(
    ("suggested", "why"),
    [
        (lambda made: "knn", "suggests 'knn'; it must be a Suggestion"),
        (lambda made: None, "suggests None; it must be a Suggestion"),
        (
            lambda made: replace(made, why={"origin": "own", "score": math.nan}),
            "suggests a configuration whose why.score is nan; it must be a JSON value",
        ),
        (
            lambda made: replace(made, why={"score": np.float32(1)}),
            r"suggests a configuration whose why.score is np.float32\(1.0\); it must",
        ),
        (
            lambda made: replace(made, configuration={**made.configuration, "behaviour": "sleep"}),
            "suggests what is not in the space '.*': the space has no hyperparameter 'behaviour'",
        ),
    ],
)
def test_an_optimizer_that_suggests_something_else_is_named(suggested, why, tmp_path):
    class Talker(RandomSearch):
        def suggest(self, history, rng):
            made = super().suggest(history, rng)
            return suggested(made) if len(history) else made

    asked = Clockwork()
    with (
        Journal(tmp_path / "j", {}, ((2, 1), (2, 1))) as journal,
        pytest.raises(UserError, match=f"Talker: {why}"),
    ):
        run(
            Talker(), hostile_space.HostileSpace(), np.zeros(2, int), [asked], journal,
            budget=Budget(evaluations=4), seed=(0, 0),
        )  # fmt: skip
    assert asked.calls == len(journal.records) == 1


def test_fidelity_is_asked_for_and_stored_and_seconds_are_told(tmp_path):
    told = []

    class Half(RandomSearch):
        def suggest(self, history, rng):
            assert all(o.fidelity == 0.5 for o in history.observations)
            told.append([o.seconds for o in history.observations])
            return replace(super().suggest(history, rng), fidelity=0.5)

        def needs_results(self, evaluations, given=0):
            return True

    asked = []

    class Asked(Clockwork):
        def evaluate(self, values, fidelity=1.0):
            asked.append(fidelity)
            return super().evaluate(values)

    space = hostile_space.HostileSpace()
    for budget in (2, 4):
        with Journal(tmp_path / "j", {}, ((2, 1), (2, 1))) as journal:
            records = run(
                Half(), space, np.zeros(2, int), [Asked()], journal,
                budget=Budget(evaluations=budget), seed=(0, 0),
            )  # fmt: skip
    assert asked == [r.fidelity for r in records] == [0.5] * 4
    # The second run is told what the first one has stored; its own clock begins again.
    assert told[-1] == [r.fit_seconds for r in records[:3]] == [1.0, 2.0, 1.0]


@pytest.mark.parametrize("share", [0.0, -0.5, 1.5, float("nan")])
def test_a_fidelity_that_is_no_share_is_rejected(share):
    configuration = hostile_space.HostileSpace().sample(1, np.random.default_rng(0))[0]
    with pytest.raises(ValueError, match="not a share"):
        Suggestion(configuration, fidelity=share)


class Failing:
    """An evaluator of which every second evaluation fails, as a worker would report it."""

    def __init__(self, inner):
        self.inner, self.calls = inner, 0

    def evaluate(self, values, fidelity=1.0):
        self.calls += 1
        if self.calls % 2:
            behaviour = {1: "raises", 3: "nan"}[self.calls % 4]
            return self.inner.evaluate({"behaviour": behaviour})
        return self.inner.evaluate(values)


def test_a_budget_in_seconds_ends_with_the_evaluation_that_reaches_it(tmp_path):
    def search(evaluator, **budget):
        optimizer, space = plugins.load("optimizers", "random")(), hostile_space.HostileSpace()
        labels, shapes = np.zeros(2, int), ((2, 1), (2, 1))
        with Journal(tmp_path / "j", {}, shapes) as journal:
            budget = Budget(**budget)
            return len(
                run(optimizer, space, labels, [evaluator], journal, budget=budget, seed=(0, 0))
            )

    evaluator = Clockwork()
    assert search(evaluator, seconds=6) == 3
    assert evaluator.calls == 3
    assert search(evaluator, seconds=6.5) == 4, "1 + 2 + 3 + 4 s, the last one goes beyond"
    assert evaluator.calls == 4, "it continued from the journal"
    assert search(evaluator, seconds=0.5) == 1
    assert search(evaluator, seconds=0.5, minimum=3) == 3
    assert evaluator.calls == 4
    assert search(evaluator, seconds=0.5, minimum=6) == 6


@pytest.mark.parametrize("optimizer", ["random", "bo", "divbo"])
def test_failed_evaluations_are_data(tmp_path, inputs, optimizer):
    space = hostile_space.HostileSpace()
    with np.load(inputs / "inputs.npz", allow_pickle=False) as arrays:
        labels, n_test = arrays["y_validation"], len(arrays["X_test"])
    evaluator = LiveEvaluator(hostile_space.__name__, inputs / "inputs.npz", 20, 2048, 1)
    shapes = (len(labels), 1), (n_test, 1)
    with Journal(tmp_path / "j", {}, shapes) as journal, evaluator:
        records = run(
            plugins.load("optimizers", optimizer)(),
            space,
            labels,
            [Failing(evaluator)],
            journal,
            budget=Budget(evaluations=12),
            seed=(0, 0),
        )
    statuses = [r.status for r in records]
    assert statuses == ["crash", "ok", "invalid", "ok"] * 3
    assert all((r.error is None) == (r.status != "ok") for r in records)
    assert all(r.error_type for r in records if r.status != "ok")
    with Journal(tmp_path / "j", {}, shapes) as journal:
        assert content(journal.records) == content(records)


def test_nothing_of_the_test_set_reaches_an_optimizer(tmp_path, inputs):
    """Other test rows, of another number, leave every suggestion as it is."""
    first = search(tmp_path / "a", inputs, "divbo", 12)
    other = tmp_path / "inputs"
    other.mkdir()
    with np.load(inputs / "inputs.npz", allow_pickle=False) as arrays:
        changed = dict(arrays)
    changed["X_test"] = 100 - 7 * np.concatenate([changed["X_test"]] * 2)[:-5]
    np.savez(other / "inputs.npz", **changed)
    second = search(tmp_path / "b", other, "divbo", 12)
    assert any(a.test.shape != b.test.shape for a, b in zip(first, second, strict=True))
    assert [r.configuration for r in first] == [r.configuration for r in second]
    assert [r.why for r in first] == [r.why for r in second]
    names = {f.name for f in fields(Observation)} | {f.name for f in fields(History)}
    assert not [n for n in names if "test" in n]


def test_generator_depends_on_seed_and_iteration():
    draws = {
        (*seed, t): generator(seed, t).random()
        for seed in [(0, 0), (0, 1), (1, 0)]
        for t in range(3)
    }
    assert len(set(draws.values())) == len(draws)
    assert generator((0, 1), 2).random() == draws[0, 1, 2]


def test_stored_and_shown_predictions():
    two = np.array([[0.25, 0.75], [0.5, 0.5]], dtype=np.float32)
    assert CLASSIFICATION.compress(two).tolist() == [[0.75], [0.5]]
    seen = observation(None, "ok", 0.5, CLASSIFICATION.compress(two))
    assert seen.prediction.tolist() == two.tolist()
    three = np.full((2, 3), 1 / 3, dtype=np.float32)
    assert CLASSIFICATION.compress(three) is three
    failed = observation(None, "timeout", None, None)
    assert failed.prediction is None
    assert np.isnan(failed.error)


def test_error_rate_takes_the_first_of_tied_classes():
    assert ERROR.loss(np.array([0, 1, 1]), np.array([[0.5], [0.6], [0.4]])) == pytest.approx(1 / 3)
    three = np.array([[0.4, 0.4, 0.2], [0.1, 0.1, 0.8]])
    assert ERROR.loss(np.array([0, 2]), three) == 0
    assert ERROR.loss(np.array([1, 2]), three) == 0.5
