"""`fit`: build an ensemble from a frame, with the script of `make ensemble`."""

import importlib.util
import json
import math
import numbers
import os
import re
import signal
import subprocess
import sys
from collections.abc import Collection, Mapping, Sequence, Set
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ensemble_search.data import kinds
from ensemble_search.data.cells import is_signalling
from ensemble_search.delivery import doors
from ensemble_search.predictor import rows
from ensemble_search.predictor.ensemble import (
    DeliveredClassifier,
    DeliveredRegressor,
    load_ensemble,
)
from ensemble_search.runtime import files
from ensemble_search.runtime.errors import UserError, one_line
from ensemble_search.study import short

if TYPE_CHECKING:
    import pandas as pd

SCRIPT = Path(__file__).resolve().parents[2] / "automl.py"
#: Maximum number of columns, and characters of a text, in a message.
MOST = 20
#: Values that are not one number, text or date.
NO_VALUES = (bytes, complex, np.ndarray, Sequence, Mapping, Set)
#: Decimal numbers in Parquet have up to 76 digits.
LARGEST_DECIMAL = 10**76
#: What the script prints before a mistake.
MISTAKE = re.compile(r"^error: ")


def fit(
    frame: "pd.DataFrame | str | Path",
    target: str,
    *,
    minutes: float = 10,
    metric: str | None = None,
    positive: Any = None,
    group: str | None = None,
    time: str | None = None,
    fold: str | None = None,
    weight: str | None = None,
    columns: Mapping[str, Sequence[str]] | None = None,
    test: "pd.DataFrame | str | Path | None" = None,
    cores: int | None = None,
    name: str | None = None,
    folder: str | Path = ".",
    quiet: bool = False,
) -> DeliveredClassifier | DeliveredRegressor:
    """Search for an ensemble that predicts a column of a table, as `make ensemble` does.

    Runs the same workflow in a separate process, with the same files and results. Called again with
    the same arguments, it resumes if it was interrupted, and returns at once if it had finished;
    with more minutes, it continues the search.

    Parameters
    ----------
    frame
        Table with one row per sample, or the name of a CSV, Parquet, ARFF or Excel file. The index
        of a frame is ignored. A frame is written to ``results/<name>.parquet``; unless the search
        begins, the file is then removed.
    target
        Name of the column to predict.
    minutes
        Wall-clock minutes of the search. The refit takes about a minute more for small data.
    metric
        Loss to minimise. Default: ``error`` if the target is text or has at most 10 distinct
        numbers, else ``squared-error``. Required for 11 to 100 distinct integers.
    positive
        Of two classes, the one that ``f1``, ``average-precision`` and thresholds are about.
        Default: the second in the order of text.
    group, time, fold, weight
        Names of columns that divide or weight the rows; see docs/deliver.md.
    columns
        Names of columns by role, such as ``{"drop": ["id"], "text": ["note"]}``.
    test
        Further rows with the same columns, for the page only. Default: a fifth of the rows,
        less of a large table.
    cores
        Number of pipelines fitted in parallel. Default: all cores.
    name
        Name of the results. Default: the stem of the file or, for a frame, the target. Required
        if results of that name belong to another frame.
    folder
        The results are written to ``results/<name>/`` in this folder, which is made if needed.
    quiet
        If true, print nothing.

    Returns
    -------
    model
        Has ``predict``, ``predict_proba`` or ``predict_interval``, ``score``, ``explain``, ``save``
        and ``folder``, which contains its page ``card.html``. Labels are integers or booleans if
        the target's values are, else text.

    Raises
    ------
    ValueError
        In one line, if an argument, the table or a column cannot be used, or no pipeline could be
        fitted.
    """
    if importlib.util.find_spec("snakemake") is None:
        raise ValueError("snakemake is missing: install the extra 'workflow' of ensemble-search")
    if not isinstance(columns, (Mapping, type(None))):
        raise ValueError("columns: give names by role, such as {'drop': ['id'], 'text': ['note']}")
    for key, value, kind in (("folder", folder, (str, os.PathLike)), ("name", name or "", str)):
        if not isinstance(value, kind):
            raise ValueError(f"{key}: {value!r} is not text")
    target, place = str(target), Path(folder).resolve()
    given = {role: _names(names) for role, names in (columns or {}).items()}
    frames = _Frames(place, given.get("drop"))
    try:
        frames.make_folder()
    except OSError as error:
        raise ValueError(f"folder: '{folder}' cannot be made: {error.strerror}") from None
    try:
        if isinstance(frame, (str, Path)):
            file = _from(place, frame)
            name = short.name_of(file, name)
        else:
            unnamed, name = name is None, short.name_of(f"{target}.parquet", name)
            file = frames.write(frame, target, name, "frame", keep=unnamed)
        if isinstance(test, (str, Path)):
            test = _from(place, test)
        elif test is not None:
            test = frames.write(test, target, f"{name}-test", "test")
    except UserError as error:
        frames.undo()
        raise ValueError(one_line(doors.written(str(error), "python"))) from None
    arguments = {
        "data": file, "target": target, "minutes": minutes, "metric": metric, "positive": positive,
        "group": group, "time": time, "fold": fold, "weight": weight, "test": test, "cores": cores,
        "name": name, "columns": json.dumps(given, default=str),
    }  # fmt: skip
    options = [f"--{key}={value}" for key, value in arguments.items() if value is not None]
    state, status = place / "results" / name / "automl.json", -1
    before = _content(state)
    try:
        status, lines = _run([sys.executable, str(SCRIPT), *options], place, quiet)
    finally:
        if status and _content(state) == before:  # rejected: nothing uses the frames
            frames.undo()
    if status:
        raise ValueError(_mistake(lines, status, place / "results" / name / "logs"))
    try:
        return load_ensemble(place / "results" / name / "delivered" / name / short.METHOD)
    except UserError as error:
        raise ValueError(str(error)) from None


