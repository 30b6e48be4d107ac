"""Predict the rows of a file with a delivered ensemble.

python workflow_scripts/predict.py --model <folder> --input new.csv --output predictions.csv
"""

if __name__ == "__main__":  # first: Ctrl-C may come during the imports
    from ensemble_search.runtime import signals

    signals.while_importing()

import argparse
import contextlib
import csv
import functools
import operator
import os
import sys
import time
import warnings
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import compress
from pathlib import Path
from typing import IO, Any

from ensemble_search.runtime.errors import UserError, one_line, run

#: Extensions of formats that cannot be read, and of those that cannot be written.
UNREAD = (".arff", ".bz2", ".feather", ".json", ".ods", ".xls", ".zip")
UNWRITTEN = (*UNREAD, ".gz", ".tsv", ".xlsx")
#: Maximum characters of an input field; longer ones probably have a quote that is not closed.
LONGEST = 2**24


def main() -> None:
    """Parse the command line and write the predictions, in the order of the rows."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--model", type=Path, required=True, help="folder of the ensemble")
    parser.add_argument(
        "--input",
        type=Path,
        required=True,
        help="CSV (also .csv.gz), Parquet or Excel file with the columns that the ensemble needs",
    )
    parser.add_argument("--output", type=Path, required=True, help="CSV or Parquet file to write")
    parser.add_argument(
        "--keep",
        nargs="+",
        default=[],
        help="columns of the input to copy, such as an id (the target as 'true <target>')",
    )
    parser.add_argument(
        "--checksum", help="reject a folder whose ensemble.json has another SHA-256 checksum"
    )
    parser.add_argument(
        "--threshold",
        type=float,
        help="predict the positive class if its probability is at least this (default: 0.5)",
    )
    parser.add_argument(
        "--interval",
        type=float,
        help="add columns lower and upper, which hold this share of the true numbers, such as 0.9",
    )
    options = parser.parse_args()
    for name in ("threshold", "interval"):
        value = getattr(options, name)
        if value is not None and not 0 < value < 1:
            raise UserError(f"--{name}: {value:g} is not between 0 and 1")
    if options.output.resolve() == options.input.resolve():
        raise UserError("--output: it is the file of --input; name another")
    if not options.output.parent.is_dir():
        raise UserError(f"--output: there is no folder '{options.output.parent}'")
    if options.output.is_dir():
        raise UserError(f"--output: '{options.output}' is a folder; name a file")
    if options.input.suffix.lower() in UNREAD:
        raise UserError(f"--input: '{options.input}' must be CSV, Parquet or Excel (.xlsx)")
    if options.output.suffix.lower() in UNWRITTEN:
        raise UserError(
            f"--output: '{options.output}' must be CSV or Parquet; name a .csv or .parquet"
        )
    csv.field_size_limit(LONGEST)

    try:
        # Imported after the arguments were checked, because this takes a second.
        from ensemble_search.data import text_files
        from ensemble_search.data.readings import PLAIN
        from ensemble_search.predictor import rows
        from ensemble_search.predictor.ensemble import MANIFEST, load_ensemble

        with warnings.catch_warnings():
            warnings.simplefilter("always", UserWarning)
            warnings.showwarning = _said  # at once: loading may fail for the reason it names
            # The interface depends on the type of problem.
            model: Any = load_ensemble(options.model, options.checksum)
    except ModuleNotFoundError as error:
        raise UserError(
            f"this Python ({sys.executable}) has no module '{error.name}': install what the "
            "folder's requirements.txt lists, or use the Python that made the folder"
        ) from None
    own = {options.model / name for name in (MANIFEST, *model.manifest["files"])}
    if options.output.resolve() in {path.resolve() for path in own}:
        raise UserError(f"--output: '{options.output}' is a file of the ensemble; name another")
    classes = getattr(model, "classes_", None)
    if options.threshold is not None and (classes is None or len(classes) != 2):
        what = "a regression" if classes is None else f"{len(classes)} classes"
        raise UserError(f"--threshold: it is for two classes, and this ensemble is of {what}")
    if options.interval is not None:
        if classes is not None:
            raise UserError(
                "--interval: it is for predictions of numbers, and this ensemble predicts classes, "
                "with their probabilities"
            )
        model.half_width(options.interval)  # raises before a file is written
    target = model.manifest["target"]
    names = list(model.feature_names_in_)
    columns = model.preparation.columns
    numeric = {c.name for c in columns if c.kind == "numeric" and c.read in (None, PLAIN)}
    head = [target, *(["lower", "upper"] if options.interval else [])]
    head += [] if classes is None else [f"probability of {c}" for c in classes]
    # The predictions have the target's own name.
    copies = [f"true {name}" if name == target else name for name in options.keep]
    for name in copies:
        if name in head or copies.count(name) > 1:
            raise UserError(f"--keep: the output would have two columns called '{name}'; keep one")
    needed = list(dict.fromkeys([*names, *options.keep]))
    size = min(rows.CHUNK, model.rows_)
    types: dict[str, Any] = {}
    lost: list[str] = []
    match text_files.kind(options.input):
        case ".parquet" | ".pq":
            found_types = rows.types(options.input, options.keep)
            named = zip(options.keep, copies, strict=True)
            types = {copy: found_types[name] for name, copy in named if name in found_types}
            parts = rows.parquet(options.input, needed, size)
        case ".xlsx":
            parts = iter([*rows.excel(options.input, needed)])
            lost = rows.uncalculated(options.input, needed)
        case _:
            parts = rows.chunks(options.input, needed, size, numeric - {*options.keep})
    as_parquet = text_files.kind(options.output) in (".parquet", ".pq")
    progress = _Progress(options.input)
    for note in lost:
        print(one_line(f"note: {note}"), file=sys.stderr)
    try:
        with (
            _written(options.output, as_parquet) as stream,
            _Parquet(stream, types) if as_parquet else _Csv(stream) as writer,
        ):
            for X, position in parts:
                if options.interval:
                    found = [*model.predict_interval(X, options.interval).T]
                elif classes is None:
                    found = [model.predict(X)]
                else:
                    labels, probabilities = model.predict_both(X)
                    if options.threshold:
                        labels = classes[(probabilities[:, 1] >= options.threshold).astype(int)]
                    found = [labels, *probabilities.T]
                made = [column.tolist() for column in found]
                kept = {copy: X[name] for name, copy in zip(options.keep, copies, strict=True)}
                writer.write({**kept, **dict(zip(head, made, strict=True))})
                progress.show(len(made[0]), position, model.notes_)
    except BrokenPipeError:
        raise  # nobody reads the output any more
    except OSError as error:
        raise UserError(f"--output: '{options.output}': {error.strerror}") from None
    progress.end(options.output)


def _said(message: Warning | str, *place: Any, **more: Any) -> None:
    print(f"warning: {one_line(str(message))}", file=sys.stderr)


class _Csv:
    """Writes columns to a CSV file; no text is a formula or moves a terminal's cursor."""

    def __init__(self, stream: IO):
        from ensemble_search.predictor.rows import safe

        self.writer, self.head = csv.writer(stream, lineterminator="\n"), False
        self.safe = functools.lru_cache(1000)(safe)
        self.changed: Counter[str] = Counter()  # by column

    def __enter__(self) -> "_Csv":
        return self

    def __exit__(self, *error: object) -> None:
        some = ", ".join(f"'{name}' ({n})" for name, n in self.changed.items() if n)
        if some and error[0] is None:
            said = "note: values that a spreadsheet or a terminal would run are escaped in"
            print(one_line(f"{said} {some}; Parquet keeps them"), file=sys.stderr)

    def write(self, columns: Mapping[str, Sequence[Any]]) -> None:
        """Write some rows; column names are those of the first call."""
        if not self.head:
            names = [*map(self.safe, columns)]
            self.writer.writerow(names)
            self.head = True
            self.changed["names of columns"] = sum(map(operator.ne, names, columns))
        written = []
        for name, own in columns.items():
            texts = [isinstance(value, str) for value in own]
            made = [self.safe(v) if is_text else v for v, is_text in zip(own, texts, strict=True)]
            self.changed[name] += sum(map(operator.ne, compress(made, texts), compress(own, texts)))
            written.append(made)
        self.writer.writerows(zip(*written, strict=True))


