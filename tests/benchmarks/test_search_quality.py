"""The benchmark of searches: synthetic problems, stored evaluations, and resumed runs."""

import csv
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import psutil
import pytest
from scipy import stats

from ensemble_search.data.split import load_inputs
from ensemble_search.drivers._configspace import config_space
from ensemble_search.metrics.error import ERROR
from ensemble_search.optimizers import ask_tell
from ensemble_search.results import tables
from ensemble_search.runtime import plugins
from ensemble_search.runtime.errors import UserError
from ensemble_search.runtime.files import write_json
from ensemble_search.runtime.names import OK
from ensemble_search.search import results
from ensemble_search.search.journal import Record
from support import ROOT, made_results
from support.hostile_space import write_inputs
from support.quick_optimizers import runnable
from support.toy_space import ToySpace, history

sys.path.insert(0, str(ROOT / "benchmarks"))

import objectives
import peers
import search_quality as quality
import unseen_algorithms

pytestmark = pytest.mark.slow

SPACE = plugins.load("spaces", "divbo")()
SMALL = plugins.load("spaces", "divbo-small")()
FAST = {
    "rising-bandit": {"budget": 40},
    "neural-ensemble-search": {"population": 8},
}


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def same(a: objectives.Outcome, b: objectives.Outcome) -> bool:
    arrays = (np.array_equal(getattr(a, p), getattr(b, p)) for p in ("validation", "test"))
    return a.status == b.status and str(a.error) == str(b.error) and all(arrays)


def best_of(problem: objectives.Synthetic, algorithm: int) -> np.ndarray:
    """The point of an algorithm with the best other operators and the best values."""
    space, badness = problem.space, problem.badness[algorithm]
    codes = (algorithm, *np.unravel_index(badness.argmin(), badness.shape))
    point = problem.best[None].copy()
    for stage, code in zip(("algorithm", "preprocessor", "rescaler"), codes, strict=True):
        point[0, space.index[stage]] = code
    space._rules.deactivate(point)
    assert not space._rules.forbids(point)[0]
    return point


def test_synthetic_outcomes_are_a_function_of_kind_number_and_configuration():
    drawn = SPACE.sample(20, rng())
    first, again = (objectives.Synthetic("ordinary", 3, SPACE, samples=50) for _ in range(2))
    before = [first.evaluate(c) for c in drawn]
    after = [again.evaluate(SPACE.configuration(dict(c))) for c in reversed(drawn)]
    assert all(same(a, b) for a, b in zip(before, reversed(after), strict=True))
    for kind, number in (("ordinary", 4), ("alike", 3)):
        other = objectives.Synthetic(kind, number, SPACE, samples=50)
        assert not any(
            same(a, other.evaluate(c)) for a, c in zip(before, drawn, strict=True) if a.status == OK
        )


@pytest.mark.parametrize("kind", objectives.KINDS)
def test_the_lowest_error_and_the_best_algorithm_are_what_they_are_said_to_be(kind):
    points = SPACE.sample_points(1000, rng(1))
    for number in range(4):
        problem = objectives.Synthetic(kind, number, SPACE, samples=50)
        assert (problem.errors(points) >= problem.lowest).all()
        reached = [problem.errors(best_of(problem, a))[0] for a in range(11)]
        assert min(reached) == pytest.approx(problem.lowest)
        choices = problem.stages["algorithm"].choices
        assert problem.best_algorithms == {choices[int(np.argmin(reached))]}
        # Only random draws can be better: all other values of an algorithm are worse.
        own = points[points[:, SPACE.index["algorithm"]] == 4]
        assert (problem.errors(own) >= reached[4]).all()


def test_synthetic_errors_look_like_real_ones():
    """Most pipelines are near the best, some are hopeless, few fail."""
    points = SPACE.sample_points(1000, rng(2))
    for number in range(4):
        errors = objectives.Synthetic("ordinary", number, SPACE, samples=50).errors(points)
        low, median, high = np.quantile(errors[np.isfinite(errors)], [0, 0.5, 1])
        assert 0.04 < low < median < high < 0.5
        assert high - median > median - low
        assert np.mean(np.isinf(errors)) < 0.1


def test_similar_algorithms_hardly_differ():
    def apart(kind: str, number: int) -> float:
        problem = objectives.Synthetic(kind, number, SMALL, samples=10)
        return np.ptp(np.sort(problem.badness.min(axis=(1, 2)))[:3])

    means = {kind: np.mean([apart(kind, n) for n in range(20)]) for kind in objectives.KINDS}
    assert means["alike"] < means["ordinary"] / 3


