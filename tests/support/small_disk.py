"""Run a search on a disk that is too small, larger, read-only and writable again.

Started by tests/search/test_broken_disks.py in a mount namespace of its own; prints JSON.
"""

import json
import subprocess
import sys
from pathlib import Path

from support import instant_search
from torture import searches

root, split = Path(sys.argv[1]), Path(sys.argv[2])
disk = root / "disk"
instant_search.install()


def mount(options: str, *more: str) -> None:
    """Mount the disk, or change how it is mounted."""
    subprocess.run(["mount", *more, "-o", options, "tmpfs", str(disk)], check=True)


def step(folder: Path, budget: int) -> dict:
    """Run the job; say how it ended."""
    log = root / f"{folder.name}.log"
    log.unlink(missing_ok=True)
    status = searches.fork(folder, split, "random", lambda: None, budget=budget, log=log)
    return {"status": status, "log": log.read_text(encoding="utf-8")}


mount("size=96k", "-t", "tmpfs")
job = disk / "job"
steps = [step(job, 200)]
journal = next(job.rglob("journal.jsonl"))
full = len(journal.read_bytes().splitlines())
mount("remount,size=10m")
steps.append(step(job, 200))
mount("remount,ro")
steps.append(step(job, 210))
mount("remount,rw")
steps.append(step(job, 210))
undisturbed = step(root / "undisturbed", 210)
assert undisturbed["status"] == 0, undisturbed["log"]
outcomes = [instant_search.outcome(folder, split) for folder in (job, root / "undisturbed")]
same = outcomes[0] == outcomes[1]
print(json.dumps({"steps": steps, "evaluations_when_full": full, "same": same}))
