"""The journal of a search, to which every evaluation is written before its result is used.

A journal is a folder with four files:

- ``fingerprint.json``: identifies the search (code, settings, data, seed).
- ``journal.jsonl``: one line per evaluation, ``<crc32> <JSON>``. The checksum covers the
  fingerprint and all JSON up to this line, so that a line from another journal or position is
  rejected.
- ``predictions.f32``: the concatenated predictions of the successful evaluations, validation then
  test; each line of the journal has their checksum.
- ``lock``: locked while a process writes; contains its host and process.

When the search is finished, the journal shares its results' predictions: hard links to
``predictions-validation.npy`` and ``predictions-test.npy`` replace the content of
``predictions.f32``, which is rewritten before another evaluation is added. At any moment, one of
the two is complete; the checksums show which.

An evaluation is committed by its line, which is written after its predictions. Both are synced at
most once per :data:`SYNC` seconds, because fits that take milliseconds would otherwise wait for the
disk. On opening, incomplete data (a truncated line, zeroed bytes, missing predictions) and
everything after it are dropped: the optimizer suggests the same configurations again. If complete
lines follow the damage, both files are first copied to ``*.damaged``.
"""

import json
import math
import os
import re
import reprlib
import shutil
import sys
import time
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, suppress
from dataclasses import asdict, dataclass, fields
from numbers import Real
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from pydantic import ConfigDict, create_model

from ensemble_search.problems.combination import rounded
from ensemble_search.runtime.errors import UserError
from ensemble_search.runtime.files import (
    Unusable,
    read_json,
    read_npy,
    reading,
    sync_folder,
    write_json,
)
from ensemble_search.runtime.locks import lock
from ensemble_search.runtime.names import FITTED, OK, PREDICTIONS, Origin, Status
from ensemble_search.runtime.schema import fitting

if TYPE_CHECKING:
    from ensemble_search.evaluation.base import Evaluation
    from ensemble_search.problems.base import Problem


#: Seconds between syncs: a machine crash loses at most the evaluations of this time.
SYNC = 1.0


@dataclass(frozen=True)
class Record:
    """A stored evaluation."""

    configuration: dict[str, bool | int | float | str]  #: active hyperparameters by name
    status: Status  #: ``ok``, ``timeout``, ``memory``, ``crash`` or ``invalid``
    error: float | None  #: validation error; None unless the status is ``ok``
    #: Wall-clock seconds to suggest; wall-clock and CPU seconds to fit and predict.
    suggest_seconds: float
    fit_seconds: float
    cpu_seconds: float
    #: Wall-clock seconds to predict, a part of ``fit_seconds``; None unless the status is ``ok``.
    predict_seconds: float | None
    memory_mb: float  #: peak resident memory of the worker during the evaluation, in MiB
    #: Reason for the failure; empty or None for ``ok``.
    error_type: str | None
    message: str | None
    why: dict[str, Any]  #: the optimizer's reason for its choice
    #: Predictions, float32, of shape (n_samples, n_columns): one column (the probability of class
    #: 1) for two classes, else one per class; None unless the status is ``ok``.
    validation: np.ndarray | None
    test: np.ndarray | None
    #: Wall-clock seconds from the end of the previous evaluation (or the start of the job) to the
    #: end of this one, excluding suggesting and fitting: starting workers, reading, writing.
    rest_seconds: float = 0.0
    #: Start of the interval of ``rest_seconds``, in ISO format; for the first evaluation, the start
    #: of the search.
    began: str = ""
    fidelity: float = 1.0  #: share of the training rows that were fitted on, in (0, 1]
    planned_after: int = 0  #: number of evaluations known when it was planned (``Optimizer.plan``)
    origin: Origin = FITTED  #: ``fitted`` by this search, or looked up: ``shared`` or ``table``

    @classmethod
    def of(
        cls,
        configuration: dict[str, Any],
        evaluation: "Evaluation",
        labels: np.ndarray,
        problem: "Problem",
        suggest_seconds: float = 0.0,
        why: dict[str, Any] | None = None,
        **others: Any,
    ) -> "Record":
        """Create the record of an evaluation, with the loss of its predictions on ``labels``."""
        validation = test = error = None
        if evaluation.status == OK:
            assert evaluation.validation is not None
            assert evaluation.test is not None
            validation = problem.compress(evaluation.validation)
            test = problem.compress(evaluation.test)
            error = problem.metric.loss(labels, rounded(validation))
            if not (isinstance(error, Real) and 0 <= error < math.inf):
                raise UserError(
                    f"metric '{problem.metric.title}': its loss is {reprlib.repr(error)}; it must "
                    "be a finite number of 0 or more"
                )
        measured = ("fit_seconds", "cpu_seconds", "predict_seconds", "memory_mb")
        named = ("status", "error_type", "message", "origin")
        return cls(
            configuration=configuration,
            error=error,
            suggest_seconds=suggest_seconds,
            why=why or {},
            validation=validation,
            test=test,
            **{key: getattr(evaluation, key) for key in (*measured, *named)},
            **others,
        )


