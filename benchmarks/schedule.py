"""Simulate the searches of the paper's study on many cores, started by Snakemake's scheduler.

    python benchmarks/schedule.py

Prints the time to the end of the last search, as a multiple of the least possible one. An
evaluation takes 0.1 s and time in proportion to rows x columns; searches vary around that
(log-normal, sigma 0.5). The orders are that of the study, that of the input's size, as Snakemake's
greedy scheduler has it (profiles/default), and that of the true times, which nobody knows.
"""

import heapq
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np

ROOT = Path(__file__).parents[1]
#: Seconds of an evaluation, beside 0.1, for each cell.
SECONDS = 2e-6
DRAWS, EVALUATIONS, CORES = 3, 250, (16, 64, 256)


@dataclass(frozen=True, eq=False)
class Job:
    """A search, as a scheduler sees it, and how long it takes."""

    seconds: float
    input: Sequence = ()
    priority: float = 0
    scheduler_resources: ClassVar = {"_cores": 1}


class File(str):
    """A file that is no temporary one."""

    def is_flagged(self, flag: str) -> bool:
        """Say no."""
        return False


def end(jobs: list[Job], cores: int, settings, sizes: dict[str, int]) -> float:
    """Return the time at which the last job ends."""
    from snakemake.scheduling.greedy import Scheduler

    scheduler = Scheduler(dag=None, settings=settings, logger=None)
    ready, running, now = list(jobs), [], 0.0
    while ready or running:
        if ready and (free := cores - len(running)):
            chosen = scheduler.select_jobs(ready, ready, {"_cores": free}, sizes)
            taken = set(chosen)
            ready = [job for job in ready if job not in taken]
            for job in chosen:
                heapq.heappush(running, (now + job.seconds, id(job)))
        now = heapq.heappop(running)[0]
    return now


def main() -> None:
    sys.path.insert(0, str(ROOT / "workflow_scripts"))
    from snakemake.scheduling.greedy import SchedulerSettings

    from ensemble_search.data.paper_sets import TABLE_5
    from ensemble_search.jobs import Jobs

    study = Jobs.load(str(ROOT / "config.yaml")).study
    ratios: dict[str, list[float]] = {}
    for draw in range(DRAWS):
        rng = np.random.default_rng(draw)
        jobs, sizes = [], {}
        for name, data in study.datasets.items():
            known = TABLE_5[data.openml]
            cells = known.rows * known.features
            file = File(name)
            sizes[file] = 8 * cells
            for _ in range(len(study.used("search")) * study.repeats):
                seconds = EVALUATIONS * (0.1 + SECONDS * cells * rng.lognormal(0, 0.5))
                jobs.append(Job(seconds, [file]))
        whole, longest = sum(j.seconds for j in jobs), max(j.seconds for j in jobs)
        # By the true times: a priority, which comes before the size.
        known_times = [Job(j.seconds, j.input, j.seconds) for j in jobs]
        plain = SchedulerSettings(omit_prioritize_by_temp_and_input=True)
        sized = SchedulerSettings()
        orders = {
            "order of the study": (jobs, plain),
            "largest input first": (jobs, sized),
            "longest first": (known_times, sized),
        }
        for cores in CORES:
            least = max(longest, whole / cores)
            for title, (given, settings) in orders.items():
                found = end(given, cores, settings, sizes) / least
                ratios.setdefault(f"{cores:4} cores, {title}", []).append(found)
    for title, values in ratios.items():
        print(f"{title:40}{np.mean(values):8.2f}")


if __name__ == "__main__":
    main()
