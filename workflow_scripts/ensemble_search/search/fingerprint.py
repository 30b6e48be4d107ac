"""The fingerprint of a search: its settings, data, seed, code and library versions."""

from collections.abc import Mapping, Sequence
from typing import Any

from ensemble_search.runtime import files, plugins, provenance
from ensemble_search.runtime.code_version import Guard, code_version
from ensemble_search.runtime.code_version import libraries as imported


def modules(optimizer: dict[str, Any], space: str, metric: str) -> dict[str, list[str]]:
    """List the modules that determine the results of a search.

    ``optimizer`` is the optimizer's name, as ``optimizer``, and its settings.
    """
    made = plugins.make("optimizers", optimizer, "optimizer", "optimizer")
    return {
        "optimizer": [type(made).__module__, *made.modules],
        "evaluation": [
            *_fitting(space),
            plugins.module_name("metrics", metric),
            "ensemble_search.search.observe",
        ],
    }


def _fitting(space: str) -> list[str]:
    """List the modules that determine the predictions of a configuration."""
    return [
        plugins.module_name("spaces", space),
        "ensemble_search.evaluation.live",
        "ensemble_search.evaluation.worker",
    ]


def version(optimizer: dict[str, Any], space: str, metric: str) -> str:
    """Version of all code of a search job, including its script."""
    return code_version("search", *_all(optimizer, space, metric))


def guard(optimizer: dict[str, Any], space: str, metric: str) -> Guard:
    """Guard the code that determines the results of a search."""
    return Guard(*_all(optimizer, space, metric))


def _all(optimizer: dict[str, Any], space: str, metric: str) -> list[str]:
    return [name for names in modules(optimizer, space, metric).values() for name in names]


def fingerprint(job: dict, data: str, threads: int, libraries: Sequence[str]) -> dict:
    """Return the fingerprint of a search; equal fingerprints mean the same search.

    The other parameters are those of :func:`conditions`.
    """
    parts = modules(job["optimizer"], job["space"], job["metric"])
    metric = plugins.module_name("metrics", job["metric"])
    made = plugins.make("optimizers", job["optimizer"], "optimizer", "optimizer")
    own = provenance.further(imported(*parts["optimizer"], metric)) | made.versions
    return {
        "optimizer": job["optimizer"],
        "metric": job["metric"],
        "seed": [job["seed"], job["repeat"]],
        "code": {part: code_version(*names) for part, names in parts.items()},
        **({"libraries": own} if own else {}),
        **conditions(job["space"], job["limits"], data, threads, libraries),
    }


def conditions(
    space: str,
    limits: Mapping[str, float],
    data: str,
    threads: int,
    libraries: Sequence[str],
) -> dict[str, Any]:
    """Return everything, except code, that determines the result of an evaluation.

    ``data`` is the checksum of its inputs; ``libraries`` are those of
    :func:`ensemble_search.runtime.provenance.versions`.
    """
    versions = provenance.versions(libraries)
    versions["python"] = ".".join(versions["python"].split(".")[:2])
    return {
        "space": space,
        "limits": dict(limits),
        "data": data,
        "threads": threads,
        "versions": versions,
    }


def shared(fingerprint: Mapping[str, Any]) -> dict[str, Any]:
    """Return the part of a search's fingerprint that determines the results of its evaluations."""
    alone = ("optimizer", "metric", "seed", "libraries", "given")
    common = {key: value for key, value in fingerprint.items() if key not in alone}
    return {**common, "code": code_version(*_fitting(fingerprint["space"]))}


def short(fingerprint: Mapping[str, Any]) -> str:
    """Return the name of a fingerprint's folder: 12 hexadecimal digits."""
    return files.digest(fingerprint)[:12]
