"""Outdated results: those whose settings differ from the study's current ones."""

from collections.abc import Mapping
from typing import Any

from ensemble_search.search.journal import differences

#: Keys that both a study and a ``search.json`` have, besides the settings of the optimizer.
SHARED = ("space", "metric", "limits", "seed")


def search(manifest: Mapping[str, Any], study: Mapping[str, Any], name: str) -> str:
    """Describe how a finished search differs from the study's settings; empty if it does not.

    Parameters
    ----------
    manifest
        Content of its ``search.json``: ``settings``, ``space``, ``limits``, ``seed``.
    study
        The study as JSON, with defaults. Missing keys are not compared, nor is a budget in
        evaluations: a longer search can be truncated.
    name
        Name of the search in the study.
    """
    shared = [key for key in SHARED if key in study]
    there = {key: manifest.get(key) for key in shared}
    lines = differences(manifest.get("settings") or {}, study["searches"][name])
    lines += differences(there, {key: study[key] for key in shared})
    for unit in ("fits", "seconds", "cpu_seconds"):
        if limit := study["budget"].get(unit):
            lines += differences(budget(manifest), {unit: limit}, "budget.")
    return _reason(lines)


def budget(manifest: Mapping[str, Any]) -> dict[str, Any]:
    """Return the budget of a finished search; older manifests only give its evaluations."""
    return manifest.get("budget", {"evaluations": manifest["evaluations"]})


def ensemble(settings: Mapping[str, Any], study: Mapping[str, Any], name: str) -> str:
    """Describe how an ensemble's settings differ from the study's; empty if they do not."""
    return _reason(differences(dict(settings), study["ensembles"][name]))


def _reason(lines: list[str]) -> str:
    return f"made with other settings: {'; '.join(lines)}" if lines else ""
