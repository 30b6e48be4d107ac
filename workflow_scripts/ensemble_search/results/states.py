"""Progress of a study's jobs, from their results, journals, logs and SLURM's queue."""

import json
import socket
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import partial
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from ensemble_search.dpp.coverage import SAMPLERS
from ensemble_search.results import job_logs, layout, outdated, readers
from ensemble_search.runtime import locks, slurm
from ensemble_search.runtime.errors import UserError
from ensemble_search.runtime.files import Missing
from ensemble_search.runtime.shares import TOLERANCE
from ensemble_search.study.model import Study

if TYPE_CHECKING:
    from ensemble_search.jobs import Jobs

#: States of a job.
STATES = ("done", "running", "queued", "stopped", "failed", "waiting", "outdated")
#: Seconds after its last evaluation during which a search on another host counts as running.
SILENCE = 900


def searches(study: Study) -> list[tuple[str, str, int]]:
    """List the searches of a study: data set, search, repeat."""
    return [
        (dataset, search, repeat)
        for dataset in study.datasets
        for search in study.searched
        for repeat in range(study.repeats)
    ]


def search_state(
    root: Path, study: Study, dataset: str, search: str, repeat: int, job: str | None = None
) -> dict:
    """Read the state of a search, from its manifest if it is finished, else from its progress.

    A finished search whose settings differ from the study's is ``outdated``: all its evaluations
    must be repeated. ``root`` is the folder with the results of the study that the search belongs
    to, and ``job`` the state of its job in SLURM's queue, if any. Returns ``state``, of
    :data:`STATES`; ``reason`` and ``log`` if it failed; and ``problems``: damaged files, one line
    each with the remedy. A replayed search that has used up its table before its budget has
    ``used_up``, and what it used is ``done``.
    """
    run: dict[str, str | int] = {"dataset": dataset, "search": search, "repeat": repeat}
    checkpoints = layout.path(root, layout.CHECKPOINTS, **run)
    ((unit, budget),) = study.budget.model_dump(exclude_none=True).items()
    problems: list[str] = []
    progress = _read(readers.progress, checkpoints, problems)
    folder = layout.path(root, layout.SEARCH, **run)
    manifest = _read(lambda folder: readers.search(folder, run), folder, problems)
    result = {**run, "unit": unit, "budget": budget, "problems": problems}
    nothing = known = {**result, "evaluations": 0, "done": 0, "failed": 0, "seconds": 0.0}
    if progress:
        done = progress["done"] if progress["unit"] == unit else 0
        known = {**progress, **result, "done": done}
    if job == "PENDING":
        return {**known, "state": "queued"}
    if job and manifest is None:
        return {**known, "state": "running"}
    if manifest is not None and _outdated(root, study, {**manifest, "budget": {unit: budget}}):
        return {**nothing, "state": "outdated"}
    if manifest is not None and manifest["budget"] == {unit: budget}:
        failed = manifest["evaluations"] - manifest["status"].get("ok", 0)
        spent = _read(partial(_spent, manifest, unit), folder, problems)
        used_up = spent is not None and spent < budget - TOLERANCE
        return {**manifest, **result, "done": spent if used_up else budget, "used_up": used_up,
                "failed": failed, "seconds": manifest["wall_seconds"],
                "state": "done"}  # fmt: skip
    updated = progress.get("updated", 0.0) if progress else 0.0
    if study.evaluation.replay:  # one job does ten repeats, and keeps no journal
        pattern, lock = layout.log("replay", layout.REPLAY), root / ".lock"
        log = layout.path(root, pattern, **run, tens=layout.tens(repeat))
        running = updated > _written(lock) and _held(lock, updated) and not job_logs.reason(log)
        if not running:  # it will start over
            progress, known = None, nothing
    else:
        log = layout.path(root, layout.log("search", layout.SEARCH), **run)
        running = any(_held(p, updated) for p in checkpoints.glob("*/lock"))
    if running:
        return {**known, "state": "running"}
    if reason := job_logs.reason(log):
        return {**known, "state": "failed", "reason": reason, "log": log}
    return {**known, "state": "stopped" if progress else "waiting"}


def _outdated(root: Path, study: Study, manifest: Mapping[str, Any]) -> bool:
    """Whether a search must be repeated; another budget alone does not have this effect."""
    reason = outdated.search(manifest, study.model_dump(mode="json"), manifest["search"])
    return bool(reason) or _resplit(root, study, study.split_name(manifest["repeat"]), manifest)


