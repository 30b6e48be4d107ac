"""A search whose evaluations are made up, for benchmarks of all but fits."""

from contextlib import redirect_stderr
from io import StringIO
from pathlib import Path

import numpy as np


def run(split: Path, folder: Path, evaluations: int, failing: int = 0) -> None:
    """Write a search, to ``folder/search``, and its journal, to ``folder/journals``.

    Predictions are right half of the time or more; one evaluation in ``failing`` fails, none if 0.
    """
    from ensemble_search.data.split import load_inputs
    from ensemble_search.evaluation.base import Evaluation
    from ensemble_search.search.run import run_job

    inputs = load_inputs(split / "inputs.npz")
    parts = inputs.y_validation, np.load(split / "test_labels.npy")
    rng = np.random.default_rng(0)

    class Evaluator:
        def __init__(self, *arguments):
            self.made = 0

        def __enter__(self):
            return self

        def __exit__(self, *exception):
            pass

        def evaluate(self, values, fidelity=1.0) -> Evaluation:
            self.made += 1
            if failing and self.made % failing == 0:
                return Evaluation("crash", None, None, 1.0, 1.0, None, 1.0, "ValueError", "")
            predictions = []
            for labels in parts:
                p = rng.random((len(labels), inputs.n_outputs), dtype=np.float32)
                p[np.arange(len(labels)), labels] += 0.5
                predictions.append(p / p.sum(axis=1, keepdims=True))
            return Evaluation("ok", *predictions, 1.0, 1.0, 0.1, 1.0, None, None)

    job = {
        **{"dataset": "made", "search": "random", "repeat": 0, "seed": 0, "space": "divbo"},
        **{"metric": "error", "limits": {"seconds": 60, "memory_mb": 4096}},
        **{"budget": {"evaluations": evaluations}, "optimizer": {"optimizer": "random"}},
    }
    with redirect_stderr(StringIO()):
        places = split, folder / "journals", folder / "search"
        run_job(job, *places, make_evaluator=Evaluator)
