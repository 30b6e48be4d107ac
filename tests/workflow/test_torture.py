"""Searches that are killed repeatedly, with damaged files, find what undisturbed ones find.

And delivered folders that are damaged or forged predict, or are rejected in one line.
"""

import os
import re
import subprocess
import sys

import pytest

from support import PYTHONPATH, TESTS

pytestmark = pytest.mark.slow


def run(*arguments: str) -> str:
    """In a process of its own: it forks, which is safe only where no threads run."""
    done = subprocess.run(
        [sys.executable, TESTS / "torture" / arguments[0], *arguments[1:]],
        env=os.environ | {"PYTHONPATH": PYTHONPATH, "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=1500,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_forged_folders_predict_or_are_rejected_in_one_line():
    said = run("folders.py", "--seed", "0", "--attacks", "60")
    rejected, predict = map(
        int, re.search(r"(\d+) rejected in one line, (\d+) pred", said).groups()
    )
    assert rejected > 30
    assert rejected + predict == 60


def test_killed_and_damaged_searches_end_as_undisturbed():
    said = run("searches.py", "--seed", "0", "--kills", "60")
    counts = re.match(r"(\d+) kills \((\d+) of them within a write\), (\d+) damages", said)
    kills, torn, damages = map(int, counts.groups())
    assert kills >= 60
    assert torn > 0
    assert damages > 15
