"""Split a fetched data set and prepare it for the searches.

By hand, after ``fetch.py``:

    python workflow_scripts/split.py --dataset results/data/openml-772 \\
        --output results/mine/splits/quake/fixed \\
        --settings '{"train": 0.6, "validation": 0.2, "test": 0.2, "seed": 1}'
"""

import argparse
import json
import sys
from pathlib import Path

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
    from ensemble_search.study.sections import ensembles
    from ensemble_search.study.sections.split import TrainRows

    if not (arguments.dataset / "dataset.json").is_file():
        raise UserError(f"--dataset: '{arguments.dataset}' is not a folder that fetch.py wrote")
    if isinstance(arguments.settings, dict) and "train_rows" in arguments.settings:
        try:
            TrainRows.model_validate(arguments.settings["train_rows"])
        except ValidationError as error:
            where = "split.train_rows"
            raise UserError(*plugins.explain(error, TrainRows, where)) from None
    frame, described = fetched.read(arguments.dataset)
    made = prepare.make_split(frame, described, arguments.settings)
    if problems := [*ensembles.lacking(arguments.ensembles, made[-1])]:
        raise UserError(*problems)
    split.write(*made, arguments.output)
    for column, reason in made[-1]["dropped"].items():
        if column in described["columns"]:  # not a one-hot column
            print(f"note: column '{column}' dropped: {reason}", file=sys.stderr)


if __name__ == "__main__":
    run(main)
