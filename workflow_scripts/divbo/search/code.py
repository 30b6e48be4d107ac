"""Which code a search depends on: the same list for its journal and for Snakemake."""

from typing import Any

from divbo import plugins
from divbo.code_version import Guard, code_version


def modules(optimizer: dict[str, Any], space: str) -> dict[str, list[str]]:
    """Name the modules that decide what a search finds.

    Parameters
    ----------
    optimizer
        The optimizer's name, as ``optimizer``, and its settings.
    space
        Name of the space.
    """
    made = plugins.make("optimizers", optimizer, "optimizer", "optimizer")
    return {
        "optimizer": [type(made).__module__, *made.modules],
        "evaluation": [
            plugins.module_name("space", space),
            "divbo.evaluation.evaluator",
            "divbo.evaluation.worker",
            "divbo.search.shown",
        ],
    }


def version(optimizer: dict[str, Any], space: str) -> str:
    """Version of all code of a search job, its script included."""
    return code_version("search", *_all(optimizer, space))


def guard(optimizer: dict[str, Any], space: str) -> Guard:
    """Watch the code that decides what a search finds."""
    return Guard(*_all(optimizer, space))


def _all(optimizer: dict[str, Any], space: str) -> list[str]:
    return [name for names in modules(optimizer, space).values() for name in names]
