"""The parameters of each job of a study: its own slice of the study and nothing else.

The slices are JSON text. Snakemake compares them between runs, so a change in the study starts
exactly the jobs whose slice it changes.
"""

import functools
import itertools
import json
import math
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from ensemble_search.data.fetched import changed_files, content
from ensemble_search.data.sources import local_files, source_key
from ensemble_search.evaluation import table as tables
from ensemble_search.report import pages
from ensemble_search.results import layout, readers
from ensemble_search.runtime import outside, plugins
from ensemble_search.runtime.code_version import code_version, files_outside
from ensemble_search.runtime.errors import UserError
from ensemble_search.runtime.files import md5
from ensemble_search.search import fingerprint
from ensemble_search.study import model as studies
from ensemble_search.study.model import Study
from ensemble_search.study.sections import ensembles, searches

#: Number of random configurations of a table that one job evaluates.
SHARD = 100
#: Keys of a study that do not affect results.
NEUTRAL: dict[str, Any] = {
    "openml": True,
    "plugins": True,
    "workers": True,
    "evaluation": {"share", "tables"},
}


class Jobs:
    """The jobs of a study, and their slices of it.

    Parameters
    ----------
    study
        The checked study.
    file
        The file it was read from, for messages. Not part of a slice: renaming a file reruns
        nothing.
    extended
        The study that it extends, if any. A search that is identical in both is shared: it belongs
        to the extended study, whichever of the two runs first.
    root
        Folder of the results of all studies. Not part of a slice either.
    """

    def __init__(
        self,
        study: Study,
        file: str = "config.yaml",
        extended: Study | None = None,
        root: Path = Path("results"),
    ):
        self.study = study
        self.file = file
        self.root = root
        self.sources = {source_key(d.source): d for d in study.datasets.values()}
        self.extended = Jobs(extended, root=root) if extended else None
        self.shared = {
            (dataset, search)
            for dataset in study.datasets
            for search in study.used("search")
            if self.extended
            and not study.evaluation.replay
            and self._alike(self.extended, dataset, search)
        }

    @classmethod
    def load(cls, file: str, overrides: dict[str, Any] | None = None) -> "Jobs":
        """Read a study file; see ``model.load``."""
        study, extended = studies.load_extending(file, overrides)
        return cls(study, file, extended)

    def _alike(self, other: "Jobs", dataset: str, search: str) -> bool:
        """Whether the extended study has the same search, under the same names."""
        if dataset not in other.study.datasets or search not in other.study.used("search"):
            return False
        return (
            other.study.datasets[dataset] == self.study.datasets[dataset]
            and other.study.split == self.study.split
            and other._search(dataset, search) == self._search(dataset, search)
        )

    def home(self, dataset: str, search: str, repeat: int) -> "Jobs":
        """Return the jobs of the study that owns a search: this one, or the extended one."""
        other = self.extended
        shared = other and (dataset, search) in self.shared and int(repeat) < other.study.repeats
        return other if other and shared else self

    def source_key(self, dataset: str) -> str:
        """Folder of a data set below ``results/data``."""
        return source_key(self.study.datasets[dataset].source)

    def source(self, key: str) -> str:
        """Return the source of the data in a folder."""
        return _json(self.sources[key].source)

    def source_content(self, key: str) -> str:
        """Identify the content of a source's local files; empty for other sources."""
        source = self.sources[key].source
        if not local_files(source):
            return ""
        return _json({"content": content(source, self.root / "data" / key)})

    def changed_data(self) -> list[str]:
        """Name the files that are not those that the data were read from, one line each."""
        sources = {key: d.source for key, d in self.sources.items()}
        return [f"DATA CHANGED: {line}" for line in changed_files(sources, self.root / "data")]

    def split(self, dataset: str, name: str) -> str:
        """Describe how the split ``fixed`` or ``repeat-<r>`` of a data set is made."""
        return _json(self.study.drawn(dataset, name))

    def search(self, dataset: str, search: str, repeat: int) -> str:
        """Describe what a search does."""
        return _json({**self._search(dataset, search), "repeat": int(repeat)})

    def replay(self, dataset: str, search: str, repeats: Iterable[int]) -> str:
        """Describe what several repeats of a replayed search do."""
        return _json({**self._search(dataset, search), "repeats": list(repeats)})

    def _search(self, dataset: str, search: str) -> dict[str, Any]:
        """Describe what a search does, independent of its repeat."""
        return {
            "dataset": dataset,
            "search": search,
            "seed": self.study.seed,
            "space": self.study.space,
            "metric": self.study.metric,
            "limits": self.study.limits.model_dump(),
            "budget": self.study.budget.model_dump(exclude_none=True),
            "optimizer": self.study.searches[search],
            **({"replay": self.study.evaluation.replay} if self.study.evaluation.replay else {}),
            **({"warm_start": given} if (given := self._given.get(search)) else {}),
        }

    @property
    def _given(self) -> dict[str, str]:
        return self.study.evaluation.warm_start

    def warm_start(self, dataset: str, search: str, repeat: str) -> str | list[str]:
        """Return the manifest of the table that a search starts from; an empty list if none."""
        if search not in self._given:
            return []
        split = self.study.split_name(int(repeat))
        return f"{self._given[search]}/{dataset}/{split}/{tables.MANIFEST}"

    @functools.cache  # noqa: B019 (a process has at most two instances)
    def search_code(self, search: str) -> str:
        """Version of the code of a search: its script, optimizer, space, metric and worker."""
        return fingerprint.version(self.study.searches[search], self.study.space, self.study.metric)

    def of(self, dataset: str, search: str) -> str:
        """Return the search that an ensemble must be built from."""
        return _json({"dataset": dataset, "search": search})

    def ensemble(self, ensemble: str) -> str:
        """Describe an ensemble."""
        return _json(self.study.ensembles[ensemble])

    @functools.cache  # noqa: B019 (a process has at most two instances)
    def ensemble_code(self, ensemble: str) -> str:
        """Version of the code of an ensemble."""
        metric = plugins.module_name("metrics", self.study.metric)
        modules = [metric, *self._modules(ensemble)]
        if self.refits(ensemble):
            modules += [
                "ensemble_search.scoring.cross_fitting",
                plugins.module_name("spaces", self.study.space),
            ]
        return code_version("ensemble", *modules)

    @functools.cache  # noqa: B019 (a process has at most two instances)
    def refits(self, ensemble: str) -> str:
        """Describe how an ensemble refits pipelines; empty if it does not."""
        if not ensembles.refits(self.study, ensemble):
            return ""
        return _json({"space": self.study.space, "limits": self.study.limits.model_dump()})

    @functools.cached_property
    def refitted(self) -> dict[str, dict[str, Any]]:
        """Settings of the methods' ensembles that refit pipelines, by name."""
        used = self.study.used("ensemble")
        return {name: self.study.ensembles[name] for name in used if self.refits(name)}

    def divisions(self, search: str) -> str:
        """Return which ensembles of a search are scored, and on how many divisions."""
        made = {m.ensemble for m in self.study.methods.values() if m.search == search}
        used = {name: self.study.ensembles[name] for name in sorted(made)}
        return _json({"divisions": self.study.divisions, "ensembles": used})

    @functools.cache  # noqa: B019 (a process has at most two instances)
    def divisions_code(self) -> str:
        """Version of the code of the divisions, and of all ensembles."""
        metric = plugins.module_name("metrics", self.study.metric)
        used = map(self._modules, self.study.used("ensemble"))
        return code_version("divisions", metric, *itertools.chain(*used))

    def _modules(self, ensemble: str) -> list[str]:
        made = ensembles.make(self.study, ensemble)
        return [type(made).__module__, *made.modules]

    def deliver(self, dataset: str) -> str:
        """Describe what is delivered for a data set."""
        study, settings = self.study, self.study.deliver
        assert settings is not None
        method = study.methods[settings.method]
        about = {
            "study": study.study,
            "dataset": dataset,
            "method": settings.method,
            "metric": study.metric,
        }
        return _json(
            {
                "deliver": settings.model_dump(exclude={"datasets", "method"}),
                "ensemble": study.ensembles[method.ensemble],
                "space": study.space,
                "limits": study.limits.model_dump(),
                "seed": settings.repeat,
                "of": {"dataset": dataset, "search": method.search, "repeat": settings.repeat},
                "classes": study.datasets[dataset].classes or [],
                "about": about,
            }
        )

    def deliver_test(self) -> str:
        """Identify the content of the file with further test rows; empty without one."""
        assert self.study.deliver is not None
        file = self.study.deliver.test
        return _json({"deliver.test": md5(file)}) if file and Path(file).is_file() else ""

    def deliver_code(self) -> str:
        """Version of the code of a delivery."""
        assert self.study.deliver is not None
        method = self.study.methods[self.study.deliver.method]
        parts = ("spaces", self.study.space), ("metrics", self.study.metric)
        modules = [plugins.module_name(*part) for part in parts]
        return code_version("deliver", "predict", *self._modules(method.ensemble), *modules)

    def configurations(self, dataset: str) -> str:
        """Return the random configurations that surrogates are evaluated on, as a search's job."""
        assert self.study.surrogates is not None
        wanted = self.study.surrogates.configurations
        budget = {"evaluations": 4 * wanted, "successes": wanted}
        return self._random(dataset, "configurations", 0, budget)

    def shard(self, dataset: str, shard: int) -> str:
        """Return the random configurations in one part of a table, as a search's job."""
        section = self.study.tables
        assert section is not None
        size = min(SHARD, section.random - SHARD * int(shard))
        budget = {"evaluations": size * len(section.fidelities)}
        # Left out if it is the default, so that the job stays the same.
        more = {} if section.fidelities == [1.0] else {"fidelities": section.fidelities}
        return self._random(dataset, "table", int(shard), budget, **more)

    @property
    def shards(self) -> range:
        """Numbers of the parts of a table."""
        assert self.study.tables is not None
        return range(math.ceil(self.study.tables.random / SHARD))

    def _random(
        self, dataset: str, name: str, repeat: int, budget: dict[str, int], **settings: Any
    ) -> str:
        return _json(
            {
                "dataset": dataset,
                "search": name,
                "repeat": repeat,
                "seed": self.study.seed,
                "space": self.study.space,
                "metric": self.study.metric,
                "limits": self.study.limits.model_dump(),
                "budget": budget,
                "optimizer": {"optimizer": "random", **settings},
            }
        )

    @functools.cache  # noqa: B019 (a process has at most two instances)
    def configurations_code(self) -> str:
        """Version of the code that evaluates the random configurations."""
        return fingerprint.version({"optimizer": "random"}, self.study.space, self.study.metric)

    def surrogate(self, surrogate: str, repeat: int) -> str:
        """Describe how a surrogate is evaluated."""
        assert self.study.surrogates is not None
        section = self.study.surrogates.model_dump(include={"configurations", "sizes", "held_out"})
        own = {"surrogate": surrogate, "repeat": int(repeat)}
        study = self.study
        common = {"seed": study.seed, "space": study.space, "task": study.task}
        return _json({**own, **common, **section})

    @functools.cache  # noqa: B019 (a process has at most two instances)
    def surrogate_code(self, surrogate: str) -> str:
        """Version of the code of a surrogate's evaluation."""
        parts = ("surrogates", surrogate), ("spaces", self.study.space)
        return code_version("surrogate", *(plugins.module_name(*part) for part in parts))

    def spread(self, sampler: str) -> str:
        """Return which designs of a sampler are measured."""
        assert self.study.spread is not None
        section = self.study.spread.model_dump()
        return _json({"sampler": sampler, **section, "seed": self.study.seed})

    def report(self) -> str:
        """Describe what the report shows: the study, without keys that do not affect results."""
        content = self.study.model_dump(mode="json", exclude=NEUTRAL | {"extends": True})
        every = {"searches": self.study.used("search"), "ensembles": self.study.used("ensemble")}
        for section, used in every.items():
            content[section] = {n: s for n, s in content[section].items() if n in used}
        content["datasets"] = list(self.study.datasets)
        content["sources"] = {n: d.source for n, d in self.study.datasets.items()}
        parts = {name: self.study.train_rows(name) for name in self.study.datasets}
        if any(parts.values()):
            content["train_rows"] = {name: part for name, part in parts.items() if part}
        if self.shared:
            content["homes"] = self._homes()
        return _json(content)

    def record(self) -> str:
        """Describe the manifest: the study, locations of its parts, and code from outside.

        Leaves out :data:`NEUTRAL`.
        """
        content = {
            "study": self.study.model_dump(mode="json", exclude=NEUTRAL),
            "homes": self._homes() if self.shared else {},
            "sources": {name: self.source_key(name) for name in self.study.datasets},
            **({"plugins": code} if (code := self._code_from_outside()) else {}),
        }
        return _json(content)

    def _code_from_outside(self) -> list[str]:
        """List the files from outside that the study's results depend on."""
        study, modules = self.study, pages.modules()
        for name in study.searched:
            parts = fingerprint.modules(study.searches[name], study.space, study.metric)
            modules += [module for part in parts.values() for module in part]
        for name in study.used("ensemble"):
            modules += self._modules(name)
        for name in study.surrogates.names if study.surrogates else ():
            modules.append(plugins.module_name("surrogates", name))
        return files_outside(*modules)

    def _homes(self) -> dict[str, Any]:
        """Return where shared searches are: search -> data set -> study and its repeats."""
        assert self.extended is not None
        other = self.extended.study
        home = {"study": other.study, "repeats": other.repeats}
        homes: dict[str, Any] = {}
        for dataset, search in sorted(self.shared):
            homes.setdefault(search, {})[dataset] = home
        return homes

    @functools.cache  # noqa: B019 (a process has at most two instances)
    def report_code(self) -> str:
        """Version of the code of the report and of all its pages, which it finds by file name."""
        return code_version("report", *pages.modules())


