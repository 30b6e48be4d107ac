"""Locks: one process writes, the others learn which, and dead processes block nobody."""

import errno
import os
import shutil
import socket
import subprocess
import sys
import time
from dataclasses import replace

import pytest

from ensemble_search.runtime import locks
from ensemble_search.runtime.errors import UserError
from ensemble_search.runtime.locks import Holder, holder, lock, reaches_all_hosts, runs

HERE = socket.gethostname()
HOLD = """
import sys
from ensemble_search.runtime.locks import lock
held = lock(sys.argv[1], "it")
print("held", flush=True)
sys.stdin.read()
"""


#: Killed while a child of it still has its lock.
ORPHAN = """
import os, signal, sys, time
from ensemble_search.runtime.locks import lock
held = lock(sys.argv[1], "it")
if os.fork():
    os.kill(os.getpid(), signal.SIGKILL)
time.sleep(0.5)
os._exit(0)
"""


@pytest.fixture
def path(tmp_path):
    return tmp_path / "lock"


@pytest.fixture
def alone(monkeypatch):
    """A file system whose locks do not reach other hosts."""
    monkeypatch.setattr(locks, "reaches_all_hosts", lambda path: False)


def hold(path) -> subprocess.Popen:
    """Let another process hold a lock."""
    process = subprocess.Popen(
        [sys.executable, "-c", HOLD, path], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert process.stdout.readline() == b"held\n"
    return process


@pytest.fixture(autouse=True)
def python_path(monkeypatch):
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(p for p in sys.path if p))


def rejected(path) -> str:
    with pytest.raises(UserError) as caught:
        lock(path, "the study in 'results/a'")
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_a_child_that_a_killed_process_was_starting_is_waited_for(path, monkeypatch):
    monkeypatch.setattr(locks, "ORPHANED", 300)
    subprocess.run([sys.executable, "-c", ORPHAN, path], check=False)
    with lock(path, "it"):
        assert holder(path).process == os.getpid()


def test_a_second_process_is_rejected_with_the_first_until_that_is_killed(path):
    process = hold(path)
    first = holder(path)
    assert (first.process, first.host) == (process.pid, HERE)
    assert rejected(path) == (
        f"the study in 'results/a' is being written by process {process.pid} on {HERE} "
        f"since {first.since}; wait for it, or end it first"
    )
    process.kill()
    process.communicate()
    with lock(path, "it"):
        assert holder(path).process == os.getpid()
    assert holder(path) is None
    assert path.read_bytes() == b""


def test_a_process_that_waits_says_so_and_gets_the_lock_of_one_that_is_killed(path):
    first = hold(path)
    command = [sys.executable, "-c", HOLD.replace('"it")', '"it", wait=True)'), path]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(command, **pipes) as second:
        said = second.stderr.readline().decode()
        assert said.startswith(f"it is being written by process {first.pid} on {HERE} since ")
        assert said.endswith(": waits for it\n")
        first.kill()
        first.communicate()
        assert second.stdout.readline() == b"held\n"
        assert holder(path).process == second.pid
        second.communicate()


@pytest.mark.parametrize("text", ["process 1 on elsewhere\n", "rubbish\0", "", "process 1 on"])
def test_where_locks_reach_all_hosts_a_name_that_was_left_counts_nothing(path, text, monkeypatch):
    """Results that were moved from another machine, or a node of a cluster that died."""
    monkeypatch.setattr(locks, "reaches_all_hosts", lambda path: True)
    path.write_text(text)
    with lock(path, "it"):
        assert holder(path).host == HERE


def test_where_they_do_not_a_name_from_another_host_is_believed(path, alone):
    path.write_text("process 12 on node7 since 2026-01-02T03:04:05+00:00\n")
    assert rejected(path) == (
        "the study in 'results/a' was being written by process 12 on node7 since "
        "2026-01-02T03:04:05+00:00, which cannot be asked from here; if it has ended, remove "
        f"'{path}' and start again"
    )
    assert holder(path).host == "node7", "nothing is touched"
    path.unlink()
    lock(path, "it").close()


@pytest.mark.parametrize("code", [errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP])
def test_a_file_system_without_locks(path, monkeypatch, code):
    """The process that is named is asked."""

    def flock(*_):
        raise OSError(code, os.strerror(code))

    process = hold(path)
    monkeypatch.setattr(locks.fcntl, "flock", flock)
    assert f"is being written by process {process.pid} on {HERE}" in rejected(path)
    process.kill()
    process.communicate()
    lock(path, "it").close()


def test_another_refusal_of_the_system_is_passed_on(path, monkeypatch):
    def flock(*_):
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    monkeypatch.setattr(locks.fcntl, "flock", flock)
    with pytest.raises(OSError, match="Input/output error"):
        lock(path, "it")


MOUNTS = """\
22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw
31 22 0:44 / /home rw,relatime shared:5 - nfs4 server:/home rw,vers=4.2,local_lock=none,addr=1
32 22 0:45 / /old rw,relatime - nfs server:/old rw,vers=3,nolock,local_lock=all
33 22 0:46 / /lustre rw - lustre mds:/fs rw,flock,user_xattr
34 22 0:47 / /scratch rw - lustre mds:/fs rw,localflock
35 22 0:48 / /mnt/my\\040cloud rw shared:7 - fuse.sshfs me@there: rw,user_id=0
36 22 0:49 / /beegfs rw - beegfs beegfs_nodev rw
37 31 8:2 / /home/local rw - xfs /dev/sdb1 rw
38 22 0:50 / /ceph rw - ceph mons:/ rw,name=a
"""


@pytest.mark.parametrize(
    ("folder", "expected"),
    [
        ("/data", True),
        ("/home/me/results", True),
        ("/homes", True),
        ("/old/results", False),
        ("/lustre/results", True),
        ("/scratch/results", False),
        ("/mnt/my cloud/results", False),
        ("/beegfs", False),
        ("/home/local/results", True),
        ("/ceph/results", True),
    ],
)
def test_how_far_a_lock_reaches(folder, expected):
    assert reaches_all_hosts(folder, MOUNTS) is expected


def test_the_mounts_of_this_host_are_understood():
    assert reaches_all_hosts("/proc/self") is True


def test_a_journal_moved_to_another_folder_goes_on(tmp_path, monkeypatch):
    monkeypatch.setattr(locks, "reaches_all_hosts", lambda path: True)
    from ensemble_search.search.journal import Journal
    from support.made_journal import FINGERPRINT, SHAPES, equal, record

    with Journal(tmp_path / "there", FINGERPRINT, SHAPES) as journal:
        for i in range(3):
            journal.append(record(i))
    shutil.copytree(tmp_path / "there", tmp_path / "here/results")
    name = Holder(os.getppid(), "elsewhere", "2026-01-02T03:04:05+00:00")
    (tmp_path / "here/results/lock").write_text(f"{name}\n")
    with Journal(tmp_path / "here/results", FINGERPRINT, SHAPES) as journal:
        assert all(equal(r, record(i)) for i, r in enumerate(journal.records))
        assert len(journal.records) == 3
        journal.append(record(3))


def test_a_process_is_known_by_its_start_though_the_clock_was_set(tmp_path):
    with lock(tmp_path / "a", "it"):
        held = holder(tmp_path / "a")
        assert held.start
        assert runs(held, time.time() - 1e8)
        assert not runs(replace(held, start=f"{held.start}0"), time.time())
    assert not runs(replace(held, start="", process=2**22 + 1), time.time())
    assert not runs(replace(held, start=""), time.time() - 1e8), "where the start is unknown"
