"""Where data sets come from: OpenML, a file, or scikit-learn; one function a kind.

A source is written as in a study: ``{"openml": 772, "version": 1, "md5": "..."}``,
``{"file": "mine.csv", "target": "label"}`` or ``{"sklearn": "digits"}``. Nothing heavy is imported
with this module, because the workflow asks it for the names of folders.
"""

import csv
import hashlib
import itertools
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any

from divbo.errors import UserError
from divbo.plugins import nearest

if TYPE_CHECKING:
    import pandas as pd

KEYS = {
    "openml": {"openml", "version", "md5"},
    "file": {"file", "target"},
    "sklearn": {"sklearn"},
}
BUNDLED = ("breast_cancer", "digits", "iris", "wine")
CSV_HINT = "it must be UTF-8 text, separated by commas"
#: Characters of a file's name in that of its folder: a file system takes 255 in all.
LONGEST_STEM = 200
PARQUET_HINT = "it must be a whole Parquet file"
ARFF_HINT = "attributes must be numeric, nominal or string"
# pandas would also take None and n/a for missing, which are labels in more than one data set.
MISSING = ["", "?", "NA", "N/A", "NaN", "nan", "NULL", "null"]


@dataclass(frozen=True)
class Raw:
    """A data set as its source has it.

    Attributes
    ----------
    frame
        All columns, the target too, of shape (n_rows, n_features + 1).
    target
        Name of the target column.
    name
        What the source calls the data set.
    source
        The source without pins and without absolute paths, as ``dataset.json`` names it.
    version, md5
        What OpenML calls the version; MD5 of the ARFF or of the user's file. None where there is
        no such thing.
    ignored
        Columns that the source says are no features (row ids), with the reason.
    """

    frame: "pd.DataFrame"
    target: str
    name: str
    source: dict[str, Any]
    version: int | None = None
    md5: str | None = None
    ignored: dict[str, str] = field(default_factory=dict)


def source_kind(source: Mapping[str, Any], where: str = "source") -> str:
    """Return ``openml``, ``file`` or ``sklearn``, and check the keys and values of a source.

    ``where`` is the place of the source, for the messages.

    Raises
    ------
    UserError
        If it is not exactly one of the three, or has an unknown key or a value of the wrong type.
    """
    if not isinstance(source, Mapping):
        raise UserError(f"{where}: {source!r} is no mapping, such as {{openml: 772}}")
    kinds = [kind for kind in KEYS if kind in source]
    if len(kinds) != 1:
        found = " and ".join(kinds) or ", ".join(map(str, source)) or "none"
        raise UserError(f"{where}: needs exactly one of openml, file, sklearn; found {found}")
    kind = kinds[0]
    for key in source:
        if key in KEYS[kind]:
            continue
        if owner := next((k for k in KEYS if key in KEYS[k]), None):
            raise UserError(f"{where}.{key}: goes with '{owner}:' only")
        raise UserError(f"{where}: unknown key '{key}'; {nearest(key, sorted(KEYS[kind]))}")
    for key in ("openml", "version"):
        value = source.get(key, 1)
        if type(value) is not int or value < 1:
            raise UserError(f"{where}.{key}: {value!r} is no whole number from 1")
    for key in ("file", "target", "sklearn", "md5"):
        if key in source and not isinstance(source[key], str):
            raise UserError(f"{where}.{key}: {source[key]!r} is no text")
    if kind == "file" and not source.get("target"):
        raise UserError(f"{where}.target: is missing; name the column that holds the classes")
    return kind


def source_key(source: Mapping[str, Any]) -> str:
    """Return the folder name of a source below ``results/data/``.

    ``openml-772``, ``sklearn-digits``, or ``file-<stem>-<8 hex digits of path and target>``.

    Raises
    ------
    UserError
        As :func:`source_kind`.
    """
    kind = source_kind(source)
    if kind != "file":
        return f"{kind}-{source[kind]}"
    stem = re.sub(r"[^A-Za-z0-9._-]", "_", PurePath(source["file"]).stem)[:LONGEST_STEM]
    written = f"{source['file']}\n{source['target']}"
    digest = hashlib.sha256(written.encode(errors="surrogatepass")).hexdigest()
    return f"file-{stem}-{digest[:8]}"