def test_synthetic_predictions_have_the_error():
    problem = objectives.Synthetic("ordinary", 0, SPACE)
    outcomes = [problem.evaluate(c) for c in SPACE.sample(60, rng(3))]
    ok = [o for o in outcomes if o.status == OK]
    assert len(ok) >= 50
    for outcome in ok:
        assert ERROR.loss(problem.labels, outcome.validation) == outcome.error
        assert abs(ERROR.loss(problem.test_labels, outcome.test) - outcome.error) < 0.07
    wrong = np.array([o.validation.argmax(axis=1) != problem.labels for o in ok])
    assert len(np.unique(wrong, axis=0)) == len(ok)


def write_search(folder: Path, repeat: int, data: str, size: int = 30) -> list[Record]:
    """Write a search of random configurations; every seventh has failed."""
    configurations, generator = SMALL.sample(size, rng(repeat)), rng(100 + repeat)
    labels = {part: np.arange(n) % 2 for part, n in (("validation", 40), ("test", 30))}
    records = []
    for i, configuration in enumerate(configurations):
        ok = i % 7 != 3
        drawn = {p: generator.random((len(y), 1), dtype=np.float32) for p, y in labels.items()}
        records.append(
            Record(
                dict(configuration),
                "ok" if ok else "timeout",
                ERROR.loss(labels["validation"], drawn["validation"]) if ok else None,
                **dict.fromkeys(("suggest_seconds", "fit_seconds", "cpu_seconds"), 0.1),
                predict_seconds=0.1 if ok else None,
                memory_mb=9.0,
                error_type="",
                message="",
                why={},
                **{part: p if ok else None for part, p in drawn.items()},
            )
        )
    results.write(folder, records, SMALL, tuple((len(y), 1) for y in labels.values()))
    fingerprint = {"data": data, "space": "divbo-small", "limits": {"seconds": 9}}
    manifest = made_results.search_manifest(
        dataset="made",
        space="divbo-small",
        repeat=repeat,
        evaluations=size,
        fingerprint=fingerprint | {"threads": 1, "versions": {}},
    )
    write_json(folder / "search.json", manifest)
    return records


@pytest.fixture(scope="module")
def stored(tmp_path_factory) -> tuple[Path, list[Record]]:
    study = tmp_path_factory.mktemp("study")
    split = study / "splits/made/fixed"
    split.mkdir(parents=True)
    inputs = write_inputs(split, n_rows=120, n_classes=2, test_rows=30)
    data = load_inputs(inputs).checksum()
    write_json(split / "split.json", {"checksum": data})
    searches = [study / "searches/made/random" / str(repeat) for repeat in range(2)]
    records = [r for repeat, path in enumerate(searches) for r in write_search(path, repeat, data)]
    tables.build(searches, study / "tables/made/fixed")
    return study / "tables/made/fixed", records


def test_a_table_knows_its_evaluations(stored):
    folder, records = stored
    table = objectives.Table(folder)
    assert table.name == "made"
    assert len(table.space.all) == len({str(r.configuration) for r in records}) > 50
    for record in records:
        outcome = table.evaluate(table.space.configuration(record.configuration))
        assert outcome.status == record.status
        if record.status == OK:
            assert outcome.error == ERROR.loss(table.labels, outcome.validation) == record.error
            assert np.array_equal(outcome.test[:, 1:], record.test)
    ok = [r for r in records if r.status == OK]
    assert table.lowest == min(r.error for r in ok)
    best = {r.configuration["algorithm"] for r in ok if r.error == table.lowest}
    assert table.best_algorithms == best


def test_a_table_of_another_split(stored, tmp_path):
    study = shutil.copytree(stored[0].parents[2], tmp_path / "study")
    split = study / "splits/made/fixed"
    inputs = write_inputs(split, n_rows=120, n_classes=2, test_rows=30, seed=1)
    write_json(split / "split.json", {"checksum": load_inputs(inputs).checksum()})
    with pytest.raises(UserError, match="is of another split than"):
        objectives.Table(study / "tables/made/fixed")