def _json(content: dict[str, Any]) -> str:
    return json.dumps(content, ensure_ascii=False)


def check_plugins(where: str) -> None:
    """Import every part in the folders in use, whether or not the study uses it.

    Raises UserError, naming ``where`` and the first part that cannot be used.
    """
    try:
        for kind in {*outside.KINDS} - {"pages"}:
            for name in outside.names(kind):
                plugins.load(kind, name)
        pages.check_outside()
    except UserError as error:
        raise UserError(f"{where}: {error}") from None


def check_tables(jobs: Jobs) -> None:
    """Check that the tables that a study looks up exist, are complete, and belong to this study.

    Compares sizes, no checksums. Missing parts of a table that the study makes itself are left to
    its jobs. Raises UserError, naming the first table that is missing or damaged, or does not fit.
    """
    study = jobs.study
    needed = max(study.surrogates.sizes) + study.surrogates.held_out if study.surrogates else 0
    enough = f"surrogates.sizes and surrogates.held_out need {needed}"
    if study.tables and not study.tables.searches and study.tables.random < needed:
        made = study.tables.random
        raise UserError(f"{jobs.file}: tables.random: {made} configurations are too few; {enough}")
    section = study.evaluation
    for key, root in (("replay", section.replay), ("tables", section.tables)):
        if root:
            _check_tables(jobs, key, root, needed, enough)
    for name, root in section.warm_start.items():
        _check_tables(jobs, f"warm_start.{name}", root, needed, enough)


