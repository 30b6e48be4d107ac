"""The profile for SLURM, on a real cluster of two nodes on this machine."""

import os
import re
import signal

import pytest

from support.checkout import STUDY, Checkout
from support.slurm_cluster import Cluster, NoClusterError, OnCluster, tell, until

pytestmark = pytest.mark.slow

SMALL = {
    **STUDY,
    "budget": {"evaluations": 6},
    "limits": {"seconds": 60, "memory_mb": 1024},
    "methods": {name: STUDY["methods"][name] for name in ("RS", "BO-ES")},
}


@pytest.fixture(scope="module")
def cluster():
    try:
        with Cluster(nodes=2) as running:
            yield running
    except NoClusterError as reason:
        pytest.skip(str(reason))


@pytest.mark.timeout(3000)
def test_a_study_on_a_cluster_gives_what_it_gives_here(cluster, tmp_path):
    (tmp_path / "there").mkdir()
    there = OnCluster(tmp_path / "there", SMALL)
    tell("scontrol", "update", "nodename=n[1-2]", "state=drain", "reason=later")
    tell("scontrol", "update", "partitionname=main", "state=drain")
    head = there.head()
    log = tmp_path / "there/head.log"
    until(lambda: "'main' (drain) is up" in log.read_text() or head.poll() is not None, "a note")
    tell("scontrol", "update", "partitionname=main", "state=up")
    until(lambda: len(there.queued("PENDING")) == 2 or head.poll() is not None, "two jobs queued")
    shown = there.script("status", "--study", "study.yaml").stdout
    assert "2 searches: 2 queued; 0/12 evaluations" in shown

    def waiting():
        shown = there.script("status", "--study", "study.yaml").stdout
        return sum(map(int, re.findall(r"Waiting in SLURM's queue: (\d+), because of ", shown)))

    until(lambda: waiting() == 2 or head.poll() is not None, "reasons of both jobs")
    os.killpg(head.pid, signal.SIGKILL)
    head.wait()
    old = {job.number for job in there.queued("PENDING")}
    head = there.head()
    new = until(lambda: {j.number for j in there.queued("PENDING")} - old, "jobs in their place")
    assert old.isdisjoint(job.number for job in there.queued("PENDING")), "two jobs for one search"
    tell("scontrol", "update", "nodename=n[1-2]", "state=resume")
    said = there.end(head)
    assert "note: ended 2 jobs of an earlier run; they continue" in said
    (tmp_path / "here").mkdir()
    here = Checkout(tmp_path / "here")
    here.run(SMALL)
    assert there.results() == here.results()
    assert new <= set(there.attempts())
    assert len(there.attempts()) == 2, "the small jobs are not submitted"
    assert not there.queued("RUNNING")
    assert there.planned("--workflow-profile", "profiles/slurm") == {}
    assert there.planned() == {}
    shown = there.script("status", "--study", "study.yaml").stdout
    assert "2 searches: 2 done; 12/12 evaluations" in shown