_FIELDS: dict[str, Any] = {
    f.name: f.type for f in fields(Record) if f.name not in ("validation", "test")
}
#: Schema of a journal line.
_LINE = create_model(
    "Line",
    __config__=ConfigDict(extra="forbid", strict=True, allow_inf_nan=False),
    predictions_crc32=int,
    **_FIELDS,
)


class Journal:
    """The evaluations of a search on disk; a context manager that holds the journal's lock.

    The folder is created if missing. ``fingerprint`` is that of the search, as JSON values;
    ``shapes`` are those, (n_samples, n_columns), of the validation and of the test predictions.
    With ``wait``, wait until no other process writes.

    Raises UserError on entering if the journal belongs to another search (the message lists the
    differences), another process is writing, or the folder cannot be written.
    """

    def __init__(
        self,
        folder: Path,
        fingerprint: dict[str, Any],
        shapes: tuple[tuple[int, int], tuple[int, int]],
        wait: bool = False,
    ):
        self.folder = Path(folder)
        self.wait = wait
        self.fingerprint = json.loads(json.dumps(fingerprint))
        self.shapes = shapes
        self.records: list[Record] = []
        self._crc = 0
        self._synced = -math.inf

    def __enter__(self) -> "Journal":
        try:
            with ExitStack() as open_:
                self.folder.mkdir(parents=True, exist_ok=True)
                held = lock(self.folder / "lock", f"the search in '{self.folder}'", self.wait)
                open_.enter_context(held)
                self._check_fingerprint()
                self._lines = self._open("journal.jsonl", open_)
                self._arrays = self._open("predictions.f32", open_)
                sync_folder(self.folder)
                self._read()
                self._files = open_.pop_all()
        except OSError as error:
            # Of a link to nowhere, the system says that it exists, or that it does not.
            links = (p for p in (*self.folder.parents, *self._paths()) if p.is_symlink())
            if dangling := next((p for p in links if not p.exists()), None):
                raise UserError(
                    f"'{dangling}' is a link to '{os.readlink(dangling)}', which does not exist: "
                    "restore that, or remove the link"
                ) from error
            if not self.folder.is_dir() and isinstance(error, FileExistsError):
                raise UserError(f"'{self.folder}' is not a folder; move it away") from error
            raise UserError(f"cannot write '{self.folder}': {error.strerror}") from error
        return self

    def __exit__(self, *exception) -> None:
        with suppress(OSError):  # lost evaluations are repeated
            self._sync()
        self._files.close()

    def append(self, record: Record) -> None:
        """Store one evaluation; on return it survives a crash of the process.

        Raises UserError if the disk is full or the folder cannot be written; no partial data
        remains.
        """
        content = asdict(record)
        del content["validation"], content["test"]
        data = _data(record)
        content["predictions_crc32"] = zlib.crc32(data)
        text = json.dumps(content, allow_nan=False, ensure_ascii=False)
        crc = zlib.crc32(text.encode(), self._crc)
        line = f"{crc:08x} {text}\n".encode()
        if self._shared:
            self._unshare()
        sizes = os.fstat(self._arrays).st_size, os.fstat(self._lines).st_size
        try:
            for file, content_ in ((self._arrays, data), (self._lines, line)):
                _write_all(file, content_)
            if time.monotonic() - self._synced >= SYNC:
                self._sync()
        except BaseException as error:  # including a signal
            for file, size in ((self._lines, sizes[1]), (self._arrays, sizes[0])):
                with suppress(OSError):  # the next start drops the rest
                    os.ftruncate(file, size)
            if isinstance(error, OSError):
                raise UserError(f"cannot write '{self.folder}': {error.strerror}") from error
            raise
        self._crc = crc
        self.records.append(record)

    def _sync(self) -> None:
        os.fsync(self._arrays)
        os.fsync(self._lines)
        self._synced = time.monotonic()

    def share(self, output: Path) -> None:
        """Keep the predictions only in the result files, which hold those of all evaluations.

        The results must be on disk already. If hard links between the folders are impossible, the
        journal keeps its own copy.
        """
        with suppress(OSError):
            for name in PREDICTIONS:
                temporary = self.folder / f".{name}"
                temporary.unlink(missing_ok=True)
                os.link(output / name, temporary)
                temporary.replace(self.folder / name)
            sync_folder(self.folder)
            self._shared = True
            os.ftruncate(self._arrays, 0)

    def _unshare(self) -> None:
        """Store the predictions in the journal's own file again."""
        try:
            os.ftruncate(self._arrays, 0)
            for record in self.records:
                _write_all(self._arrays, _data(record))
            os.fsync(self._arrays)
        except OSError as error:
            with suppress(OSError):
                os.ftruncate(self._arrays, 0)
            raise UserError(f"cannot write '{self.folder}': {error.strerror}") from error
        self._unlink()

    def _unlink(self) -> None:
        self._shared = False
        for name in PREDICTIONS:
            with suppress(OSError):  # any remainder is shorter than the journal's own file
                (self.folder / name).unlink(missing_ok=True)

    def _paths(self) -> list[Path]:
        """The folder, and the files that are opened in it."""
        files = ("lock", "journal.jsonl", "predictions.f32")
        return [self.folder, *(self.folder / name for name in files)]

    def _open(self, name: str, open_: ExitStack) -> int:
        file = os.open(self.folder / name, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o666)
        open_.callback(os.close, file)
        return file

    def _check_fingerprint(self) -> None:
        path = self.folder / "fingerprint.json"
        try:
            found = read_json(path)
        except Unusable:  # damaged or lost: the lines' checksums identify the search
            write_json(path, self.fingerprint)
            return
        if found != self.fingerprint:
            changes = "; ".join(differences(found, self.fingerprint))
            raise UserError(
                f"the journal '{self.folder}' belongs to another search ({changes}); remove the "
                "folder to start over, or its fingerprint.json to keep this search's evaluations"
            )

    def _read(self) -> None:
        """Read all complete records and truncate the files after the last one."""
        lines = re.findall(rb"[^\n]*\n|[^\n]+", (self.folder / "journal.jsonl").read_bytes())
        linked = any((self.folder / name).exists() for name in PREDICTIONS)
        self.records = list(self._records(lines, self._from_links())) if linked else []
        self._shared = linked
        if len(self.records) < len(lines):
            with (self.folder / "predictions.f32").open("rb") as arrays:
                own = list(self._records(lines, lambda _, size: arrays.read(size)))
            if len(own) > len(self.records) or not linked:
                self.records, self._shared = own, False
        if dropped := len(lines) - len(self.records):
            kept = ""
            if dropped > 1:  # more than the last evaluation is lost: keep copies for inspection
                for name in ("journal.jsonl", "predictions.f32", *PREDICTIONS):
                    with suppress(FileNotFoundError):
                        shutil.copyfile(self.folder / name, self.folder / f"{name}.damaged")
                kept = "; the files as they were are kept as *.damaged"
            print(
                f"'{self.folder}': evaluation {len(self.records) + 1} is damaged or of another "
                f"search: dropped it and what follows, {dropped} in all{kept}",
                file=sys.stderr,
            )
        self._crc = self._first_crc()
        if self.records:
            self._crc = int(lines[len(self.records) - 1][:8], 16)
        os.ftruncate(self._lines, sum(map(len, lines[: len(self.records)])))
        if self._shared:
            os.ftruncate(self._arrays, 0)
        else:
            os.ftruncate(self._arrays, sum(r.status == OK for r in self.records) * self._size)
            self._unlink()

    @property
    def _size(self) -> int:
        """Bytes of the predictions of an evaluation."""
        return sum(4 * rows * columns for rows, columns in self.shapes)

    def _first_crc(self) -> int:
        names = [field.name for field in fields(Record)]
        return zlib.crc32(json.dumps([names, self.fingerprint], sort_keys=True).encode())

    def _from_links(self) -> Callable[[int, int], bytes]:
        """Return a function that reads predictions from the linked files by position and size."""
        parts = []
        for name, shape in zip(PREDICTIONS, self.shapes, strict=True):
            with suppress(Unusable):
                array = read_npy(self.folder / name, map_only=True)
                if array.shape[1:] == shape:
                    parts.append(array)
        if len(parts) < len(PREDICTIONS):
            return lambda *_: b""
        return lambda at, _: b"".join(array[at : at + 1].tobytes() for array in parts)

    def _records(
        self, lines: Sequence[bytes], predictions: Callable[[int, int], bytes]
    ) -> Iterator[Record]:
        """Read records up to the first damaged one.

        ``predictions`` reads those of an evaluation, given its position and size in bytes.
        """
        crc = self._first_crc()
        for at, line in enumerate(lines):
            found, _, text = line.removesuffix(b"\n").partition(b" ")
            crc = zlib.crc32(text, crc)
            if not line.endswith(b"\n") or found != f"{crc:08x}".encode():
                return
            content = self._content(text, at + 1)
            size = self._size if content["status"] == OK else 0
            data = predictions(at, size) if size else b""
            if len(data) != size or zlib.crc32(data) != content.pop("predictions_crc32"):
                return
            validation = test = None
            if size:
                flat = np.frombuffer(data, dtype="<f4").astype(np.float32)
                split = self.shapes[0][0] * self.shapes[0][1]
                validation = flat[:split].reshape(self.shapes[0])
                test = flat[split:].reshape(self.shapes[1])
            yield Record(**content, validation=validation, test=test)

    def _content(self, text: bytes, number: int) -> dict[str, Any]:
        """Parse a line with a valid checksum; raise :meth:`rejection` if it is not a record."""
        path = self.folder / "journal.jsonl"
        try:
            with reading(path):
                content = fitting(_LINE, json.loads(text), path)
                if (content["status"] == OK) != (content["error"] is not None):
                    raise ValueError("there must be an error if status is ok, and only then")
                return content
        except Unusable as error:
            raise self.rejection(number, error.reason) from None

    def rejection(self, line: int, reason: str) -> Unusable:
        """Return the error for an invalid but undamaged line, which must not be dropped."""
        remedy = f"remove line {line} and what follows it, or the folder '{self.folder}'"
        return Unusable(self.folder / "journal.jsonl", f"line {line}: {reason}", remedy)


class InMemory:
    """The evaluations of a search that keeps no journal."""

    def __init__(self):
        self.records: list[Record] = []

    def append(self, record: Record) -> None:
        """Add one evaluation."""
        self.records.append(record)


def differences(old: dict[str, Any], new: dict[str, Any], prefix: str = "") -> list[str]:
    """List the differences of two fingerprints, such as ``settings.beta: 0.05 there, 0.1 here``."""
    lines = []
    for key in sorted({*old, *new}):
        a, b = old.get(key), new.get(key)
        if isinstance(a, dict) and isinstance(b, dict):
            lines += differences(a, b, f"{prefix}{key}.")
        elif a != b:
            lines.append(f"{prefix}{key}: {a} there, {b} here")
    return lines


def _data(record: Record) -> bytes:
    """Return the stored bytes of an evaluation's predictions; empty if it failed."""
    if record.status != OK:
        return b""
    parts = record.validation, record.test
    return b"".join(np.ascontiguousarray(part, dtype="<f4").tobytes() for part in parts)


def _write_all(file: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(file, view) :]