def _check_tables(jobs: Jobs, key: str, root: str, needed: int, enough: str) -> None:
    """Check the tables below ``root``, the value of ``evaluation.<key>``."""
    study = jobs.study
    makes = study.tables and root == f"{jobs.root}/{study.study}/tables"
    where = f"{jobs.file}: evaluation.{key}"
    for dataset, split in itertools.product(study.datasets, study.splits):
        folder = Path(root, dataset, split)
        missing = [n for n in (tables.MANIFEST, *tables.FILES) if not (folder / n).is_file()]
        if missing and not makes:
            others = sorted(path.parent.name for path in folder.parent.glob("*/table.json"))
            if others and split not in others:
                fix = f"there are tables of {', '.join(others)}; change split.resample"
            else:
                fix = "make these tables first, or name others"
                if key == "replay":
                    fix += "; or let this study make its own with the key 'tables' and name "
                    fix += f"'{jobs.root}/{study.study}/tables'"
            raise UserError(f"{where}: there is no '{folder / missing[0]}'; {fix}")
        there = {} if missing else tables.glance(folder)
        if makes:
            continue
        lines = tables.unlike(there, study.space, study.limits.model_dump())
        lines += _of_other_split(jobs, dataset, split, folder, there)
        lines += _unfit(study, there["fidelities"]) if key == "replay" else []
        surrogates = study.surrogates and (study.surrogates.datasets or study.datasets)
        first = split == study.split_name(0)
        if key == "replay" and first and dataset in (surrogates or ()) and there["usable"] < needed:
            lines.append(f"{there['usable']} of its configurations could be fitted; {enough}")
        if lines:
            raise UserError(f"{where}: '{folder}' is not of this study: {'; '.join(lines)}")


