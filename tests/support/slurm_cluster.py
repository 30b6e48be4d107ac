"""A real SLURM cluster of several nodes on this machine, and studies that run on it."""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import psutil

from ensemble_search.runtime import slurm
from support import ROOT, forks
from support.checkout import STUDY, Checkout

#: `start.sh` and `stop.sh` start and stop a cluster in a folder.
SCRIPTS = ROOT / "tests/cluster"
#: Where SLURM's commands look for their cluster.
CONFIGURATION = Path("/etc/slurm/slurm.conf")
WAIT_SECONDS = 600


class NoClusterError(Exception):
    """No cluster can run on this machine; one line says why."""


def until(condition: Callable[[], object], what: str):
    """Wait until a condition holds, and return what it gives."""
    end = time.monotonic() + WAIT_SECONDS
    while not (value := condition()):
        assert time.monotonic() < end, f"waited in vain for: {what}"
        time.sleep(0.2)
    return value


def tell(*command: str) -> str:
    """Run a command of SLURM."""
    run = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert run.returncode == 0, f"{command}: {run.stdout}{run.stderr}"
    return run.stdout


class Cluster:
    """The cluster, as a context manager: it is gone afterwards, whatever happens.

    Raises
    ------
    NoClusterError
        On entering, where SLURM cannot be installed. What fails after that is a fault.
    """

    def __init__(self, nodes: int):
        self.nodes = nodes

    def __enter__(self) -> "Cluster":
        if os.geteuid() != 0:
            raise NoClusterError("only root can start the daemons of SLURM")
        if not (shutil.which("slurmctld") or shutil.which("apt-get")):
            raise NoClusterError("SLURM is not installed, nor is there apt-get to install it")
        if CONFIGURATION.exists():
            raise NoClusterError(f"{CONFIGURATION}: this machine belongs to a cluster already")
        self.folder = Path(tempfile.mkdtemp(prefix="slurm-"))
        # Stops the cluster as soon as this process closes the pipe, or ends, however that may be.
        stop = 'cat; sh "$0" "$1"; rm -r "$1"'
        self.stopper = subprocess.Popen(
            ["sh", "-c", stop, SCRIPTS / "stop.sh", self.folder],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        try:
            self.start()
        except BaseException:
            self.__exit__()
            raise
        return self

    def start(self) -> None:
        """Start the daemons that are not running."""
        log = self.folder / "start.log"
        run = subprocess.run(
            ["sh", SCRIPTS / "start.sh", self.folder, str(self.nodes)],
            # A file: the daemons keep what they are given.
            stdout=log.open("a"),
            stderr=subprocess.STDOUT,
            timeout=WAIT_SECONDS,
            check=False,
        )
        said = log.read_text(encoding="utf-8").strip()
        if run.returncode and not (shutil.which("slurmctld") and shutil.which("mariadbd")):
            raise NoClusterError(f"SLURM cannot be installed: {said[-300:]}")
        assert run.returncode == 0, said

    def __exit__(self, *_) -> None:
        self.stopper.stdin.close()
        self.stopper.wait(WAIT_SECONDS)

    def kill_controller(self) -> None:
        """Kill slurmctld; :meth:`start` starts it again."""
        os.kill(int((self.folder / "slurmctld.pid").read_text()), signal.SIGKILL)

    def crash(self, node: str, job: str, processes_too: bool = True) -> None:
        """Kill SLURM's processes of a node, and those of the job it runs unless they live on."""
        daemon = int((self.folder / f"slurmd.{node}.pid").read_text())
        of_job = [p for p in psutil.process_iter() if _of_job(p, job)]
        steps = [p for p in of_job if p.name() == "slurmstepd" or "slurmstepd" in _command(p)]
        for process in [psutil.Process(daemon), *(of_job if processes_too else steps)]:
            with suppress(psutil.NoSuchProcess):
                process.send_signal(signal.SIGKILL)


def _command(process: psutil.Process) -> str:
    try:
        return " ".join(process.cmdline())
    except psutil.Error:
        return ""


def _of_job(process: psutil.Process, job: str) -> bool:
    if _command(process).startswith(f"slurmstepd: [{job}."):
        return True
    try:
        return process.environ().get("SLURM_JOB_ID") == job
    except psutil.Error:
        return False


class OnCluster(Checkout):
    """A copy of the repository whose profile is filled in, and its workflow on the cluster."""

    def __init__(self, folder: Path, study: dict = STUDY, space: str | None = None):
        super().__init__(folder)
        self.write(study)
        profile = folder / "profiles/slurm/config.yaml"
        text = profile.read_text(encoding="utf-8")
        for key, value in (("account", "lab"), ("partition", "main")):
            line = f"# slurm_{key}: my-{key}\n"
            assert line in text
            text = text.replace(line, f"slurm_{key}: {value}\n")
        profile.write_text(text, encoding="utf-8")
        if space:
            shutil.copy(space, folder / "workflow_scripts/ensemble_search/spaces")

    def head(self, *options: str) -> subprocess.Popen:
        """Start the workflow as on a login node."""
        command = ["snakemake", "--profile", "profiles/slurm", "--configfile", "study.yaml"]
        # Nobody waits for 20 s here.
        command += ["--slurm-init-seconds-before-status-checks", "3", *options]
        return subprocess.Popen(
            [sys.executable, "-m", *command],
            cwd=self.folder,
            env=forks.environment(self.folder, forked=False),
            text=True,
            stdout=(self.folder / "head.log").open("a"),
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )

    def end(self, head: subprocess.Popen) -> str:
        """Wait until the workflow has ended well; return what it said."""
        try:
            status = head.wait(WAIT_SECONDS)
        finally:
            if head.poll() is None:
                os.killpg(head.pid, signal.SIGKILL)
        said = (self.folder / "head.log").read_text(encoding="utf-8")
        assert status == 0, said[-6000:]
        return said

    def queued(self, state: str) -> list[slurm.Job]:
        """Jobs of this folder in a state."""
        return [job for job in slurm.queue(self.folder) or () if job.state == state]

    def attempts(self) -> list[str]:
        """Numbers of the jobs that were submitted for searches."""
        logs = (self.folder / "results/slurm").rglob("*.log")
        return sorted((path.stem for path in logs), key=int)
