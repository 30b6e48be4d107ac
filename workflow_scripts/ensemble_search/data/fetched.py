"""Read fetched data sets below ``results/data/``, and warn about data that changed since."""

from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import Field

from ensemble_search.data.sources import local_files
from ensemble_search.runtime import files, schema
from ensemble_search.runtime.errors import one_line
from ensemble_search.runtime.schema import Count, Stored

if TYPE_CHECKING:
    from ensemble_search.data import normalise

#: Beside ``dataset.json``, but not declared as output: Snakemake would delete it before a job.
MEMORY = "fetched.json"


class Description(Stored):
    """``dataset.json``."""

    name: str
    source: dict[str, Any]
    version: int | None
    md5: str | None
    checksum: str
    rows: Count
    features: Count
    target: str
    columns: dict[str, str]
    classes: dict[str, Count]
    # Older versions of the project did not store these.
    positive: str | None = None
    asked: dict[str, str] = Field(default_factory=dict)
    of_rows: dict[str, dict[str, str]] = Field(default_factory=dict)
    read: dict[str, str] = Field(default_factory=dict)
    left_out: dict[str, str] = Field(default_factory=dict)
    gaps: dict[str, list[Count]] = Field(default_factory=dict)
    prepared: Count = 0
    notes: list[str] = Field(default_factory=list)


def description(folder: Path) -> dict[str, Any]:
    """Read ``dataset.json``."""
    return schema.read_json(folder / "dataset.json", Description)


def read(folder: Path) -> "tuple[normalise.Stored, dict[str, Any]]":
    """Read a fetched data set, and check ``dataset.parquet`` against ``dataset.json``.

    Unusable if a file is missing or damaged, or the two do not match.
    """
    from ensemble_search.data import normalise

    described = description(folder)
    path = folder / "dataset.parquet"
    stored = normalise.Stored(path)
    with files.reading(path):
        kinds = described["columns"], described.get("of_rows")
        if normalise.checksum(stored, *kinds) != described["checksum"]:
            raise ValueError("it does not hold the values that dataset.json was written for")
    return stored, described


def changed_files(sources: Mapping[str, Mapping[str, Any]], folder: Path) -> list[str]:
    """Find local files whose content differs from their fetched copies; one line each.

    ``sources`` are as in ``sources.read``, by their folder below ``folder``, ``results/data``.
    """
    lines = []
    for key, source in sources.items():
        if not (paths := local_files(source)):
            continue
        with suppress(OSError, files.Missing):
            if content(source, folder / key) != description(folder / key)["md5"]:
                names = "' or '".join(map(str, paths))
                lines.append(
                    one_line(
                        f"'{names}' has changed since its data were read: everything computed from "
                        "it will be recomputed"
                    )
                )
    return lines


def stamps(source: Mapping[str, Any]) -> list[list[int]]:
    """Return when a source's local files last changed, and their sizes; empty if unreadable.

    For each: the time of its content, which copies and archives keep; of its content or
    attributes, which they do not; both in ns; and its bytes.
    """
    with suppress(OSError):
        found = [path.stat() for path in local_files(source)]
        return [[stat.st_mtime_ns, stat.st_ctime_ns, stat.st_size] for stat in found]
    return []


def content(source: Mapping[str, Any], folder: Path) -> str:
    """Return the MD5 of a source's local files: the fetched copy's if their stamps are the same.

    ``folder``, the data set's below ``results/data``, need not exist. The result is empty if a file
    cannot be read, which the fetch will report.
    """
    try:
        with suppress(files.Unusable):
            if files.read_json(folder / MEMORY).get("files") == stamps(source):
                return description(folder)["md5"] or ""
        return files.joined_md5([files.md5(path) for path in local_files(source)])
    except (OSError, ValueError):
        return ""


def remember(output: Path, described: Mapping[str, Any], files_read: list[list[int]]) -> str | None:
    """Record what was fetched, and describe differences from the previous fetch; None without any.

    ``output`` is the folder of the data set below ``results/data``, ``described`` the content of
    its ``dataset.json``, and ``files_read`` its source's :func:`stamps` before it was read.
    """
    keys = ("checksum", "version", "rows", "features")
    now = {**{key: described.get(key) for key in keys}, "files": files_read}
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
        f"the data of '{described['name']}' are not those of the last time{told}: everything "
        "computed from them is recomputed"
    )
