"""Whether stored results are what their jobs wrote, belong together, and can be had again."""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from divbo import files, plugins, provenance
from divbo.analysis import outdated
from divbo.data.split import load_inputs
from divbo.evaluation.evaluator import Evaluator
from divbo.history import OK
from divbo.search.journal import differences
from divbo.search.shown import error_rate, stored
from divbo.tasks import Tasks

#: Folder below ``results/<study>`` -> the manifest that lies in each of its folders of files.
MANIFESTS = {
    "splits": "split.json",
    "configurations": "search.json",
    "searches": "search.json",
    "ensembles": "ensemble.json",
}
#: Predictions that differ by less, with the same error, differ by rounding.
ROUNDING = 1e-5
#: A sampled evaluation may take this much longer than it was allowed to when it was made.
PATIENCE = 10


@dataclass
class Findings:
    """What was looked at.

    Attributes
    ----------
    folders
        Folders of results whose files were compared with their manifest.
    same, rounded
        Evaluations that gave the same predictions again: bit by bit, or up to rounding.
    problems
        One line each: file, what is wrong, what to do.
    """

    folders: int = 0
    same: int = 0
    rounded: int = 0
    problems: list[str] = field(default_factory=list)


def verify(tasks: Tasks, root: Path, sample: int, seed: int) -> Findings:
    """Check the results of a study as far as they have been made.

    Parameters
    ----------
    root
        The folder ``results``.
    sample
        Successful evaluations to be made again, drawn from the searches of the study.
    seed
        Of that draw.
    """
    findings = Findings()
    for source in tasks.sources:
        findings.problems += _data(root / "data" / source, findings)
    names = dict.fromkeys((tasks.study.study, tasks.extended and tasks.extended.study.study))
    for name in filter(None, names):
        for kind, manifest in MANIFESTS.items():
            for folder in _folders(root / name / kind):
                findings.folders += 1
                path = folder / manifest
                lines = files.damaged(path) if path.exists() else [_missing(path)]
                findings.problems += lines
                if not lines and kind == "splits":
                    findings.problems += _split(folder)
    searches = list(_searches(tasks, root))
    for search in searches:
        findings.problems += _search(search)
    for search in searches:
        findings.problems += _ensembles(tasks, root, search)
    _evaluate_again(searches, sample, seed, findings)
    return findings


@dataclass(frozen=True)
class _Search:
    """A finished search of the study."""

    name: tuple[str, str, int]
    tasks: Tasks
    folder: Path
    split: Path
    manifest: dict[str, Any]


def _searches(tasks: Tasks, root: Path) -> Iterator[_Search]:
    study = tasks.study
    for dataset in study.datasets:
        for search in study.used("search"):
            for repeat in range(study.repeats):
                home = tasks.home(dataset, search, repeat)
                results = root / home.study.study
                folder = results / "searches" / dataset / search / str(repeat)
                split = results / "splits" / dataset / home.study.split_name(repeat)
                paths = folder / "search.json", split / "split.json"
                if all(path.is_file() and not files.damaged(path) for path in paths):
                    manifest = _read(folder / "search.json")
                    yield _Search((dataset, search, repeat), home, folder, split, manifest)


def _data(folder: Path, findings: Findings) -> list[str]:
    import pandas as pd

    from divbo.data import normalise

    if not folder.is_dir() or not any(folder.glob("dataset.*")):
        return []
    findings.folders += 1
    try:
        described = _read(folder / "dataset.json")
        frame = pd.read_parquet(folder / "dataset.parquet")
        same = normalise.checksum(frame, described["columns"]) == described["checksum"]
    except (OSError, ValueError, KeyError) as error:
        reason = str(error).splitlines()[0]
        return [f"'{folder}': dataset.json or dataset.parquet cannot be read: {reason}; {MEND}"]
    return [] if same else [f"'{folder / 'dataset.parquet'}' is not what was fetched; {MEND}"]


MEND = "remove the folder and run the study again"


def _split(folder: Path) -> list[str]:
    path = folder / "inputs.npz"
    if load_inputs(path).checksum() != _read(folder / "split.json").get("checksum"):
        return [f"'{path}' does not hold the arrays that split.json was written for; {MEND}"]
    return []


