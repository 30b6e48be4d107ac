"""Check the stored results of a study, and repeat a sample of its evaluations.

    python workflow_scripts/verify.py --study studies/quickstart.yaml --sample 5

Prints one line per problem, with the file and the remedy; exit status 1 if there is any. Read-only.
"""

if __name__ == "__main__":  # first: Ctrl-C may come during the imports
    from ensemble_search.runtime import signals

    signals.while_importing()

import argparse
import sys
from pathlib import Path

from ensemble_search.jobs import Jobs
from ensemble_search.runtime import errors
from ensemble_search.runtime.errors import UserError


def main() -> None:
    """Print the problems, and what was checked."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--study", default="config.yaml", help="study file (config.yaml)")
    parser.add_argument("--sample", type=int, default=5, help="evaluations to repeat (5)")
    parser.add_argument("--seed", type=int, default=0, help="of the sample (0)")
    arguments = parser.parse_args()
    for option, name in (("sample", "SAMPLE (--sample)"), ("seed", "--seed")):
        if (value := getattr(arguments, option)) < 0:
            raise UserError(f"{name}: {value} is not 0 or more")
    jobs = Jobs.load(arguments.study)

    from ensemble_search.evaluation.base import EvaluatorError
    from ensemble_search.results import verification

    try:
        found = verification.verify(jobs, Path("results"), arguments.sample, arguments.seed)
    except EvaluatorError as error:
        raise UserError(str(error)) from error
    for line in found.problems:
        print(f"problem: {line}")
    again = f"repeated evaluations with the same bits: {found.same}"
    if found.rounded:
        again += f", the same up to rounding: {found.rounded}"
    if found.missing:
        again += f"; searches without results: {found.missing} of {found.searches}"
    n = len(found.problems)
    count = f"{n or 'no'} problem{'s' * (n > 1)}"
    print(f"{found.folders} folders checked; {again}; {count}")
    if found.problems:
        sys.exit(1)


if __name__ == "__main__":
    errors.run(main)