def _names(value: Any) -> Any:
    """Return names of columns as a list; the script checks other types."""
    if isinstance(value, str):
        return [value]
    return list(value) if isinstance(value, Collection) else value


def _from(place: Path, file: str | Path) -> str:
    """Return the name of a file as `make ensemble` expects it when run in a folder."""
    path = Path(os.path.abspath(file))
    return str(path.relative_to(place) if path.is_relative_to(place) else path)


def _content(file: Path) -> bytes | None:
    return file.read_bytes() if file.is_file() else None


class _Frames:
    """Frames written below ``results/`` in a folder; columns in ``drop`` may hold anything."""

    def __init__(self, place: Path, drop: Any = ()):
        self.place, self.drop = place, drop if isinstance(drop, list) else ()
        #: What was there before, by file; None if nothing was.
        self.before: dict[Path, bytes | None] = {}

    def make_folder(self) -> None:
        """Make the folder, but not those above it, if it does not exist."""
        if not self.place.is_dir():
            self.place.mkdir()
            self.before[self.place] = None

    def write(self, frame: Any, target: str, name: str, what: str, keep: bool = False) -> str:
        """Write a frame as Parquet; return the name of the file, relative to the folder.

        ``what`` is its argument. With ``keep``, raise UserError instead if there are results for
        another table of this name.
        """
        import pyarrow.parquet as pq

        made = _table(frame, target, what, self.drop)
        results, file = self.place / "results", Path("results", f"{name}.parquet")
        if _holds(self.place / file, made):
            return str(file)
        if keep and (results / name).is_dir():
            raise UserError(
                f"name: '{results / name}' belongs to another table; give this one a name"
            )
        self.before |= {} if results.is_dir() else {results: None}
        self.before[self.place / file] = _content(self.place / file)
        with files.atomic(self.place / file) as temporary:
            pq.write_table(made, temporary)
        return str(file)

    def undo(self) -> None:
        """Restore what was there before."""
        for file, content in reversed(self.before.items()):
            if content is not None:
                with files.atomic(file) as temporary:
                    temporary.write_bytes(content)
            elif not file.is_dir():
                file.unlink(missing_ok=True)
            elif not any(file.iterdir()):
                file.rmdir()


def _table(frame: Any, target: str, what: str, drop: Collection[str] = ()) -> Any:
    """Convert a frame to an Arrow table; ``what`` is its argument.

    Of columns in ``drop``, values that cannot be written become missing ones.
    """
    import pandas as pd
    import pyarrow as pa

    if not isinstance(frame, pd.DataFrame):
        raise UserError(f"{what}: a {type(frame).__name__} is neither a pandas frame nor a file")
    frame = frame.set_axis([str(column) for column in frame.columns], axis=1)
    if not frame.columns.is_unique:
        twice = frame.columns[frame.columns.duplicated()][0]
        raise UserError(f"{what}: there are two columns called '{twice}'; rename one")
    if target not in frame:
        known = ", ".join(map(one_line, frame.columns[:MOST]))
        key, where = ("target", "the frame") if what == "frame" else (what, "it")
        raise UserError(f"{key}: {where} has no column '{target}'; known: {known}")
    if not len(frame):
        raise UserError(f"{what}: it has no rows")

    def written(column: str) -> Any:
        try:
            return _in_parquet(frame[column], what)
        except UserError:
            if column == target or column not in drop:
                raise
            return pa.nulls(len(frame))

    try:
        return pa.table({column: written(column) for column in frame})
    except UnicodeEncodeError as error:
        raise UserError(f"{what}: the text {error.object[:MOST]!r} is not valid Unicode") from None


