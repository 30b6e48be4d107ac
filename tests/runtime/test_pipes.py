"""Scripts whose output nobody reads to the end, as before `| head`."""

import os
import subprocess
import sys

import pytest

from support import PYTHONPATH

SCRIPT = """
import sys
from ensemble_search.runtime.errors import UserError, run
def main():
    {}
run(main)
"""


def script(body: str) -> subprocess.Popen:
    return subprocess.Popen(
        [sys.executable, "-c", SCRIPT.format(body)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=os.environ | {"PYTHONPATH": PYTHONPATH, "PYTHONUNBUFFERED": ""},
    )


@pytest.mark.parametrize(
    "body",
    [
        "for i in range(10**6): print(i)",
        "sys.stdin.read(); print(1)",  # in the buffer until the end
        "sys.stdin.read(); print(1, flush=True)",
        "sys.stdin.read(); print(1); sys.exit(0)",
    ],
)
def test_a_closed_pipe_ends_a_script_silently(body):
    with script(body) as process:
        process.stdout.close()
        process.stdin.close()
        assert process.stderr.read() == b""
    assert process.returncode == 141


def test_another_pipe_is_no_pipe_of_the_output():
    with script("print(1); raise BrokenPipeError('a worker')") as process:
        out, error = process.communicate()
    assert out == b"1\n" and b"BrokenPipeError: a worker" in error and process.returncode == 1


def test_an_error_is_said_although_nobody_reads_the_output():
    with script("sys.stdin.read(); print(1); raise UserError('this is wrong')") as process:
        process.stdout.close()
        process.stdin.close()
        assert process.stderr.read().startswith(b"error: this is wrong\n")


def test_closed_streams_are_empty_and_their_numbers_not_those_of_files(tmp_path):
    body = "open('f', 'w').write('kept'); print('x'); print(sys.stdin.read(), file=sys.stderr)"
    command = [sys.executable, "-c", SCRIPT.format(body)]
    closing = ["sh", "-c", 'exec "$@" <&- >&- 2>&-', "sh", *command]
    environment = os.environ | {"PYTHONPATH": PYTHONPATH}
    assert subprocess.run(closing, cwd=tmp_path, env=environment, check=False).returncode == 0
    assert (tmp_path / "f").read_text() == "kept"
