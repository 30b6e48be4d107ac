"""Disasters of a search on a SLURM cluster; each must end with the results of a local run.

    make cluster-test                                                     all of them
    PYTHONPATH=workflow_scripts:tests python tests/cluster/disasters.py scancel ...

Brings up a cluster of three nodes on this machine. Every disaster strikes a search of eight
evaluations that is held at its fourth, and prints a row of a table.
"""

import argparse
import os
import signal
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from ensemble_search.runtime import slurm
from support.checkout import STUDY, Checkout
from support.slurm_cluster import Cluster, NoClusterError, OnCluster, tell, until

SPACE = Path(__file__).with_name("gated.py")
SMALL = {
    **STUDY,
    "space": "gated",
    "limits": {"seconds": 600, "memory_mb": 4096},
    "methods": {"RS-ES": {"search": "random", "ensemble": "selection-5"}},
}
LOG = "results/tiny/logs/search/wine/random/0.log"
HEADER = ("disaster", "same results", "jobs", "evaluations kept", "seconds")


class Struck(OnCluster):
    """A study on the cluster, whose search waits at its gate."""

    def __init__(self, folder: Path, cluster: Cluster):
        super().__init__(folder, SMALL, SPACE)
        self.cluster = cluster
        self.gate = folder / "gate"

    def held(self, *options: str, gate: str = "") -> str:
        """Start the workflow, and wait until its search is held; returns the job's number."""
        self.gate.write_text(gate)
        self.process = self.head(*options)
        journals = self.folder / "results/tiny/checkpoints"

        def evaluations():
            assert self.process.poll() is None, self.end(self.process)
            return sum(len(p.read_bytes().splitlines()) for p in journals.rglob("journal.jsonl"))

        until(lambda: evaluations() == 3, "the search is held")
        return self.queued("RUNNING")[0].number

    def gone(self, job: str) -> None:
        """Wait until a job has left the queue, then let the next one through."""
        until(lambda: job not in {j.number for j in self.queued("RUNNING")}, f"end of job {job}")
        self.gate.unlink()

    def said(self) -> str:
        """The log of the search; a new attempt starts a new one."""
        log = self.folder / LOG
        return log.read_text(encoding="utf-8") if log.exists() else ""

    def submitted(self) -> int:
        """Number of jobs that the workflow has submitted to run the search."""
        log = (self.folder / "head.log").read_text(encoding="utf-8")
        return log.count("has been submitted with SLURM jobid")

    def says(self, words: str) -> None:
        """Wait until the workflow says something."""
        log = self.folder / "head.log"
        until(lambda: words in log.read_text(encoding="utf-8"), words)

    def node(self, job: str) -> str:
        return tell("squeue", "--noheader", f"--jobs={job}", "--format=%N").strip()


def node_dies(study: Struck) -> None:
    """A node goes down with everything that runs on it."""
    job = study.held()
    study.cluster.crash(study.node(job), job)
    study.gone(job)


def node_lost(study: Struck) -> None:
    """SLURM loses a node whose processes live on; the next job has to wait for them."""
    job = study.held()
    study.cluster.crash(study.node(job), job, processes_too=False)
    until(lambda: "waits for it" in study.said(), "the next job waits")
    study.gate.unlink()


def time_limit(study: Struck) -> None:
    """The job is held until a limit of one minute, which it is given late, ends it."""
    job = study.held()
    tell("scontrol", "update", f"JobId={job}", "TimeLimit=1")
    study.gone(job)


def memory(study: Struck) -> None:
    """The first job takes more memory than it asked for."""
    options = ("--set-resources", "search:mem_mb=1300 if attempt == 1 else 4000")
    study.gone(study.held(*options, gate="eat"))
    study.says("took more than its 1300 MB of memory")


def closed(study: Struck) -> None:
    """The partition takes no jobs when they are submitted, and is opened later."""
    tell("scontrol", "update", "partitionname=main", "state=DRAIN")
    study.process = study.head()
    study.says("no job is submitted until SLURM's partition 'main' (drain) is up")
    assert not study.queued("PENDING") + study.queued("RUNNING")
    tell("scontrol", "update", "partitionname=main", "state=UP")


def controller_dies(study: Struck) -> None:
    """SLURM's controller dies and is started again, while the workflow asks for its jobs."""
    study.held()
    study.cluster.kill_controller()
    time.sleep(90)
    study.cluster.start()
    study.gate.unlink()


