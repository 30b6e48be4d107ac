"""Say loudly that data are not what the results were made from."""

import hashlib
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from divbo import readers
from divbo.files import Missing, Unusable, read_json, write_json

#: Beside ``dataset.json``, but no output of the workflow: Snakemake would delete it before a job.
MEMORY = "fetched.json"


def changed_files(sources: Mapping[str, Mapping[str, Any]], folder: Path) -> list[str]:
    """Find the local files whose content is not that of their fetched copies.

    Parameters
    ----------
    sources
        Folder below ``folder`` -> source, as in :func:`divbo.data.sources.read`.
    folder
        ``results/data``.

    Returns
    -------
    lines
        One line a changed file, for people.
    """
    lines = []
    for key, source in sources.items():
        with suppress(OSError, Missing):
            if "file" not in source:
                continue
            path, made = Path(source["file"]), folder / key / "dataset.json"
            # Content is looked at only where the file was written after its copy.
            if path.stat().st_mtime_ns <= made.stat().st_mtime_ns:
                continue
            known = readers.described(folder / key)["md5"]
            if hashlib.md5(path.read_bytes(), usedforsecurity=False).hexdigest() != known:
                lines.append(
                    f"'{path}' has changed since its data were read: everything made from it "
                    "is made again"
                )
    return lines


def remember(output: Path, description: Mapping[str, Any]) -> str | None:
    """Note what was fetched, and say how it differs from what was fetched here before.

    Parameters
    ----------
    output
        Folder of the data set below ``results/data``.
    description
        Content of its ``dataset.json``.

    Returns
    -------
    line
        None if it is the same, or the first time.
    """
    keys = ("checksum", "version", "rows", "features")
    now = {key: description.get(key) for key in keys}
    before = None
    with suppress(Unusable):  # only a note: it is written anew
        before = read_json(output / MEMORY)
    if before == now:
        return None
    write_json(output / MEMORY, now)
    if before is None or before.get("checksum") == now["checksum"]:
        return None
    facts = [f"{k} {before.get(k)} -> {now[k]}" for k in keys[1:] if before.get(k) != now[k]]
    told = f" ({', '.join(facts)})" if facts else ""
    return (
        f"the data of '{description['name']}' are not those of the last time{told}: everything "
        "made from them is made again"
    )