def read(source: Mapping[str, Any], openml: Mapping[str, Any] | None = None) -> Raw:
    """Read a data set from its source.

    Parameters
    ----------
    source
        As in a study.
    openml
        How OpenML is reached: fields of :class:`divbo.data.openml_client.Access`.

    Raises
    ------
    UserError
        If the source is wrong, cannot be reached or cannot be read.
    """
    kind = source_kind(source)
    if kind == "openml":
        return from_openml(source["openml"], source.get("version"), source.get("md5"), openml or {})
    if kind == "file":
        return from_file(source["file"], source["target"])
    return from_sklearn(source["sklearn"])


def from_openml(number: int, version: int | None, md5: str | None, access: Mapping) -> Raw:
    """Fetch a data set from OpenML, or from a cache of its client; see :func:`read`."""
    from divbo.data import openml_client

    return openml_client.fetch(number, version, md5, openml_client.access(access))


def from_file(name: str, target: str) -> Raw:
    """Read a CSV, Parquet or ARFF file; a relative path starts at the working directory.

    CSV is UTF-8, separated by commas, with a header; empty fields, ``?`` and the spellings in
    :data:`MISSING` are missing values. The target of a CSV is read as text, so that labels such
    as ``01`` stay what they are.

    Raises
    ------
    UserError
        If there is no such file or column, or the file cannot be read, has a column twice, or has
        a column without a name.
    """
    path = _existing(name)
    try:
        md5 = hashlib.md5(path.read_bytes(), usedforsecurity=False).hexdigest()
    except OSError as error:
        raise UserError(f"file: '{name}' cannot be read: {error.strerror}") from None
    _, reader = FORMATS[path.suffix.lower()]
    frame = reader(path, target)
    _check_target(name, target, list(frame))
    shown = path.name if path.is_absolute() else path.as_posix()
    return Raw(frame, target, path.stem, {"file": shown, "target": target}, md5=md5)


def check_file(name: str, target: str) -> None:
    """Check that a file can be read and has the target, from its header alone.

    Raises
    ------
    UserError
        As :func:`from_file`, without looking at the rows.
    """
    path = _existing(name)
    header, _ = FORMATS[path.suffix.lower()]
    _check_target(name, target, header(path))


def _existing(name: str) -> Path:
    path = Path(name)
    if path.suffix.lower() not in FORMATS:
        raise UserError(f"file: '{name}' must end in .csv, .parquet or .arff")
    if not os.path.isfile(path):  # False as well for a path that no system takes
        raise UserError(f"file: there is no file '{name}' (relative paths start at {Path.cwd()})")
    return path


def _check_target(name: str, target: str, names: Sequence[str]) -> None:
    if target not in names:
        raise UserError(f"target: '{name}' has no column '{target}'; {nearest(target, names)}")


def from_sklearn(name: str) -> Raw:
    """Load one of the data sets that scikit-learn ships (:data:`BUNDLED`), classes by their names.

    Raises
    ------
    UserError
        If scikit-learn does not ship it.
    """
    if name not in BUNDLED:
        raise UserError(f"sklearn: there is no '{name}'; {nearest(name, BUNDLED)}")
    import pandas as pd
    from sklearn import datasets

    bunch = getattr(datasets, f"load_{name}")(as_frame=True)
    labels = pd.Categorical([str(bunch.target_names[code]) for code in bunch.target])
    frame = bunch.data.assign(target=labels)
    return Raw(frame, "target", name, {"sklearn": name})


def csv_header(path: Path) -> list[str]:
    """Read the names of the columns of a CSV file; see :func:`from_file`."""
    with _readable(path, "CSV", CSV_HINT), path.open(encoding="utf-8-sig", newline="") as stream:
        names = next(_rows(stream), [])
        if not names:
            raise UserError(f"file: '{path}' is empty")
        return _checked(path, names)


def _rows(stream) -> Any:
    """Split a CSV file into fields, just as pandas is told to."""
    return csv.reader(stream, skipinitialspace=True, strict=True)