@pytest.mark.parametrize("name", runnable())
def test_searches_of_a_table_suggest_its_rows_once_each(name, stored):
    folder, _ = stored
    settings = [f"{k}={v}" for k, v in FAST.get(name, {}).items()]
    found = quality.make_search(" ".join([name, *settings]), 40)
    asked = []

    class Asked(objectives.Table):
        def evaluate(self, configuration):
            asked.append(configuration)
            return super().evaluate(configuration)

    problem = Asked(folder)
    asked.clear()
    if name in ("successive-halving", "hyperband", "bohb"):
        with pytest.raises(UserError, match="it asks for a part of the training rows"):
            quality.do_run("made", problem, found, 1, 40)
        return
    row = quality.do_run("made", problem, found, 1, 40)
    assert len(set(asked)) == 40
    assert set(asked) <= set(problem.space.all)
    errors = [problem.evaluate(c).error for c in asked[:40]]
    assert row["error_25"] == pytest.approx(np.nanmin(errors[:25]), abs=1e-6)
    assert "error_50" not in row
    tried = [c["algorithm"] for c in asked[:40]]
    assert row["algorithms"] == len(set(tried))
    first = [t for t, a in enumerate(tried, 1) if a in problem.best_algorithms]
    assert row["best_algorithm_at"] == (first[0] if first else "")


def run_main(monkeypatch, *options: str) -> None:
    monkeypatch.setattr(sys, "argv", ["search_quality.py", *options])
    quality.main()


def rows(path: Path) -> list[dict]:
    with path.open(encoding="utf-8") as stream:
        found = [{k: v for k, v in r.items() if "seconds" not in k} for r in csv.DictReader(stream)]
    return sorted(found, key=lambda row: [row[key] for key in quality.KEY])


def test_a_resumed_benchmark_equals_an_uninterrupted_one(stored, tmp_path, monkeypatch, capsys):
    options = [
        "--tables",
        str(stored[0]),
        "--search",
        "random",
        "bo spread=0.05",
        "--evaluations",
        "25",
    ]
    whole, parts = tmp_path / "whole.csv", tmp_path / "parts.csv"
    run_main(monkeypatch, *options, "--seeds", "2", "--output", str(whole), "--reference", "random")
    first = capsys.readouterr().out
    run_main(monkeypatch, *options, "--seeds", "1", "--output", str(parts))
    done = parts.read_text()
    assert len(done.splitlines()) == 3
    parts.write_text(done[:-9])  # the last line is torn
    run_main(monkeypatch, *options, "--seeds", "2", "--output", str(parts), "--jobs", "2")
    assert rows(parts) == rows(whole)
    assert len(rows(whole)) == 4
    assert parts.read_text().startswith("".join(done.splitlines(keepends=True)[:-1]))
    text = parts.read_text()
    run_main(monkeypatch, *options, "--seeds", "2", "--output", str(parts))
    assert parts.read_text() == text
    assert "bo spread=0.05    2" in first
    assert len({r["error_25"] for r in rows(whole)}) > 1


def test_a_stopped_benchmark_keeps_what_is_finished(tmp_path):
    file = tmp_path / "file.csv"
    options = ["--synthetic", "ordinary", "--search", "random", "--evaluations", "25"]
    command = [sys.executable, ROOT / "benchmarks/search_quality.py", "--output", file, *options]
    with subprocess.Popen([*command, "--seeds", "500"], stderr=subprocess.PIPE) as process:
        while not file.exists() or len(file.read_text().splitlines()) < 4:
            time.sleep(0.05)
            assert process.poll() is None
        workers = psutil.Process(process.pid).children()
        process.terminate()
        assert "run the same command again" in process.communicate()[1].decode()
    assert process.returncode == 128 + signal.SIGTERM
    assert workers
    assert not psutil.wait_procs(workers, timeout=120)[1]
    kept = [line for line in file.read_text().splitlines(keepends=True) if line.endswith("\n")]
    ended = subprocess.run([*command, "--seeds", "3"], stdout=subprocess.PIPE, check=True)
    assert file.read_text() == "".join(kept)
    assert b"random    3" in ended.stdout


def test_runs_of_other_code_are_repeated(tmp_path):
    results = quality.Results(tmp_path / "file.csv")
    found = quality.make_search("bo interleave=0.1", 25)
    key = {"problem": "p", "search": found.name, "run": 0}
    results.append({**key, "evaluations": 50, "version": found.version})
    assert results.has("p", found, 0, 25)
    assert not results.has("p", found, 0, 100)
    assert not results.has("p", found, 1, 25)
    assert not results.has("p", quality.make_search("bo", 25), 0, 25)
    results.append({**key, "evaluations": 50, "version": "other"})
    assert not quality.Results(tmp_path / "file.csv").has("p", found, 0, 25)


