"""Split a fetched data set and prepare it for the searches.

By hand, after ``fetch.py``:

    python workflow_scripts/split.py --dataset results/data/openml-772 \\
        --output results/mine/splits/quake/fixed \\
        --settings '{"train": 0.6, "validation": 0.2, "test": 0.2, "seed": 1}'
"""

import argparse
import importlib
import json
import sys
from pathlib import Path
from typing import Any

from ensemble_search.runtime.errors import UserError, run


def main() -> None:
    """Read ``--dataset``; write the files of a split into ``--output``."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--dataset", required=True, type=Path, help="folder that fetch.py wrote")
    parser.add_argument("--output", required=True, type=Path, help="folder to write into")
    parser.add_argument(
        "--settings",
        required=True,
        type=json.loads,
        help="JSON: train, validation, test, seed; or folds, test, seed",
    )
    parser.add_argument(
        "--ensembles",
        type=json.loads,
        default={},
        help="JSON: ensembles that refit pipelines, by name, which need so many training rows",
    )
    arguments = parser.parse_args()

    from pydantic import ValidationError

    from ensemble_search.data import fetched, prepare, split
    from ensemble_search.runtime import plugins

    # Imported by name, so that the code of studies is not part of a split's version: they only
    # check.
    sections = "ensemble_search.study.sections"
    ensembles = importlib.import_module(f"{sections}.ensembles")
    train_rows = importlib.import_module(f"{sections}.split").TrainRows

    if not (arguments.dataset / "dataset.json").is_file():
        raise UserError(f"--dataset: '{arguments.dataset}' is not a folder that fetch.py wrote")
    if isinstance(arguments.settings, dict) and "train_rows" in arguments.settings:
        try:
            train_rows.model_validate(arguments.settings["train_rows"])
        except ValidationError as error:
            where = "split.train_rows"
            raise UserError(*plugins.explain(error, train_rows, where)) from None
    frame, described = fetched.read(arguments.dataset)
    check_numbers(arguments.settings, described)
    made = prepare.make_split(frame, described, arguments.settings)
    if problems := [*ensembles.lacking(arguments.ensembles, made[-1])]:
        raise UserError(*problems)
    split.write(*made, arguments.output)
    for column, reason in made[-1]["dropped"].items():
        if column in described["columns"]:  # not a one-hot column
            print(f"note: column '{column}' dropped: {reason}", file=sys.stderr)


def check_numbers(settings: Any, described: dict[str, Any]) -> None:
    """Check that a data set, by its ``dataset.json``, has the rows that a split wants in numbers.

    Otherwise, the first class would be blamed. Rows whose part the data name are not drawn.
    """
    from ensemble_search.data.rows import check_settings

    check_settings(settings)
    given = described.get("of_rows", {}).keys() & {"part", "fold"}
    if type(settings.get("train")) is not int or given:
        return
    train, validation, rows = settings["train"], settings["validation"], described["rows"]
    if train + validation >= rows:
        raise UserError(
            f"split: the data set has {rows} rows; {train} training and {validation} validation "
            f"rows are {train + validation}, and test rows must remain"
        )


if __name__ == "__main__":
    run(main)
