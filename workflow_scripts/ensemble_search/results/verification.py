"""Verification: stored results are unchanged, consistent and reproducible."""

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ensemble_search.data import fetched
from ensemble_search.data.split import checked_inputs
from ensemble_search.evaluation import live
from ensemble_search.evaluation import table as tables
from ensemble_search.problems import tasks
from ensemble_search.problems.combination import rounded
from ensemble_search.results import layout, outdated, readers, states
from ensemble_search.results.manifest import study_hash
from ensemble_search.results.tables import checked
from ensemble_search.runtime import files, plugins, provenance
from ensemble_search.runtime.errors import UserError
from ensemble_search.runtime.names import CONFIGURATION, OK, PARTS
from ensemble_search.search.journal import differences
from ensemble_search.spaces._looked_up import LookedUp

if TYPE_CHECKING:
    from ensemble_search.jobs import Jobs

#: Predictions with the same error that differ by less than this only differ by rounding.
ROUNDING = 1e-5
#: Factor by which a repeated evaluation may exceed its original time limit.
PATIENCE = 10


@dataclass
class Findings:
    """Result of a verification."""

    folders: int = 0  #: number of result folders whose files were compared with their checksums
    #: Number of the study's searches, and of those without results.
    searches: int = 0
    missing: int = 0
    #: Number of repeated evaluations with the same predictions: bit for bit, or up to rounding.
    same: int = 0
    rounded: int = 0
    problems: list[str] = field(default_factory=list)  #: one line each: file, problem, remedy


def verify(jobs: "Jobs", root: Path, sample: int, seed: int) -> Findings:
    """Check the results of a study that exist so far in ``root``, the folder ``results``.

    ``sample`` of the successful evaluations of its searches, drawn with ``seed``, are repeated.
    """
    findings, whole = Findings(), set()
    names = {j.study.study: None for j in (jobs, jobs.extended) if j}
    folders: list[tuple[Path, Callable[[Path], object]]] = []
    folders += [(root / "data" / source, fetched.read) for source in jobs.sources]
    for name in names:
        for pattern, read in KINDS.items():
            found = (root / name).glob(re.sub(r"{\w+}", "*", pattern))
            folders += [(path, read) for path in sorted(found) if path.is_dir()]
    folders += [(path, checked) for path in _tables(jobs)]
    for folder, read in dict(folders).items():
        if not _there(folder):
            continue  # not yet, or see below
        findings.folders += 1
        try:
            read(folder)
            whole.add(folder)
        except UserError as error:
            findings.problems += error.problems
    findings.problems += _lost(jobs, root)
    expected = [_places(jobs, root, name)[1] for name in states.searches(jobs.study)]
    findings.searches = len(expected)
    findings.missing = sum(not _there(folder) for folder in expected)
    searches = list(_searches(jobs, root, whole))
    for search in {search.split: search for search in searches}.values():
        findings.problems += _split(search, root)
    findings.problems += [line for search in searches for line in _search(search)]
    for search in searches:
        findings.problems += _ensembles(jobs, root, search, whole)
    _evaluate_again(searches, sample, seed, findings)
    findings.problems = list(dict.fromkeys(findings.problems))
    return findings


def _tables(jobs: "Jobs") -> Iterator[Path]:
    """Folders of the tables that the searches of a study are replayed on, or begin with."""
    for study in (j.study for j in (jobs, jobs.extended) if j):
        roots = [study.evaluation.replay, *study.evaluation.warm_start.values()]
        for root, dataset, split in product(filter(None, roots), study.datasets, study.splits):
            yield Path(root, dataset, split)


def _split_files(folder: Path) -> None:
    readers.split(folder)
    _unchanged(folder / "split.json")
    checked_inputs(folder)
    files.read_npy(folder / "test_labels.npy")


def _search_files(folder: Path) -> None:
    rows = readers.search(folder)["evaluations"]
    _unchanged(folder / "search.json")
    readers.observations(folder, readers.OBSERVATIONS, others=CONFIGURATION, rows=rows)
    for part in PARTS:
        readers.predictions(folder, part, rows)


def _ensemble_files(folder: Path) -> None:
    readers.ensemble(folder)
    _unchanged(folder / "ensemble.json")
    readers.scores(folder)
    readers.members(folder)
    if (folder / "losses.npz").exists():  # older versions of the project did not write it
        readers.losses(folder)