def _resplit(root: Path, study: Study, name: str, manifest: Mapping[str, Any]) -> bool:
    """Whether the split of a ``search.json`` is drawn otherwise now, or has other data."""
    dataset = manifest["dataset"]
    split = _read(readers.split, layout.path(root, layout.SPLIT, dataset=dataset, split=name), [])
    return bool(split and outdated.split(split, study.drawn(dataset, name), manifest))


def replay_rule(rule: str, study: Study, repeat: int) -> str:
    """Return the rule of a repeat: the last repeats have their own if they are fewer than ten."""
    return f"last_{rule}" if layout.tens(repeat) == layout.tens(study.repeats) else rule


class AfterSearches(NamedTuple):
    """A job that is not a search."""

    kind: str  #: what it makes, in the singular
    #: Its rule and the values of its wildcards.
    rule: str
    wildcards: tuple[str | int, ...]
    #: One of its output files, and its log.
    output: Path
    log: Path
    #: Searches whose results it reads: data set, search, repeat.
    after: Sequence[tuple[str, str, int]] = ()
    checkpoints: Path | None = None  #: folder of its journals, if it keeps any
    #: Whether the results in a folder, if there are any, were made with other settings.
    outdated: Callable[[Path], bool] = lambda folder: False

    @property
    def comment(self) -> str:
        """Its comment in SLURM's queue."""
        *names, last = self.wildcards
        replayed = self.rule.endswith("replayed_ensemble")
        return slurm.comment(self.rule, *names, layout.tens(last) if replayed else last)


def jobs_after_searches(jobs: "Jobs") -> Iterator[AfterSearches]:
    """List the jobs of a study that are not searches, such as ensembles and divisions."""
    study, root = jobs.study, Path("results") / jobs.study.study
    settings = study.model_dump(mode="json")

    def job(kind, rule, pattern, file, run, *, checkpoints=None, log=None, **more) -> AfterSearches:
        return AfterSearches(
            kind,
            rule,
            tuple(run.values()),
            layout.path(root, pattern, **run) / file,
            layout.path(root, log or layout.log(rule, pattern), **run),
            checkpoints=checkpoints and layout.path(root, checkpoints, **run),
            **more,
        )

    pairs = dict.fromkeys((m.search, m.ensemble) for m in study.methods.values())
    for dataset, (search, ensemble), repeat in product(study.datasets, pairs, range(study.repeats)):
        run = {"dataset": dataset, "search": search, "ensemble": ensemble, "repeat": repeat}
        rule, log = "ensemble", layout.log("ensemble", layout.ENSEMBLE)
        if jobs.refits(ensemble):
            rule = "fitted_ensemble"
        elif study.evaluation.replay:
            log = layout.log("replayed_ensemble", layout.REPLAYED_ENSEMBLE)
            log = log.replace("{tens}", layout.tens(repeat))
            rule = replay_rule("replayed_ensemble", study, repeat)
        yield job(
            *("ensemble", rule, layout.ENSEMBLE, "scores.parquet", run),
            after=[(dataset, search, repeat)],
            checkpoints=layout.FITS,
            log=log,
            outdated=partial(_old_ensemble, settings, ensemble),
        )
    for searched in searches(study) if study.divisions else ():
        dataset, search, repeat = searched
        if search not in study.used("search"):
            continue  # only tables have its evaluations
        run = {"dataset": dataset, "search": search, "repeat": repeat}
        yield job(
            *("set of divisions", "divisions", layout.DIVISIONS, "divisions.parquet", run),
            after=[searched],
            outdated=partial(_other_job, readers.divisions, jobs.divisions(search)),
        )
    added = study.tables.searches if study.tables else []
    for dataset, split in product(study.datasets, study.splits) if study.tables else ():
        run = {"dataset": dataset, "split": split}
        shards = []
        for shard in jobs.shards:
            shards.append(
                job(
                    *("part of tables", "shard", layout.SHARD, "search.json"),
                    run | {"shard": shard},
                    checkpoints=layout.SHARD_CHECKPOINTS,
                    outdated=partial(_old_random, jobs, split, jobs.shard(dataset, shard)),
                )
            )
        yield from shards
        on_split = [n for n in range(study.repeats) if study.split_name(n) == split]
        yield job(
            *("table", "table", layout.TABLE, "table.json", run),
            after=[*product([dataset], added, on_split)],
            outdated=partial(_any_old, shards),
        )
    if section := study.surrogates:
        datasets = section.datasets or list(study.datasets)
        for dataset in datasets if not (study.tables or study.evaluation.replay) else ():
            place = layout.CONFIGURATIONS, "search.json"
            yield job(
                *("set of configurations", "configurations", *place, {"dataset": dataset}),
                checkpoints=layout.CONFIGURATIONS_CHECKPOINTS,
                outdated=partial(
                    _old_random, jobs, study.split_name(0), jobs.configurations(dataset)
                ),
            )
        for dataset, name, repeat in product(datasets, section.names, range(section.repeats)):
            run = {"dataset": dataset, "surrogate": name, "repeat": repeat}
            place = layout.SURROGATE, "quality.parquet"
            yield job(
                *("evaluation of surrogates", "surrogate", *place, run),
                outdated=partial(_other_job, readers.quality, jobs.surrogate(name, repeat)),
            )
    for sampler in SAMPLERS if study.spread else ():
        place = layout.SPREAD, "spread.parquet"
        yield job(
            *("spread of designs", "spread", *place, {"sampler": sampler}),
            outdated=partial(_other_job, readers.spread, jobs.spread(sampler)),
        )
    for dataset in study.datasets if study.autogluon else ():
        place = layout.AUTOGLUON, "scores.json"
        yield job("run of AutoGluon", "autogluon", *place, {"dataset": dataset})


