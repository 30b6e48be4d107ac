"""Write fitted pipelines in the format of ``stored``; called by the worker that fits them."""

from pathlib import Path
from typing import Any

import numpy as np

from ensemble_search.learners.fitted import FittedPipeline
from ensemble_search.predictor.store import learners, transformers
from ensemble_search.predictor.store.parts import NotStorable
from ensemble_search.predictor.stored import ARRAYS, MEMBER
from ensemble_search.runtime.errors import UserError
from ensemble_search.runtime.files import atomic, write_json


def save(estimator: Any, folder: Path) -> None:
    """Write a fitted pipeline of a space (see ``Space.pipeline``) to a folder, which is created.

    UserError if a part cannot be stored as numbers: its type is neither in ``transformers.STORED``
    nor in ``learners.STORED``, or no space has its settings.
    """
    fitted, learner = [], estimator
    if isinstance(estimator, FittedPipeline):
        fitted, learner = [part for _, part in estimator.transformers_], estimator.learner_
    folder.mkdir(parents=True, exist_ok=True)
    try:
        parts = [part for each in fitted for part in transformers.stored(each)]
        before, last = learners.stored(learner)
        parts += before
    except NotStorable as error:
        raise UserError(f"cannot be delivered: {error}") from error
    arrays: dict[str, np.ndarray] = {}
    described = {
        "transformers": [_without(f"t{i}", part, arrays) for i, part in enumerate(parts)],
        "learner": _without("learner", last, arrays),
    }
    write_json(folder / MEMBER, described)
    with atomic(folder / ARRAYS) as temporary:
        np.savez(temporary, allow_pickle=False, **arrays)


def _without(name: str, part: dict[str, Any], arrays: dict[str, np.ndarray]) -> dict[str, Any]:
    """Move the arrays of a part to ``arrays``."""
    moved = {f"{name}.{k}": v for k, v in part.items() if isinstance(v, np.ndarray)}
    arrays.update({k: np.ascontiguousarray(v) for k, v in moved.items()})
    return {k: v for k, v in part.items() if not isinstance(v, np.ndarray)}
