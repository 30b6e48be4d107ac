"""The manifest of a finished study: everything needed to rerun it and compare the results."""

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path, PurePath
from typing import Any

from ensemble_search.data import fetched
from ensemble_search.results import layout, readers
from ensemble_search.runtime import files, outside, provenance

REQUIREMENTS = Path(__file__).parents[3] / "envs/requirements.in"


def make(record: Mapping[str, Any], results: Path) -> dict[str, Any]:
    """Collect the manifest of a study with a report; docs/reproducing.md has its keys.

    ``record`` is the result of ``Jobs.record``: the study, locations of shared searches, the
    folders of its data, and the files of code from outside; ``results`` the folder of its results.
    """
    study = record["study"]
    return {
        "study_hash": study_hash(study),
        "written": provenance.now(),
        **provenance.commit(),
        "versions": versions(),
        "machine": provenance.machine(),
        "searches": _ran([readers.search(path.parent) for path in searches(record, results)]),
        "data": data(record["sources"], results.parent / "data"),
        "shared": record["homes"],
        "tables": tables(results / "report/tables"),
        **({"plugins": plugins(record["plugins"])} if "plugins" in record else {}),
        "study": study,
    }


def study_hash(study: Mapping[str, Any]) -> str:
    """SHA-256 of a study with defaults, without the keys that affect no result: openml, extends."""
    content = {key: value for key, value in study.items() if key not in ("openml", "extends")}
    return files.digest(content)


def versions() -> dict[str, str]:
    """Versions of Python and of those packages of ``envs/requirements.in`` that are installed."""
    lines = REQUIREMENTS.read_text(encoding="utf-8").splitlines()
    found = {"python": provenance.versions()["python"]}
    for name in (line.partition("==")[0] for line in lines if "==" in line):
        try:
            found[name] = version(name)
        except PackageNotFoundError:  # conda environments lack the tools
            continue
    return found


def plugins(names: Iterable[str]) -> dict[str, dict[str, str]]:
    """Return the code from outside the repository, ``names`` of ``code_version.files_outside``.

    ``files`` has the text of the files in folders, by path in the folder; ``packages`` the version
    of the installed packages that the other files belong to, by import name.
    """
    paths = [PurePath(name) for name in names]
    texts = {
        name: place.read_text(encoding="utf-8")
        for path in paths
        if (name := outside.within(path)) and (place := outside.place(path))
    }
    packages = {p.parts[0].removesuffix(".py") for p in paths if not outside.within(p)}
    return {"files": texts, "packages": provenance.further(sorted(packages))}


def searches(record: Mapping[str, Any], results: Path) -> Iterator[Path]:
    """List the ``search.json`` of all searches used in the study's tables."""
    study, shared = record["study"], {"homes": record["homes"]}
    for dataset in study["datasets"]:
        for search in dict.fromkeys(method["search"] for method in study["methods"].values()):
            for repeat in range(study["repeats"]):
                folder = layout.search_folder(results, shared, dataset, search, repeat)
                yield folder / "search.json"
    own = not study.get("tables") and not (study.get("evaluation") or {}).get("replay")
    if (section := study["surrogates"]) and own:
        for dataset in section["datasets"] or study["datasets"]:
            yield layout.path(results, layout.CONFIGURATIONS, dataset=dataset) / "search.json"


def data(sources: Mapping[str, str], folder: Path) -> dict[str, dict[str, Any]]:
    """Return origin and checksums of each data set; ``sources`` has its folder in ``folder``."""
    keys = ("source", "version", "md5", "checksum", "rows", "features")
    found = {dataset: fetched.description(folder / key) for dataset, key in sources.items()}
    return {dataset: {key: own.get(key) for key in keys} for dataset, own in found.items()}


def tables(folder: Path) -> dict[str, str]:
    """SHA-256 of the tables of a report, by file name."""
    return files.checksums(folder, sorted(path.name for path in folder.glob("*.csv")))


def _ran(found: list[dict[str, Any]]) -> dict[str, Any]:
    """Summarize the cost of the searches, and the software and machines that they used.

    Core hours: CPU time of all evaluations, and the time to suggest them (on one core).
    """
    alike = Counter(
        json.dumps({key: s.get(key) for key in ("commit", "dirty", "versions", "machine")})
        for s in found
    )
    return {
        "count": len(found),
        "evaluations": sum(s["evaluations"] for s in found),
        "core_hours": sum(s["cpu_seconds"] + s["suggest_seconds"] for s in found) / 3600,
        "first_started": min(s["started"] for s in found),
        "last_finished": max(s["finished"] for s in found),
        "ran_with": [{"searches": n, **json.loads(text)} for text, n in alike.most_common()],
    }
