"""Atomic file writes (temporary file, sync, rename), and safe reads.

Stored files may be damaged or forged. Every reader here raises :class:`Unusable`, one line with the
file and the remedy, if it cannot use the content.
"""

import hashlib
import json
import math
import os
import re
import secrets
import shutil
import socket
import struct
import time
import zipfile
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np

from ensemble_search.runtime.errors import OF_SYSTEM, UserError

if TYPE_CHECKING:
    import pyarrow as pa

#: Version of all stored formats, in every JSON file as ``format``.
FORMAT = 2
#: Seconds after which a temporary file is removed if its process cannot be checked (another host).
DAY = 86400
#: Maximum number of values in a Parquet file, which is read at once.
MOST_CELLS = 2 * 10**8


@contextmanager
def atomic(path: str | Path) -> Iterator[Path]:
    """Yield a temporary path beside ``path``, and rename it to ``path`` after the block.

    The folder of ``path`` is created if missing. If the block raises, the temporary file is removed
    and an existing ``path`` is unchanged. The next write of the same ``path`` removes temporary
    files of killed processes. Raises UserError if the system denies the write (full disk, no
    permission): one line naming ``path``. So do the functions below that write files.
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
        for folder in path.parents:
            if os.path.lexists(folder) and not folder.is_dir():
                raise UserError(
                    f"cannot write '{path}': '{folder}' is not a folder; move it away"
                ) from error
        raise UserError(f"cannot write '{path}': {error.strerror or error}") from error
    finally:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)


@contextmanager
def temporary_folder(path: str | Path) -> Iterator[Path]:
    """Yield a new temporary folder beside ``path``; remove it and its content after the block.

    The parent folder is created if missing. The next call with the same ``path`` removes folders of
    killed processes. Raises OSError if it cannot be created.
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
    """Write JSON, indented by two, keys in the given order; reject NaN and infinity.

    A mapping gets the key ``format`` (:data:`FORMAT`). Raises ValueError or TypeError if ``obj`` is
    not JSON.
    """
    if isinstance(obj, Mapping):
        obj = {"format": FORMAT, **obj}
    text = json.dumps(obj, indent=2, ensure_ascii=False, allow_nan=False) + "\n"
    with atomic(path) as temporary:
        temporary.write_text(text, encoding="utf-8", newline="\n")


def write_npy(path: str | Path, array: np.ndarray) -> None:
    """Write an array in NumPy's format, in C order, without pickle.

    Raises ValueError if the array holds Python objects.
    """
    with atomic(path) as temporary, temporary.open("wb") as file:
        np.save(file, np.asarray(array, order="C"), allow_pickle=False)


def write_rows(path: str | Path, rows: Sequence[np.ndarray | None], shape: tuple[int, ...]) -> None:
    """Write float32 arrays of one shape as one array, in NumPy's format.

    None becomes zeros that take no disk space: a hole in the file.
    """
    with atomic(path) as temporary, temporary.open("wb") as file:
        header = {"descr": "<f4", "fortran_order": False, "shape": (len(rows), *shape)}
        np.lib.format.write_array_header_1_0(file, header)
        for row in rows:
            if row is None:
                file.seek(4 * math.prod(shape), os.SEEK_CUR)
            else:
                file.write(np.ascontiguousarray(row, dtype="<f4").data)
        file.truncate()  # to the current position: a hole at the end counts


def write_parquet(path: str | Path, table: Any, metadata: Mapping[str, str] | None = None) -> None:
    """Write a Parquet file from columns by name, a ``pyarrow.Table`` or a pandas frame.

    Columns may be NumPy arrays, lists or pyarrow arrays. The index of a frame is not stored.
    ``metadata`` goes into the schema. NaN remains NaN in columns given by name and becomes null in
    columns of a frame, where pandas uses it for missing values.
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
    """Return the MD5 of a file's bytes, in hexadecimal digits: to identify it, not to secure it."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, partial(hashlib.md5, usedforsecurity=False)).hexdigest()


def joined_md5(sums: Sequence[str]) -> str:
    """Return a single MD5 unchanged, or else one MD5 of the MD5s of several files."""
    if len(sums) == 1:
        return sums[0]
    return hashlib.md5("".join(sums).encode(), usedforsecurity=False).hexdigest()


