"""Description of the data sets: sizes, classes, kinds of columns, and how columns are used."""

import json
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from ensemble_search.data import fetched, prepare
from ensemble_search.data.sources import source_key
from ensemble_search.results import layout, readers

KINDS = ("numeric", "date", "boolean", "categorical")


def table(study: Mapping[str, Any], results: Path) -> pd.DataFrame:
    """Describe the data sets, one row per data set.

    ``results`` is the folder of the study's results; ``dataset.json`` is in its sibling folder
    ``data``. Data sets that have not been fetched are left out.

    The columns are ``dataset``, ``rows``, ``features`` (as fetched), ``prepared`` (after the base
    preparation of the first split), ``classes`` (0 in regression), ``smallest_class`` (share of the
    rows; NaN in regression), one for each kind of column, ``missing`` (share of the values) and
    ``left_out`` (columns of the source that no search sees). Values that are only known after the
    split are NaN until then.
    """
    rows = []
    for dataset, described, split in _described(study, results):
        kinds = Counter(described["columns"].values())
        classes, n = described["classes"], described["rows"]
        rows.append(
            {
                "dataset": dataset,
                "rows": n,
                "features": described["features"],
                "prepared": split.get("features", float("nan")),
                "classes": len(classes),
                "smallest_class": min(classes.values(), default=float("nan")) / n,
                **{kind: kinds[kind] for kind in KINDS},
                "missing": described["missing"] / (n * described["features"]),
                "left_out": len(_gone(described, split)),
            }
        )
    return pd.DataFrame(rows)


def gone(study: Mapping[str, Any], results: Path) -> pd.DataFrame:
    """List the columns of the sources that no search sees: ``dataset``, ``column``, ``why``.

    Dropped parts of a column (rare categories, parts of dates) are counted in one row per data set.
    """
    rows = []
    for dataset, described, split in _described(study, results):
        rows += [(dataset, *item) for item in _gone(described, split).items()]
        parts = [c for c in split.get("dropped", {}) if c not in described["columns"]]
        if parts:
            why = Counter(split["dropped"][part] for part in parts).most_common(1)[0][0]
            what = (
                "categories and parts of dates" if len(parts) > 1 else "category or part of a date"
            )
            rows.append((dataset, f"{len(parts)} {what}", why))
    return pd.DataFrame(rows, columns=["dataset", "column", "why"])


def notes(study: Mapping[str, Any], results: Path) -> pd.DataFrame:
    """List the notes of the fetch and the first split: ``dataset``, ``note``."""
    rows = [
        (name, note)
        for name, found, split in _described(study, results)
        for note in split.get("notes", found["notes"])
    ]
    return pd.DataFrame(rows, columns=["dataset", "note"])


def by(study: Mapping[str, Any], results: Path) -> dict[str, dict[str, str]]:
    """By data set, the columns that divide or weight its rows, by their roles."""
    return {name: split.get("by", {}) for name, _, split in _described(study, results)}


def reading(study: Mapping[str, Any], results: Path) -> pd.DataFrame:
    """Describe how columns are read and used: ``dataset``, ``prepare.READING``."""
    rows = [
        (name, *row)
        for name, _, split in _described(study, results)
        for row in split.get("columns", [])[: prepare.SHOWN]
    ]
    return pd.DataFrame(rows, columns=["dataset", *prepare.READING])


def _gone(described: Mapping[str, Any], split: Mapping[str, Any]) -> dict[str, str]:
    dropped = split.get("dropped", {}).items()
    here = {column: why for column, why in dropped if column in described["columns"]}
    return {**described.get("left_out", {}), **here}


def of_one_source(study: Mapping[str, Any]) -> list[list[str]]:
    """Group the data sets by their sources: those of a group have the same test rows."""
    groups: dict[str, list[str]] = {}
    for name in study["datasets"]:
        source = study.get("sources", {}).get(name, name)
        groups.setdefault(json.dumps(source, sort_keys=True), []).append(name)
    return list(groups.values())


def caveat(study: Mapping[str, Any]) -> str:
    """Return a sentence that names data sets from the same source; empty if there are none."""
    groups = of_one_source(study)
    shared = [", ".join(names) for names in groups if len(names) > 1]
    if not shared:
        return ""
    return (
        f"The {len(study['datasets'])} data sets come from only {len(groups)} source"
        f"{'s' if len(groups) > 1 else ''}, with the same test rows ({'; '.join(shared)}). Ranks, "
        "intervals and tests over data sets treat them as independent, and so are overconfident."
    )


def _described(study: Mapping[str, Any], results: Path):
    """Yield each fetched data set with its ``dataset.json`` and ``split.json`` (empty if none)."""
    searches = [method["search"] for method in study["methods"].values()]
    for dataset, source in study.get("sources", {}).items():
        folder = results.parent / "data" / source_key(source)
        if not (folder / "dataset.json").is_file():
            continue
        split = layout.split_folder(results, study, dataset, searches[0], 0)
        made = readers.split(split) if (split / "split.json").is_file() else {}
        yield dataset, fetched.description(folder), made
