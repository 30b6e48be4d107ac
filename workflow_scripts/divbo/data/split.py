"""What a split is on disk: the inputs of the searches, and beside them the test labels."""

import hashlib
import json
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np

from divbo.files import atomic, checksums, write_json, write_npy


@dataclass(frozen=True, eq=False)
class Inputs:
    """All that a search may know of a data set; the test labels have no place in it.

    Attributes
    ----------
    X_train, X_validation, X_test
        float64, of shape (n, p), after the base preparation: finite, without missing values.
    y_train, y_validation
        int64 codes 0..C-1, of shape (n,).
    categorical
        bool, of shape (p,): one-hot columns and booleans.
    classes
        Labels in the order of their codes, str, of shape (C,).
    features
        Names of the columns, str, of shape (p,); a one-hot column is ``<column>=<value>``.
    """

    X_train: np.ndarray
    X_validation: np.ndarray
    X_test: np.ndarray
    y_train: np.ndarray
    y_validation: np.ndarray
    categorical: np.ndarray
    classes: np.ndarray
    features: np.ndarray

    @property
    def n_classes(self) -> int:
        """Number of classes C."""
        return len(self.classes)

    def checksum(self) -> str:
        """Return the SHA-256 of names, types, shapes and values of all arrays."""
        digest = hashlib.sha256()
        for field in fields(self):
            array = np.ascontiguousarray(getattr(self, field.name))
            digest.update(json.dumps([field.name, array.dtype.str, array.shape]).encode())
            digest.update(array.reshape(-1).view(np.uint8))  # without a copy
        return digest.hexdigest()


def load_inputs(path: str | Path) -> Inputs:
    """Read ``inputs.npz``; ``path`` is the file or its folder."""
    path = Path(path)
    path = path / "inputs.npz" if path.is_dir() else path
    with np.load(path, allow_pickle=False) as arrays:
        return Inputs(**{field.name: arrays[field.name] for field in fields(Inputs)})


def write(
    inputs: Inputs, test_labels: np.ndarray, description: dict[str, Any], folder: Path
) -> None:
    """Write ``inputs.npz``, ``test_labels.npy`` and, last, ``split.json`` with the checksum."""
    arrays = {field.name: getattr(inputs, field.name) for field in fields(Inputs)}
    with atomic(folder / "inputs.npz") as temporary:
        np.savez(temporary, allow_pickle=False, **arrays)
    write_npy(folder / "test_labels.npy", test_labels)
    sums = checksums(folder, ("inputs.npz", "test_labels.npy"))
    write_json(folder / "split.json", {**description, "checksum": inputs.checksum(), "files": sums})
