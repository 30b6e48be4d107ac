"""What each job of a study is told: its own slice of the study and nothing else.

The slices are JSON text. Snakemake compares them between runs, so a change in the study starts
exactly the jobs whose slice it changes.
"""

import json
from typing import Any

from divbo import plugins
from divbo import study as studies
from divbo.code_version import code_version
from divbo.data.sources import source_key
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
            and other.search(dataset, search, 0) == self.search(dataset, search, 0)
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

    def source_files(self, key: str) -> list[str]:
        """List the local files that a source reads."""
        file = self.sources[key].file
        return [] if file is None else [file]

    def split(self, name: str) -> str:
        """Say how the split ``fixed`` or ``repeat-<r>`` is made."""
        split = self.study.split
        seed = split.seed if name == "fixed" else split.seed + int(name.removeprefix("repeat-"))
        return _json({**split.model_dump(include={"train", "validation", "test"}), "seed": seed})

    def search(self, dataset: str, search: str, repeat: int) -> str:
        """Say what a search does."""
        return _json(
            {
                "dataset": dataset,
                "search": search,
                "repeat": int(repeat),
                "seed": self.study.seed,
                "space": self.study.space,
                "limits": self.study.limits.model_dump(),
                "budget": self.study.budget.model_dump(exclude_none=True),
                "optimizer": self.study.searches[search],
            }
        )

    def search_code(self, search: str) -> str:
        """Version of the code of a search: its script, optimizer, space and worker."""
        return code.version(self.study.searches[search], self.study.space)

    def ensemble(self, ensemble: str) -> str:
        """Say what an ensemble is."""
        return _json(self.study.ensembles[ensemble])

    def ensemble_code(self, ensemble: str) -> str:
        """Version of the code of an ensemble."""
        kind = self.study.ensembles[ensemble]["type"]
        return code_version("ensemble", plugins.module_name("ensembles", kind))

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

    def _homes(self) -> dict[str, Any]:
        """Say where shared searches lie: search -> data set -> study and its repeats."""
        other = self.extended.study
        home = {"study": other.study, "repeats": other.repeats}
        homes: dict[str, Any] = {}
        for dataset, search in sorted(self.shared):
            homes.setdefault(search, {})[dataset] = home
        return homes

    def report_code(self) -> str:
        """Version of the code of the report and of all its pages, which it finds by file name."""
        return code_version("report", *pages.modules())


def _json(content: dict[str, Any]) -> str:
    return json.dumps(content, ensure_ascii=False)
