"""A folder as a delivery writes it, with a member of every kind, without a study."""

import importlib.metadata
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from ensemble_search.data.preparation import Preparation
from ensemble_search.delivery.build import LIBRARIES
from ensemble_search.predictor import members
from ensemble_search.predictor.ensemble import MANIFEST, PREPARATION
from ensemble_search.runtime import plugins
from ensemble_search.runtime.files import checksums, write_json

NAMES = ("a", "b", "c", "colour")
WORDS = ("red", "blue")


def columns(n: int = 90) -> dict[str, list[Any]]:
    """Rows as a user has them."""
    rng = np.random.default_rng(0)
    numbers = {name: rng.normal(size=n).tolist() for name in NAMES[:3]}
    return {**numbers, "colour": rng.choice(WORDS, n).tolist()}


def make(folder: Path, task: str) -> None:
    """Write it; its classes are three."""
    rows = columns()
    words = [np.array(rows["colour"]) == word for word in WORDS]
    X = np.column_stack([*(rows[name] for name in NAMES[:3]), *words]).astype(float)
    y = X[:, 0] + X[:, 1] * X[:, 3]
    outputs: dict[str, Any] = {"mean": 3.0, "std": 2.0}
    if task == "classification":
        y = np.searchsorted([-0.5, 0.5], y)
        outputs = {"classes": ["x", "y", "z"], "temperature": 0.8}
    kinds = list(_kinds(task, X, y))
    for number, fitted in enumerate(kinds):
        members.save(fitted, folder / "members" / str(number + 1))
    numeric = [{"name": n, "kind": "numeric", "fills": {n: 0.0}, "read": None} for n in NAMES[:3]]
    known = {"words": list(WORDS), "rare": ["green"], "fill": "red", "read": None}
    described = [*numeric, {"name": "colour", "kind": "categorical", **known}]
    prepared = {"target": "t", "names": list(NAMES), "columns": described}
    write_json(folder / PREPARATION, prepared)
    manifest = {
        "task": task, "target": "t", "columns": Preparation.from_json(prepared).outline(),
        **outputs, "combination": "mean",
        "members": [{"evaluation": i + 1, "weight": 1 / len(kinds), "folder": f"members/{i + 1}"}
                    for i in range(len(kinds))],
        "versions": {name: importlib.metadata.version(name) for name in LIBRARIES},
    }  # fmt: skip
    write_manifest(folder, manifest)


def write_manifest(folder: Path, manifest: dict[str, Any]) -> None:
    """Write it with the checksums of what the folder holds now, as a forger can."""
    places = [p for p in folder.rglob("*") if p.is_file() and p.name != MANIFEST]
    names = sorted(p.relative_to(folder).as_posix() for p in places)
    write_json(folder / MANIFEST, {**manifest, "files": checksums(folder, names)})


def _kinds(task: str, X: np.ndarray, y: np.ndarray) -> Iterator[Any]:
    """Fit a pipeline with each operator of two spaces."""
    categorical = np.arange(X.shape[1]) >= 3
    for name in ("divbo", "boasf"):
        kinds = plugins.load("spaces", name)
        if task not in kinds.tasks:
            continue
        space, seen = kinds().for_task(task), set()
        for values in space.sample(200, np.random.default_rng(0)):
            chosen = {values[stage] for stage in space.stages}
            if chosen <= seen:
                continue
            quick = {k: 3 for k in values if k.endswith(("n_estimators", "n_components"))}
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                try:
                    fitted = space.pipeline(dict(values) | quick, categorical, 1).fit(X, y)
                    (fitted.predict if task == "regression" else fitted.predict_proba)(X)
                except Exception:  # not every pipeline suits these data
                    continue
            seen |= chosen
            yield fitted
