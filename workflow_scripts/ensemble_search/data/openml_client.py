"""Data sets of OpenML: private copies per job, and pins.

The openml client deletes a data set's cache folder if a download fails, and leaves pickles in it.
So both files of a data set are copied from its cache or downloaded to a temporary folder, and
checked there.
"""

import contextlib
import logging
import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from ensemble_search.data.openml_server import PERMANENT, Access, Failed, connected, parsed, short
from ensemble_search.data.sources import Raw
from ensemble_search.data.table_files import read_arff
from ensemble_search.runtime import files
from ensemble_search.runtime.errors import UserError

if TYPE_CHECKING:
    import pandas as pd

log = logging.getLogger(__name__)

CACHED = ("description.xml", "dataset.arff")


def fetch(
    number: int, version: int | None, md5: str | None, how: Access, beside: Path | None = None
) -> Raw:
    """Fetch a data set by its id; cached files need no network.

    ``version`` and ``md5``, that of the ARFF file, are required if given; ``beside`` is for
    :func:`connected`. UserError if the data set cannot be reached, does not exist, exceeds the
    limits, does not match the pins, is damaged, cannot be read, or names no target among its
    columns.
    """
    with connected(how, beside) as server:
        what, cached = f"OpenML data set {number}", server.cache / "datasets" / str(number)
        description, file = (server.folder / name for name in CACHED)
        if (cached / CACHED[0]).is_file():
            server.copy(cached, CACHED)
            try:
                _described(description, number)
            except Failed as error:
                raise UserError(
                    f"{what}: '{cached / CACHED[0]}': {error}; "
                    "remove the damaged folder and fetch it again"
                ) from None
        where = str(cached) if file.is_file() else server.address
        if not file.is_file():
            known = description.is_file()

            def once(ends: float) -> None:
                if not known:
                    server.ask(f"data/{number}", description, ends)
                described = _described(description, number)
                server.load(described["url"], file, how.max_mb, ends)
                expected = described["md5_checksum"]
                if expected and files.md5(file) != expected.lower():
                    raise Failed("the downloaded file does not have the MD5 of its description")

            server.retry(what, number, once)
        described, found = _described(description, number), files.md5(file)
        name, own_version, stated = (described[k] for k in ("name", "version", "md5_checksum"))
        log.info("%s is '%s', from %s", what, name, where)
        what = f"{what} ('{name}')"
        if version is not None and int(own_version) != version:
            raise UserError(
                f"{what}: expected version {version}, found version {int(own_version)} in {where}; "
                "correct 'version:' or the id"
            )
        if md5 is not None and found != md5:
            raise UserError(
                f"{what}: expected MD5 {md5}, found {found} in {where}; "
                "the data have changed, or 'md5:' is wrong"
            )
        if stated and found != stated.lower():
            raise UserError(
                f"{what}: the file in {where} has MD5 {found}, its description says {stated}; "
                "remove the damaged folder and fetch it again"
            )
        frame = read_file(file, what)
    target = described["default_target_attribute"]
    if not target:
        raise UserError(f"{what}: OpenML names no target for it; download it and use 'file:'")
    if target not in frame:
        raise UserError(f"{what}: its target '{target}' is not one of its columns")
    return Raw(
        frame=frame,
        target=target,
        name=name,
        source={"openml": number},
        version=int(own_version),
        md5=found,
        ignored=_ignored(described, frame),
    )


def read_file(path: Path, what: str) -> "pd.DataFrame":
    """Read an ARFF file; errors name ``what`` instead of the temporary file."""
    try:
        return read_arff(path)
    except UserError as error:
        raise UserError(str(error).replace(f"file: '{path}'", what)) from None


