"""Write a report on a study's results so far, into results/<study>/partial-report/.

python workflow_scripts/partial_report.py --study studies/quickstart.yaml
"""

if __name__ == "__main__":  # first: Ctrl-C may come during the imports
    from ensemble_search.runtime import signals

    signals.while_importing()

import argparse
import shutil
import subprocess
import sys
from pathlib import Path

from ensemble_search.jobs import Jobs
from ensemble_search.runtime import errors
from ensemble_search.runtime.files import atomic


def main() -> None:
    """Report on existing results; nothing is run."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--study", default="config.yaml", help="study file (config.yaml)")
    arguments = parser.parse_args()
    jobs = Jobs.load(arguments.study)
    results = Path("results") / jobs.study.study
    output = results / "partial-report"
    for folder in ("pages", "tables", "figures"):  # remove files that are no longer part of it
        shutil.rmtree(output / folder, ignore_errors=True)
    script = Path(__file__).with_name("report.py")
    command = [sys.executable, str(script), "--study", jobs.report(), "--study-file", jobs.file]
    command += ["--results", str(results), "--output", str(output)]
    # It also prints where the report is.
    ended = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                           text=True, check=False)  # fmt: skip
    lines = ended.stderr.splitlines()
    said = [f"note: {line}" for line in jobs.changed_data()]
    said += [line for line in lines if line.startswith(("error: ", "note: "))]
    if ended.returncode and len(said) < len(lines):  # such as the traceback of a page
        log = results / "logs/partial-report.log"
        with atomic(log) as temporary:
            temporary.write_text(ended.stderr, encoding="utf-8")
        said.insert(0, f"note: details are in {log}")
    for line in said:
        print(line, file=sys.stderr)
    if ended.returncode:
        sys.exit(ended.returncode)
    print(f"Report on what is finished: {output / 'index.html'}")


if __name__ == "__main__":
    errors.run(main)
