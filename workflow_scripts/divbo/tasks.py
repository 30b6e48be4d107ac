"""What each job of a study is told: its own slice of the study and nothing else.

The slices are JSON text. Snakemake compares them between runs, so a change in the study starts
exactly the jobs whose slice it changes.
"""

import json
from typing import Any

from divbo import plugins
from divbo.code_version import code_version
from divbo.data.sources import source_key
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
    """

    def __init__(self, study: Study, file: str = "config.yaml"):
        self.study = study
        self.file = file
        self.sources = {source_key(d.source): d for d in study.datasets.values()}

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
                "evaluations": self.study.budget.evaluations,
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
        content = self.study.model_dump(mode="json", exclude={"openml"})
        content["datasets"] = list(self.study.datasets)
        content["file"] = self.file
        content["sources"] = {n: d.source for n, d in self.study.datasets.items()}
        return _json(content)


def _json(content: dict[str, Any]) -> str:
    return json.dumps(content, ensure_ascii=False)