def read_csv(path: Path, target: str) -> "pd.DataFrame":
    """Read a CSV file; see :func:`from_file`."""
    import pandas as pd

    header = csv_header(path)
    with _readable(path, "CSV", CSV_HINT):
        with path.open(encoding="utf-8-sig", newline="") as stream:
            rows = _rows(stream)
            for row in rows:  # pandas would cut or fill up such rows without a word
                if row and len(row) != len(header):
                    raise UserError(
                        f"file: line {rows.line_num} of '{path}' has {len(row)} fields, "
                        f"the header has {len(header)}"
                    )
        return pd.read_csv(
            path,
            dtype={target: "str"},
            encoding="utf-8-sig",
            index_col=False,
            keep_default_na=False,
            low_memory=False,
            na_values=MISSING,
            skipinitialspace=True,
        )


def parquet_header(path: Path) -> list[str]:
    """Read the names of the columns of a Parquet file, without an index that pandas stored."""
    import pyarrow.parquet as pq

    with _readable(path, "Parquet", PARQUET_HINT):
        schema = pq.read_schema(path)
        index = (schema.pandas_metadata or {}).get("index_columns", [])
        return _checked(path, [name for name in schema.names if name not in index])


def read_parquet(path: Path, target: str) -> "pd.DataFrame":
    """Read a Parquet file; an index that pandas stored is left out."""
    import pyarrow.parquet as pq

    parquet_header(path)
    with _readable(path, "Parquet", PARQUET_HINT):
        return pq.read_table(path).to_pandas().reset_index(drop=True)


def arff_header(path: Path) -> list[str]:
    """Read the names of the attributes of an ARFF file, from the lines down to ``@data``."""
    import arff

    with (
        _readable(path, "ARFF", ARFF_HINT),
        path.open(encoding="utf-8-sig") as stream,
    ):
        head = itertools.takewhile(
            lambda line: not line.strip().lower().startswith("@data"), stream
        )
        content = arff.load(itertools.chain(head, ["@DATA"]))
        return _checked(path, [name for name, _ in content["attributes"]])


def read_arff(path: Path, target: str | None = None) -> "pd.DataFrame":
    """Read an ARFF file: numeric columns as float64, nominal ones as categories, the rest as text.

    Nominal values are kept as they are written in the file, with no regard to the order in which
    the header declares them.

    Raises
    ------
    UserError
        If it is no ARFF, or has attributes other than numeric, nominal and string ones.
    """
    import arff
    import pandas as pd

    with (
        _readable(path, "ARFF", ARFF_HINT),
        path.open(encoding="utf-8-sig") as stream,
    ):
        content = arff.load(stream)
        names = [name for name, _ in content["attributes"]]
        _checked(path, names)
        columns = list(zip(*content["data"], strict=True)) or [()] * len(names)
        series = []
        for (name, kind), values in zip(content["attributes"], columns, strict=True):
            if isinstance(kind, list):
                series.append(pd.Series(pd.Categorical(values), name=name))
            elif kind == "STRING":
                series.append(pd.Series(values, name=name, dtype="str"))
            else:
                series.append(pd.Series(values, name=name, dtype="float64"))
        return pd.concat(series, axis=1)


class _readable:
    """Turn what a reader raises about a broken file into one line."""

    def __init__(self, path: Path, kind: str, hint: str):
        self.path, self.kind, self.hint = path, kind, hint

    def __enter__(self):
        return self

    def __exit__(self, type_, error, traceback):
        if error is None:
            return
        import arff

        if isinstance(error, (OSError, ValueError, csv.Error, arff.ArffException)):
            reason = " ".join(str(error).split())[:200]
            raise UserError(
                f"file: '{self.path}' cannot be read as {self.kind}: {reason}; {self.hint}"
            ) from None


def _checked(path: Path, names: Sequence[str]) -> Sequence[str]:
    """Return the names; refuse columns without a name, and names that stand twice."""
    for i, name in enumerate(names):
        if not str(name).strip():
            raise UserError(
                f"file: column {i + 1} of '{path}' has no name (row numbers?); name or remove it"
            )
        if name in names[:i]:
            raise UserError(f"file: '{path}' has two columns called '{name}'; rename one")
    return names


#: By ending: how the names of the columns are read, and the whole file.
FORMATS = {
    ".csv": (csv_header, read_csv),
    ".parquet": (parquet_header, read_parquet),
    ".pq": (parquet_header, read_parquet),
    ".arff": (arff_header, read_arff),
}