def _unchanged(manifest: Path) -> None:
    """Raise UserError, with one line per file of a folder that does not match its checksum."""
    if found := [problem for error in files.damaged(manifest) for problem in error.problems]:
        raise UserError(*found)


#: Result folders below ``results/<study>`` -> their reader.
KINDS: dict[str, Callable[[Path], object]] = {
    layout.SPLIT: _split_files,
    layout.CONFIGURATIONS: _search_files,
    layout.SHARD: _search_files,
    layout.TABLE: checked,
    layout.SEARCH: _search_files,
    layout.ENSEMBLE: _ensemble_files,
    layout.SURROGATE: readers.quality,
    layout.SPREAD: readers.spread,
    layout.DIVISIONS: readers.divisions,
    layout.AUTOGLUON: readers.autogluon,
}


@dataclass(frozen=True)
class _Search:
    """A finished search of the study."""

    name: tuple[str, str, int]
    jobs: "Jobs"
    folder: Path
    split: Path
    manifest: dict[str, Any]


def _searches(jobs: "Jobs", root: Path, whole: set[Path]) -> Iterator[_Search]:
    for name in states.searches(jobs.study):
        home, folder, split = _places(jobs, root, name)
        if {folder, split} <= whole:
            yield _Search(name, home, folder, split, readers.search(folder))


def _places(jobs: "Jobs", root: Path, name: tuple[str, str, int]) -> "tuple[Jobs, Path, Path]":
    """The study that a search belongs to, its folder, and that of its split."""
    home, (dataset, search, repeat) = jobs.home(*name), name
    results, own = root / home.study.study, home.study.split_name(repeat)
    folder = layout.path(results, layout.SEARCH, dataset=dataset, search=search, repeat=repeat)
    return home, folder, layout.path(results, layout.SPLIT, dataset=dataset, split=own)


def _there(folder: Path) -> bool:
    return any(folder.glob("*.*"))


def _lost(jobs: "Jobs", root: Path) -> Iterator[str]:
    """Find folders that are missing although something was made from them.

    After the report has been written, these are all; before, a job may not have run yet.
    """
    results, made_from = root / jobs.study.study, list[tuple[Path, Path]]()
    report, folders = results / "manifest.json", list[Path]()
    for name in states.searches(jobs.study):
        home, folder, split = _places(jobs, root, name)
        folders.append(folder)
        dataset, search, repeat = name
        run: dict[str, str | int] = {"dataset": dataset, "search": search, "repeat": repeat}
        uses = [layout.path(results, layout.DIVISIONS, **run)]
        for method in jobs.study.methods.values():
            if method.search == search:
                uses.append(layout.path(results, layout.ENSEMBLE, **run, ensemble=method.ensemble))
        made_from += [(folder, use) for use in uses]
        made_from += [(split, folder), (root / "data" / home.source_key(dataset), split)]
    described: dict[str, Any] = {}
    try:
        described = files.read_json(report, "remove the file and run the study again")
    except files.Missing:
        pass
    except UserError as error:
        yield from error.problems
    if described.get("study_hash") == study_hash(json.loads(jobs.record())["study"]):
        later = (job.output.parent for job in states.jobs_after_searches(jobs))
        folders += [root / folder.relative_to("results") for folder in later]
        made_from += [(folder, report) for folder in folders]
    lost = {folder: use for folder, use in reversed(made_from) if use.is_file() or _there(use)}
    for folder, use in lost.items():
        if not _there(folder):
            yield f"'{folder}' is missing, but '{use}' was made from it; run the study again"


def _split(search: _Search, root: Path) -> list[str]:
    jobs, dataset = search.jobs, search.name[0]
    settings = json.loads(jobs.split(dataset, search.split.name))
    try:
        readers.checked_split(search.split, root / "data" / jobs.source_key(dataset), settings)
    except UserError as error:
        return [str(error)]
    return []


def _search(search: _Search) -> list[str]:
    path, lines = search.folder / "search.json", []
    of = dict(zip(("dataset", "search", "repeat"), search.name, strict=True))
    try:
        readers.search(search.folder, of)
    except UserError as error:
        return [str(error)]
    data = readers.split(search.split)["checksum"]
    if search.manifest["fingerprint"]["data"] != data:
        lines.append(
            f"'{path}' was made from other data than '{search.split}' holds now; "
            f"{files.mend(search.folder)}"
        )
    study = search.jobs.study.model_dump(mode="json")
    if reason := outdated.search(search.manifest, study, search.name[1]):
        lines.append(f"'{path}' was {reason}; run the study again")
    return lines


