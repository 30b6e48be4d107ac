"""Write the manifest of a study whose report has been written.

By hand, with the arguments that `snakemake -n -p` prints:

    python workflow_scripts/manifest.py --record '{"study": {...}, "homes": {}, "sources": {...}}' \
        --results results/quickstart --output results/quickstart/manifest.json
"""

import argparse
import json
from pathlib import Path

from ensemble_search.results import manifest
from ensemble_search.runtime import errors, files


def main() -> None:
    """Read the results and write the manifest."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--record", type=json.loads, required=True,
                        help="JSON: study, homes (of shared searches), sources (folders of data)"
                        )  # fmt: skip
    parser.add_argument("--openml", type=json.loads, default={}, help="JSON: how OpenML is reached")
    parser.add_argument("--results", type=Path, required=True, help="folder of the study's results")
    parser.add_argument("--output", type=Path, required=True, help="JSON file to write")
    arguments = parser.parse_args()
    made = manifest.make(arguments.record, arguments.results)
    made["study"] = {**made["study"], "openml": arguments.openml}
    files.write_json(arguments.output, made)


if __name__ == "__main__":
    errors.run(main)
