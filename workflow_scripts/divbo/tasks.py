"""What each job of a study is told: its own slice of the study and nothing else.

The slices are JSON text. Snakemake compares them between runs, so a change in the study starts
exactly the jobs whose slice it changes.
"""

import functools
import json
from contextlib import suppress
from pathlib import Path
from typing import Any

from divbo import limits, plugins, readers
from divbo import study as studies
from divbo.code_version import code_version
from divbo.data.changes import changed_files, content
from divbo.data.sources import source_key
from divbo.files import Missing
from divbo.report import pages
from divbo.search import code
from divbo.study import Study


class Tasks:
    """The jobs of a study, and their slices of it.

    Parameters
    ----------
    study
        The checked study.
    file
        The file it was read from, for the command that the report names.
    extended
        The study that it extends, if any. A search that both do alike is shared: it is the other
        study's, whichever of the two runs first.
    """

    def __init__(self, study: Study, file: str = "config.yaml", extended: Study | None = None):
        self.study = study
        self.file = file
        self._manifests: dict[tuple, dict[str, Any]] = {}
        self.sources = {source_key(d.source): d for d in study.datasets.values()}
        self.extended = Tasks(extended) if extended else None
        self.shared = {
            (dataset, search)
            for dataset in study.datasets
            for search in study.used("search")
            if extended and self._alike(dataset, search)
        }

    @classmethod
    def load(cls, file: str, overrides: dict[str, Any] | None = None) -> "Tasks":
        """Read a study file; see :func:`divbo.study.load`."""
        study, extended = studies.load_extending(file, overrides)
        return cls(study, file, extended)

    def _alike(self, dataset: str, search: str) -> bool:
        """Say whether the extended study does the same search, under the same names."""
        other = self.extended
        if dataset not in other.study.datasets or search not in other.study.used("search"):
            return False
        split = self.study.split_name(0)
        return (
            other.study.datasets[dataset] == self.study.datasets[dataset]
            and other.study.split_name(0) == split
            and other.split(split) == self.split(split)
            and other._search(dataset, search) == self._search(dataset, search)
        )

    def home(self, dataset: str, search: str, repeat: int) -> "Tasks":
        """Return the jobs of the study that a search belongs to: this one, or the extended one."""
        if (dataset, search) in self.shared and int(repeat) < self.extended.study.repeats:
            return self.extended
        return self

    def source_key(self, dataset: str) -> str:
        """Folder below ``results/data`` of a data set."""
        return source_key(self.study.datasets[dataset].source)

    def source(self, key: str) -> str:
        """Say where the data of a folder come from."""
        return _json(self.sources[key].source)

    def source_content(self, key: str) -> str:
        """Say which content the local file of a source has; empty for other sources."""
        file = self.sources[key].file
        return _json({"content": content(Path(file), Path("results/data", key))}) if file else ""

    def split(self, name: str) -> str:
        """Say how the split ``fixed`` or ``repeat-<r>`` is made."""
        split = self.study.split
        seed = split.seed if name == "fixed" else split.seed + int(name.removeprefix("repeat-"))
        return _json({**split.model_dump(include={"train", "validation", "test"}), "seed": seed})

    def search(self, dataset: str, search: str, repeat: int) -> str:
        """Say what a search does.

        The limits are those that a finished search was asked for, as long as the study's would not
        have changed it: then it does not run again. What does run has the study's limits.
        """
        task = self._search(dataset, search) | {"repeat": int(repeat)}
        return self._asked(task, self.manifest("searches", dataset, search, repeat))

    def manifest(self, *folder: str | int) -> dict[str, Any]:
        """Content of the ``search.json`` in a folder of the results; empty where there is none.

        Raises
        ------
        Unusable
            If it is damaged.
        """
        parts = tuple(map(str, folder))
        if parts not in self._manifests:
            self._manifests[parts] = {}
            with suppress(Missing):
                self._manifests[parts] = readers.search(Path("results", self.study.study, *parts))
        return self._manifests[parts]

    def _asked(self, task: dict[str, Any], manifest: dict[str, Any]) -> str:
        """Write a task, with the limits that its finished search was asked for if it may stay."""
        same = {"budget": task["budget"], "settings": task["optimizer"], "space": task["space"]}
        asked = all(manifest.get(key) == value for key, value in same.items())
        if asked and limits.same_search(manifest, task["limits"]):
            task = task | {"limits": manifest.get("same_with", task["limits"])}
        return _json(task)

    def overtaken_by_limits(self) -> tuple[list[str], int]:
        """Finished searches that other limits could have changed, and how many they could not.

        Returns
        -------
        affected
            Names, such as ``quake bo repeat 0``.
        others
            Number of the searches that were made under other limits, and hold all the same.
        """
        affected, others = [], 0
        wanted = self.study.limits.model_dump()
        for dataset in self.study.datasets:
            for search in self.study.used("search"):
                for repeat in range(self.study.repeats):
                    name = dataset, search, repeat
                    manifest = self.home(*name).manifest("searches", *name)
                    if manifest.get("limits", wanted) == wanted:
                        continue
                    if limits.same_search(manifest, wanted):
                        others += 1
                    else:
                        affected.append(f"{dataset} {search} repeat {repeat}")
        return affected, others

    def _search(self, dataset: str, search: str) -> dict[str, Any]:
        """Say what a search does, whichever its repeat."""
        return {
            "dataset": dataset,
            "search": search,
            "seed": self.study.seed,
            "space": self.study.space,
            "limits": self.study.limits.model_dump(),
            "budget": self.study.budget.model_dump(exclude_none=True),
            "optimizer": self.study.searches[search],
        }

    @functools.cache  # noqa: B019 (a process has two of these at most)
    def search_code(self, search: str) -> str:
        """Version of the code of a search: its script, optimizer, space and worker."""
        return code.version(self.study.searches[search], self.study.space)

    def ensemble(self, ensemble: str) -> str:
        """Say what an ensemble is."""
        return _json(self.study.ensembles[ensemble])

    @functools.cache  # noqa: B019 (a process has two of these at most)
    def ensemble_code(self, ensemble: str) -> str:
        """Version of the code of an ensemble."""
        kind = self.study.ensembles[ensemble]["type"]
        modules = [plugins.module_name("ensembles", kind)]
        if self.refits(ensemble):
            modules += ["divbo.refits", plugins.module_name("space", self.study.space)]
        return code_version("ensemble", *modules)

    @functools.cache  # noqa: B019 (a process has two of these at most)
    def refits(self, ensemble: str) -> str:
        """Say how an ensemble fits pipelines anew; empty if it does not."""
        if not plugins.load("ensembles", self.study.ensembles[ensemble]["type"]).refits:
            return ""
        return _json({"space": self.study.space, "limits": self.study.limits.model_dump()})

    def configurations(self, dataset: str) -> str:
        """Say which random configurations the surrogates are evaluated on: a search's task."""
        wanted = self.study.surrogates.configurations
        task = {
            "dataset": dataset,
            "search": "configurations",
            "repeat": 0,
            "seed": self.study.seed,
            "space": self.study.space,
            "limits": self.study.limits.model_dump(),
            "budget": {"evaluations": 4 * wanted, "successes": wanted},
            "optimizer": {"optimizer": "random"},
        }
        return self._asked(task, self.manifest("configurations", dataset))

    @functools.cache  # noqa: B019 (a process has two of these at most)
    def configurations_code(self) -> str:
        """Version of the code that evaluates the random configurations."""
        return code.version({"optimizer": "random"}, self.study.space)

    def surrogate(self, surrogate: str, repeat: int) -> str:
        """Say how a surrogate is evaluated."""
        section = self.study.surrogates.model_dump(include={"sizes", "held_out"})
        own = {"surrogate": surrogate, "repeat": int(repeat)}
        return _json({**own, "seed": self.study.seed, "space": self.study.space, **section})

    @functools.cache  # noqa: B019 (a process has two of these at most)
    def surrogate_code(self, surrogate: str) -> str:
        """Version of the code of a surrogate's evaluation."""
        parts = ("surrogates", surrogate), ("space", self.study.space)
        return code_version("surrogate", *(plugins.module_name(*part) for part in parts))

    def report(self) -> str:
        """Say what the report shows: the study, without what changes no result."""
        content = self.study.model_dump(mode="json", exclude={"openml", "extends"})
        for section, kind in (("searches", "search"), ("ensembles", "ensemble")):
            used = self.study.used(kind)
            content[section] = {n: s for n, s in content[section].items() if n in used}
        content["datasets"] = list(self.study.datasets)
        content["file"] = self.file
        content["sources"] = {n: d.source for n, d in self.study.datasets.items()}
        if self.shared:
            content["homes"] = self._homes()
        return _json(content)

    def record(self) -> str:
        """Say what the manifest holds: the whole study, and where its parts lie.

        How OpenML is reached is left out: it changes no result.
        """
        content = {
            "study": self.study.model_dump(mode="json", exclude={"openml"}),
            "homes": self._homes() if self.shared else {},
            "sources": {name: self.source_key(name) for name in self.study.datasets},
        }
        return _json(content)

    def _homes(self) -> dict[str, Any]:
        """Say where shared searches lie: search -> data set -> study and its repeats."""
        other = self.extended.study
        home = {"study": other.study, "repeats": other.repeats}
        homes: dict[str, Any] = {}
        for dataset, search in sorted(self.shared):
            homes.setdefault(search, {})[dataset] = home
        return homes

    @functools.cache  # noqa: B019 (a process has two of these at most)
    def report_code(self) -> str:
        """Version of the code of the report and of all its pages, which it finds by file name."""
        return code_version("report", *pages.modules())


def _json(content: dict[str, Any]) -> str:
    return json.dumps(content, ensure_ascii=False)


def notes(tasks: Tasks) -> list[str]:
    """Say what people should know before a study runs: changed data, changed limits.

    Raises
    ------
    Unusable
        If a finished search, or a description of data that is looked at, is damaged.
    """
    sources = {key: d.source for key, d in tasks.sources.items()}
    lines = [f"DATA CHANGED: {line}" for line in changed_files(sources, Path("results/data"))]
    affected, others = tasks.overtaken_by_limits()
    if section := tasks.study.surrogates:
        for dataset in section.datasets or tasks.study.datasets:
            tasks.manifest("configurations", dataset)  # says so if it is damaged
    if affected:
        shown = ", ".join(affected[:8]) + (", ..." if len(affected) > 8 else "")
        lines.append(
            f"limits: other than before; {len(affected)} finished searches could have ended "
            f"otherwise, and run again from the first such evaluation on: {shown}"
        )
    if others:
        lines.append(f"limits: {others} finished searches are the same under them, and stay")
    return lines