def test_the_budget_is_in_the_name_where_it_matters():
    assert quality.make_search("rising-bandit", 50).name == "rising-bandit evaluations=50"
    assert quality.make_search("bo", 50).name == "bo"


def test_combined_climbs_end_where_diversity_is_high_too():
    """With a large weight, the climbs' ends are predicted to be more diverse, not better."""
    space = ToySpace()
    past = history(space, 30)
    found = {}
    for text in ("divbo", "divbo climbs=combined"):
        search = quality.make_search(f"{text} interleave=0 weight=50 candidates=1", 100)
        suggestions = [
            search.optimizer.suggest(past, np.random.default_rng(seed)) for seed in range(12)
        ]
        found[text] = np.mean([s.why["diversity"] for s in suggestions])
        assert {s.why["origin"] for s in suggestions} == {"local"}
    assert found["divbo climbs=combined"] > found["divbo"]


def test_intervals_are_those_of_the_t_test():
    differences = rng(8).normal(0.01, 0.02, 12)
    expected = stats.ttest_1samp(100 * differences, 0).confidence_interval(0.95)
    text = quality.interval(np.append(differences, np.nan))
    assert f"[{expected.low:+5.2f},{expected.high:+5.2f}]" in text
    assert f"{100 * differences.mean():+6.2f} ±{stats.sem(100 * differences):5.2f}" in text


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--synthetic", "ordinary", "--search", "bo interleve=0.1"], "did you mean 'interleave'"),
        (["--synthetic", "ordinary", "--search", "bo 0.1"], "must look like interleave=0.1"),
        (["--synthetic", "odd"], "no synthetic problem 'odd'"),
        ([], "name problems"),
    ],
)
def test_mistakes(options, message, tmp_path, monkeypatch):
    with pytest.raises(UserError, match=message):
        run_main(monkeypatch, *options, "--output", str(tmp_path / "file.csv"))


def test_peers_have_the_same_space():
    """Their draws are legal here, and cover all operators."""
    theirs = config_space(ask_tell.describe(SPACE))
    drawn = [SPACE.configuration({k: ask_tell.plain(v) for k, v in c.items()})
             for c in map(dict, theirs.sample_configuration(400))]  # fmt: skip
    for stage in ("algorithm", "preprocessor", "rescaler"):
        assert {c[stage] for c in drawn} == set(SPACE.configspace[stage].choices)
    default = SPACE.configuration(dict(SPACE.configspace.get_default_configuration()))
    assert SPACE.configuration(dict(theirs.get_default_configuration())) == default
    assert len(theirs.forbidden_clauses) == len(SPACE.configspace.forbidden_clauses)


@pytest.mark.parametrize("name", peers.NAMES)
def test_peers_run(name):
    peer = peers.Peer(name, ROOT, 8)
    if not peer.python.exists():
        pytest.skip(f"there is no {peer.python.parents[1].name} (make peers)")
    problem = objectives.Synthetic("ordinary", 0, SPACE)
    row = quality.do_run("p", problem, peer, 0, 25)
    assert 0 < row["error_25"] < 0.5
    again = quality.do_run("p", problem, peer, 0, 25)
    assert {**again, "suggest_cpu_seconds": 0} == {**row, "suggest_cpu_seconds": 0}


def test_unseen_algorithms_are_those_that_the_history_has_not(monkeypatch):
    problem = objectives.Synthetic("ordinary", 0, SPACE, samples=20)
    history = unseen_algorithms.make_history(problem, 12, rng())
    tried = {o.configuration["algorithm"] for o in history.observations}
    assert 1 < len(tried) <= unseen_algorithms.TRIED
    candidates = SPACE.sample(400, rng(1))
    points = SPACE.encode(candidates)
    new = np.array([c["algorithm"] not in tried for c in candidates])

    def predict(forest, *_):  # one forest favours new algorithms, the other known ones
        return np.where(new == (forest == "new"), 0.0, 0.4), np.full(400, 0.01)

    monkeypatch.setattr(unseen_algorithms, "predict", predict)
    assert unseen_algorithms.share("new", history, points, 0) == (1.0, new.mean())
    assert unseen_algorithms.share("known", history, points, 0) == (0.0, new.mean())