def _search(search: _Search) -> list[str]:
    path, lines = search.folder / "search.json", []
    data = _read(search.split / "split.json").get("checksum")
    if search.manifest["fingerprint"]["data"] != data:
        lines.append(f"'{path}' was made from other data than '{search.split}' holds now; {MEND}")
    study = search.tasks.study.model_dump(mode="json")
    if reason := outdated.search(search.manifest, study, search.name[1]):
        lines.append(f"'{path}' was {reason}; run the study again")
    return lines


def _ensembles(tasks: Tasks, root: Path, search: _Search) -> list[str]:
    study, lines = tasks.study.model_dump(mode="json"), []
    dataset, name, repeat = search.name
    for ensemble in {m.ensemble for m in tasks.study.methods.values() if m.search == name}:
        folder = root / tasks.study.study / "ensembles" / dataset / name / ensemble / str(repeat)
        path = folder / "ensemble.json"
        if not path.is_file() or files.damaged(path):
            continue  # not made, or said above
        manifest = _read(path)
        written = search.manifest["files"]
        if any(written.get(file) != digest for file, digest in manifest["search"].items()):
            lines.append(f"'{path}' was made from other predictions than its search has; {MEND}")
        if reason := outdated.ensemble(manifest["settings"], study, ensemble):
            lines.append(f"'{path}' was {reason}; run the study again")
    return lines


def _evaluate_again(searches: list[_Search], sample: int, seed: int, findings: Findings) -> None:
    """Make a sample of evaluations again, and note what differs."""
    import pyarrow.parquet as pq

    drawn = []
    for search in searches:
        statuses = pq.read_table(search.folder / "observations.parquet", columns=["status"])
        found = enumerate(statuses["status"].to_pylist())
        drawn += [(search, i) for i, status in found if status == OK]
    order = np.random.default_rng(seed).permutation(len(drawn))[:sample]
    for index in sorted(order):
        search, i = drawn[index]
        difference = _difference(search, i)
        if difference == 0:
            findings.same += 1
        elif isinstance(difference, float):
            findings.rounded += 1
        else:
            findings.problems.append(difference)


def _difference(search: _Search, index: int) -> float | str:
    """Largest difference of the predictions of an evaluation made again, or what is wrong."""
    import pyarrow.parquet as pq

    manifest = search.manifest
    rows = pq.read_table(search.folder / "observations.parquet").slice(index, 1).to_pylist()
    values = {
        name.removeprefix("config."): value
        for name, value in rows[0].items()
        if name.startswith("config.") and value is not None
    }
    evaluator = Evaluator(
        plugins.module_name("space", manifest["space"]),
        search.split / "inputs.npz",
        seconds=PATIENCE * manifest["limits"]["seconds"],
        memory_mb=manifest["limits"]["memory_mb"],
        threads=manifest["threads"],
    )
    with evaluator:
        again = evaluator.evaluate(values)
    what = f"'{search.folder}': evaluation {index + 1}"
    if again.status != OK:
        return f"{what} succeeded, but fails now: {again.message}{_why(manifest)}"
    difference = 0.0
    for part, new in (("validation", again.validation), ("test", again.test)):
        path = search.folder / f"predictions-{part}.npy"
        old = np.load(path, mmap_mode="r", allow_pickle=False)[index]
        difference = max(difference, float(np.abs(old - stored(new)).max()))
    labels = load_inputs(search.split / "inputs.npz").y_validation
    error = error_rate(stored(again.validation), labels)
    if difference > ROUNDING or error != rows[0]["error"]:
        return (
            f"{what} predicts otherwise now, by up to {difference:.2g} (error "
            f"{rows[0]['error']:.4f} there, {error:.4f} here){_why(manifest)}"
        )
    return difference


def _why(manifest: dict[str, Any]) -> str:
    """Name what has changed since, as far as it is known, and say what to do."""
    there = {"python": manifest["versions"]["python"], **manifest["versions"]}
    here = {key: value for key, value in provenance.versions().items() if key in there}
    changes = differences({key: there[key] for key in here}, here)
    if manifest["machine"]["architecture"] != provenance.machine()["architecture"]:
        changes += differences(manifest["machine"], provenance.machine(), "machine.")
    known = "; ".join(changes) or "versions and architecture are the same"
    return f"; {known}; to have it made again, remove the folder and its checkpoints"


def _folders(root: Path) -> list[Path]:
    return sorted({path.parent for path in root.rglob("*") if path.is_file()})


def _missing(path: Path) -> str:
    return f"'{path}' is missing; {MEND}"


def _read(path: Path) -> dict[str, Any]:
    return json.loads(path.read_text(encoding="utf-8"))
