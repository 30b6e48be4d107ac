"""How different the members of a final ensemble are from one another (Figure 6)."""

from dataclasses import dataclass
from zipfile import BadZipFile

import numpy as np
import pandas as pd

from divbo.analysis.load import Absent, Results, home
from divbo.analysis.ranks import Comparison
from divbo.ensembles.base import expand
from divbo.errors import of_machine


@dataclass(frozen=True)
class FinalPool:
    """The members of an ensemble after the last iteration.

    Attributes
    ----------
    members
        Iterations at which the unique members were evaluated, ascending.
    diversities
        Of every pair on the validation part (DivBO paper, Eq. 3), shape (members, members).
    disagreement
        :func:`disagreement` of the members on the validation part.
    """

    members: list[int]
    diversities: np.ndarray
    disagreement: float


def read(results: Results, method: str, dataset: str, repeat: int) -> FinalPool:
    """Read the final ensemble of a finished run.

    Raises
    ------
    Absent
        If its members, predictions or validation labels are not there.
    """
    parts = results.study["methods"][method]
    changes = results.members(dataset, parts["search"], parts["ensemble"], repeat)
    changes = changes[changes["iteration"] <= results.scores["iteration"].max()]
    last = changes[changes["iteration"] == changes["iteration"].max()]
    members = sorted({int(m) for m in last["member"]})
    run = dataset, parts["search"], repeat
    predictions = results.predictions(*run, "validation")[np.array(members, dtype=int) - 1]
    return FinalPool(
        members,
        results.diversities(*run, members, members),
        disagreement(correct(predictions, labels(results, *run))),
    )


def labels(results: Results, dataset: str, search: str, repeat: int) -> np.ndarray:
    """Read the validation labels of a search's split, int, of shape (n_validation,).

    Raises
    ------
    Absent
        If the file is not there or cannot be read.
    """
    folder = home(results.study, results.folder, dataset, search, repeat)
    split = f"repeat-{repeat}" if results.resampled else "fixed"
    path = folder / "splits" / dataset / split / "inputs.npz"
    if not path.is_file():
        raise Absent("not there")
    try:
        with np.load(path, allow_pickle=False) as arrays:
            return arrays["y_validation"]
    except (OSError, ValueError, KeyError, EOFError, BadZipFile) as error:
        if of_machine(error):
            raise
        raise Absent(f"unreadable: {type(error).__name__}") from error


def table(results: Results, compared: Comparison) -> pd.DataFrame:
    """Measure the final ensemble of every run.

    Returns
    -------
    table
        One row a run: ``dataset``, ``method``, ``repeat``, ``members`` (unique ones),
        ``disagreement`` and ``diversity``: means over pairs, NaN for a single member. All three
        are NaN where a file is missing.
    """
    runs = compared.scores.drop_duplicates(["method", "dataset", "repeat"])
    rows = []
    for run in runs.sort_values(["dataset", "method", "repeat"]).itertuples():
        try:
            pool = read(results, run.method, run.dataset, run.repeat)
            values = len(pool.members), pool.disagreement, mean_of_pairs(pool.diversities)
        except Absent:
            values = np.nan, np.nan, np.nan
        rows.append((run.dataset, run.method, run.repeat, *values))
    columns = ["dataset", "method", "repeat", "members", "disagreement", "diversity"]
    return pd.DataFrame(rows, columns=columns)


def mean_of_pairs(matrix: np.ndarray) -> float:
    """Mean over the pairs of different members of a symmetric matrix; NaN for fewer than two."""
    n = len(matrix)
    return float(matrix[np.triu_indices(n, 1)].mean()) if n > 1 else np.nan


def correct(predictions: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Whether each member alone is right.

    Parameters
    ----------
    predictions
        Class probabilities as they are stored, of shape (n_members, n_samples, n_columns).
    labels
        True labels, int, of shape (n_samples,).

    Returns
    -------
    correct
        bool, of shape (n_members, n_samples); the first of tied classes is taken.
    """
    return expand(np.asarray(predictions)).argmax(axis=-1) == labels


def disagreement(correct: np.ndarray) -> float:
    """Mean over pairs of the share of samples on which exactly one of the two is right.

    The disagreement measure of Kuncheva and Whitaker (2003), which the caption of Figure 6 gives;
    for two classes it is the share of samples whose predicted labels differ.

    Parameters
    ----------
    correct
        bool, of shape (n_members, n_samples).

    Returns
    -------
    disagreement
        In [0, 1]; NaN for fewer than two members.
    """
    n, samples = correct.shape
    if n < 2:
        return np.nan
    right = correct.sum(axis=0)  # a sample that r of n get right splits r (n - r) pairs
    return float((right * (n - right)).sum() / (samples * n * (n - 1) / 2))
