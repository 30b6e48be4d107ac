"""The stand-ins for `python` and `snakemake` (``support.forks``) behave as what they stand for."""

import os
import signal
import subprocess
import sys
import time

import psutil
import pytest

from support import SCRIPTS, TESTS, forks

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform != "linux", reason="forks are asked for on Linux"),
]
#: What a program can see of how it was started.
SEEN = """
import json, os, sys
print(json.dumps({
    "arguments": sys.argv,
    "main": [__name__, __file__, sys.modules["__main__"].__dict__ is globals()],
    "path": [sys.path[0], len(sys.path) - len(set(sys.path))],
    "environment": {k: v for k, v in os.environ.items() if k not in ("_", "PATH", "PWD", "SHLVL")},
    "folder": os.getcwd(),
    "input": sys.stdin.read(),
    "open": [n for n in range(3, 200) if os.path.exists(f"/proc/self/fd/{n}")
             and not os.readlink(f"/proc/self/fd/{n}").startswith("/proc")],
}, sort_keys=True))
print("error", file=sys.stderr)
"""


@pytest.fixture
def place(tmp_path):
    (tmp_path / "folder").mkdir()
    return tmp_path / "folder"


def start(program: str, place, name: str = "python", **more: str) -> subprocess.Popen:
    """Start a program with the stand-in."""
    (place / "program.py").write_text(program, encoding="utf-8")
    pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    environment = forks.environment(place) | more
    return subprocess.Popen([name, "program.py", "é", ""], cwd=place, env=environment, **pipes)


def test_a_program_sees_what_it_would_see_of_an_interpreter(place):
    told = []
    for name in ("python", sys.executable):
        process = start(SEEN, place, name, PECULIAR="ü\n")
        out, error = process.communicate("text ä".encode())
        assert (process.returncode, error) == (0, b"error\n")
        told.append(out)
    assert told[0] == told[1]


@pytest.mark.parametrize(
    ("program", "code", "says"),
    [
        ("import sys; sys.exit(3)", 3, b""),
        ("raise SystemExit", 0, b""),
        ("raise SystemExit('why')", 1, b"why\n"),
        ("1 / 0", 1, b"ZeroDivisionError: division by zero\n"),
        ("import os, signal; os.kill(os.getpid(), signal.SIGKILL)", -9, b""),
        ("import os; os._exit(7)", 7, b""),
        ("import atexit, sys; atexit.register(sys.stderr.write, 'late')", 0, b"late"),
    ],
)
def test_it_ends_as_the_program_ends(place, program, code, says):
    process = start(program, place)
    assert process.communicate()[1].endswith(says)
    assert process.returncode == code


WAITS = "import os, time; print(os.getpid(), flush=True); time.sleep(600)"


def gone(pid: int) -> bool:
    """Wait until a process has ended."""
    until = time.monotonic() + 60
    while time.monotonic() < until:
        if not psutil.pid_exists(pid) or psutil.Process(pid).status() == psutil.STATUS_ZOMBIE:
            return True
        time.sleep(0.02)
    return False


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGTERM, -15), (signal.SIGINT, 1), (signal.SIGKILL, -9)]
)
def test_signals_reach_the_program(place, number, code):
    process = start(WAITS, place)
    pid = int(process.stdout.readline())
    process.send_signal(number)
    _, error = process.communicate()
    assert process.returncode in (code, -number)
    assert (b"KeyboardInterrupt" in error) == (number == signal.SIGINT)
    assert gone(pid)


def test_a_script_ends_with_the_workflow_that_started_it(place):
    (place / "program.py").write_text(
        "import sys; sys.path.insert(0, sys.argv[1])\n"
        "from ensemble_search.runtime import errors\n"
        f"def main():\n    {WAITS}\nerrors.run(main)\n",
        encoding="utf-8",
    )
    shell = f"ENSEMBLE_SEARCH_PARENT=$$ python program.py '{SCRIPTS}' & wait"
    process = subprocess.Popen(
        ["sh", "-c", shell], cwd=place, env=forks.environment(place), stdout=subprocess.PIPE
    )
    pid = int(process.stdout.readline())
    process.kill()
    process.communicate()
    assert gone(pid)


def test_what_only_an_interpreter_can_do_is_left_to_one(place):
    (place / "program.py").write_text("import os, sys; print(os.getppid(), sys.flags.optimize)")
    environment = forks.environment(place)

    def parent(*command: str, **more: str) -> list[int]:
        done = subprocess.run(
            command, cwd=place, env=environment | more, stdout=subprocess.PIPE, check=True
        )
        return [int(word) for word in done.stdout.split()]

    server, _ = parent("python", "program.py")
    assert server != os.getpid()
    assert parent("python", "program.py") == [server, 0]
    own = [os.getpid(), 0]
    assert parent("python", "program.py", OMP_NUM_THREADS="2") == own
    assert parent("python", "program.py", PYTHONOPTIMIZE="1") == [os.getpid(), 1]
    assert parent("python", "-c", "import os; print(os.getppid(), 0)") == own


EVALUATES = f"""
import os, sys
sys.path[:0] = [{str(SCRIPTS)!r}, {str(TESTS)!r}]
os.environ["PYTHONPATH"] = {str(TESTS)!r}
from pathlib import Path
from support import hostile_space
from ensemble_search.evaluation.live import LiveEvaluator

inputs = hostile_space.write_inputs(Path.cwd())
settings = {{"algorithm": "power", "sharpness": 0.3, "power": 3}}
with LiveEvaluator("support.hostile_space", inputs, 60, 2000, 1) as evaluator:
    for more in ({{}}, {{"behaviour": "looks_around"}}, {{"behaviour": "segfault"}}, {{}}):
        found = evaluator.evaluate(settings | more)
        print(found.status, found.error_type, found.message)
    print(found.validation.tobytes().hex())
    pid = evaluator._worker._process.pid
    print(Path(f"/proc/{{pid}}/cmdline").read_text(), file=sys.stderr)
"""


def test_a_worker_that_is_a_fork_evaluates_as_another(place):
    said = []
    for name, command in (("python", b"server.py"), (sys.executable, b"evaluation.worker")):
        process = start(EVALUATES, place, name, OMP_NUM_THREADS="1")
        out, error = process.communicate()
        assert process.returncode == 0, error
        assert command in error
        said.append(out)
    assert said[0] == said[1]


def test_nothing_is_left_when_the_tests_end(place):
    program = (
        "import subprocess, sys; from pathlib import Path; from support import forks\n"
        f"place = Path({str(place)!r})\n"
        "process = subprocess.Popen(['python', 'program.py'], cwd=place,\n"
        "                           env=forks.environment(place), stdout=subprocess.PIPE)\n"
        "print(process.stdout.readline().decode().strip(), forks.commands())\n"
    )
    (place / "program.py").write_text(WAITS)
    done = subprocess.run(
        [sys.executable, "-c", program],
        env=os.environ | {"PYTHONPATH": str(TESTS)},
        text=True,
        stdout=subprocess.PIPE,
        check=True,
    )
    pid, folder = done.stdout.split()
    assert gone(int(pid))
    assert not os.path.exists(folder)
