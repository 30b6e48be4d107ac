"""Split a fetched data set and prepare it for the searches."""

import argparse
import json
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

    import pandas as pd

    from divbo.data import prepare, split

    try:
        text = (arguments.dataset / "dataset.json").read_text(encoding="utf-8")
        frame = pd.read_parquet(arguments.dataset / "dataset.parquet")
    except OSError as error:
        raise UserError(
            f"--dataset: '{arguments.dataset}' is no folder that fetch.py wrote: {error.strerror}"
        ) from None
    split.write(*prepare.make_split(frame, json.loads(text), arguments.settings), arguments.output)


if __name__ == "__main__":
    run(main)
