"""large_table.py, memory.py and schedule.py."""

import sys

import pandas as pd

from support import ROOT

sys.path.insert(0, str(ROOT / "benchmarks"))

import large_table
import memory
import schedule


def test_a_large_table_has_two_classes(tmp_path, monkeypatch):
    file = tmp_path / "large.csv"
    monkeypatch.setattr(sys, "argv", ["large_table.py", "200", "12", str(file)])
    large_table.main()
    made = pd.read_csv(file)
    assert made.shape == (200, 13)
    assert 50 < (made["y"] == "yes").sum() < 150


def test_an_ensemble_job_has_a_peak(monkeypatch, capsys):
    monkeypatch.setattr(memory, "SIZES", ((400, 2),))
    monkeypatch.setattr(memory, "ENSEMBLES", memory.ENSEMBLES[1:2])
    monkeypatch.setattr(memory, "EVALUATIONS", 5)
    memory.main()
    rows, classes, _, asked, peak = map(int, capsys.readouterr().out.splitlines()[-1].split())
    assert (rows, classes) == (400, 2)
    assert 10 < peak < asked


def test_snakemake_starts_searches_with_the_largest_inputs_first():
    from snakemake.scheduling.greedy import SchedulerSettings

    small, large = schedule.File("small"), schedule.File("large")
    sizes = {small: 1, large: 2}
    jobs = [schedule.Job(1.0, [small]), schedule.Job(1.0, [small]), schedule.Job(2.0, [large])]
    in_order = SchedulerSettings(omit_prioritize_by_temp_and_input=True)
    assert schedule.end(jobs, 2, in_order, sizes) == 3
    assert schedule.end(jobs, 2, SchedulerSettings(), sizes) == 2
    profile = (ROOT / "profiles/default/config.yaml").read_text(encoding="utf-8")
    assert "scheduler: greedy" in profile
    assert "omit-prioritize" not in profile
