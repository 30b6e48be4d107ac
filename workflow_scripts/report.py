"""Write the report of a study from its existing results.

If a page cannot be made, the others are still written, the last line names it, and the exit status
is 2.

By hand, with the arguments that `snakemake -n -p` prints:

    python workflow_scripts/report.py --study '{"study": "quickstart", ...}' \
        --results results/quickstart --output results/quickstart/report
"""

import argparse
import json
import shutil
from pathlib import Path

from ensemble_search.runtime import errors

#: Keys of a study that the report requires.
NEEDED = ("study", "datasets", "searches", "ensembles", "methods", "repeats", "budget")


def main() -> None:
    """Read the results, write the page, its tables and its figures."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--study", type=json.loads, required=True,
                        help=f"JSON of the study: {', '.join(NEEDED)}, ...")  # fmt: skip
    parser.add_argument("--results", type=Path, required=True, help="folder of its results")
    parser.add_argument("--output", type=Path, required=True, help="folder for the report")
    parser.add_argument("--incomplete", type=Path,
                        help="folder that the report is moved to if a page could not be made (none)"
                        )  # fmt: skip
    parser.add_argument("--study-file", help="file of the study, for the command that it names")
    parser.add_argument("--threads", type=int, default=1,
                        help="pages made at a time, which takes 0.5 GB each (1)")  # fmt: skip
    arguments = parser.parse_args()

    errors.check_keys("--study", arguments.study, NEEDED)
    study = {**arguments.study, "file": arguments.study_file}
    from ensemble_search.report import write

    folder = arguments.output
    unmade = write.write(study, arguments.results, folder, arguments.threads)
    if unmade and arguments.incomplete:
        if arguments.incomplete.exists():
            shutil.rmtree(arguments.incomplete)
        folder = folder.rename(arguments.incomplete)
    index = folder / "index.html"
    if unmade:
        pages = "1 page" if len(unmade) == 1 else f"{len(unmade)} pages"
        named = "; ".join(f"'{page.title}' ({page.error})" for page in unmade)
        raise errors.UserError(
            f"{pages} of the report could not be made: {named}; the rest is in '{index}'"
        )
    print(index)


if __name__ == "__main__":
    errors.run(main)