def _old_ensemble(study: Mapping[str, Any], name: str, folder: Path) -> bool:
    made = (_read(readers.ensemble, folder, []) or {}).get("settings")
    return bool(made and outdated.ensemble(made, study, name))


def _old_random(jobs: "Jobs", split: str, now: str, folder: Path) -> bool:
    """Whether random configurations are of another split, or have other settings or a budget."""
    if (made := _read(readers.search, folder, [])) is None:
        return False
    asked = json.loads(now)
    asked["settings"] = asked["optimizer"]
    keys = (*outdated.SHARED, "budget", "settings")
    other = any(made[key] != asked[key] for key in keys)
    return other or _resplit(Path("results") / jobs.study.study, jobs.study, split, made)


def _any_old(parts: Sequence[AfterSearches], _: Path) -> bool:
    return any(part.outdated(part.output.parent) for part in parts)


def _other_job(read: Callable[[Path], tuple[Any, dict[str, Any]]], now: str, folder: Path) -> bool:
    """Whether the metadata of a table name another job."""
    made = _read(read, folder, [])
    return made is not None and bool(readers.other(made[1], json.loads(now)))


def job_state(
    job: AfterSearches, unfinished: Collection[tuple[str, str, int]], queue: Mapping[str, str]
) -> str:
    """Return the state of a job: one of :data:`STATES`.

    Jobs wait for the ``unfinished`` searches (data set, search, repeat) that they read.
    ``queue`` has the states of the jobs in SLURM's queue, by comment.
    """
    if queued := queue.get(job.comment):
        return "queued" if queued == "PENDING" else "running"
    journals = list(job.checkpoints.glob("*/lock")) if job.checkpoints else []
    if any(_held(path, _written(path.with_name("journal.jsonl"))) for path in journals):
        return "running"
    if any(name in unfinished for name in job.after):
        return "waiting"
    if job.output.exists():
        return "outdated" if job.outdated(job.output.parent) else "done"
    if job_logs.reason(job.log):
        return "failed"
    return "stopped" if journals else "waiting"


def _read(reader: Callable[[Path], Any], folder: Path, problems: list[str]) -> Any:
    """Read a file; None if it is missing or damaged. Damage is added to ``problems``."""
    try:
        return reader(folder)
    except UserError as error:
        problems += [] if isinstance(error, Missing) else [str(error)]
        return None


def _spent(manifest: Mapping[str, Any], unit: str, folder: Path) -> float | None:
    """What a replayed search used of its budget; None for others, and for evaluations."""
    if unit == "evaluations" or not manifest.get("table"):
        return None
    if unit == "cpu_seconds":
        return manifest["cpu_seconds"]
    if unit == "seconds":
        return manifest["wall_seconds"] - manifest["suggest_seconds"]
    return sum(readers.observations(folder, ["fidelity"])["fidelity"].to_pylist())


def _written(path: Path) -> float:
    """Time of a file's last change; 0 if there is no file."""
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0


def _held(path: Path, updated: float) -> bool:
    """Return whether the process named in a journal's lock still runs.

    The lock itself is not tested: trying it, even shared and for an instant, would make a search
    that starts at that moment fail. A process on this host is looked up; if it started after the
    lock was written, it only has the same number. For a process on another host, only the time of
    its last write is known: ``updated``, from its progress, or the lock.
    """
    try:
        holder, written = locks.holder(path), path.stat().st_mtime
    except OSError:
        return False
    if holder is None:
        return False
    if holder.host != socket.gethostname():
        return time.time() - max(updated, written) < SILENCE
    return locks.runs(holder, written)
