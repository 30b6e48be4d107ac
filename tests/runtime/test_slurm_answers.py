"""What SLURM says: why jobs ended, and whether they can be submitted, with stand-ins for it."""

import asyncio
import subprocess
import threading
from types import SimpleNamespace

import pytest

from ensemble_search.runtime import slurm
from support import ROOT


def status(state: str) -> str:
    return f"SLURM-job '7' failed, SLURM status is: '{state}'. Detailed failure reason unavailable"


MEMORY = (
    "the job took more than its 1300 MB of memory; "
    "give it more, such as --set-resources search:mem_mb=2600"
)


@pytest.mark.parametrize(
    ("message", "log", "expected"),
    [
        (status("OUT_OF_MEMORY"), "", MEMORY),
        (
            status("FAILED"),
            "slurmstepd-n1: error: StepId=1.0 exceeded memory limit (9 > 8), being killed\n"
            "slurmstepd-n1: error: Exceeded job memory limit\nsrun: error: n1: task 0: Killed\n",
            MEMORY,
        ),
        (
            status("FAILED"),
            "slurmstepd: error: Detected 1 oom-kill event(s) in StepId=5.0 cgroup.\n"
            "srun: error: n1: task 0: Out Of Memory\n",
            MEMORY,
        ),
        (
            status("FAILED"),
            "slurmstepd: error: Detected 1 oom_kill event in StepId=5.0. Some of the step tasks "
            "have been OOM Killed.\n",
            MEMORY,
        ),
        (
            status("TIMEOUT"),
            "slurmstepd: error: *** JOB 7 ON n1 CANCELLED AT 2026-01-01 DUE TO TIME LIMIT ***",
            "the job took longer than its 480 minutes; "
            "give it more, such as --set-resources search:runtime=960",
        ),
        (status("CANCELLED"), "", "the job was cancelled, by scancel or by an administrator"),
        (
            "SLURM-job '7' failed due to a node failure, SLURM status is: 'NODE_FAIL'. Failed",
            "",
            "the node of the job failed (NODE_FAIL)",
        ),
        (
            status("FAILED"),
            "srun: error: fetch_config: DNS SRV lookup failed\n"
            "srun: fatal: Could not establish a configuration source\nError in rule search:\n",
            "the job ended as FAILED: Could not establish a configuration source",
        ),
        (status("FAILED"), "", "the job ended as FAILED"),
        (
            "SLURM sbatch failed. The error message was 'sbatch: error: Memory specification can "
            "not be satisfied\nsbatch: error: Batch job submission failed: Requested node "
            "configuration is not available'.\n    sbatch call:\n        sbatch --comment 'a'\n",
            "",
            "SLURM rejected the job: Batch job submission failed: "
            "Requested node configuration is not available",
        ),
        ("", "out of memory", ""),
        ("Traceback", "", ""),
    ],
)
def test_why_a_job_ended(message, log, expected):
    assert slurm.why_ended(message, log, 1300, 480, "search") == expected


@pytest.fixture
def sinfo(tmp_path, monkeypatch):
    """Returns a function that sets what `sinfo` answers."""
    command = tmp_path / "sinfo"
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")

    def answer(text: str, status: int = 0) -> None:
        new = tmp_path / "new"
        new.write_text(f"#!/bin/sh\nprintf '{text}'\nprintf 'no\\nnode' >&2\nexit {status}\n")
        new.chmod(0o755)
        new.replace(command)

    return answer


@pytest.mark.parametrize(
    ("answer", "partition", "expected"),
    [
        ("main*|up\\nlong|down\\n", None, ""),
        ("main*|drain\\nlong|up\\n", None, "SLURM's partition 'main' (drain) is up"),
        ("long|inact\\n", "long", "SLURM's partition 'long' (inact) is up"),
        ("a|down\\nb|up\\n", "a,b", ""),
        ("b|drain\\na|down\\n", "a,b", "SLURM's partition 'a' (down) or 'b' (drain) is up"),
        ("", "unknown", ""),
    ],
)
def test_whether_a_partition_is_closed(sinfo, answer, partition, expected):
    sinfo(answer)
    assert slurm.closed(partition) == expected


def test_a_slurm_that_does_not_respond_is_waited_for_and_none_is_not(sinfo, monkeypatch):
    sinfo("", 1)
    assert slurm.closed("main") == "SLURM responds (sinfo: no node)"
    monkeypatch.setenv("PATH", "")
    assert slurm.closed("main") == ""


