"""Build an ensemble after every iteration of finished searches, and write its errors.

    python workflow_scripts/ensemble.py --search results/mine/searches/wine/bo/0 \\
        --split results/mine/splits/wine/fixed --settings '{"type": "selection", "size": 25}' \\
        --seed 0 --output <folder>
"""

import argparse
import json
from pathlib import Path

from ensemble_search.runtime import errors
from ensemble_search.scoring import ensemble_scores


def main() -> None:
    """Parse the command line and write the files of the ensembles."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    fills = "; {seed} is filled in"
    parser.add_argument(
        "--search", required=True, help=f"folder of a finished search (is only read){fills}"
    )
    parser.add_argument(
        "--split",
        type=Path,
        nargs="+",
        required=True,
        help="folder of its split, with the labels; or one for every seed",
    )
    parser.add_argument(
        "--settings",
        required=True,
        help="""JSON with the ensemble's type and settings: '{"type": "selection", "size": 25}'""",
    )
    parser.add_argument(
        "--seed",
        type=int,
        nargs="+",
        default=[0],
        help="for random ties (0); several, such as the repeats of a search, are several ensembles",
    )
    parser.add_argument("--output", required=True, help=f"folder to write to{fills}")
    parser.add_argument(
        "--of",
        type=json.loads,
        help="what the search must be of, JSON: dataset, search; its repeat is then the seed",
    )
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
    if min(options.seed) < 0:
        raise errors.UserError(f"--seed must be 0 or more, not {min(options.seed)}")
    splits = errors.one_for_each("--split", options.split, len(options.seed), "seed")
    if options.of is not None:
        errors.check_keys("--of", options.of, ("dataset", "search"))
    refits = options.refits
    if refits is not None:
        if options.checkpoints is None:
            raise errors.UserError("--refits needs --checkpoints, a folder where fits are kept")
        errors.check_keys("--refits", refits, ("space", "limits"))
        errors.check_keys("--refits: limits", refits["limits"], ("seconds", "memory_mb"))
        refits = {key: refits[key] for key in ("space", "limits")}
        refits |= {"threads": options.threads, "folder": options.checkpoints}
    for seed, split in zip(options.seed, splits, strict=True):
        search, output = (
            Path(folder.replace("{seed}", str(seed))) for folder in (options.search, options.output)
        )
        of = options.of and {**options.of, "repeat": seed}
        ensemble_scores.write(search, split, settings, seed, output, refits, of)


if __name__ == "__main__":
    errors.run(main)