class _Parquet:
    """Writes columns to a Parquet file; ``types`` are those of the input's columns, if Parquet."""

    def __init__(self, stream: IO, types: Mapping[str, Any]):
        try:
            import pyarrow  # noqa: F401
        except ModuleNotFoundError:
            raise UserError(
                "--output: a Parquet file needs pyarrow: pip install pyarrow, or name a .csv"
            ) from None
        self.stream, self.types = stream, types
        self.writer: Any = None

    def __enter__(self) -> "_Parquet":
        return self

    def __exit__(self, *error: object) -> None:
        if self.writer:
            self.writer.close()

    def write(self, columns: Mapping[str, Sequence[Any]]) -> None:
        """Write some rows; column names and types are those of the first call."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        made = {name: self._array(name, own) for name, own in columns.items()}
        if self.writer is None:
            self.types = {name: array.type for name, array in made.items()}
            self.writer = pq.ParquetWriter(self.stream, pa.table(made).schema)
        self.writer.write_table(pa.table(made))

    def _array(self, name: str, values: Sequence[Any]) -> Any:
        import pyarrow as pa

        from ensemble_search.predictor.rows import alike

        try:
            if name not in self.types and not alike(values):
                raise TypeError("they are of several types")
            array = pa.array([*values], self.types.get(name))
        except (pa.ArrowException, OverflowError, TypeError) as error:
            raise UserError(
                f"--keep: the values of '{name}' have no type in common: {error}; name a .csv"
            ) from None
        return array.cast(pa.string()) if pa.types.is_null(array.type) else array


@contextlib.contextmanager
def _written(path: Path, binary: bool) -> Iterator[IO]:
    """Open a file that appears once it is complete; write to pipes and devices directly."""

    def started(place: Path) -> IO:
        return place.open("wb") if binary else place.open("w", encoding="utf-8", newline="")

    device = path.parts[:2] == ("/", "dev") and path.parts[2:3] != ("shm",)  # shm has files
    if device or (path.exists() and not path.is_file()):
        with started(path) as stream:
            yield stream
        return
    file = path.resolve()  # keeps a symbolic link
    temporary = file.with_name(f".{file.name}.{os.getpid()}")
    try:
        with started(temporary) as stream:
            yield stream
        temporary.replace(file)
    finally:
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)


class _Progress:
    """Shows progress on standard error."""

    def __init__(self, file: Path):
        self.size = file.stat().st_size if file.is_file() else 0
        self.rows, self.start, self.said = 0, time.monotonic(), set[str]()

    def show(self, rows: int, position: int, notes: list[str]) -> None:
        from ensemble_search.data.preparation import HUGE, UNREADABLE, about

        self.rows += rows
        place = f"in the first {self.rows} rows" if self.rows > 1 else "in the first row"
        for note in notes:
            if about(note) not in self.said:  # once each, for the first chunk that has it
                self.said.add(about(note))
                what = "warning" if UNREADABLE in note or HUGE in note else "note"
                print(one_line(f"{what}: {place}: {note}"), file=sys.stderr)
        seconds = time.monotonic() - self.start
        if sys.stderr.isatty() and 0 < position < self.size:
            left = seconds * (self.size - position) / position
            done = 100 * position / self.size
            print(f"\r{self.rows} rows, {done:.0f} %, {left:.0f} s left ", end="", file=sys.stderr)

    def end(self, output: Path) -> None:
        seconds = time.monotonic() - self.start
        rows = f"{self.rows} row{'s' * (self.rows != 1)}"
        print(one_line(f"{rows} in {seconds:.1f} s: {output}"), file=sys.stderr)


if __name__ == "__main__":
    run(main)