def checksums(folder: str | Path, names: Iterable[str]) -> dict[str, str]:
    """Return the SHA-256 by name of files in a folder, for the entry ``files`` of a manifest."""
    return {name: sha256(Path(folder) / name) for name in names}


def digest(description: Any) -> str:
    """Return the SHA-256 of a description's JSON, with sorted keys, in hexadecimal digits."""
    return hashlib.sha256(json.dumps(description, sort_keys=True).encode()).hexdigest()


class Unusable(UserError):
    """A stored file that cannot be used.

    Attributes
    ----------
    path
        The file.
    reason
        What is wrong with it, in one line.
    """

    def __init__(self, path: Path, reason: str, remedy: str = "", said: str = ""):
        text = "".join(c if c.isprintable() else " " for c in reason)
        self.path, self.reason = path, " ".join(text.split())[:300]
        said = said or f"cannot read '{path}': {self.reason}"
        super().__init__(f"{said}; {remedy or mend(path.parent)}")


class Missing(Unusable):
    """A stored file that is missing."""


def mend(folder: Path) -> str:
    """Explain how to recompute a folder of results."""
    return f"remove the folder '{folder}' and run the study again"


@contextmanager
def reading(path: Path, remedy: str = "") -> Iterator[Path]:
    """Turn any exception that a file's content causes in a reader into :class:`Unusable`.

    System errors (a disk that is gone, no permission) are not the file's fault: they become a
    :class:`UserError` with another remedy.
    """
    try:
        if path.exists() and not path.is_file():
            raise ValueError("it is not a file")
        yield path
    except (UserError, MemoryError):
        raise
    except (FileNotFoundError, NotADirectoryError):
        raise Missing(path, "it does not exist", remedy) from None
    except Exception as error:  # parsers raise too many exception types for damaged bytes
        if isinstance(error, OSError) and error.errno in OF_SYSTEM:
            raise UserError(
                f"cannot read '{path}': {error.strerror}; fix that, and run the same command again"
            ) from None
        raise Unusable(path, str(error) or type(error).__name__, remedy) from None


def read_json(path: str | Path, remedy: str = "") -> dict[str, Any]:
    """Read a mapping from JSON, without ``format``; reject NaN, infinity and repeated keys.

    Raises Unusable if the file is missing, is not such a mapping, or has another :data:`FORMAT`.
    """
    with reading(Path(path), remedy):
        text = Path(path).read_text(encoding="utf-8")
        content = json.loads(
            text, parse_constant=_reject, parse_float=_finite, object_pairs_hook=_mapping
        )
        if not isinstance(content, dict):
            raise ValueError("it holds no mapping")
        if (found := content.pop("format", FORMAT)) != FORMAT:
            raise ValueError(f"it has the format {found!r}, this version reads {FORMAT}")
    return content


