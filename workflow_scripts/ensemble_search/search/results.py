"""The files of a finished search."""

import json
import time
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from ensemble_search.evaluation.table import Table
from ensemble_search.runtime import files, provenance
from ensemble_search.runtime.names import CONFIGURATION, OBSERVATIONS, PARTS, PREDICTIONS
from ensemble_search.search.budget import made
from ensemble_search.search.journal import Record
from ensemble_search.search.progress import best_error
from ensemble_search.spaces.base import Space

#: Shapes of the validation and of the test predictions of an evaluation.
Shapes = tuple[tuple[int, int], tuple[int, int]]


def write(
    output: Path, records: list[Record], space: Space, shapes: Shapes, table: Table | None = None
) -> tuple[str, ...]:
    """Write the observations and predictions of a search; return the file names.

    If the evaluations were looked up in a table, their positions in it (column ``entry``, from 0)
    are written instead of the predictions.
    """
    columns: dict[str, Any] = {"iteration": np.arange(1, len(records) + 1)}
    columns["status"] = [r.status for r in records]
    columns["error"] = np.array([np.nan if r.error is None else r.error for r in records])
    for key in ("suggest_seconds", "fit_seconds", "cpu_seconds", "predict_seconds", "memory_mb"):
        columns[key] = np.array([getattr(r, key) for r in records], dtype=float)  # None: NaN
    for key in ("error_type", "message"):
        columns[key] = pa.array([getattr(r, key) or "" for r in records], type=pa.string())
    columns["origin"] = [r.origin for r in records]
    columns["fidelity"] = np.array([r.fidelity for r in records])
    columns["why"] = [json.dumps(r.why, ensure_ascii=False) for r in records]
    if table:
        columns["entry"] = np.array([table.row(r.configuration, r.fidelity) for r in records])
    for name, type_ in column_types(space).items():
        values = [r.configuration.get(name) for r in records]
        columns[CONFIGURATION + name] = pa.array(values, type=type_)
    files.write_parquet(output / OBSERVATIONS, columns)
    if table:
        return (OBSERVATIONS,)
    for name, part, shape in zip(PREDICTIONS, PARTS, shapes, strict=True):
        files.write_rows(output / name, [getattr(r, part) for r in records], shape)
    return (OBSERVATIONS, *PREDICTIONS)


def write_manifest(
    output: Path,
    about: dict[str, Any],
    records: list[Record],
    started: float,
    written: tuple[str, ...],
) -> None:
    """Write ``search.json``; see ``docs/architecture.md``.

    ``about`` describes the search and has ``resumed_after``; ``started`` is the start of the job by
    ``time.monotonic``; ``written`` are the names of the other files.
    """
    own = made(records)
    wall = sum(map(seconds, own))
    rest = sum(r.rest_seconds for r in own)
    mine = own[about["resumed_after"] :]
    rest += max(0.0, time.monotonic() - started - sum(seconds(r) + r.rest_seconds for r in mine))
    manifest = {
        **about,
        "evaluations": len(records),
        "best_error": best_error(records),
        "status": dict(sorted(Counter(r.status for r in records).items())),
        "origin": dict(sorted(Counter(r.origin for r in records).items())),
        **provenance.commit(),
        "machine": provenance.machine(),
        "started": own[0].began,
        "finished": provenance.now(),
        "job_seconds": wall + rest,
        "wall_seconds": wall,
        "rest_seconds": rest,
        "suggest_seconds": sum(r.suggest_seconds for r in own),
        "cpu_seconds": sum(r.cpu_seconds for r in own),
        "files": files.checksums(output, written),
    }
    files.write_json(output / "search.json", manifest)


def seconds(record: Record) -> float:
    """Wall-clock seconds of an evaluation, including its suggestion."""
    return record.suggest_seconds + record.fit_seconds


def column_types(space: Space) -> dict[str, pa.DataType]:
    """Return the column types of the hyperparameters, the same for every file."""
    types = {bool: pa.bool_(), int: pa.int64(), float: pa.float64(), str: pa.string()}
    return {column.name: types[column.type] for column in space.columns}
