"""Deliver the ensemble of a finished search: a folder that predicts new rows.

    python workflow_scripts/deliver.py --job '{"deliver": {...}, "ensemble": {...}, ...}' \\
        --search <folder of the search> --split <folder of the split> \\
        --dataset <folder of the data set> --output <folder>
"""

import argparse
import json
import shlex
from pathlib import Path

from ensemble_search.runtime.errors import UserError, check_keys, run


def main() -> None:
    """Parse the command line and write the folder."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    for name, text in (
        ("search", "folder of a finished search"),
        ("split", "folder of its split, with the labels"),
        ("dataset", "folder of its data set, for groups of rows"),
        ("output", "folder to write"),
    ):
        parser.add_argument(f"--{name}", type=Path, required=True, help=text)
    parser.add_argument(
        "--job",
        type=json.loads,
        required=True,
        help="JSON: deliver, as in a study, of, ensemble, space, limits, seed, classes, about",
    )
    parser.add_argument(
        "--study-file",
        default="<file of the study>",
        help="file of the study, for the command on the card",
    )
    parser.add_argument("--threads", type=int, default=1, help="threads of the learners (1)")
    options = parser.parse_args()
    check_keys(
        "--job",
        options.job,
        ("deliver", "of", "ensemble", "space", "limits", "seed", "classes", "about"),
    )
    if not (options.split / "preparation.json").is_file():
        raise UserError(f"--split: '{options.split}' has no preparation.json; run the study again")

    from ensemble_search.delivery import build

    own = ("of", "ensemble", "space", "limits", "seed", "classes")
    source = build.Source(
        search=options.search,
        split=options.split,
        dataset=options.dataset,
        threads=options.threads,
        **{key: options.job[key] for key in own},
    )
    command = f"snakemake --cores 2 --configfile {shlex.quote(options.study_file)}"
    about = {**options.job["about"], "command": command}
    build.deliver(source, options.job["deliver"], about, options.output)


if __name__ == "__main__":
    run(main)