def _ensembles(jobs: "Jobs", root: Path, search: _Search, whole: set[Path]) -> list[str]:
    study, lines = jobs.study.model_dump(mode="json"), []
    dataset, name, repeat = search.name
    run: dict[str, str | int] = {"dataset": dataset, "search": name, "repeat": repeat}
    for ensemble in {m.ensemble for m in jobs.study.methods.values() if m.search == name}:
        folder = layout.path(root / jobs.study.study, layout.ENSEMBLE, **run, ensemble=ensemble)
        if folder not in whole:
            continue  # missing, or reported above
        path, manifest = folder / "ensemble.json", readers.ensemble(folder)
        written = search.manifest.get("files", {})
        if any(written.get(file) != digest for file, digest in manifest["search"].items()):
            lines.append(
                f"'{path}' was made from other predictions than its search has; "
                f"{files.mend(folder)}"
            )
        if reason := outdated.ensemble(manifest["settings"], study, ensemble):
            lines.append(f"'{path}' was {reason}; run the study again")
    return lines


def _evaluate_again(searches: list[_Search], sample: int, seed: int, findings: Findings) -> None:
    """Repeat a sample of evaluations, and record differences.

    Models that were made elsewhere cannot be fitted; only their table is checked.
    """
    drawn = []
    for search in searches:
        if issubclass(plugins.load("spaces", search.jobs.study.space), LookedUp):
            continue
        found = enumerate(readers.observations(search.folder, ["status"])["status"].to_pylist())
        drawn += [(search, i) for i, status in found if status == OK]
    order = np.random.default_rng(seed).permutation(len(drawn))[:sample]
    for index in sorted(order):
        difference = _difference(*drawn[index])
        if isinstance(difference, str):
            findings.problems.append(difference)
        elif difference:
            findings.rounded += 1
        else:
            findings.same += 1


def _difference(search: _Search, index: int) -> float | str:
    """Largest difference in the predictions of a repeated evaluation, or the problem."""
    manifest = search.manifest
    table = readers.observations(search.folder, ["error", "fidelity"], others=CONFIGURATION)
    values = tables.configurations(table.slice(index, 1))[0]
    error, fidelity = (table[name][index].as_py() for name in ("error", "fidelity"))
    limits = manifest["limits"] | {"seconds": PATIENCE * manifest["limits"]["seconds"]}
    arrays = search.split / "inputs.npz"
    with live.make(manifest["space"], arrays, limits, manifest["threads"]) as evaluator:
        again = evaluator.evaluate(values, fidelity)
    what = f"'{search.folder}': evaluation {index + 1}"
    if again.validation is None or again.test is None:
        return f"{what} succeeded, but fails now: {again.message}{_why(manifest)}"
    difference = 0.0
    inputs = checked_inputs(search.split)
    problem = tasks.problem(manifest["metric"], inputs.validation_weights)
    for part, new in (("validation", again.validation), ("test", again.test)):
        old = readers.predictions(search.folder, part, table.num_rows)[index]
        off = np.abs(old - problem.compress(new))
        difference = max(difference, float(off.max()))
    now = problem.metric.loss(inputs.y_validation, rounded(problem.compress(again.validation)))
    if difference > ROUNDING or now != error:
        return (
            f"{what} predicts otherwise now, by up to {difference:.2g} (error "
            f"{error:.4f} there, {now:.4f} here){_why(manifest)}"
        )
    return difference


def _why(manifest: dict[str, Any]) -> str:
    """Describe known changes since the evaluation, and the remedy."""
    there = manifest["versions"]
    versions = provenance.versions(plugins.load("spaces", manifest["space"]).libraries)
    here = {key: value for key, value in versions.items() if key in there}
    changes = differences({key: there[key] for key in here}, here)
    if manifest["machine"].get("architecture") != provenance.machine()["architecture"]:
        changes += differences(manifest["machine"], provenance.machine(), "machine.")
    known = "; ".join(changes) or "versions and architecture are the same"
    return f"; {known}; to recompute it, remove the folder and its checkpoints"
