"""Outdated results: those whose settings differ from the study's current ones."""

from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from ensemble_search.evaluation import table
from ensemble_search.results import layout
from ensemble_search.runtime.files import Unusable
from ensemble_search.search.journal import differences

#: Keys that both a study and a ``search.json`` have, besides the settings of the optimizer.
SHARED = ("space", "metric", "limits", "seed")
#: Settings that parts no longer have, with their defaults then: the parts still do what they did
#: with these, so results and evidence that name them are not outdated.
FORMER: dict[str, dict[str, Any]] = {
    "agnostic-bayes": {"combine": "vote"},
    "boasf": {"bonus": "sqrt", "temperature": 1.0},
    "bohb": {"candidates": 64, "factor": 3.0, "floor": 0.001, "good": 0.15, "interleave": 1 / 3},
    "bootstrap-selection": {"ratio": 1.0},
    "divbo": {"sampler": "members"},
    "diverse-bagging": {"alpha": 0.99},
    "ensemble-improvement": {"rounds": 25},
    "population": {"ties": "random"},
    "selection": {"use_best": False},
}


def current(settings: Mapping[str, Any], key: str) -> dict[str, Any]:
    """Return stored settings without :data:`FORMER` ones, unless these had other values.

    ``key`` is the one that names the part: ``optimizer`` or ``type``.
    """
    former = FORMER.get(settings.get(key, ""), {})
    return {k: v for k, v in settings.items() if k not in former or v != former[k]}


def search(manifest: Mapping[str, Any], study: Mapping[str, Any], name: str) -> str:
    """Describe how a finished search differs from the study's settings; empty if it does not.

    ``manifest`` is its ``search.json``. Keys that the study (as JSON, with defaults) does not have
    are not compared, nor is a budget in evaluations: a longer search can be truncated.
    """
    shared = [key for key in SHARED if key in study]
    settings = current(manifest.get("settings") or {}, "optimizer")
    lines = differences(settings, study["searches"][name])
    lines += differences({k: manifest.get(k) for k in shared}, {k: study[k] for k in shared})
    for unit in ("fits", "seconds", "cpu_seconds"):
        if limit := study["budget"].get(unit):
            lines += differences(manifest["budget"], {unit: limit}, "budget.")
    return _reason(lines + _tables(manifest, study, name))


def _tables(manifest: Mapping[str, Any], study: Mapping[str, Any], name: str) -> list[str]:
    """Compare the tables that a search is replayed on, or begins with, by their checksums."""
    section = study.get("evaluation") or {}
    split = layout.split_name(study, manifest["repeat"])
    folders = {
        "replay": (section.get("replay"), (manifest.get("table") or {}).get("checksum")),
        "warm_start": (
            section.get("warm_start", {}).get(name),
            manifest["fingerprint"].get("given"),
        ),
    }
    lines = []
    for key, (folder, used) in folders.items():
        if bool(folder) != bool(used):
            there = "a table" if used else "none"
            lines.append(f"evaluation.{key}: {there} there, {folder or 'none'} here")
        elif folder:
            place = Path(folder, manifest["dataset"], split)
            with suppress(Unusable):  # missing, or damaged, as the job will report
                if table.checksum(table.manifest(place)) != used:
                    lines.append(f"evaluation.{key}: the table in '{place}' has changed")
    return lines


def split(
    found: Mapping[str, Any], settings: Mapping[str, Any], manifest: Mapping[str, Any] | None = None
) -> str:
    """Describe how a split differs from ``settings`` (``split.drawn``); empty if it does not.

    ``found`` is its ``split.json``. With the ``manifest`` of a search, also whether that used other
    data.
    """
    stored = found.get("settings")  # older versions of the project did not store them
    if reason := _reason(differences(stored, dict(settings), "split.") if stored else []):
        return reason
    other = manifest is not None and manifest["fingerprint"]["data"] != found["checksum"]
    return "made from other data than its split has now" if other else ""


def ensemble(settings: Mapping[str, Any], study: Mapping[str, Any], name: str) -> str:
    """Describe how an ensemble's settings differ from the study's; empty if they do not."""
    return _reason(differences(current(settings, "type"), study["ensembles"][name]))


def _reason(lines: list[str]) -> str:
    return f"made with other settings: {'; '.join(lines)}" if lines else ""
