"""Split a fetched data set and prepare it for the searches."""

import argparse
import json
from pathlib import Path

from divbo.errors import UserError, run


def main() -> None:
    """Read ``--dataset``; write inputs.npz, test_labels.npy and split.json into ``--output``."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--dataset", required=True, type=Path, help="folder that fetch.py wrote")
    parser.add_argument("--output", required=True, type=Path, help="folder to write into")
    parser.add_argument(
        "--settings", required=True, type=json.loads, help="JSON: train, validation, test, seed"
    )
    arguments = parser.parse_args()

    from divbo import readers
    from divbo.data import prepare, split

    if not (arguments.dataset / "dataset.json").is_file():
        raise UserError(f"--dataset: '{arguments.dataset}' is no folder that fetch.py wrote")
    frame, description = readers.dataset(arguments.dataset)
    split.write(*prepare.make_split(frame, description, arguments.settings), arguments.output)


if __name__ == "__main__":
    run(main)
