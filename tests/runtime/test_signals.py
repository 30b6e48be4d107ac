"""A script that gets a signal ends with one line, at any moment, and with its workflow."""

import ast
import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from ensemble_search.data.split import load_inputs
from ensemble_search.runtime.errors import number_of
from support import ROOT, SCRIPTS, hostile_space

pytestmark = pytest.mark.slow

#: Scripts that a user starts; the others are jobs, or parts of versions of code.
BY_USERS = ["automl", "evidence", "partial_report", "predict", "reproduce", "status", "verify",
            "why"]  # fmt: skip
GUARD = 300  # seconds, only so that a failure ends
HEAD = """
import atexit, ctypes, os, sys
from ensemble_search.runtime.errors import run
def tell(word):
    os.write(1, word.encode())
def wait():
    return os.read(0, 1)
"""
BODIES = {
    "in a call to the system": "tell('r'); wait()",
    "swallows exceptions": """
    tell('r')
    while True:
        try:
            wait()
        except BaseException:
            pass
""",
    "turns exceptions into others": """
    try:
        tell('r'); wait()
    except BaseException as error:
        raise ValueError("cannot be imported") from error
""",
    # The second lock of a mutex waits for ever, and no signal wakes it up.
    "in C code": """
    mutex = ctypes.create_string_buffer(64)
    lock = ctypes.CDLL(None).pthread_mutex_lock
    lock(mutex)
    tell('r')
    lock(mutex)
""",
}


def start(body: str, after: str = "", sigint=signal.SIG_DFL, **environment) -> subprocess.Popen:
    """Start a script with such a main function; wait until it says that it is there."""
    code = f"{HEAD}\ndef main():\n    {body}\nrun(main)\n{after}"
    process = subprocess.Popen(
        [sys.executable, "-c", code],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=os.environ | {"PYTHONPATH": str(SCRIPTS)} | environment,
        # Jobs in the background of a shell, and what they start, ignore it.
        preexec_fn=lambda: signal.signal(signal.SIGINT, sigint),  # noqa: PLW1509
    )
    if body != "pass":
        assert process.stdout.read(1) == b"r", process.communicate()[1].decode()
        wait_until_asleep(process.pid)
    return process


def wait_until_asleep(pid: int) -> None:
    """Until the main thread waits where its script does, and not on the way there."""
    until = time.monotonic() + GUARD
    while Path(f"/proc/{pid}/task/{pid}/stat").read_text().rpartition(") ")[2][0] != "S":
        assert time.monotonic() < until
        time.sleep(0.001)


def end(process: subprocess.Popen) -> tuple[int, str]:
    """Wait for the end; return exit status and log."""
    stderr = process.communicate(timeout=GUARD)[1]
    return process.returncode, stderr.decode()


def line(number: signal.Signals) -> str:
    return f"stopped by {number.name}; run the same command again\n"


@pytest.mark.parametrize("body", BODIES)
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGUSR1, signal.SIGINT])
def test_a_signal_ends_a_script_in_one_line(number, body):
    process = start(BODIES[body])
    process.send_signal(number)
    assert end(process) == (128 + number, line(number))


def test_a_second_signal_changes_nothing():
    process = start("try:\n        tell('r'); wait()\n    finally:\n        tell('c'); wait()")
    process.send_signal(signal.SIGUSR1)
    assert process.stdout.read(1) == b"c"
    process.send_signal(signal.SIGTERM)
    process.send_signal(signal.SIGUSR1)
    assert end(process) == (128 + signal.SIGUSR1, line(signal.SIGUSR1))


def test_a_signal_after_the_work_is_done_changes_nothing():
    """While the interpreter shuts down, an exception would print a traceback."""
    late = "atexit.register(lambda: (tell('r'), wait(), tell('d')))"
    process = start("pass", late)
    assert process.stdout.read(1) == b"r"
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGUSR1):
        process.send_signal(number)
    stdout, stderr = process.communicate(b"x", timeout=GUARD)
    assert (process.returncode, stdout, stderr) == (0, b"d", b"")


def test_sigint_stays_ignored_in_the_background():
    process = start(BODIES["in a call to the system"], sigint=signal.SIG_IGN)
    process.send_signal(signal.SIGINT)
    process.send_signal(signal.SIGTERM)
    assert end(process) == (128 + signal.SIGTERM, line(signal.SIGTERM))


def test_a_script_ends_with_the_process_that_started_it():
    """The parent is killed; it cannot tell its child."""
    child = f"{HEAD}\ndef main():\n    {BODIES['in a call to the system']}\nrun(main)\n"
    parent = (
        "import os, subprocess, sys\n"
        "os.environ['ENSEMBLE_SEARCH_PARENT'] = str(os.getpid())\n"
        "subprocess.run([sys.executable, '-c', sys.argv[1]])\n"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", parent, child],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=os.environ | {"PYTHONPATH": str(SCRIPTS)},
    )
    assert process.stdout.read(1) == b"r"
    process.kill()
    # The pipe ends with the last process that holds it: the child.
    assert process.stderr.read().decode() == line(signal.SIGTERM)
    process.communicate()


