"""Pipelines of the instant space fitted again on folds; run as a program, for tests to kill it."""

import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from ensemble_search.data.split import load_inputs
from ensemble_search.ensembles.stacking import held_out
from ensemble_search.evaluation.base import Evaluation
from ensemble_search.runtime import plugins
from ensemble_search.scoring import cross_fitting, ensemble_scores
from ensemble_search.scoring.cross_fitting import Refitting
from support import TESTS, hostile_space

LIMITS = {"seconds": 20, "memory_mb": 1024}
#: ``make_evaluator``, where it is not the usual one.
EVALUATOR = {}


@contextmanager
def hostile() -> Iterator[None]:
    """Put the space of instant learners in the place of every other one, in workers too."""
    address = plugins.address

    def name(kind, name):
        return hostile_space.__name__ if kind == "spaces" else address(kind, name)

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", str(TESTS))
        patch.setattr(plugins, "address", name)
        patch.setattr(cross_fitting, "code_version", lambda *modules: "1")
        guard = SimpleNamespace(check=lambda: None)
        patch.setattr(cross_fitting, "Guard", lambda *modules: guard)
        plugins.load.cache_clear()
        yield
    plugins.load.cache_clear()


def refitting(folder, **changes):
    settings = {"space": "divbo-small", "limits": LIMITS, "threads": 1, "folder": folder}
    return Refitting(**{**settings, **EVALUATOR, **changes})


class Here:
    """Stands in for the evaluator where a worker process would only cost time."""

    asked = ()

    def __init__(self, space, file, limits, threads):
        self.inputs = load_inputs(file)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass

    def evaluate(self, values, fidelity=1.0):
        Here.asked.append(values)
        if "behaviour" in values:
            return Evaluation("crash", None, None, 1.0, 1.0, None, 9.0, "ValueError", "bad")
        learner = hostile_space.HostileSpace().pipeline(values, self.inputs.categorical, 1)
        learner.fit(self.inputs.X_train, self.inputs.y_train)
        parts = self.inputs.X_validation, self.inputs.X_test
        predicted = [learner.predict_proba(X).astype(np.float32) for X in parts]
        return Evaluation("ok", *predicted, 1.0, 1.0, 0.4, 9.0, None, None)


def enabled(folder, made, **changes):
    search, split, _ = made
    pool, _, _ = ensemble_scores.load(search, split, seed=4)
    return refitting(folder, **changes).enable(pool, search, split)


def main() -> None:
    """Refit two configurations on three folds; die when the given number of fits is stored."""
    folder, left = Path(sys.argv[1]), int(sys.argv[2])
    append = cross_fitting.Journal.append

    def die(self, record):
        nonlocal left
        append(self, record)
        left -= 1
        if not left:
            os.kill(os.getpid(), signal.SIGKILL)

    with hostile():
        Here.asked, EVALUATOR["make_evaluator"] = [], Here
        cross_fitting.Journal.append = die
        made = folder / "search", folder / "split", None
        pool = enabled(folder / "kept", made)
        pool.refit([0, 1], held_out(pool.train_labels, 3, pool.seed))


if __name__ == "__main__":
    main()
