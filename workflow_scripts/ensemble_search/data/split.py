"""A split on disk: the inputs of searches and, in a separate file, the test labels."""

import hashlib
import json
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

import numpy as np

from ensemble_search.runtime.files import (
    Unusable,
    atomic,
    checksums,
    read_json,
    read_npz,
    reading,
    write_json,
    write_npy,
)
from ensemble_search.runtime.names import CLASSIFICATION, REGRESSION

#: Names of the arrays with each part's weights.
WEIGHTS = {"train": "weights", "validation": "validation_weights", "test": "test_weights"}


@dataclass(frozen=True, eq=False)
class Inputs:
    """All data that a search may use, so without test labels."""

    #: float64, of shape (n, p), after the base preparation: finite, without missing values.
    X_train: np.ndarray
    X_validation: np.ndarray
    X_test: np.ndarray
    #: int64 codes 0..C-1, of shape (n,). In regression, float64: standardised numbers.
    y_train: np.ndarray
    y_validation: np.ndarray
    categorical: np.ndarray  #: bool, of shape (p,): one-hot columns and booleans
    #: Labels in the order of their codes, str, of shape (C,); empty in regression.
    classes: np.ndarray
    #: Names of the columns, str, of shape (p,); a one-hot column is ``<column>=<value>``.
    features: np.ndarray
    #: int64, of shape (n_train,): fold of every training row, from 0, if validation is by folds.
    #: The validation rows are then the training rows, in the same order. Empty if validation rows
    #: are a separate part.
    folds: np.ndarray
    #: float64, above 0, of shapes (n_train,), (n_validation,) and (n_test,): weights of the rows.
    #: Empty if equal, the default.
    weights: np.ndarray = field(default_factory=lambda: np.empty(0))
    validation_weights: np.ndarray = field(default_factory=lambda: np.empty(0))
    test_weights: np.ndarray = field(default_factory=lambda: np.empty(0))

    @property
    def task(self) -> str:
        """``classification`` or ``regression``."""
        return CLASSIFICATION if len(self.classes) else REGRESSION

    @property
    def n_outputs(self) -> int:
        """Number of columns of a model's predictions: one per class, or 1 in regression."""
        return len(self.classes) or 1

    def checksum(self) -> str:
        """Return the SHA-256 of names, dtypes, shapes and values of arrays; skip empty weights."""
        digest = hashlib.sha256()
        for name in (own.name for own in fields(self)):
            if name in WEIGHTS.values() and not getattr(self, name).size:
                continue
            array = np.ascontiguousarray(getattr(self, name))
            digest.update(json.dumps([name, array.dtype.str, array.shape]).encode())
            digest.update(array.reshape(-1).view(np.uint8).data)  # does not copy
        return digest.hexdigest()


def load_inputs(path: str | Path) -> Inputs:
    """Read ``inputs.npz`` (the file, or its folder); Unusable if it is missing or damaged."""
    path = Path(path)
    path = path / "inputs.npz" if path.is_dir() else path
    names = [own.name for own in fields(Inputs) if own.name not in WEIGHTS.values()]
    return Inputs(**read_npz(path, names, optional=WEIGHTS.values()))


def checked_inputs(folder: Path) -> Inputs:
    """Read ``inputs.npz``; Unusable if it is missing, damaged, or not that of ``split.json``."""
    path = Path(folder) / "inputs.npz"
    inputs = load_inputs(path)
    if inputs.checksum() != read_json(Path(folder) / "split.json").get("checksum"):
        raise Unusable(path, "it does not hold the arrays that split.json was written for")
    with reading(path):
        _check(inputs)
    return inputs


def _check(inputs: Inputs) -> None:
    """Raise ValueError unless types and shapes are as documented in :class:`Inputs`."""
    columns = len(inputs.features)
    for part in ("train", "validation", "test"):
        X = getattr(inputs, f"X_{part}")
        if X.dtype != float or X.ndim != 2 or X.shape[1] != columns or not np.isfinite(X).all():
            raise ValueError(f"X_{part} is not a table of {columns} columns of numbers")
    for part in ("train", "validation"):
        y, X = getattr(inputs, f"y_{part}"), getattr(inputs, f"X_{part}")
        if len(inputs.classes):
            right = y.dtype == int and ((y >= 0) & (y < len(inputs.classes))).all()
        else:
            right = y.dtype == float and np.isfinite(y).all()
        if not right or y.shape != X.shape[:1]:
            what = "class" if len(inputs.classes) else "number"
            raise ValueError(f"y_{part} has no {what} for each row")
    if inputs.categorical.dtype != bool or inputs.categorical.shape != (columns,):
        raise ValueError(f"categorical has no answer for each of {columns} columns")
    if inputs.folds.dtype != int or inputs.folds.shape not in ((0,), inputs.y_train.shape):
        raise ValueError("folds has no number for each row")
    sizes = {part: len(getattr(inputs, f"X_{part}")) for part in WEIGHTS}
    weighted = inputs.weights.size > 0
    for part, name in WEIGHTS.items():
        own = getattr(inputs, name)
        right = own.shape == (sizes[part] if weighted else 0,) and own.dtype == float
        if not right or not (np.isfinite(own) & (own > 0)).all():
            raise ValueError(f"{name} has no number above 0 for each row")
    if inputs.classes.dtype.kind != "U" or inputs.classes.ndim != 1:
        raise ValueError("classes are not names")


def write(
    inputs: Inputs, test_labels: np.ndarray, description: dict[str, Any], folder: Path
) -> None:
    """Write a split made by ``prepare.make_split``; ``split.json``, with checksums, comes last."""
    description = dict(description)
    arrays = {own.name: getattr(inputs, own.name) for own in fields(Inputs)}
    if not inputs.weights.size:
        arrays = {name: array for name, array in arrays.items() if name not in WEIGHTS.values()}
    with atomic(folder / "inputs.npz") as temporary:
        np.savez(temporary, allow_pickle=False, **arrays)
    write_npy(folder / "test_labels.npy", test_labels)
    names = ["inputs.npz", "test_labels.npy"]
    if "preparation" in description:
        write_json(folder / "preparation.json", description.pop("preparation"))
        names.append("preparation.json")
    sums = checksums(folder, names)
    write_json(folder / "split.json", {**description, "checksum": inputs.checksum(), "files": sums})
