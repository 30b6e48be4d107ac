"""Do a study's missing repeats, and keep one row per run in evidence/<study>/runs.csv.

Measurements besides the searches come first and go to measured.csv. README.md shows both;
evidence/README.md is the ledger of the papers' claims, evidence/findings.svg README.md's figure.

    python workflow_scripts/evidence.py --study studies/verdict.yaml --cores 2 --minutes 120

A repeat of a data set has one run per method. Repeats are done one after another, repeat 0 of all
data sets first, and each is written when it is finished. Those with current rows are not done
again, even if their results were deleted. Without --minutes, all missing ones are done; with 0,
none.
"""

if __name__ == "__main__":  # first: Ctrl-C may come during the imports
    from ensemble_search.runtime import signals

    signals.while_importing()

import argparse
import json
import subprocess
import sys
import time
from pathlib import Path

from ensemble_search.jobs import Jobs
from ensemble_search.results import layout
from ensemble_search.runtime import errors

ROOT = Path(__file__).resolve().parents[1]
RECORDED = ROOT / "tests/recorded/numbers.json"
#: Rules for a study's measurements besides its searches, by key.
MEASURED = {"surrogates": "surrogate", "spread": "spread"}


def main() -> None:
    """Do, collect and write one repeat at a time, then print what is missing."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--study", default="config.yaml", help="study file (config.yaml)")
    parser.add_argument("--cores", default="all", help="as of snakemake (all)")
    parser.add_argument(
        "--minutes", type=float, help="start no repeat after this number of minutes (no limit)"
    )
    arguments = parser.parse_args()
    if arguments.minutes is not None and not arguments.minutes >= 0:
        parser.error(f"--minutes: {arguments.minutes:g} is not a number from 0 on")
    jobs = Jobs.load(arguments.study)
    from ensemble_search.evidence import ledger, measured, page
    from ensemble_search.evidence import rows as evidence

    study = json.loads(jobs.report())
    results, folder = Path("results") / study["study"], Path("evidence") / study["study"]
    recorded = json.loads(RECORDED.read_text(encoding="utf-8"))
    current = evidence.numbers(study, recorded)
    known = evidence.merge(evidence.read(folder), [], current, evidence.data(study))
    start = time.monotonic()
    for section, rule in MEASURED.items() if arguments.minutes != 0 else ():
        if study[section]:
            snakemake(jobs, arguments.cores, "--until", rule)
    beside = measured.rows(study, results, recorded)
    measured.write(
        folder,
        evidence.merge(measured.read(folder), beside, measured.numbers(study, recorded)),
    )
    for repeat, dataset in evidence.missing(study, known):
        if (repeat, dataset) not in evidence.missing(study, known):
            continue  # ten repeats of a replay are one job
        if arguments.minutes is None or time.monotonic() - start < 60 * arguments.minutes:
            run(jobs, dataset, repeat, arguments.cores)
        new = evidence.rows({**study, "datasets": [dataset]}, results, recorded)
        known = evidence.merge(known, new, current, evidence.data(study))
        page.write(folder, study, known)
    page.write(folder, study, known)
    ledger.write(ledger.read(folder.parent), folder.parent)
    stale = sum(bool(row["stale"]) for row in known)
    done, total = evidence.progress(study, known)
    print(f"{folder}: {done} of {total} repeats, {len(known)} rows, {stale} stale")
    for repeat, dataset in evidence.missing(study, known):
        print(f"  missing: {dataset}, repeat {repeat}")


def run(jobs: Jobs, dataset: str, repeat: int, cores: str) -> None:
    """Run all methods of a study on a data set and repeat."""
    pairs = {(m.search, m.ensemble) for m in jobs.study.methods.values()}
    results = Path("results") / jobs.study.study
    where: dict[str, str | int] = {"dataset": dataset, "repeat": repeat}
    targets = [
        str(layout.path(results, layout.ENSEMBLE, search=s, ensemble=e, **where) / "scores.parquet")
        for s, e in sorted(pairs)
    ]
    if jobs.study.divisions:
        targets += [
            str(layout.path(results, layout.DIVISIONS, search=s, **where) / "divisions.parquet")
            for s in jobs.study.used("search")
        ]
    print(f"{dataset}, repeat {repeat}", flush=True)
    snakemake(jobs, cores, "--", *targets)


def snakemake(jobs: Jobs, cores: str, *arguments: str) -> None:
    """Run the workflow; ends if it fails."""
    command = [sys.executable, "-m", "snakemake", "--snakefile", str(ROOT / "Snakefile")]
    command += ["--configfile", jobs.file, "--cores", cores, "--quiet", "rules", *arguments]
    ended = subprocess.run(command, check=False)
    if ended.returncode:
        sys.exit(ended.returncode)


if __name__ == "__main__":
    errors.run(main)