def _holds(file: Path, table: Any) -> bool:
    """Whether a Parquet file has exactly this table."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        return pq.read_table(file).equals(table)
    except (OSError, pa.ArrowException):
        return False


def _in_parquet(column: "pd.Series", what: str) -> Any:
    """Convert a column; values of mixed or unusual types become text, as in a CSV file."""
    import pandas as pd
    import pyarrow as pa

    if isinstance(column.dtype, pd.SparseDtype):
        column = column.sparse.to_dense()
    if pd.api.types.is_object_dtype(column) and any(signals := list(map(is_signalling, column))):
        column = column.copy()
        column[np.array(signals)] = None
    own = column.cat.categories if isinstance(column.dtype, pd.CategoricalDtype) else column
    if pd.api.types.is_object_dtype(own) and not rows.alike(own.dropna()):
        return pa.Array.from_pandas(_readable(column, what))
    try:
        made = pa.Array.from_pandas(column)
    except (pa.ArrowException, OverflowError, TypeError):  # such as integers of more than 64 bits
        return pa.Array.from_pandas(_readable(column, what))
    kind = made.type.value_type if pa.types.is_dictionary(made.type) else made.type
    if isinstance(kind, pa.BaseExtensionType):  # periods and intervals
        return pa.Array.from_pandas(kinds.text(column))
    if pa.types.is_nested(kind):
        raise UserError(
            f"{what}: column '{column.name}' holds lists or the like; a value has to be text, a "
            "number, a boolean or a date: convert it, or drop the column"
        )
    return made


def _readable(column: "pd.Series", what: str) -> "pd.Series":
    """Convert values that Arrow rejects to numbers, if all are, or to text."""
    import pandas as pd

    present = column.astype(object).dropna()
    for value in present:
        # Text such as <object at 0x7f...> differs from run to run.
        nameless = type(value).__str__ is object.__str__ and type(value).__repr__ is object.__repr__
        several = isinstance(value, NO_VALUES) and not isinstance(value, str)
        if nameless or several or callable(value):
            raise UserError(
                f"{what}: column '{column.name}' has a value of type {type(value).__name__}; "
                "only numbers, booleans, dates and text can be used: convert it, or drop the column"
            )
    truths = any(isinstance(value, (bool, np.bool_)) for value in present)
    if truths or not all(isinstance(value, (numbers.Real, Decimal)) for value in present):
        return kinds.text(column)
    exact = all(map(_exact, present))
    cast = (lambda value: Decimal(int(value))) if exact else _float
    made = [None if pd.isna(value) else cast(value) for value in column.astype(object)]
    return pd.Series(made, column.index, dtype=object if exact else "float64")


def _exact(number: Any) -> bool:
    """Whether a number is an integer of at most 76 digits."""
    if isinstance(number, Decimal):
        whole = number.is_finite() and number == number.to_integral_value()
    else:
        whole = isinstance(number, numbers.Integral)
    return whole and abs(number) < LARGEST_DECIMAL


def _float(number: Any) -> float:
    try:
        return float(number)
    except OverflowError:
        return math.inf if number > 0 else -math.inf


def _run(command: Sequence[str], place: Path, quiet: bool) -> tuple[int, list[str]]:
    """Run a command until it ends or is interrupted; return its exit status and lines."""
    lines = []
    process = subprocess.Popen(
        command,
        cwd=place,
        env={**os.environ, "ENSEMBLE_SEARCH_PARENT": str(os.getpid()), doors.DOOR: "python"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        errors="replace",
        start_new_session=True,  # so that Ctrl-C in a terminal reaches it only once: from here
    )
    assert process.stdout is not None
    try:
        for line in process.stdout:
            lines.append(line.rstrip("\n"))
            if not quiet and not MISTAKE.match(line):  # which the exception has
                print(line, end="", flush=True)
        return process.wait(), lines
    except BaseException:
        process.send_signal(signal.SIGINT)
        process.wait()
        raise
    finally:
        process.stdout.close()


def _mistake(lines: Sequence[str], status: int, logs: Path) -> str:
    """Return the mistake that a run reports, in one line."""
    said = [MISTAKE.sub("", line) for line in lines if MISTAKE.match(line)]
    return one_line("; ".join(said or [f"the search ended with status {status}; see '{logs}'"]))
