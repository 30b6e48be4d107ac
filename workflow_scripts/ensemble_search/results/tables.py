"""Tables made from finished searches; see ``evaluation.table``."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ensemble_search.data import normalise, prepare, sources
from ensemble_search.data.split import Inputs, checked_inputs
from ensemble_search.evaluation import table as tables
from ensemble_search.evaluation.table_checks import REMEDY
from ensemble_search.problems import tasks
from ensemble_search.results import layout, readers
from ensemble_search.runtime import files, plugins
from ensemble_search.runtime.errors import UserError, printable
from ensemble_search.runtime.names import CONFIGURATION, OBSERVATIONS, PARTS, PREDICTIONS
from ensemble_search.search.journal import differences
from ensemble_search.search.progress import duration
from ensemble_search.study.sections.split import Split

if TYPE_CHECKING:
    import pyarrow as pa

#: Keys of the fingerprints that the searches of a table share.
CONDITIONS = ("data", "space", "limits", "threads", "versions")
#: Roles of the columns of the data that ``imported`` writes.
ROLES = {"part": ["part"]}


def build(folders: Sequence[Path], output: Path) -> None:
    """Write the table of all evaluations of finished searches into a folder.

    If a configuration was evaluated several times at the same fidelity, the first one is kept.
    UserError if a search is damaged, was itself replayed on a table, or differs in a key that all
    must share; raised before anything is written.
    """
    import pyarrow as pa

    manifests = [_manifest(folder) for folder in folders]
    first = manifests[0]
    for folder, manifest in zip(folders, manifests, strict=True):
        lines = differences(_common(first), _common(manifest))
        if first["fingerprint"]["data"] != manifest["fingerprint"]["data"]:
            lines = ["data, split or seed are others"]
        if lines:
            raise UserError(
                f"'{folder}' does not belong to a table with '{folders[0]}': {'; '.join(lines)}"
            )
    seen: set[tuple[frozenset, float]] = set()
    kept, predictions = [], {part: list[np.ndarray]() for part in PARTS}
    for folder, manifest in zip(folders, manifests, strict=True):
        found = readers.observations(folder, readers.OBSERVATIONS, CONFIGURATION)
        fidelities = found["fidelity"].to_pylist()
        rows = []
        for row, values in enumerate(tables.configurations(found)):
            key = tables.key(values, fidelities[row])
            if key not in seen:
                seen.add(key)
                rows.append(row)
        source = f"{manifest['search']}/{manifest['repeat']}"
        chosen = found.take(pa.array(rows, type=pa.int64()))
        kept.append(chosen.append_column("source", pa.array([source] * len(rows), pa.string())))
        for part in PARTS:
            predictions[part].append(readers.predictions(folder, part, found.num_rows)[rows])
    whole = pa.concat_tables(kept, promote_options="default")
    count = pa.array(range(1, whole.num_rows + 1))
    whole = whole.set_column(whole.column_names.index("iteration"), "iteration", count)
    stored = {part: np.concatenate(own) for part, own in predictions.items()}
    conditions = {"dataset": first["dataset"], "metric": first["metric"], **_common(first)}
    store(output, whole, stored, conditions, sorted({*map(_processor, manifests)}))


def store(
    folder: Path,
    table: "pa.Table",
    predictions: Mapping[str, np.ndarray],
    conditions: Mapping[str, Any],
    machines: Sequence[str],
) -> None:
    """Write the files of a table; ``table.json`` has the ``conditions`` and a summary."""
    files.write_parquet(folder / OBSERVATIONS, table)
    for name, part in zip(PREDICTIONS, PARTS, strict=True):
        files.write_npy(folder / name, predictions[part])
    statuses = table["status"].to_pylist()
    about = {
        **conditions,
        "entries": table.num_rows,
        "status": {status: statuses.count(status) for status in sorted(set(statuses))},
        "fit_seconds": float(sum(table["fit_seconds"].to_pylist())),
        "machines": machines,
        "files": files.checksums(folder, tables.FILES),
    }
    files.write_json(folder / tables.MANIFEST, about)


def split_of(file: Path, task: str) -> tuple[Inputs, dict[str, Any], int]:
    """Split data written by ``imported``: inputs and split as ``make_split``, number of rows."""
    source = {"file": str(file), "target": "label", "columns": ROLES}
    frame, about = normalise.normalise(sources.read(source, {}), ROLES, task)
    settings = {**Split().settings, "seed": Split().seed}
    inputs, _, split = prepare.make_split(frame, about, settings)
    return inputs, split, about["rows"]


def describe(root: Path) -> Iterator[str]:
    """Describe all tables below a folder, and check them: one line each.

    Losses are compared if the same study has the table's split, or data written by ``imported``:
    in ``../../../splits`` or ``../../../data``. UserError if there is no table, or one is damaged.
    """
    found = sorted(path.parent for path in root.rglob(tables.MANIFEST))
    if not found:
        raise UserError(f"there is no table below '{root}'")
    for folder in found:
        table, compared = checked(folder)
        about = table.manifest
        size = sum((folder / name).stat().st_size for name in about["files"]) / 2**20
        ok = about["status"].get("ok", 0)
        parts = about["entries"] - len(table.whole)
        less = f"and {parts} evaluations on a part of the rows " if parts else ""
        versions = ", ".join(f"{name} {version}" for name, version in about["versions"].items())
        yield printable(
            f"{folder}: {len(table.whole)} configurations of '{about['space']}' {less}({ok} ok), "
            f"{size:.1f} MiB, {duration(about['fit_seconds'])} of fitting, "
            f"predictions of {table.validation.shape[1]} validation and "
            f"{table.test.shape[1]} test rows{'; ' if versions else ''}{versions}"
            + ("" if compared else "; errors not checked: the study's folder has no such split")
        )


def checked(folder: Path) -> tuple[tables.Table, bool]:
    """Read and check a table, and its losses, too, if the study has its split or data.

    The second value is whether it has. Raises UserError if the table's space is unknown here, or as
    ``Table.read``, ``Table.check_space`` and ``Table.check_losses``.
    """
    table = tables.Table.read(folder)
    task = tasks.problem(table.manifest.get("metric", "error")).task
    try:
        space = plugins.load("spaces", table.manifest["space"])
    except UserError as error:
        raise UserError(
            f"{error}; if it is a part from outside, name its folder: PLUGINS=folder, or the "
            "environment variable ENSEMBLE_SEARCH_PLUGINS"
        ) from None
    table.check_space(space().for_task(task).configurations)
    dataset, split = folder.absolute().parts[-2:]
    splits = layout.path(folder / "../../..", layout.SPLIT, dataset=dataset, split=split)
    data = folder / "../../../data" / f"{dataset}.parquet"
    try:
        made_elsewhere = data.is_file() and not splits.exists()
        inputs = split_of(data, task)[0] if made_elsewhere else checked_inputs(splits)
    except UserError:  # missing or damaged: not the table's fault
        return table, False
    if inputs.checksum() != table.manifest["data"]:
        return table, False
    table.check_losses(inputs.y_validation)
    table.check_classes(len(inputs.classes))
    if table.test.shape[1] != len(inputs.X_test):
        said = f"it has {table.test.shape[1]} test rows, the split {len(inputs.X_test)}"
        raise files.Unusable(folder / PREDICTIONS[1], said, REMEDY)
    return table, True


def _manifest(folder: Path) -> dict[str, Any]:
    if not (folder / "search.json").is_file():
        raise UserError(f"'{folder}' is not a finished search: it has no search.json")
    manifest = readers.checked_search(folder)
    if manifest.get("table"):
        raise UserError(f"'{folder}' was replayed on a table: it has no evaluations of its own")
    return manifest


def _common(manifest: dict[str, Any]) -> dict[str, Any]:
    return {key: manifest["fingerprint"].get(key) for key in CONDITIONS}


def _processor(manifest: dict[str, Any]) -> str:
    machine = manifest["machine"]
    return f"{machine.get('architecture')}, {machine.get('processors')} processors"
