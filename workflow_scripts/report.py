"""Write the report of a study from what exists of its results.

If a page could not be made, the others are written all the same, and the last line names it; the
exit status is 2 then.

By hand, with the arguments that `snakemake -n -p` prints:

    python workflow_scripts/report.py --study '{"study": "quickstart", ...}' \
        --results results/quickstart --output results/quickstart/report
"""

import argparse
import json
import shutil
from pathlib import Path

from ensemble_search.runtime import errors


def main() -> None:
    """Read the results, write the page, its tables and its figures."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--study", required=True,
                        help="JSON of the study: study, datasets, searches, ensembles, methods, "
                        "repeats, budget, ...")  # fmt: skip
    parser.add_argument("--results", type=Path, required=True, help="folder of its results")
    parser.add_argument("--output", type=Path, required=True, help="folder for the report")
    parser.add_argument("--incomplete", type=Path,
                        help="folder that the report is moved to if a page could not be made (none)"
                        )  # fmt: skip
    parser.add_argument("--study-file", help="file of the study, for the command that it names")
    parser.add_argument("--threads", type=int, default=1,
                        help="pages made at a time, which takes 0.5 GB each (1)")  # fmt: skip
    arguments = parser.parse_args()

    study = {**parse(arguments.study), "file": arguments.study_file}
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


def parse(text: str) -> dict:
    """Read the study from JSON.

    Raises
    ------
    UserError
        If it is not JSON, or lacks a key that the report needs.
    """
    try:
        study = json.loads(text)
    except json.JSONDecodeError as error:
        raise errors.UserError(f"--study: not valid JSON: {error}") from None
    needed = ("study", "datasets", "searches", "ensembles", "methods", "repeats", "budget")
    lacking = [key for key in needed if key not in study] if isinstance(study, dict) else needed
    if lacking:
        raise errors.UserError(f"--study: key '{lacking[0]}' is missing")
    return study


if __name__ == "__main__":
    errors.run(main)