def test_a_script_whose_parent_has_ended_before_it_began():
    with subprocess.Popen([sys.executable, "-c", ""]) as ended:
        pass
    process = start("pass", ENSEMBLE_SEARCH_PARENT=str(ended.pid))
    status, log = end(process)
    assert status == 128 + signal.SIGTERM
    # Not "error:", by which the status of a study knows failed jobs.
    assert log == (
        f"stopped: the workflow that started this job (process {ended.pid}) has ended; run the "
        "same command again (by hand, without ENSEMBLE_SEARCH_PARENT)\n"
    )


def test_every_script_ends_that_way():
    scripts = sorted(SCRIPTS.glob("*.py"))
    assert len(scripts) >= 7
    for script in scripts:
        last = ast.unparse(ast.parse(script.read_text(encoding="utf-8")).body[-1])
        assert re.search(r"\b(errors\.)?run\(main\)", last), script.name


@pytest.mark.parametrize("script", BY_USERS)
def test_a_signal_during_the_imports_of_a_script_that_users_start(script, tmp_path):
    # The first module that all of them import.
    (tmp_path / "argparse.py").write_text("import os\nos.write(1, b'r')\nos.read(0, 1)\n")
    process = subprocess.Popen(
        [sys.executable, str(SCRIPTS / f"{script}.py")],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=os.environ | {"PYTHONPATH": str(tmp_path)},
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # noqa: PLW1509
    )
    assert process.stdout.read(1) == b"r", process.communicate()[1].decode()
    process.send_signal(signal.SIGINT)
    assert end(process) == (128 + signal.SIGINT, line(signal.SIGINT))


@pytest.mark.parametrize("script", BY_USERS)
def test_importing_a_script_handles_no_signal(script):
    program = "import signal, sys\nbefore = [*map(signal.getsignal, signal.valid_signals())]\n"
    program += f"import {script}\n"
    program += "assert before == [*map(signal.getsignal, signal.valid_signals())]\n"
    subprocess.run([sys.executable, "-c", program], cwd=SCRIPTS, check=True)


def test_every_job_is_a_child_of_its_workflow():
    """The variables PYTHON and AUTOGLUON_PYTHON hold the exec and ENSEMBLE_SEARCH_PARENT."""
    commands = 0
    for rules in sorted((ROOT / "rules").glob("*.smk")):
        blocks = rules.read_text(encoding="utf-8").split("    shell:")[1:]
        for block in blocks:
            first = next(t for t in block.splitlines() if t.strip() and "#" not in t)
            start_ = re.match(r"""\s*f?["']\{(AUTOGLUON_)?PYTHON\} \{SCRIPTS""", first)
            assert start_, f"{rules.name}: {first}"
            commands += 1
    assert commands >= 5


@pytest.fixture
def command(tmp_path):
    """The command of a search that would run for hours."""
    split = tmp_path / "split"
    split.mkdir()
    hostile_space.write_inputs(split, n_rows=60)
    checksum = load_inputs(split / "inputs.npz").checksum()
    (split / "split.json").write_text(json.dumps({"checksum": checksum}), encoding="utf-8")

    def make(budget: int) -> list:
        task = {
            "dataset": "blobs",
            "search": "random",
            "repeat": 0,
            "seed": 0,
            "space": "divbo-small",
            "metric": "error",
            "limits": {"seconds": 1000, "memory_mb": 4096},
            "budget": {"evaluations": budget},
            "optimizer": {"optimizer": "random"},
        }
        folders = ["--checkpoints", tmp_path / "checkpoints", "--output", tmp_path / "output"]
        script = SCRIPTS / "search.py"
        return [sys.executable, script, "--job", json.dumps(task), "--split", split, *folders]

    return make


def test_a_search_before_a_clusters_limit(command, tmp_path):
    """The evaluation under way is dropped, those before it are kept."""
    process = subprocess.Popen(command(10**6), stderr=subprocess.PIPE, text=True)
    until = time.monotonic() + GUARD
    journal = []
    while not journal and time.monotonic() < until:
        time.sleep(0.02)
        found = (tmp_path / "checkpoints").glob("*/journal.jsonl")
        journal = [p for p in found if b"\n" in p.read_bytes()]  # a whole evaluation
    worker = next(p for p in psutil.Process(process.pid).children() if "worker" in str(p.cmdline()))
    worker.suspend()  # nothing can be finished from here on
    process.send_signal(signal.SIGUSR1)
    log = process.communicate(timeout=GUARD)[1]
    assert process.returncode == 128 + signal.SIGUSR1
    assert log.endswith(line(signal.SIGUSR1))
    assert "Traceback" not in log
    worker.wait(GUARD)
    stored = len(journal[0].read_bytes().splitlines())
    done = subprocess.run(
        command(stored), capture_output=True, text=True, timeout=GUARD, check=False
    )
    assert done.returncode == 0, done.stderr
    assert f"continues after {number_of(stored, 'evaluation')}\n" in done.stderr
    assert "damaged" not in done.stderr
