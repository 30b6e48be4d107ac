"""Print the progress of a study, search by search, also while it runs, here or on a cluster.

    python workflow_scripts/status.py --study studies/quickstart.yaml

Exit status 1 if a result is damaged. Read-only.
"""

if __name__ == "__main__":  # first: Ctrl-C may come during the imports
    from ensemble_search.runtime import signals

    signals.while_importing()

import argparse
import sys

from ensemble_search.jobs import Jobs
from ensemble_search.results import status
from ensemble_search.runtime import errors


def main() -> None:
    """Print the table of the study's searches and a line with totals."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--study", default="config.yaml", help="study file (config.yaml)")
    lines, problems = status.report(Jobs.load(parser.parse_args().study))
    print("\n".join(lines + [f"problem: {problem}" for problem in problems]))
    if problems:
        sys.exit(1)


if __name__ == "__main__":
    errors.run(main)
