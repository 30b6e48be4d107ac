"""Warnings about data that changed since the results were computed."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from ensemble_search.data import fetched
from ensemble_search.data.sources import local_files
from ensemble_search.runtime import files
from ensemble_search.runtime.errors import one_line

#: Beside ``dataset.json``, but not declared as output: Snakemake would delete it before a job.
MEMORY = "fetched.json"


def changed_files(sources: Mapping[str, Mapping[str, Any]], folder: Path) -> list[str]:
    """Find local files whose content differs from their fetched copies; one line each.

    ``sources`` are as in ``sources.read``, by their folder below ``folder``, ``results/data``.
    """
    lines = []
    for key, source in sources.items():
        if not (paths := local_files(source)):
            continue
        with suppress(OSError, files.Missing):
            if content(paths, folder / key) != fetched.description(folder / key)["md5"]:
                names = "' or '".join(map(str, paths))
                lines.append(
                    one_line(
                        f"'{names}' has changed since its data were read: everything computed from "
                        "it will be recomputed"
                    )
                )
    return lines


def content(paths: Sequence[Path], folder: Path) -> str:
    """Return the MD5 of local files, or that of the fetched copy if the files are older.

    ``folder``, the data set's below ``results/data``, need not exist. The result is empty if a file
    cannot be read, which the fetch will report.
    """
    try:
        with suppress(OSError, files.Unusable):
            newest = max(path.stat().st_mtime_ns for path in paths)
            if newest <= (folder / "dataset.json").stat().st_mtime_ns:
                return fetched.description(folder)["md5"] or ""
        return files.joined_md5([files.md5(path) for path in paths])
    except (OSError, ValueError):
        return ""


def remember(output: Path, description: Mapping[str, Any]) -> str | None:
    """Record what was fetched, and describe differences from the previous fetch; None without any.

    ``output`` is the folder of the data set below ``results/data``, ``description`` the content of
    its ``dataset.json``.
    """
    keys = ("checksum", "version", "rows", "features")
    now = {key: description.get(key) for key in keys}
    before = None
    with suppress(files.Unusable):  # only a note, which is rewritten
        before = files.read_json(output / MEMORY)
    if before == now:
        return None
    files.write_json(output / MEMORY, now)
    if before is None or before.get("checksum") in (None, now["checksum"]):
        return None
    facts = [f"{k} {before.get(k)} -> {now[k]}" for k in keys[1:] if before.get(k) != now[k]]
    told = f" ({', '.join(facts)})" if facts else ""
    return (
        f"the data of '{description['name']}' are not those of the last time{told}: everything "
        "computed from them is recomputed"
    )
