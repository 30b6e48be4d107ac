"""The comparison with AutoGluon and FLAML: CPU time, the page by hand, and committed rows."""

import csv
import os
import subprocess
import sys

import pytest

from support import ROOT

sys.path.insert(0, str(ROOT / "benchmarks"))

import automl_peers as peers

GOOD, FLAML, _ = peers.PEERS
SPIN = "import time\nwhile time.process_time() < {}: pass\n"


def row(system: str, dataset: str, split: int = 0, **values) -> dict[str, str]:
    """A finished fit on 8 + 2 rows, unless values say something else."""
    made = dict.fromkeys(peers.COLUMNS, "") | {
        "system": system, "dataset": dataset, "split": str(split), "version": "1", "models": "9",
        "train_rows": "8", "test_rows": "2", "cpu_seconds": "60", "commit": "abc",
        "metric": next((peers.METRICS[m] for m in peers.MEASURES if m in values), "error"),
    }  # fmt: skip
    return made | {key: str(value) for key, value in values.items()}


ROWS = [
    row(peers.OWN, "diabetes", error=0.20, log_loss=0.5),
    row(peers.OWN, "diabetes", 1, error=0.24, log_loss=0.5),
    row(GOOD, "diabetes", error=0.21, log_loss=0.4, cpu_seconds=66),
    row(GOOD, "diabetes", 1, error=0.23, log_loss=0.4, cpu_seconds=90),
    row(peers.OWN, "satimage", error=0.10, log_loss=0.3),
    row(GOOD, "satimage", error=0.12, log_loss=0.5, cpu_seconds=54),
    row(peers.OWN, "housing", rmse=3),
    row(FLAML, "housing", rmse=2, cpu_seconds=61),
    row(peers.OWN, "stock", rmse=2),
    row(FLAML, "stock", rmse=1, cpu_seconds=63),
    row(FLAML, "diabetes", failure="killed", cpu_seconds=5),
]


def test_numbers_by_hand():
    # Differences of the error: 0 (the mean of -1 and 1) and -2; half width 12.706 * 1.414 / 1.414.
    assert peers.differences(ROWS, GOOD, "error") == pytest.approx(
        {"diabetes": 0, "satimage": -0.02}
    )
    text = peers.page(ROWS)
    assert "**11 of 240 fits**, of 4 of 12 data sets and 2 of 3 splits, 1 failed." in text
    assert f"| {GOOD} | error, % | 2 | -1.00 | [-13.71, +11.71] | 1 / 1 / 0 |" in text
    # Ratios 1.5 and 2, and the interval of their logarithms, of which the halves differ by 0.2877.
    assert f"| {FLAML} | RMSE | 2 | 1.732 | [0.278, 10.772] | 0 / 0 / 2 |" in text
    assert f"| {GOOD} | 1 | 3 | 66 (54 to 90) | 1.10 (0.90 to 1.50) | 2 of 3 | 9 |" in text
    assert "| diabetes | 10 | error, % | 22.00 (60) | 22.00 (78) |" in text
    first = [row for row in ROWS if row["system"] == peers.OWN or row["split"] == "0"]
    assert "| error, % | 22.00 (60) | 21.00 (66; 1 split) |" in peers.page(first)
    assert (
        f"- RMSE: `make ensemble` is not significantly different from {FLAML} on 2 data sets, 1.73"
        in text
    )
    assert "10.772]; behind on stock, housing." in text


@pytest.mark.parametrize(("mine", "verdict"), [(0.1, "**better** than"), (0.3, "**worse** than")])
def test_a_side_is_named_where_its_interval_leaves_out_zero(mine, verdict):
    sets = list(peers.SETS)[:3]
    rows = [row(peers.OWN, name, error=mine + 0.001 * i) for i, name in enumerate(sets)]
    rows += [row(GOOD, name, error=0.2) for name in sets]
    (sentence,) = peers.verdicts(rows)
    assert f"`make ensemble` is {verdict} {GOOD} on 3 data sets" in sentence


def test_losses_are_compared_where_both_minimise_them():
    rows = [row(peers.OWN, "wind", error=0.1, log_loss=0.3, metric="error"),
            row(GOOD, "wind", error=0.1, log_loss=0.9, metric="error")]  # fmt: skip
    assert peers.differences(rows, GOOD, "log_loss") == {}
    rows += [
        {**rows[0], "metric": "log-loss"},
        {**rows[1], "metric": "log-loss", "log_loss": "0.4"},
    ]
    assert peers.differences(rows, GOOD, "log_loss") == pytest.approx({"wind": -0.1})


