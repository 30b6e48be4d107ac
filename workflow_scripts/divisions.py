"""Score the ensembles of a finished search on random divisions of its held-out rows.

By hand, with the arguments that `snakemake -n -p` prints:

    python workflow_scripts/divisions.py --job '{"divisions": 50, "ensembles": {...}}' \
        --search results/rules/searches/wine/random/0 --split results/rules/splits/wine/fixed \
        --output results/rules/divisions/wine/random/0
"""

import argparse
import json
from pathlib import Path

from threadpoolctl import threadpool_limits

from ensemble_search.runtime import errors
from ensemble_search.scoring import divisions


def main() -> None:
    """Parse the command line and write ``divisions.parquet``."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument(
        "--job", type=json.loads, required=True, help="JSON: divisions (their number), ensembles"
    )
    parser.add_argument(
        "--search", type=Path, required=True, help="folder of a finished search (is only read)"
    )
    parser.add_argument(
        "--split", type=Path, required=True, help="folder of its split, with the labels"
    )
    parser.add_argument("--seed", type=int, default=0, help="of the divisions (0)")
    parser.add_argument("--output", type=Path, required=True, help="folder to write to")
    parser.add_argument(
        "--of",
        type=json.loads,
        help="what the search must be of, JSON: dataset, search; its repeat is then the seed",
    )
    options = parser.parse_args()
    errors.check_keys("--job", options.job, ("divisions", "ensembles"))
    of = options.of
    if of is not None:
        errors.check_keys("--of", of, ("dataset", "search"))
        of = {**of, "repeat": options.seed}
    with threadpool_limits(1):
        divisions.write(
            options.search, options.split, options.job, options.seed, options.output, of
        )


if __name__ == "__main__":
    errors.run(main)