def find(name: str, version: int | None, how: Access, beside: Path | None = None) -> int:
    """Find a data set's id by its exact name, in the cache, else among the server's active ones.

    UserError if there is no match, or more than one, or the server cannot be reached.
    """
    what = f"OpenML data set '{name}'"
    with connected(how, beside) as server:
        found, where = _in_cache(server.cache, name), str(server.cache)
        found = {number: its for number, its in found.items() if version in (None, its)}
        if not found:
            where, asked = server.address, f"data/list/data_name/{quote(name, safe='')}"
            asked += f"/data_version/{version}" if version else ""

            def once(ends: float) -> None:
                path = server.folder / "list.xml"
                server.ask(asked, path, ends)
                found.update(_listed(path, name))

            server.retry(what, len(name), once)
    if len(found) != 1:
        in_order = sorted(found.items(), key=lambda item: item[1])
        versions = [f"version {its} (id {number})" for number, its in in_order]
        shown = ", ".join(versions[:5]) + (", ..." if versions[5:] else "")
        raise UserError(
            f"{what}: {where} has {len(found)} of this name: {shown}; add 'version:' or give the id"
            if found
            else f"{what}: {where} has none of exactly this name; {PERMANENT['372']}"
        )
    (number,) = found
    log.info("%s has id %d, from %s", what, number, where)
    return number


def _in_cache(cache: Path, name: str) -> dict[int, int]:
    """Versions by id of the complete data sets with a name in a cache."""
    found = {}
    for path in cache.glob(f"datasets/*/{CACHED[0]}"):
        if path.parent.name.isdecimal() and (path.parent / CACHED[1]).is_file():
            with contextlib.suppress(Failed):  # damaged: has no name
                described = _described(path, int(path.parent.name))
                if described["name"] == name:
                    found[int(described["id"])] = int(described["version"])
    return found


def _listed(path: Path, name: str) -> dict[int, int]:
    """Versions by id of the data sets with a name in a server's list."""
    with parsed(path, "a list of OpenML data sets", force_list=("oml:dataset",)) as content:
        rows = content["oml:data"]["oml:dataset"]
        found = [(row["oml:name"], int(row["oml:did"]), int(row["oml:version"])) for row in rows]
    return {number: version for own, number, version in found if own == name}


def _described(path: Path, number: int) -> dict[str, Any]:
    """Check the used elements of a description; return them without their prefix."""
    with parsed(path, "an OpenML description") as content:
        described = content["oml:data_set_description"]
        found = {name: described.get(f"oml:{name}") for name in ELEMENTS}
    for name, right in ELEMENTS.items():
        if not right(found[name]):
            shown = short(str(found[name]))
            raise Failed(f"the answer is not an OpenML description: its '{name}' is {shown!r}")
    if int(found["id"]) != number:
        raise Failed(f"the answer describes data set {found['id']}")
    return found


def _is_number(value: Any) -> bool:
    return isinstance(value, str) and re.fullmatch("[0-9]{1,9}", value) is not None


def _is_line(value: Any) -> bool:
    return isinstance(value, str) and 0 < len(value) <= 1000 and value.isprintable()


def _is_md5(value: Any) -> bool:
    return isinstance(value, str) and re.fullmatch("[0-9a-fA-F]{32}", value) is not None


def _are_names(value: Any) -> bool:
    return all(isinstance(v, str) for v in (value if isinstance(value, list) else [value or ""]))


#: The elements of a description that are used, and their required format (all text).
ELEMENTS = {
    "id": _is_number,
    "name": _is_line,
    "version": _is_number,
    "format": _is_line,
    "url": _is_line,
    "md5_checksum": lambda value: value is None or _is_md5(value),
    "default_target_attribute": lambda value: value is None or _is_line(value),
    "row_id_attribute": _are_names,
    "ignore_attribute": _are_names,
}


def _ignored(described: Mapping[str, Any], frame: "pd.DataFrame") -> dict[str, str]:
    """Columns that OpenML marks as row ids or to be ignored; names may be joined by commas."""
    found: dict[str, str] = {}
    for key, reason in (("row_id", "a row id"), ("ignore", "to be ignored")):
        names = described[f"{key}_attribute"]
        for joined in [names] if isinstance(names, str) else names or []:
            for name in [joined] if joined in frame else joined.split(","):
                if name.strip() in frame and name.strip() != described["default_target_attribute"]:
                    found.setdefault(name.strip(), f"OpenML marks it as {reason}")
    return found