def test_failed_and_single_fits_decide_nothing():
    assert peers.verdicts(ROWS[:1] + ROWS[2:3]) == ["Too few data sets are finished to compare."]
    assert f"| {GOOD} | error, % | 1 | -1.00 | of one: none |" in peers.page(ROWS[:1] + ROWS[2:3])


@pytest.mark.slow
def test_cpu_seconds_are_of_all_processes(tmp_path):
    """A child of a child that outlives both counts, too."""
    orphan = f"import subprocess, sys\nsubprocess.Popen([sys.executable, '-c', {SPIN.format(1)!r}])"
    code = f"import subprocess, sys\nsubprocess.run([sys.executable, '-c', {orphan!r}])\n"
    # In a process of its own, as it waits for all children that it has.
    call = (
        "import os, sys, automl_peers as peers\n"
        f"command = [sys.executable, '-c', {code!r}]\n"
        "cpu, _, status = peers.measured(command, '.', open(os.devnull, 'w'))\n"
        "assert status == 0\n"
        "print(cpu)\n"
    )
    path = os.pathsep.join(str(ROOT / name) for name in ("benchmarks", "workflow_scripts"))
    done = subprocess.run(
        [sys.executable, "-c", call],
        cwd=tmp_path, env={**os.environ, "PYTHONPATH": path}, stdout=subprocess.PIPE,
        check=True, timeout=300,
    )  # fmt: skip
    assert float(done.stdout) >= 1


def test_a_clock_never_goes_back():
    times = iter([1.0, 3.0, 2.0, 4.0])
    clock = peers.never_back(lambda: next(times))
    assert [clock() for _ in range(4)] == [1, 3, 3, 4]


def test_losses_by_hand(tmp_path):
    (tmp_path / "test.csv").write_text("target\nclass 1\nclass 2\n")
    (tmp_path / "predictions.csv").write_text(
        "target,probability of class 2,probability of class 1\nclass 1,0.5,0.5\nclass 1,0.5,0.5\n"
    )
    found = peers.losses(tmp_path, ["class 1", "class 2"])
    assert found == {"error": "0.500000", "log_loss": "0.693147"}
    (tmp_path / "test.csv").write_text("target\n1\n2\n")
    (tmp_path / "predictions.csv").write_text("target\n1\n4\n")
    assert peers.losses(tmp_path, []) == {"rmse": "1.41421"}


def test_what_has_a_row_is_not_run_again(tmp_path, monkeypatch):
    def run(system, name, split, metric, regressions, rows):
        own = {r["system"] for r in rows if (r["dataset"], r["metric"]) == (name, metric)}
        assert own >= {peers.OWN} - {system}
        made.append((system, name, metric))
        return row(system, name, split, metric=metric, error=0.5)

    made: list = []
    monkeypatch.setattr(peers, "FOLDER", tmp_path)
    monkeypatch.setattr(peers, "run", run)
    monkeypatch.setattr(peers, "python_of", lambda system: ROOT / "README.md")
    monkeypatch.setattr(sys, "argv", ["automl_peers.py", "--sets", "wind", "pol", "stock"])
    peers.main()
    best = list(peers.PEERS)[2]
    # Without a folder of regressions, no stock.
    assert made == [
        *((s, n, m) for n in ("wind", "pol") for m in ("error", "log-loss") for s in peers.FIRST),
        *((best, n, m) for n in ("wind", "pol") for m in ("error", "log-loss")),
    ]
    assert (tmp_path / "README.md").read_text() == peers.page(peers.read())
    peers.main()
    assert len(made) == 16


def test_the_committed_page_shows_its_rows():
    rows = peers.read()
    assert (peers.FOLDER / "README.md").read_text(encoding="utf-8") == peers.page(rows), (
        "run: make bench-automl"
    )
    keys = [(r["system"], r["dataset"], r["split"], r["metric"]) for r in rows]
    assert len({*keys}) == len(keys)
    with (peers.FOLDER / "runs.csv").open(encoding="utf-8", newline="") as stream:
        assert next(csv.reader(stream)) == list(peers.COLUMNS)
    for r in rows:
        assert r["dataset"] in peers.SETS
        assert r["failure"] or r["error"] or r["rmse"]
