"""Kill whole workflows at random moments, run the same command again, and compare the results.

    PYTHONPATH=workflow_scripts:tests python tests/torture/workflows.py --seed 0 --kills 20

Half of the kills are SIGKILL to all processes of the workflow, half are SIGTERM. A workflow that
ends before its kill is compared with one that was left alone, and started from nothing again. The
seed decides the delays; how far a workflow has come by then depends on the machine.
"""

import argparse
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import psutil
import yaml

from support.checkout import STUDY, Checkout

GUARD = 600  # seconds for a workflow to end by itself


def main() -> int:
    """Kill and compare; exit status 1 at the first difference, whose folder is kept."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--cores", type=int, default=2)
    arguments = parser.parse_args()
    rng = np.random.default_rng(arguments.seed)
    root = Path(tempfile.mkdtemp(prefix="torture-"))
    alone, killed = make(root / "alone"), make(root / "killed")
    start = time.monotonic()
    if run(alone, arguments.cores, root, None, None):
        return 1
    whole = time.monotonic() - start
    expected = alone.results()
    print(f"an undisturbed workflow takes {whole:.0f} s", flush=True)
    kills, ends, start = 0, 0, time.monotonic()
    while kills < arguments.kills or (killed.folder / "results").exists():
        # The last one is left alone, so that it ends.
        delay = float(rng.uniform(0, whole)) if kills < arguments.kills else None
        number = (signal.SIGKILL, signal.SIGTERM)[kills % 2]
        status = run(killed, arguments.cores, root, delay, number)
        if status is None:
            kills += 1
        elif status:
            return 1
        else:
            ends += 1
            if (found := killed.results()) != expected:
                wrong = [k for k in {*found, *expected} if found.get(k) != expected.get(k)]
                print(f"results differ: {wrong[0]}; see {root}")
                return 1
            shutil.rmtree(killed.folder / "results")
            shutil.rmtree(killed.folder / ".snakemake")
        left = (time.monotonic() - start) * max(0, arguments.kills / max(kills, 1) - 1)
        print(f"{kills} kills, {ends} workflows ended; about {left:.0f} s left", flush=True)
    shutil.rmtree(root)
    print(f"{kills} kills, {ends} workflows ended with the results of an undisturbed one")
    return 0


def make(folder: Path) -> Checkout:
    """Make a copy of the repository with a small study."""
    folder.mkdir()
    checkout = Checkout(folder, forked=False)
    study = yaml.safe_load(yaml.safe_dump(STUDY))
    study["searches"]["divbo"] = {"optimizer": "divbo"}
    study["methods"]["DivBO"] = {"search": "divbo", "ensemble": "selection-5"}
    checkout.write(study)
    return checkout


def run(checkout, cores: int, root: Path, delay, number) -> int | None:
    """Run the study; return None if it was killed after so many seconds, else its exit status."""
    log = root / "log"
    with log.open("wb") as file:
        process = subprocess.Popen(
            [*checkout.command(), "--cores", str(cores)],
            cwd=checkout.folder,
            env=checkout.environment,
            stdout=file,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),  # noqa: PLW1509
        )
        try:
            process.wait(GUARD if delay is None else delay)
        except subprocess.TimeoutExpired:
            family = psutil.Process(process.pid).children(recursive=True)
            os.killpg(process.pid, number)
            process.wait(GUARD)
            _, living = psutil.wait_procs(family, timeout=60)
            if living:
                sys.exit(f"processes outlive their workflow: {living}; see {root}")
            return None
        finally:  # Ctrl-C
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
    if process.returncode:
        print(f"the workflow failed; see {root}\n{log.read_text(encoding='utf-8')[-3000:]}")
    return process.returncode


if __name__ == "__main__":
    sys.exit(main())
