"""Files that are either whole or absent: written beside their place, synced, then renamed."""

import hashlib
import json
import os
import re
import secrets
import shutil
import socket
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from divbo.errors import UserError

#: A temporary file of a process that cannot be asked whether it lives is left alone for so long.
DAY = 86400


@contextmanager
def atomic(path: str | Path) -> Iterator[Path]:
    """Give a temporary path beside ``path``, and rename it to ``path`` once it is written.

    The folder of ``path`` is made where it is missing. If the block raises, the temporary file is
    removed and a former ``path`` stays as it was; what a killed process left of its own is removed
    by the next that writes the same ``path``.

    Raises
    ------
    UserError
        If the system refuses the write (full disk, no permission): one line naming ``path``.
    """
    path = Path(path)
    temporary = _beside(path)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        _remove_leftovers(path)
        yield temporary
        with temporary.open("rb+") as file:
            os.fsync(file.fileno())
        temporary.replace(path)
        sync_folder(path.parent)
    except OSError as error:
        raise UserError(f"cannot write '{path}': {error.strerror or error}") from error
    finally:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)


@contextmanager
def temporary_folder(path: str | Path) -> Iterator[Path]:
    """Give a new folder beside ``path``, and remove it after the block, whatever is in it.

    The folder above is made where it is missing. What a killed process left is removed by the next
    that asks for the same ``path``.

    Raises
    ------
    OSError
        If the system refuses to make it.
    """
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    _remove_leftovers(path)
    temporary = _beside(path)
    temporary.mkdir()
    try:
        yield temporary
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def write_json(path: str | Path, obj: Any) -> None:
    """Write JSON, indented by two, keys in the order given; NaN and infinity are refused.

    Raises
    ------
    ValueError, TypeError
        If ``obj`` is not JSON.
    UserError
        As :func:`atomic`.
    """
    text = json.dumps(obj, indent=2, ensure_ascii=False, allow_nan=False) + "\n"
    with atomic(path) as temporary:
        temporary.write_text(text, encoding="utf-8", newline="\n")


def write_npy(path: str | Path, array: np.ndarray) -> None:
    """Write an array in numpy's format, C order, without pickle.

    Raises
    ------
    ValueError
        If the array holds Python objects.
    UserError
        As :func:`atomic`.
    """
    with atomic(path) as temporary, temporary.open("wb") as file:
        np.save(file, np.asarray(array, order="C"), allow_pickle=False)


def write_parquet(path: str | Path, table: Any, metadata: Mapping[str, str] | None = None) -> None:
    """Write a Parquet file from columns by name, a ``pyarrow.Table`` or a pandas frame.

    Columns may be numpy arrays, lists or pyarrow arrays; the index of a frame is not stored;
    ``metadata`` goes into the schema. NaN
    stays NaN in columns given by name and is null in columns of a frame (as pandas means it).

    Raises
    ------
    UserError
        As :func:`atomic`.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    if isinstance(table, Mapping):
        table = pa.table({name: _column(values) for name, values in table.items()})
    elif not isinstance(table, pa.Table):
        table = pa.Table.from_pandas(table, preserve_index=False)
    if metadata:
        table = table.replace_schema_metadata({**(table.schema.metadata or {}), **metadata})
    with atomic(path) as temporary:
        pq.write_table(table, temporary, compression="zstd")


def sha256(path: str | Path) -> str:
    """Return the SHA-256 of a file's bytes, in hexadecimal digits."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def md5(path: str | Path) -> str:
    """Return the MD5 of a file's bytes, in hexadecimal digits: a name for content, no safeguard."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, partial(hashlib.md5, usedforsecurity=False)).hexdigest()


def checksums(folder: str | Path, names: Iterable[str]) -> dict[str, str]:
    """Return the SHA-256 of files of a folder by name, for the entry ``files`` of a manifest."""
    return {name: sha256(Path(folder) / name) for name in names}


def check(manifest: str | Path) -> None:
    """Compare files with the checksums in the entry ``files`` of the manifest beside them.

    Raises
    ------
    UserError
        At the first file that is missing or not the one that the manifest was written for. Without
        a manifest, or without that entry, nothing is compared.
    """
    for line in damaged(manifest):
        raise UserError(line)


def damaged(manifest: str | Path) -> list[str]:
    """Say which files are missing or not those that a manifest was written for; see `check`."""
    manifest, lines = Path(manifest), []
    mend = f"remove the folder '{manifest.parent}' and run the study again"
    try:
        sums = json.loads(manifest.read_text(encoding="utf-8")).get("files", {})
    except FileNotFoundError:
        return []
    except (ValueError, AttributeError):
        return [f"'{manifest}' is damaged; {mend}"]
    for name, expected in sums.items():
        path = manifest.parent / name
        if not path.is_file():
            lines.append(f"'{path}' is missing; {mend}")
        elif sha256(path) != expected:
            lines.append(f"'{path}' is not the file that was written with '{manifest}'; {mend}")
    return lines


def _beside(path: Path) -> Path:
    """Name a temporary file after its process; see :func:`_remove_leftovers`."""
    # The ending is kept, because numpy appends its own to a name without it.
    owner = f"{_host()}-{os.getpid()}-{secrets.token_hex(4)}"
    return path.with_name(f".{path.stem}.{owner}{path.suffix}")


def _host() -> str:
    return hashlib.sha256(socket.gethostname().encode()).hexdigest()[:8]


def _remove_leftovers(path: Path) -> None:
    """Remove temporary files and folders of ``path`` whose process has ended."""
    owner = r"([0-9a-f]{8})-(\d+)-[0-9a-f]{8}"
    name = re.compile(rf"\.{re.escape(path.stem)}\.{owner}{re.escape(path.suffix)}")
    for made in filter(None, map(name.fullmatch, os.listdir(path.parent))):
        file = path.parent / made[0]
        with suppress(OSError):
            alive = made[1] != _host() or _runs(int(made[2]))
            if not alive or time.time() - file.stat().st_mtime > DAY:
                shutil.rmtree(file) if file.is_dir() else file.unlink()


def _runs(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:  # it is somebody else's
        pass
    return True


def _column(values: Any) -> Any:
    """Wrap numbers without ``pyarrow.array``, which would import pandas to look at an array."""
    import pyarrow as pa

    if not isinstance(values, np.ndarray) or values.ndim != 1 or values.dtype.kind not in "iuf":
        return values
    values = np.ascontiguousarray(values)
    buffers = [None, pa.py_buffer(values)]
    return pa.Array.from_buffers(pa.from_numpy_dtype(values.dtype), len(values), buffers)


def sync_folder(folder: Path) -> None:
    """Make the renaming itself outlast a power cut, where folders can be synced."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
