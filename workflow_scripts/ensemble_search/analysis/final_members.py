"""How different the members of a final ensemble are from one another (Figure 6)."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from ensemble_search.analysis.load import Results
from ensemble_search.analysis.ranks import Comparison
from ensemble_search.problems.member_diversity import disagreement, predicted
from ensemble_search.results import layout
from ensemble_search.runtime.files import Missing, check, read_npz


@dataclass(frozen=True)
class FinalMembers:
    """The members of an ensemble after the last iteration.

    Attributes
    ----------
    members
        Iterations at which the unique members were evaluated, ascending.
    diversities
        Of every pair on the validation rows (DivBO paper, Eq. 3), shape (members, members).
    disagreement
        ``member_diversity.disagreement`` of the members on the validation rows.
    """

    members: list[int]
    diversities: np.ndarray
    disagreement: float


def read(results: Results, method: str, dataset: str, repeat: int) -> FinalMembers:
    """Read the final ensemble of a finished run.

    Raises
    ------
    Missing
        If its members, predictions or validation labels are not there.
    Unusable
        If one of these is damaged.
    """
    parts = results.study["methods"][method]
    changes = results.members(dataset, parts["search"], parts["ensemble"], repeat)
    changes = changes[changes["iteration"] <= results.scores["iteration"].max()]
    last = changes[changes["iteration"] == changes["iteration"].max()]
    members = sorted({int(m) for m in last["member"]})
    run = dataset, parts["search"], repeat
    predictions = results.predictions(*run, "validation")[np.array(members, dtype=int) - 1]
    return FinalMembers(
        members,
        results.diversities(*run, members, members),
        disagreement(predicted(predictions) == labels(results, *run)),
    )


def labels(results: Results, dataset: str, search: str, repeat: int) -> np.ndarray:
    """Read the validation labels of a search's split, int, of shape (n_validation,).

    Raises
    ------
    Missing
        If the file is not there.
    Unusable
        If it is damaged, or not that of the split.
    """
    folder = layout.split_folder(results.folder, results.study, dataset, search, repeat)
    return results.once(_labels, folder)


def _labels(split: Path) -> np.ndarray:
    check(split / "split.json", ["inputs.npz"])
    return read_npz(split / "inputs.npz", ["y_validation"])["y_validation"]


def table(results: Results, compared: Comparison) -> pd.DataFrame:
    """Measure the final ensemble of every run.

    Returns
    -------
    table
        One row per run: ``dataset``, ``method``, ``repeat``, ``members`` (unique ones),
        ``disagreement`` and ``diversity``: means over pairs, NaN for a single member. All three
        are NaN where a file is missing.
    """
    runs = compared.scores.drop_duplicates(["method", "dataset", "repeat"])
    rows = []
    values: tuple[float, float, float]
    for run in runs.sort_values(["dataset", "method", "repeat"]).itertuples():
        try:
            final = read(results, run.method, run.dataset, run.repeat)
            values = (
                len(final.members),
                final.disagreement,
                mean_of_pairs(final.diversities),
            )
        except Missing:
            values = np.nan, np.nan, np.nan
        rows.append((run.dataset, run.method, run.repeat, *values))
    columns = ["dataset", "method", "repeat", "members", "disagreement", "diversity"]
    return pd.DataFrame(rows, columns=columns)


def mean_of_pairs(matrix: np.ndarray) -> float:
    """Mean over the pairs of different members of a symmetric matrix; NaN for fewer than two."""
    n = len(matrix)
    return float(matrix[np.triu_indices(n, 1)].mean()) if n > 1 else np.nan
