"""Print the progress of a study, search by search, also while it runs, here or on a cluster.

    python workflow_scripts/status.py --study studies/quickstart.yaml

Without --study, print one line per study with results. Exit status 1 if a result of the given study
is damaged. Read-only.
"""

if __name__ == "__main__":  # first: Ctrl-C may come during the imports
    from ensemble_search.runtime import signals

    signals.while_importing()

import argparse
import sys
from pathlib import Path

from ensemble_search.jobs import Jobs
from ensemble_search.results import status
from ensemble_search.runtime import errors


def main() -> None:
    """Print the table of the study's searches and a line with totals, or a line per study."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--study", help="study file (default: a line per study with results)")
    study = parser.parse_args().study
    if study is None:
        print("\n".join(status.overview(Path("results"))))
        return
    lines, problems = status.report(Jobs.load(study))
    print("\n".join(lines + [f"problem: {problem}" for problem in problems]))
    if problems:
        sys.exit(1)


if __name__ == "__main__":
    errors.run(main)
