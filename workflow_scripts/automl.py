"""Search for an ensemble for a table, and deliver it: it predicts new rows.

    python workflow_scripts/automl.py --data customers.csv --target left --minutes 10

Writes the study `results/<name>/study.yaml` and runs Snakemake on it. When the time is up, the
search ends, and the study's budget becomes the number of evaluations, so that anybody can run the
study again with the same result. Run the same call again to resume an interrupted one, or with more
minutes to continue a finished one.
"""

if __name__ == "__main__":  # first: Ctrl-C may come during the imports
    from ensemble_search.runtime import signals

    signals.while_importing()

import argparse
import os
from collections.abc import Callable, Sequence
from functools import partial

from ensemble_search.data import prepare
from ensemble_search.delivery import doors
from ensemble_search.results import job_logs
from ensemble_search.runtime.errors import UserError, number_of, one_line, printable, run
from ensemble_search.table_search import ROLES, Search

#: Maximum number of columns, and of notes on the table, shown in the terminal.
MOST_COLUMNS, MOST_NOTES = 40, 30
#: Maximum characters of a cell there.
LONGEST = 60
#: How users change the roles of columns.
HOW = (
    "to change this, with your columns: "
    "'columns: {numeric: [income], categorical: [zip], text: [note], drop: [id]}' "
    "in the next call, which starts the search over"
)


def main() -> None:
    """Search, deliver, and print where the results are; name options as the caller writes them."""
    door = os.environ.pop(doors.DOOR, "shell")
    try:
        _main(partial(doors.written, door=door))
    except UserError as error:
        raise UserError(*(doors.written(line, door) for line in error.problems)) from None


def _main(written: Callable[[str], str]) -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--data", required=True, help="CSV, Parquet, ARFF or Excel file")
    parser.add_argument("--target", required=True, help="column to predict")
    parser.add_argument("--minutes", type=_minutes, default=10, help="length of the search (10)")
    parser.add_argument("--metric", help="loss to minimise (error, or squared-error of numbers)")
    parser.add_argument("--positive", help="of two classes, the positive one (the second by text)")
    parser.add_argument("--cores", type=_cores, default=os.cpu_count(), help="cores to use (all)")
    parser.add_argument("--name", help="name of the results (the file's)")
    for role, what in ROLES.items():
        parser.add_argument(f"--{role}", help=what)
    parser.add_argument("--test", help="file of test rows with the same columns")
    parser.add_argument("--columns", help="as in a study: '{numeric: [income], drop: [id]}'")
    options = parser.parse_args()
    # make passes empty text for options that were not given.
    if not 1 <= options.cores <= 1000:
        raise UserError(f"--cores: {options.cores} is not between 1 and 1000")
    for name in ("data", "target"):
        if not getattr(options, name):
            raise UserError(f"--{name} is missing, such as --data=customers.csv --target=left")
    found = Search(options)
    print(f"{found.folder / 'study.yaml'}: {printable(written(found.summary))}", flush=True)
    print(aligned([prepare.READING, *found.columns[:MOST_COLUMNS]]), flush=True)
    if len(found.columns) > MOST_COLUMNS:
        print(f"and {len(found.columns) - MOST_COLUMNS} more, on the card")
    print(written(HOW), flush=True)
    for warning in found.warnings:
        print(f"warning: {one_line(written(warning))}", flush=True)
    for note in found.notes[:MOST_NOTES]:
        print(f"note: {one_line(written(note))}", flush=True)
    if len(found.notes) > MOST_NOTES:
        print(f"note: {number_of(len(found.notes) - MOST_NOTES, 'more note')} on the card")
    print(found.limits(), flush=True)
    found.go_on()
    found.deliver()
    found.tell()


def aligned(rows: Sequence[Sequence[str]]) -> str:
    """Format a table with aligned columns, of cells that may have any length and characters."""
    return "\n".join(job_logs.aligned([[_cut(printable(c)) for c in row] for row in rows]))


def _cut(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"


def _cores(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        said = f"'{text}' is not an integer from 1 to 1000"
        raise argparse.ArgumentTypeError(said) from None


def _minutes(text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = 0.0
    if not 0 < number <= 100_000:
        raise argparse.ArgumentTypeError(
            f"'{text}' is not a positive number of minutes, up to 100000"
        )
    return number


if __name__ == "__main__":
    run(main)
