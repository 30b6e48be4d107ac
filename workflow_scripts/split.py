"""Split a fetched data set and prepare it for the searches."""

import argparse
import json
import sys
from pathlib import Path

from divbo.errors import UserError, run


def main() -> None:
    """Read ``--dataset``; write inputs.npz, test_labels.npy and split.json into ``--output``."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--dataset", required=True, type=Path, help="folder that fetch.py wrote")
    parser.add_argument("--output", required=True, type=Path, help="folder to write into")
    parser.add_argument(
        "--settings", required=True, type=json.loads, help="JSON: train, validation, test, seed"
    )
    arguments = parser.parse_args()

    from divbo.data import normalise, prepare, split

    try:
        text = (arguments.dataset / "dataset.json").read_text(encoding="utf-8")
    except OSError as error:
        raise UserError(
            f"--dataset: '{arguments.dataset}' is no folder that fetch.py wrote: {error.strerror}"
        ) from None
    frame = normalise.Stored(arguments.dataset / "dataset.parquet")
    described = json.loads(text)
    made = prepare.make_split(frame, described, arguments.settings)
    split.write(*made, arguments.output)
    for column, reason in made[-1]["dropped"].items():
        if column in described["columns"]:  # and no category of one
            print(f"note: column '{column}' dropped: {reason}", file=sys.stderr)


if __name__ == "__main__":
    run(main)
