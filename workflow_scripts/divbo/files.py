"""Files that are either whole or absent: written beside their place, synced, then renamed."""

import json
import os
import secrets
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np

from divbo.errors import UserError


@contextmanager
def atomic(path: str | Path) -> Iterator[Path]:
    """Give a temporary path beside ``path``, and rename it to ``path`` once it is written.

    The folder of ``path`` is made where it is missing. If the block raises, the temporary file is
    removed and a former ``path`` stays as it was.

    Raises
    ------
    UserError
        If the system refuses the write (full disk, no permission): one line naming ``path``.
    """
    path = Path(path)
    # The ending is kept, because numpy appends its own to a name without it.
    temporary = path.with_name(f".{path.stem}.{secrets.token_hex(6)}{path.suffix}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
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