def test_a_slurm_that_hangs_may_have_said_why(monkeypatch):
    """What a command wrote before its time limit is bytes, though text was asked for."""

    def hang(*command):
        raise subprocess.TimeoutExpired(command, 60, stderr=b"no\nnode")

    monkeypatch.setattr(slurm, "_ask", hang)
    assert slurm.closed("main") == "SLURM responds (sinfo: no node)"


@pytest.fixture
def submission(monkeypatch):
    """rules/slurm.smk with an executor that notes what is submitted."""

    class Executor:
        def __init__(self):
            self.submitted, self._failed_nodes, self.cancelled = [], {"n1"}, False
            self._status_query_calls, self._submitted_job_clusters = 0, set()
            self.responds, self.ended, self.errors = True, set(), []

        async def check_active_jobs(self, active):
            """As the plugin: what ended is reported, and nothing is yielded without an answer."""
            if self.responds:
                self._status_query_calls += 1
                for job in active:
                    if job.external_jobid not in self.ended:
                        yield job

        def report_job_error(self, job, msg):
            self.errors.append((job.external_jobid, msg))

        def run_job(self, job):
            self.submitted.append((job.name, set(self._failed_nodes)))

        def cancel(self):
            self.cancelled = True

    monkeypatch.setattr(slurm, "LOOK_SECONDS", 0.01)
    monkeypatch.setattr(slurm, "nodes", lambda partition: {"n1", "n2"})
    workflow = SimpleNamespace(executor_plugin=SimpleNamespace(executor=Executor))
    names = {"workflow": workflow, "slurm": slurm}
    exec(compile((ROOT / "rules/slurm.smk").read_text(), "slurm.smk", "exec"), names)
    names["watch_executor"]()
    return Executor()


def job(name: str) -> SimpleNamespace:
    return SimpleNamespace(name=name, resources={"slurm_partition": "main"})


def test_jobs_are_submitted_when_the_partition_opens(submission, monkeypatch, capsys):
    answers = ["P is up", "P is up", "Q is up", ""]
    monkeypatch.setattr(slurm, "closed", lambda partition: answers.pop(0))
    submission.run_job(job("a"))
    assert submission.submitted == [("a", {"n1"})]
    assert capsys.readouterr().err == (
        "note: no job is submitted until P is up\nnote: no job is submitted until Q is up\n"
    )


def test_nothing_is_submitted_after_an_interrupt(submission, monkeypatch):
    monkeypatch.setattr(slurm, "closed", lambda partition: "P is up")
    waits = threading.Thread(target=submission.run_job, args=[job("a")])
    waits.start()
    submission.cancel()
    waits.join(60)
    assert submission.cancelled
    monkeypatch.setattr(slurm, "closed", lambda partition: "")
    submission.run_job(job("b"))
    assert submission.submitted == []


def test_failed_nodes_are_excluded_while_there_are_others(submission, monkeypatch):
    monkeypatch.setattr(slurm, "closed", lambda partition: "")
    submission.run_job(job("a"))
    submission._failed_nodes.add("n2")
    submission.run_job(job("b"))
    assert submission.submitted == [("a", {"n1"}), ("b", set())]


def active(submission, *numbers: str) -> list[str]:
    """The jobs that are still watched after a look."""

    async def check():
        jobs = [SimpleNamespace(external_jobid=number) for number in numbers]
        return [job.external_jobid async for job in submission.check_active_jobs(jobs)]

    return asyncio.run(check())


def test_no_job_is_lost_when_slurm_does_not_respond(submission, monkeypatch):
    monkeypatch.setattr(slurm, "queue", lambda: None)
    submission.responds = False
    for _ in range(3):
        assert active(submission, "7", "8") == ["7", "8"]
    submission.responds, submission.ended = True, {"7"}
    assert active(submission, "7", "8") == ["8"]
    assert submission.errors == []


def test_a_job_that_slurm_has_forgotten_is_not_waited_for(submission, monkeypatch):
    queue = [slurm.Job("8", "RUNNING", "None", "")]
    monkeypatch.setattr(slurm, "queue", lambda: queue)
    assert active(submission, "7", "8") == ["7", "8"], "it may have ended just now"
    assert active(submission, "7", "8") == ["8"]
    assert submission.errors == [
        ("7", "SLURM has forgotten job 7, which ended longer ago than MinJobAge. ")
    ]
    queue.clear()
    assert active(submission, "8") == ["8"]
    queue.append(slurm.Job("8", "RUNNING", "None", ""))
    assert active(submission, "8") == active(submission, "8") == ["8"]
    submission._submitted_job_clusters.add("other")
    for _ in range(3):
        assert active(submission, "9") == ["9"], "the queue is that of one cluster"