def forgotten(study: Struck) -> None:
    """The workflow is suspended, as on a laptop, until SLURM has forgotten that its job ended."""
    job = study.held()
    study.process.send_signal(signal.SIGSTOP)
    study.gate.unlink()
    until(lambda: job not in tell("squeue", "--states=all", "--format=%i").split(), "it is purged")
    study.process.send_signal(signal.SIGCONT)


def scancel(study: Struck) -> None:
    """Somebody cancels the job."""
    job = study.held()
    tell("scancel", job)
    study.gone(job)


def head_killed(study: Struck) -> None:
    """The workflow on the login node is killed and started again; its job runs on meanwhile."""
    job = study.held()
    os.killpg(study.process.pid, signal.SIGKILL)
    study.process.wait()
    assert [j.number for j in study.queued("RUNNING")] == [job]
    study.process = study.head()
    study.gone(job)


def interrupted(study: Struck) -> None:
    """Ctrl-C at the login node, and the same command again."""
    job = study.held()
    study.process.send_signal(signal.SIGINT)
    assert study.process.wait() != 0
    study.gone(job)
    assert not study.queued("PENDING")
    study.process = study.head()


DISASTERS: dict[str, Callable[[Struck], None]] = {
    "node-dies": node_dies,
    "node-lost": node_lost,
    "time-limit": time_limit,
    "memory": memory,
    "closed": closed,
    "controller-dies": controller_dies,
    "forgotten": forgotten,
    "scancel": scancel,
    "head-killed": head_killed,
    "interrupted": interrupted,
}


def main() -> int:
    """Run the disasters; exit status 1 if any ended differently from a local run."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("names", nargs="*", help=f"some of: {', '.join(DISASTERS)} (all)")
    names = parser.parse_args().names or list(DISASTERS)
    signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored in background jobs
    if unknown := [name for name in names if name not in DISASTERS]:
        parser.error(f"no disaster '{unknown[0]}'; there are: {', '.join(DISASTERS)}")
    root = Path(tempfile.mkdtemp(prefix="disasters-"))
    expected = local(root / "local")
    print("  ".join(HEADER), flush=True)
    same = True
    try:
        with Cluster(nodes=3) as cluster:
            for name in names:
                row = strike(name, root / name, cluster, expected)
                cells = zip(row, HEADER, strict=True)
                print("  ".join(c.ljust(len(h)) for c, h in cells).rstrip(), flush=True)
                same &= row[1] == "yes"
    except NoClusterError as reason:
        print(f"no cluster: {reason}")
        return 2
    print(f"The studies: {root}")
    return 0 if same else 1


def local(folder: Path) -> dict[str, bytes]:
    """The results without a cluster."""
    folder.mkdir()
    study = Checkout(folder, forked=False)
    study.write(SMALL)
    (folder / "workflow_scripts/ensemble_search/spaces/gated.py").write_bytes(SPACE.read_bytes())
    study.snakemake()
    return study.results()


def strike(name: str, folder: Path, cluster: Cluster, expected: dict[str, bytes]) -> tuple:
    """Run a study through one disaster; returns a row of the table."""
    cluster.start()  # nodes that an earlier disaster killed
    folder.mkdir()
    study = Struck(folder, cluster)
    start = time.monotonic()
    try:
        DISASTERS[name](study)
        study.end(study.process)
    except AssertionError as error:
        (folder / "failure.log").write_text(str(error), encoding="utf-8")
        said = (str(error).strip() or "a check failed").splitlines()[0]
        print(f"{name}: {said}; see {folder}/failure.log")
        study.process.kill()
        slurm.cancel([job.comment for job in slurm.queue(folder) or ()], folder)
    seconds = time.monotonic() - start
    log = study.said()
    kept = log.split("continues after ")[1].split()[0] if "continues after" in log else "0"
    found, jobs = study.results(), len(study.attempts())
    same = found == expected and not study.queued("PENDING")
    if jobs > 1 and kept == "0":
        print(f"{name}: the search started again; see {folder}")
        same = False
    return name, "yes" if same else "NO", str(jobs), kept, f"{seconds:.0f}"


if __name__ == "__main__":
    sys.exit(main())