def _of_other_split(
    jobs: Jobs, dataset: str, name: str, folder: Path, there: Mapping[str, Any]
) -> list[str]:
    """List the differences between the settings of a table's split, if it is beside, and ours."""
    beside = folder.parents[2] / layout.SPLIT.format(dataset=dataset, split=name)
    if not (beside / "split.json").is_file():
        return []
    found, ours = readers.split(beside), json.loads(jobs.split(dataset, name))
    theirs = found.get("settings")  # older versions of the project did not store them
    if not theirs or found["checksum"] != there["data"]:
        return []
    return [
        f"split: {key} is {theirs.get(key, 'not set')}, the study's {ours.get(key, 'not set')}"
        for key in {**theirs, **ours}
        if theirs.get(key) != ours.get(key)
    ]


def check_splits(jobs: Jobs, splits: Iterable[tuple[Jobs, str, str]]) -> None:
    """Check splits that exist before a run and are used unchanged.

    A split comes with the jobs of the study that it belongs to, its data set and its name. Raises
    UserError, naming the first that is damaged, does not match its location, or has too few rows
    for an ensemble of the study that runs.
    """
    for home, dataset, name in splits:
        folder = layout.path(
            jobs.root / home.study.study, layout.SPLIT, dataset=dataset, split=name
        )
        data = jobs.root / "data" / home.source_key(dataset)
        split = readers.checked_split(folder, data, json.loads(home.split(dataset, name)))
        if problems := [*ensembles.lacking(jobs.refitted, split)]:
            raise UserError(*(f"{jobs.file}: {p}; data set '{dataset}'" for p in problems))