def _mapping(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        ((twice, _),) = Counter(key for key, _ in pairs).most_common(1)
        raise ValueError(f"it has the key {twice!r} twice")
    return found


def read_npy(path: str | Path, map_only: bool = False) -> np.ndarray:
    """Read an array, or map it from its file; never allocate more bytes than the file has.

    Changes to a mapped array stay in memory. Raises Unusable if the file is missing, damaged, or
    holds Python objects.
    """
    with reading(Path(path)):
        if map_only:
            try:
                array = np.lib.format.open_memmap(path, mode="c")  # np.load would read archives
            except MemoryError:
                with open(path, "rb") as file:
                    _header(file)  # raises if damaged; otherwise the machine lacks memory
                raise
            if os.path.getsize(path) != array.offset + array.nbytes:
                raise ValueError(f"it continues after the {array.shape} values of its header")
            return array
        with open(path, "rb") as file:
            return _array(file, os.path.getsize(path))


def read_npz(
    path: str | Path,
    names: Iterable[str] | None = None,
    remedy: str = "",
    optional: Iterable[str] = (),
) -> dict[str, np.ndarray]:
    """Read arrays, by default all, from a file of uncompressed arrays; see :func:`read_npy`.

    Arrays in ``optional`` are read, too, if the file has them. Raises Unusable also if an array is
    missing or occurs twice, or the file is compressed, declares more bytes than it has, or its
    entries differ from its directory.
    """
    arrays = {}
    with (
        reading(Path(path), remedy),
        open(path, "rb") as stream,
        zipfile.ZipFile(stream) as archive,
    ):
        entries = archive.infolist()
        if sum(entry.file_size for entry in entries) > os.path.getsize(path):
            raise Unusable(Path(path), "its arrays are larger than the file", remedy)
        if any(entry.compress_type != zipfile.ZIP_STORED for entry in entries):
            raise Unusable(Path(path), "its arrays are compressed", remedy)
        _check_places(stream, archive)
        known = [entry.filename.removesuffix(".npy") for entry in entries]
        if len(set(known)) < len(known):
            raise Unusable(Path(path), "an array is in it twice", remedy)
        names = known if names is None else [*names, *(n for n in optional if n in known)]
        for name in names:
            if name not in known:
                raise Unusable(Path(path), f"it has no array '{name}'", remedy)
            with archive.open(f"{name}.npy") as file:
                arrays[name] = _array(file, os.path.getsize(path))
    return arrays


def read_parquet(
    path: str | Path,
    columns: Mapping[str, str],
    others: str | None = None,
    defaults: Mapping[str, Any] | None = None,
    rows: int | None = None,
) -> "pa.Table":
    """Read columns of a table.

    ``columns`` has their types, to which they are cast: ``int64``, ``double`` or ``string``.
    Integer columns are valid as ``double``, empty columns as any type. ``defaults`` has values for
    columns that may be missing. Columns whose names start with ``others`` are read too, unchanged.

    Raises Unusable if the file is missing or damaged, a column is missing or has another type, the
    number of rows is not ``rows``, if given, or the file has more than :data:`MOST_CELLS` values.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    kinds = {
        "int64": (pa.types.is_integer,),
        "double": (pa.types.is_integer, pa.types.is_floating, pa.types.is_null),
        "string": (pa.types.is_string, pa.types.is_large_string, pa.types.is_null),
    }
    # A ParquetFile, because read_table would import pandas.
    with reading(Path(path)), pq.ParquetFile(path) as file:
        schema, n = file.schema_arrow, file.metadata.num_rows
        if rows is not None and n != rows:
            raise ValueError(f"it has {n} rows, not {rows}")
        if n * max(1, len(schema.names)) > MOST_CELLS:  # few bytes can hold so many equal values
            raise ValueError(f"it has {n} rows of {len(schema.names)} columns, too many")
        absent = {
            n: v for n, v in (defaults or {}).items() if n in columns and n not in schema.names
        }
        for name, kind in columns.items():
            if name in absent:
                continue
            if name not in schema.names:
                raise ValueError(f"it has no column '{name}'")
            if schema.names.count(name) > 1:
                raise ValueError(f"it has the column '{name}' twice")
            if not any(fits(schema.field(name).type) for fits in kinds[kind]):
                raise ValueError(f"column '{name}' is {schema.field(name).type}, not {kind}")
        more = [n for n in schema.names if others and n.startswith(others) and n not in columns]
        for name in more:
            if pa.types.is_nested(schema.field(name).type):
                raise ValueError(f"column '{name}' is {schema.field(name).type}, not single values")
        # Starting threads would take longer than reading the file.
        table = file.read(columns=[*columns, *more], use_threads=False)
        for name, value in absent.items():
            table = table.append_column(name, pa.repeat(value, table.num_rows))
        types = {name: pa.type_for_alias(kind) for name, kind in columns.items()}
        made = {name: table[name].cast(types.get(name, table[name].type)) for name in
                (*columns, *more)}  # fmt: skip
        return pa.table(made, metadata=table.schema.metadata)


def check(manifest: str | Path, names: Iterable[str] | None = None, remedy: str = "") -> None:
    """Compare files with the checksums in the entry ``files`` of the manifest beside them.

    Raises Unusable for the first file (of ``names``, if given) that is missing or differs from the
    one that the manifest describes. Without a manifest or this entry, nothing is compared.
    """
    for problem in damaged(manifest, names, remedy):
        raise problem


def damaged(
    manifest: str | Path, names: Iterable[str] | None = None, remedy: str = ""
) -> Iterator[Unusable]:
    """Find the files that :func:`check` rejects."""
    manifest = Path(manifest)
    try:
        sums = read_json(manifest).get("files", {})
        if not isinstance(sums, dict):
            raise Unusable(manifest, "'files' is not a mapping of names to checksums")
    except Missing:
        return
    except Unusable as error:
        yield error
        return
    for name in sums if names is None else [name for name in names if name in sums]:
        path = manifest.parent / name
        if not path.exists():
            yield Missing(path, "it does not exist", remedy, f"'{path}' is missing")
        elif not path.is_file():
            yield Unusable(path, "it is not a file", remedy, f"'{path}' is not a file")
        elif sha256(path) != sums[name]:
            said = f"'{path}' is not the file that was written with '{manifest}'"
            yield Unusable(path, "it is not the file that was written", remedy, said)


def _reject(constant: str) -> None:
    raise ValueError(f"it holds {constant}")


def _finite(text: str) -> float:
    number = float(text)
    if math.isinf(number):  # 1e999
        _reject(text[:20])
    return number


def _check_places(stream: IO[bytes], archive: zipfile.ZipFile) -> None:
    """Check that the entries of an archive follow one another as its directory says."""
    end = directory = 0
    for entry in sorted(archive.infolist(), key=lambda entry: entry.header_offset):
        stream.seek(end)
        mark, flags, method, crc, *sizes, name, extra = struct.unpack(
            "<4s2xHH4xIIIHH", stream.read(30)
        )
        own = stream.read(name) == entry.orig_filename.encode("utf-8" if flags & 0x800 else "cp437")
        same = (flags, method, crc) == (entry.flag_bits, entry.compress_type, entry.CRC)
        size, more = entry.file_size, stream.read(extra)
        if more:  # NumPy reserves space for sizes beyond 4 GiB
            same &= more == struct.pack("<HHQQ", 1, 16, size, size)
        # Python before 3.11.4 also writes the size itself there.
        same &= sizes == [size] * 2 or (bool(more) and sizes == [2**32 - 1] * 2)
        alone = mark == b"PK\3\4" and entry.header_offset == end and own and same
        if not alone or flags & ~0x800 or entry.compress_size != size:
            raise ValueError(f"its directory is wrong about '{entry.filename}'")
        end += 30 + name + extra + size
        directory += 46 + name + len(entry.extra) + len(entry.comment)
    rest = os.fstat(stream.fileno()).st_size - end - directory
    # The end of the directory, also for archives beyond 4 GiB.
    if end != archive.start_dir or rest not in (22, 22 + 76):
        raise ValueError("it has bytes that are in none of its arrays")


def _array(file: IO[bytes], room: int) -> np.ndarray:
    """Read an array written by :func:`numpy.save` if it has at most ``room`` bytes."""
    shape, dtype = _header(file)
    if min(shape, default=0) < 0 or math.prod(shape) * dtype.itemsize > room:
        raise ValueError(f"its header promises {shape} values of {dtype}: more than it holds")
    file.seek(0)
    array = np.lib.format.read_array(file, allow_pickle=False)
    if file.read(1):
        raise ValueError(f"it continues after the {shape} values of {dtype} of its header")
    return array


def _header(file: IO[bytes]) -> tuple[tuple[int, ...], np.dtype]:
    """Read the shape and dtype of an array written by :func:`numpy.save`."""
    try:
        version = np.lib.format.read_magic(file)
    except ValueError:
        raise ValueError("it is not an array in NumPy's format (.npy)") from None
    if version != (1, 0):
        raise ValueError("it is of another version of numpy's format")
    try:
        shape, _, dtype = np.lib.format.read_array_header_1_0(file)
    except MemoryError:  # how Python's parser fails on deeply nested expressions
        raise ValueError("its header does not describe an array") from None
    if dtype.hasobject:
        raise ValueError("it holds Python objects; save numbers or text of one type")
    return shape, dtype


def _beside(path: Path) -> Path:
    """Name a temporary file after its process; see :func:`_remove_leftovers`."""
    # The suffix is kept, because numpy appends its own to a name without it.
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
    except PermissionError:  # it belongs to another user
        pass
    return True


def _column(values: Any) -> Any:
    """Wrap numbers without ``pyarrow.array``, which would import pandas to inspect the array."""
    import pyarrow as pa

    if not isinstance(values, np.ndarray) or values.ndim != 1 or values.dtype.kind not in "iuf":
        return values
    values = np.ascontiguousarray(values)
    buffers = [None, pa.py_buffer(values)]
    return pa.Array.from_buffers(pa.from_numpy_dtype(values.dtype), len(values), buffers)


def sync_folder(folder: Path) -> None:
    """Sync the folder, where possible, so that the rename survives a power failure."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
