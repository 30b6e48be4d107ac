"""Evaluations with which a search begins (warm start)."""

from collections.abc import Collection
from dataclasses import replace

import numpy as np

from ensemble_search.evaluation.table import Table, TableEvaluator
from ensemble_search.problems.base import Problem
from ensemble_search.runtime.errors import UserError
from ensemble_search.runtime.names import GIVEN
from ensemble_search.search.journal import Record
from ensemble_search.spaces.base import Space


def records(
    table: Table, space: Space, labels: np.ndarray, problem: Problem, shares: Collection[float]
) -> list[Record]:
    """Return a table's evaluations, in order, as the first records of a search.

    The table must have the same split, space and limits (``Table.check``). ``labels`` are
    validation labels, of shape (n_validation,). Evaluations at other fidelities than ``shares`` are
    left out. Raises UserError if a configuration is not in the space, or no evaluation is left.
    """
    evaluator, columns = TableEvaluator(table, problem), table.columns
    entries = list(zip(table.configurations, columns["fidelity"], strict=True))
    entries = [(values, fidelity) for values, fidelity in entries if fidelity in shares]
    if not entries:
        raise UserError(f"the table '{table.folder}' has no evaluation at a fidelity of the search")
    try:
        space.configurations([values for values, _ in entries])
    except UserError as error:
        raise UserError(f"the table '{table.folder}': {error}") from None
    return [
        Record.of(
            values,
            replace(evaluator.evaluate(values, fidelity), origin=GIVEN),
            labels,
            problem,
            why={"origin": GIVEN},
            fidelity=fidelity,
            planned_after=len(entries),
        )
        for values, fidelity in entries
    ]
