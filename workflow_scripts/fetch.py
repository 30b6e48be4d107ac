"""Fetch one data set and write it in the format that all later steps read; or list a suite.

python workflow_scripts/fetch.py --suite 99      # `datasets:` of a study: the suite's OpenML tasks
"""

import argparse
import json
import logging
from pathlib import Path
from typing import Any

from ensemble_search.runtime.errors import UserError, one_line, run


def main() -> None:
    """Read ``--source``, write ``dataset.parquet`` and ``dataset.json`` into ``--output``."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--source", type=_json, help='JSON, such as {"openml": 772}')
    parser.add_argument("--output", type=Path, help="folder to write into")
    parser.add_argument(
        "--openml", default={}, type=_json, help="JSON: server, cache, tries and so on"
    )
    parser.add_argument("--suite", type=int, help="id of a suite at OpenML, to list")
    arguments = parser.parse_args()

    # The client logs irrelevant warnings through the root logger.
    logging.getLogger().addHandler(logging.NullHandler())
    progress = logging.getLogger("ensemble_search")
    progress.addHandler(logging.StreamHandler())
    progress.setLevel(logging.INFO)

    from ensemble_search.data import fetched, normalise, openml_server, openml_tasks, sources

    if arguments.suite is not None:
        tasks = openml_tasks.suite(arguments.suite, openml_server.access(arguments.openml))
        print("datasets:", *(f"  task-{n}: {{openml_task: {n}}}" for n in tasks), sep="\n")
        return
    if not arguments.source or not arguments.output:
        raise UserError("give --source and --output, or --suite")
    stamps = fetched.stamps(arguments.source)
    frame, description = normalise.normalise(
        sources.read(arguments.source, arguments.openml, arguments.output),
        arguments.source.get("columns"),
        arguments.source.get("task", "classification"),
        arguments.source.get("classes"),
        arguments.source.get("positive"),
    )
    normalise.write(frame, description, arguments.output)
    if line := fetched.remember(arguments.output, description, stamps):
        print(f"DATA CHANGED: {one_line(line)}", flush=True)
    for note in description["notes"]:
        progress.info("note: %s", one_line(note))
    classes = len(description["classes"])
    progress.info(
        "%s: %d rows, %d features, %s",
        *(one_line(description["name"]), description["rows"], description["features"]),
        f"{classes} classes" if classes else "a target of numbers",
    )


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        raise argparse.ArgumentTypeError("that is not JSON") from None


if __name__ == "__main__":
    run(main)
