"""Files that are either whole or absent: written beside their place, synced, then renamed."""

import json
import os
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
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
    temporary = None
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        # The ending is kept, because numpy and others append their own to a name without it.
        handle, name = tempfile.mkstemp(
            prefix=f".{path.stem}.", suffix=path.suffix, dir=path.parent
        )
        os.close(handle)
        temporary = Path(name)
        yield temporary
        with temporary.open("rb+") as file:
            os.fsync(file.fileno())
        temporary.chmod(0o666 & ~_umask())  # mkstemp makes files that only the owner can read
        temporary.replace(path)
        _sync_folder(path.parent)
    except OSError as error:
        reason = error.strerror or str(error)
        raise UserError(f"cannot write '{path}': {reason}") from error
    finally:
        if temporary is not None:
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


def write_parquet(path: str | Path, table: Any) -> None:
    """Write a Parquet file from columns by name, a ``pyarrow.Table`` or a pandas frame.

    Columns may be numpy arrays, lists or pyarrow arrays; the index of a frame is not stored. NaN
    stays NaN in columns given by name and is null in columns of a frame (as pandas means it).

    Raises
    ------
    UserError
        As :func:`atomic`.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    if isinstance(table, Mapping):
        table = pa.table(dict(table))
    elif not isinstance(table, pa.Table):
        table = pa.Table.from_pandas(table, preserve_index=False)
    with atomic(path) as temporary:
        pq.write_table(table, temporary, compression="zstd")


def _umask() -> int:
    """Return the process's umask, which can only be read by setting it."""
    umask = os.umask(0o022)
    os.umask(umask)
    return umask


def _sync_folder(folder: Path) -> None:
    """Make the renaming itself outlast a power cut, where folders can be synced."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