def _unfit(study: Study, fidelities: Mapping[float, int]) -> Iterator[str]:
    """Describe what searches of a study may request but a table, by its ``fidelities``, lacks."""
    lacking = dict(searches.lacking(study, fidelities))
    for name, shares in lacking.items():
        yield f"it has no evaluations on {shares} of the rows, which search '{name}' may ask for"
    for name in study.used("search"):
        needed = searches.configurations(study, name)
        there = min(fidelities.get(share, 0) for share in searches.shares(study, name))
        if needed > there and name not in lacking:
            lower = f", or lower budget.{study.budget.unit}" if study.budget.whole else ""
            yield (
                f"it has {there} configurations, and search '{name}' needs {needed}; enlarge it"
                f"{lower}"
            )
            return


def notes(jobs: Jobs) -> list[str]:
    """Describe what users should know before a study runs: changed data, and unused parts.

    Parts that a study inherits may be unused.
    """
    lines, study, extended = jobs.changed_data(), jobs.study, jobs.extended
    for section, used in (("searches", study.searched), ("ensembles", study.used("ensemble"))):
        inherited = getattr(extended.study, section) if extended else ()
        unused = [n for n in getattr(study, section) if n not in used and n not in inherited]
        lines += [f"{section}.{name}: no method uses it; it is left out" for name in unused]
    return lines
