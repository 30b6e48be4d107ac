"""Build an ensemble after every iteration of a finished search, and write its errors."""

import argparse
import json
from pathlib import Path

from ensemble_search.runtime import errors
from ensemble_search.scoring import ensemble_scores


def main() -> None:
    """Parse the command line and write ``scores.parquet`` and ``members.parquet``."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument(
        "--search", type=Path, required=True, help="folder of the finished search (is only read)"
    )
    parser.add_argument(
        "--split", type=Path, required=True, help="folder of the split with the labels"
    )
    parser.add_argument(
        "--settings",
        required=True,
        help="""JSON with the ensemble's type and settings: '{"type": "selection", "size": 25}'""",
    )
    parser.add_argument("--seed", type=int, default=0, help="for random ties (default 0)")
    parser.add_argument("--output", type=Path, required=True, help="folder to write to")
    parser.add_argument(
        "--refits",
        type=json.loads,
        help="of ensembles that refit pipelines, JSON: space, limits (seconds, memory_mb)",
    )
    parser.add_argument("--checkpoints", type=Path, help="folder where such fits are kept")
    parser.add_argument("--threads", type=int, default=1, help="threads of such fits (1)")
    options = parser.parse_args()
    try:
        settings = json.loads(options.settings)
    except json.JSONDecodeError as error:
        raise errors.UserError(f"--settings is not JSON: {error}") from None
    if options.seed < 0:
        raise errors.UserError(f"--seed must be 0 or more, not {options.seed}")
    refits = options.refits
    if refits is not None:
        if options.checkpoints is None:
            raise errors.UserError("--refits needs --checkpoints, a folder where fits are kept")
        refits = {**refits, "threads": options.threads, "folder": options.checkpoints}
    ensemble_scores.write(
        options.search, options.split, settings, options.seed, options.output, refits
    )


if __name__ == "__main__":
    errors.run(main)
