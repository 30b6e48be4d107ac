"""Kill searches at random moments, damage their files, and compare what they find in the end.

    PYTHONPATH=workflow_scripts:tests python tests/torture/searches.py --seed 0 --kills 60

A moment is the number of a call to the system, of those that change files: the same seed gives the
same kills on every machine. A write is cut in two. After half of the kills a file is damaged, as
when a machine crashes. Jobs are forked from one process, which has imported all they need.
"""

import argparse
import os
import shutil
import signal
import sys
import tempfile
import time
import traceback
from collections import Counter
from pathlib import Path

import numpy as np

from support import instant_search

CALLS = ("open", "mkdir", "write", "pwrite", "fsync", "ftruncate", "link", "replace", "unlink")
DAMAGES = ("cut", "zeroed", "emptied", "removed", "garbage", "foreign")
BUDGETS = {"random": 20, "bo": 9, "divbo": 8}
ORDER = ("random", "bo", "random", "divbo", "random")


def main() -> int:
    """Kill and compare; exit status 1 if any search ended differently from an undisturbed one."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--kills", type=int, default=60)
    arguments = parser.parse_args()
    instant_search.install()
    rng = np.random.default_rng(arguments.seed)
    root = Path(tempfile.mkdtemp(prefix="torture-"))
    split = root / "split"
    instant_search.make_split(split)
    expected, calls = {}, {}
    for name in BUDGETS:
        calls[name] = undisturbed(root / name, split, name)
        expected[name] = instant_search.outcome(root / name, split)
    counts, searches, start = Counter(), 0, time.monotonic()
    while counts["kills"] < arguments.kills:
        name = ORDER[searches % len(ORDER)]
        folder = root / f"search-{searches}"
        others = [root / other for other in BUDGETS if other != name]
        torment(folder, split, name, calls[name], rng, counts, others)
        found = instant_search.outcome(folder, split)
        searches += 1
        if wrong := [key for key in expected[name] if found.get(key) != expected[name][key]]:
            print(f"search {searches} ({name}) ended differently: {wrong[0]}; see {folder}")
            return 1
        shutil.rmtree(folder)
        if sys.stdout.isatty():
            left = (time.monotonic() - start) * (arguments.kills / counts["kills"] - 1)
            print(f"\r{counts['kills']} kills, about {max(0, left):.0f} s left ", end="")
    shutil.rmtree(root)
    damages = ", ".join(f"{counts[d]} {d}" for d in DAMAGES)
    print(
        f"{counts['kills']} kills ({counts['torn']} of them within a write), "
        f"{sum(counts[d] for d in DAMAGES)} damages ({damages}), "
        f"{searches} searches: all ended as undisturbed"
    )
    return 0


def torment(folder, split, name, calls, rng, counts, others) -> None:
    """Kill a job and damage its files repeatedly until it ends by itself.

    At first it has half its budget, so that a finished search continues.
    """
    budgets = [BUDGETS[name] // 2, BUDGETS[name]]
    while budgets:
        moment, share = int(rng.integers(1, calls // 2)), rng.random()
        status = fork(
            folder, split, name, lambda m=moment, s=share: kill_at(m, s), budget=budgets[0]
        )
        if status == 0:
            budgets.pop(0)
            continue
        if status not in (-signal.SIGKILL, -signal.SIGUSR2):
            log = (folder.parent / f"{folder.name}.log").read_text(encoding="utf-8")
            sys.exit(f"a search failed with status {status} instead of being killed:\n{log}")
        counts["kills"] += 1
        counts["torn"] += status == -signal.SIGUSR2
        if rng.random() < 0.5:
            counts[damage(folder, rng, others)] += 1


def undisturbed(folder, split, name) -> int:
    """Run a job to its end, and count its calls."""
    calls = folder.parent / f"{name}.calls"
    made = []

    def count():
        every_call(lambda *_: made.append(1))

    status = fork(folder, split, name, count, lambda: calls.write_text(str(len(made))))
    if status:
        sys.exit((folder.parent / f"{folder.name}.log").read_text(encoding="utf-8"))
    return int(calls.read_text(encoding="utf-8"))


def fork(folder, split, name, before, after=lambda: None, budget=None, log=None) -> int:
    """Run a job in a child process; return its exit status, negative for a signal."""
    sys.stdout.flush()
    child = os.fork()
    if child == 0:
        status = 99
        try:
            log = log or folder.parent / f"{folder.name}.log"
            os.dup2(os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o666), 2)
            before()
            instant_search.run_search(folder, split, name, budget or BUDGETS[name])
            after()
            status = 0
        except SystemExit as error:
            status = error.code
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(status)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def kill_at(moment: int, share: float) -> None:
    """Let this process die at its ``moment``-th call: before it, after it, or halfway through."""
    made = 0

    def look(name, call, arguments):
        nonlocal made
        made += 1
        if made != moment:
            return
        number = signal.SIGKILL
        if name in ("write", "pwrite") and len(arguments[1]) > 1:
            file, data, *rest = arguments
            call(file, bytes(data)[: 1 + int(share * (len(data) - 1))], *rest)
            number = signal.SIGUSR2  # as deadly, but distinguishable
        elif share < 0.5:
            call(*arguments)
        signal.signal(signal.SIGUSR2, signal.SIG_DFL)
        os.kill(os.getpid(), number)

    every_call(look)


def every_call(look) -> None:
    """Call ``look`` before every call of this process that changes files."""
    for name in CALLS:
        call = getattr(os, name)

        def watched(*arguments, name=name, call=call, **more):
            look(name, lambda *a: call(*a, **more), arguments)
            return call(*arguments, **more)

        setattr(os, name, watched)


def damage(folder: Path, rng: np.random.Generator, others: list[Path]) -> str:
    """Damage one file of a search; say how."""
    files = sorted(p for p in folder.rglob("*") if p.is_file())
    kind = DAMAGES[rng.integers(len(DAMAGES))]
    if not files:
        return "removed"
    path = files[rng.integers(len(files))]
    content = path.read_bytes()
    at = int(rng.integers(len(content) + 1))
    if kind == "cut":
        path.write_bytes(content[:at])
    elif kind == "zeroed":
        tail = min(int(rng.integers(1, 513)), len(content))
        path.write_bytes(content[: len(content) - tail] + bytes(tail))
    elif kind == "emptied":
        path.write_bytes(b"")
    elif kind == "garbage":
        path.write_bytes(content + rng.bytes(int(rng.integers(1, 300))))
    elif kind == "removed":
        path.unlink()
    else:  # the file of that name of another search; a fingerprint would be rejected
        if path.name == "fingerprint.json":
            return damage(folder, rng, others)
        found = sorted(others[rng.integers(len(others))].rglob(path.name))
        path.write_bytes(found[0].read_bytes() if found else b"")
    return kind


if __name__ == "__main__":
    sys.exit(main())
