"""The design of a study in words, for the page of its evidence."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from ensemble_search.analysis.verdict import listed
from ensemble_search.report.tables import markdown
from ensemble_search.results import outdated
from ensemble_search.runtime import plugins
from ensemble_search.search.budget import UNITS

STUDIES = Path(__file__).parents[3] / "studies"
#: Folders of the parts of a method, by section of the study: kind, key.
PARTS = {"searches": ("optimizers", "optimizer"), "ensembles": ("ensembles", "type")}


def lines(study: Mapping[str, Any], searched: bool) -> list[str]:
    """Describe data, split, repeats, budget, limits, methods and further measurements in Markdown.

    Without rows of searches (``searched``), only the design of the other measurements is described.
    """
    items = list(_items(study, searched))
    if not items:
        return []
    file = next(STUDIES.rglob(f"{study['study']}.yaml"), None)
    where = "`study.json`"
    if file:
        where = f"[`{file.name}`](../../studies/{file.relative_to(STUDIES).as_posix()})"
    return [
        "",
        "## Design",
        "",
        f"From {where}; the [glossary](../../docs/glossary.md) explains the terms.",
        "",
        *(f"- **{name}**: {text}" for name, text in items),
        *(["", *_methods(study)] if searched else []),
    ]


def _items(study: Mapping[str, Any], searched: bool) -> Iterator[tuple[str, str]]:
    measured, spread = study.get("surrogates"), study.get("spread")
    if searched or measured:
        datasets = study["datasets"]
        if measured and not searched:
            datasets = measured["datasets"] or datasets
        yield f"Data sets ({len(datasets)})", ", ".join(datasets)
        yield "Split", _split(study["split"])
        parts = {"all data sets": study["split"].get("train_rows")}
        parts |= study.get("train_rows") or {}
        if shares := [f"{name} {_percent(p['share'])}" for name, p in parts.items() if p]:
            yield "Part of the training rows that is used", ", ".join(shares)
    if searched:
        yield "Repeats", f"{study['repeats']} per data set, each with all methods"
        ((unit, budget),) = ((u, n) for u, n in study["budget"].items() if n is not None)
        yield "Budget", f"{budget:g} {UNITS[unit]} per search"
    if searched or measured:
        seconds, memory = study["limits"]["seconds"], study["limits"]["memory_mb"]
        yield "Limits per evaluation", f"{seconds:g} CPU seconds per thread, {memory} MiB"
        yield "Space", f"[`{study['space']}`](../../docs/space.md); loss: `{study['metric']}`"
    if searched and study.get("divisions"):
        yield (
            "Divisions",
            f"the held-out rows of each repeat are divided {study['divisions']} times into "
            "validation and test rows, with the same fits",
        )
    if measured:
        yield (
            "Surrogates",
            f"{measured['repeats']} repeats; fitted on {listed(measured['sizes'])} configurations, "
            f"and evaluated on {measured['held_out']} others",
        )
    if spread:
        sizes = spread["sizes"]
        yield (
            "Designs",
            f"{spread['samples']} per sampler and size; {len(sizes)} sizes from {min(sizes)} to "
            f"{max(sizes)} points",
        )


def _split(split: Mapping[str, Any]) -> str:
    train, validation, test = (split.get(name) for name in ("train", "validation", "test"))
    if split.get("folds"):
        text = f"{_percent(test)} test rows, {split['folds']}-fold cross-validation on the others"
    elif isinstance(train, int):
        text = f"{train} training and {validation} validation rows; all others are test rows"
    else:
        text = f"{_percent(train)} training, {_percent(validation)} validation and "
        text += f"{_percent(test)} test rows"
    resample = split.get("resample", "never")
    if resample == "never":
        return f"{text}; the same in all repeats"
    if resample == "per-repeat":
        return f"{text}; drawn anew for each repeat"
    return f"{text}; {resample} splits, used in turn"


def _percent(share: float | None) -> str:
    return f"{100 * (share or 0):g} %"


def _methods(study: Mapping[str, Any]) -> list[str]:
    rows = [
        [method, *(_part(study, section, parts[key]) for section, key in
                   (("searches", "search"), ("ensembles", "ensemble")))]
        for method, parts in study["methods"].items()
    ]  # fmt: skip
    return [
        "A method is a search and the ensemble built from its evaluations. Settings are listed if "
        "they are not the defaults, or differ between the study's searches or ensembles.",
        "",
        *markdown(["method", "search", "ensemble"], rows),
    ]


def _part(study: Mapping[str, Any], section: str, name: str) -> str:
    """Link a search or ensemble, with the settings that matter."""
    kind, key = PARTS[section]
    own = outdated.current(study[section][name], key)
    fields = plugins.load(kind, own[key]).model_fields
    alike = [other for other in study[section].values() if other[key] == own[key]]
    settings = [
        f"{field} {json.dumps(value).strip(chr(34))}"
        for field, value in own.items()
        if field != key
        and (value != fields[field].default or any(other[field] != value for other in alike))
    ]
    link = f"[{own[key]}](../../docs/reference.md#{own[key]})"
    return f"{link}: {', '.join(settings)}" if settings else link
