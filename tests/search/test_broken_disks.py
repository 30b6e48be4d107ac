"""Disks that are full, read-only or gone: one line, nothing corrupted, and the search continues."""

import errno
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from ensemble_search.runtime import files, plugins
from ensemble_search.runtime.errors import UserError
from ensemble_search.runtime.files import write_json, write_npy, write_parquet
from ensemble_search.search import journal
from ensemble_search.search.budget import Budget
from ensemble_search.search.journal import Journal
from ensemble_search.search.loop import run
from support import PYTHONPATH, hostile_space, instant_search
from support.hostile_search import content

pytestmark = pytest.mark.slow

CODES = [errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.ESTALE, errno.EROFS]
CALLS = ("write", "fsync", "ftruncate")


@pytest.fixture(scope="module")
def split(tmp_path_factory):
    folder = tmp_path_factory.mktemp("inputs") / "split"
    instant_search.make_split(folder)
    return folder


def search(folder: Path, split: Path):
    """Run or continue a search of four evaluations."""
    evaluator = instant_search.InstantEvaluator("", split / "inputs.npz", {}, 1)
    data = evaluator.data
    shapes = (len(data.X_validation), 3), (len(data.X_test), 3)
    space, optimizer = hostile_space.HostileSpace(), plugins.load("optimizers", "random")()
    budget = Budget(evaluations=4)
    with Journal(folder, {"a": 1}, shapes) as opened:
        return run(
            optimizer, space, data.y_validation, [evaluator], opened, budget=budget, seed=(0, 0)
        )


class Breaking:
    """Calls to the system that fail from the ``moment``-th on, which does half its work."""

    def __init__(self, monkeypatch, code: int, moment: int):
        self.made = 0
        for name in CALLS:
            call = getattr(os, name)

            def reject(file, *arguments, name=name, call=call):
                self.made += 1
                if self.made < moment:
                    return call(file, *arguments)
                if self.made == moment and name == "write":
                    call(file, bytes(arguments[0])[: len(arguments[0]) // 2])
                raise OSError(code, os.strerror(code))

            monkeypatch.setattr(os, name, reject)


@pytest.mark.parametrize("code", CODES, ids=errno.errorcode.get)
def test_a_search_that_is_rejected_goes_on_from_what_it_has(tmp_path, split, code, monkeypatch):
    """At every call in turn; truncating what was half written is rejected as well."""
    monkeypatch.setattr(journal, "SYNC", 0)  # at every evaluation
    expected = content(search(tmp_path / "whole", split))
    moment, rejections = 0, 0
    while True:
        moment += 1 if code == errno.ENOSPC else 5
        folder = tmp_path / str(moment)
        with pytest.MonkeyPatch.context() as patch:
            breaking = Breaking(patch, code, moment)
            try:
                search(folder, split)
            except UserError as error:
                rejections += 1
                assert str(error).startswith(f"cannot write '{folder}")
                assert str(error).endswith(os.strerror(code))
                assert "\n" not in str(error)
        if breaking.made < moment:
            break
        assert content(search(folder, split)) == expected
    assert rejections > (15 if code == errno.ENOSPC else 3)


WRITERS = {
    "a.json": (write_json, {"numbers": list(range(2000))}),
    "a.npy": (write_npy, np.arange(6000.0)),
    "a.parquet": (write_parquet, {"x": np.arange(6000.0)}),
}


@pytest.mark.parametrize("call", ["fsync", "replace"])
@pytest.mark.parametrize("name", WRITERS)
def test_a_result_that_is_rejected_leaves_the_former(tmp_path, monkeypatch, name, call):
    writer, value = WRITERS[name]
    path = tmp_path / name
    path.write_text("old")
    for code in CODES:

        def reject(*_, code=code):
            raise OSError(code, os.strerror(code))

        monkeypatch.setattr(os, call, reject)
        with pytest.raises(UserError) as caught:
            writer(path, value)
        assert str(caught.value) == f"cannot write '{path}': {os.strerror(code)}"
        assert os.listdir(tmp_path) == [name]
        assert path.read_text() == "old"


def test_what_a_killed_process_left_is_removed_by_the_next(tmp_path):
    code = (
        "import os, sys\nfrom ensemble_search.runtime.files import atomic\n"
        "with atomic(sys.argv[1]) as path:\n    path.write_text('half')\n    os._exit(1)\n"
    )
    path = tmp_path / "a.json"
    environment = os.environ | {"PYTHONPATH": PYTHONPATH}
    subprocess.run([sys.executable, "-c", code, path], env=environment, check=False)
    assert len(os.listdir(tmp_path)) == 1
    living = f"{files._host()}-1-01234567"
    others = [".a.json", ".a.0123.json", f".a.{living}.json", f".b.{living}.json"]
    for name in others:  # not ours, and that of a process that lives
        (tmp_path / name).touch()
    write_json(path, 1)
    assert sorted(os.listdir(tmp_path)) == sorted([*others, "a.json"])


@pytest.mark.parametrize(
    ("raised", "log"),
    [
        (
            "OSError(errno.ESTALE, 'x', 'results/a')",
            f"error: 'results/a': {os.strerror(errno.ESTALE)}; "
            "fix that, and run the same command again\n",
        ),
        (
            "OSError(errno.ENOSPC, 'x')",
            f"error: {os.strerror(errno.ENOSPC)}; fix that, and run the same command again\n",
        ),
        (
            "MemoryError",
            f"error: {os.strerror(errno.ENOMEM)}; fix that, and run the same command again\n",
        ),
        ("OSError(errno.ENOENT, 'x')", None),
        ("ValueError('x')", None),
    ],
)
def test_what_the_system_rejects_is_one_line_and_a_fault_of_the_code_is_none(raised, log):
    code = (
        "import errno\nfrom ensemble_search.runtime.errors import run\n"
        f"def main():\n    raise {raised}\nrun(main)"
    )
    environment = os.environ | {"PYTHONPATH": PYTHONPATH}
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False
    )
    if log is None:
        assert done.returncode == 1
        assert done.stderr.startswith("Traceback")
    else:
        assert (done.returncode, done.stderr) == (2, log)


def test_a_real_disk_that_is_full_and_then_read_only(tmp_path, split):
    """A small file system in memory, in a namespace of its own."""
    (tmp_path / "disk").mkdir()
    alone = ["unshare", "--mount", "--map-root-user"]
    mount = ["mount", "-t", "tmpfs", "tmpfs", str(tmp_path / "disk")]
    try:
        subprocess.run([*alone, *mount], check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("mounting a file system is not permitted here")
    done = subprocess.run(
        [*alone, sys.executable, "-m", "support.small_disk", tmp_path, split],
        env=os.environ | {"PYTHONPATH": PYTHONPATH, "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=1500,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert [step["status"] for step in found["steps"]] == [2, 0, 2, 0]
    for step, words in ((0, "No space left on device"), (2, "Read-only file system")):
        last = found["steps"][step]["log"].splitlines()[-1]
        assert last.startswith("error: cannot write '")
        assert last.endswith(words)
        assert "Traceback" not in found["steps"][step]["log"]
    assert 0 < found["evaluations_when_full"] < 200
    assert found["same"]
