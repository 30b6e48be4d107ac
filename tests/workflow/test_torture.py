"""Searches that are killed repeatedly, with damaged files, find what undisturbed ones find."""

import os
import re
import subprocess
import sys

from support import PYTHONPATH, TESTS


def test_killed_and_damaged_searches_end_as_undisturbed():
    """In a process of its own: it forks, which is safe only where no threads run."""
    done = subprocess.run(
        [sys.executable, TESTS / "torture/searches.py", "--seed", "0", "--kills", "60"],
        env=os.environ | {"PYTHONPATH": PYTHONPATH, "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=1500,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    counts = re.match(r"(\d+) kills \((\d+) of them within a write\), (\d+) damages", done.stdout)
    kills, torn, damages = map(int, counts.groups())
    assert kills >= 60
    assert torn > 0
    assert damages > 15
