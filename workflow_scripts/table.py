"""Make a table of evaluated configurations from searches or predictions, or describe tables.

By hand:

    python workflow_scripts/table.py --output results/mine/tables/quake/fixed \\
        results/mine/searches/quake/*/0
    python workflow_scripts/table.py --info results/mine/tables
    python workflow_scripts/table.py --from my_predictions --output elsewhere
"""

import argparse
from pathlib import Path

from ensemble_search.results import tables
from ensemble_search.runtime import errors, outside


def main() -> None:
    """Write a table, or describe tables."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("searches", type=Path, nargs="*", help="folders of finished searches")
    parser.add_argument("--output", type=folder, help="folder of the table, or of the study")
    parser.add_argument(
        "--info", type=folder, help="describe and check the tables below this folder"
    )
    parser.add_argument(
        "--from",
        dest="predictions",
        metavar="FOLDER",
        type=folder,
        help="write a study of predictions made elsewhere",
    )
    parser.add_argument("--metric", help="of --from: loss to minimise (error, or squared-error)")
    parser.add_argument("--fold", type=fold, default=0, help="of --from: the fold to read (0)")
    arguments = parser.parse_args()
    if arguments.info:
        outside.use_environment()
        for line in tables.describe(arguments.info):
            print(line)
    elif arguments.output and arguments.predictions:
        from ensemble_search.results import imported

        source, output = arguments.predictions, arguments.output
        for line in imported.write(source, output, arguments.metric or None, arguments.fold):
            print(line)
    elif arguments.output and arguments.searches:
        tables.build(arguments.searches, arguments.output)
    else:
        raise errors.UserError("give --output and folders of searches or --from, or --info")


def fold(number: str) -> int:
    """Return the number; errors also name ``FOLD``, as users of ``make`` do not see the option."""
    if not number.isdecimal():
        raise errors.UserError(f"FOLD (--fold): '{number}' is not an integer from 0")
    return int(number)


def folder(name: str) -> Path:
    """Return the path; ``make`` passes an empty name for a variable without a value."""
    if not name:
        raise errors.UserError("TABLE, FROM and OUTPUT (--info, --from, --output) name folders")
    return Path(name)


if __name__ == "__main__":
    errors.run(main)
