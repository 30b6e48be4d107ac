"""Run AutoGluon once on a split, and write its errors.

AutoGluon gets the training rows, and the validation rows for early stopping and for the weights of
its ensemble, without bagging. If validation uses folds, it bags over as many folds of its own
instead. No stacking, no neural networks. Errors are losses by the study's metric. To run it by
hand, after ``make autogluon``:

    .venv-autogluon/bin/python workflow_scripts/run_autogluon.py \
        --split results/quickstart/splits/wine/fixed --seconds 60 --output scores.json

In an environment without AutoGluon, the result is that it has not run.
"""

# Not named autogluon.py: Python would import this file instead of the package.

import argparse
import importlib
import tempfile
import time
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from ensemble_search.data.split import Inputs, checked_inputs
from ensemble_search.runtime import errors, files, plugins
from ensemble_search.runtime.names import AUTOGLUON_METRICS, CLASSIFICATION

LABEL = "class"
NOT_INSTALLED = "AutoGluon is not installed; run `make autogluon`, or Snakemake with --sdm conda"
_BOTH = [{"criterion": c, "ag_args": {"name_suffix": c.title()}} for c in ("gini", "entropy")]
#: The default models of AutoGluon 0.4, to which the paper compares, without neural networks.
#: Regressions have no criterion.
MODELS = {
    "GBM": [
        {},
        {"extra_trees": True, "ag_args": {"name_suffix": "XT"}},
        {
            "learning_rate": 0.03,
            "num_leaves": 128,
            "feature_fraction": 0.9,
            "min_data_in_leaf": 3,
            "ag_args": {"name_suffix": "Large", "priority": 0},
        },
    ],
    "CAT": {},
    "XGB": {},
    "RF": _BOTH,
    "XT": _BOTH,
    "KNN": [{"weights": w, "ag_args": {"name_suffix": w.title()}} for w in ("uniform", "distance")],
}


def main() -> None:
    """Parse the command line, run, and write the scores."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--split", type=Path, required=True, help="folder that split.py wrote")
    parser.add_argument(
        "--metric", choices=AUTOGLUON_METRICS, default="error", help="of the study (error)"
    )
    parser.add_argument("--seconds", type=float, required=True, help="AutoGluon's time limit")
    parser.add_argument("--threads", type=int, default=1, help="processors it may use (1)")
    parser.add_argument("--memory-mb", type=int, default=8000, help="memory it may use (8000)")
    parser.add_argument("--output", type=Path, required=True, help="JSON file to write")
    options = parser.parse_args()
    files.write_json(options.output, {"limit_seconds": options.seconds, **scores(options)})


def scores(options: argparse.Namespace) -> dict[str, Any]:
    """Run AutoGluon and return its result: the content of ``scores.json`` but ``limit_seconds``.

    If AutoGluon raises, that is a result: status ``failed``, and the reason.

    Keys: ``status`` (``ok``, ``not run``: not installed, or ``failed``) and ``reason`` (one line,
    "" if ok); ``version`` if it ran; if ok, ``validation_error`` and ``test_error`` of the model
    that AutoGluon chooses (losses by the study's metric, as fractions), ``seconds`` (wall-clock
    time of fitting), ``models`` (their names) and ``chosen`` (the name of the chosen one).
    """
    try:
        importlib.import_module("autogluon.tabular")
    except ImportError as error:
        missing = (error.name or "").startswith("autogluon")
        return {"status": "not run", "reason": NOT_INSTALLED if missing else _line(error)}
    files.check(options.split / "split.json", ["test_labels.npy"])
    inputs = checked_inputs(options.split)
    labels = files.read_npy(options.split / "test_labels.npy")
    found = {"version": version("autogluon.tabular")}
    start = time.perf_counter()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        try:
            predictor = fit(inputs, folder, options)
            seconds = time.perf_counter() - start
            guesses = (
                predictor.predict_oof()
                if inputs.folds.size
                else predictor.predict(_frame(inputs.X_validation)),
                predictor.predict(_frame(inputs.X_test)),
            )
            losses = [
                _loss(options.metric, y, guess.to_numpy())
                for guess, y in zip(guesses, (inputs.y_validation, labels), strict=True)
            ]
        except Exception as error:  # AutoGluon may raise anything
            return {"status": "failed", "reason": _line(error), **found}
    return {
        "status": "ok",
        "reason": "",
        "validation_error": losses[0],
        "test_error": losses[1],
        "seconds": seconds,
        **found,
        "models": predictor.model_names(),
        "chosen": predictor.model_best,
    }


def fit(inputs: Inputs, folder: str, options: argparse.Namespace):
    """Return the fitted predictor; its files are in ``folder``."""
    from autogluon.tabular import TabularPredictor

    train = _frame(inputs.X_train).assign(**{LABEL: inputs.y_train})
    folds, validation = 0, None
    if inputs.folds.size:
        folds = int(inputs.folds.max()) + 1
    else:
        validation = _frame(inputs.X_validation).assign(**{LABEL: inputs.y_validation})
    problem, models = "regression", {**MODELS, "RF": {}, "XT": {}}
    if inputs.task == CLASSIFICATION:
        problem, models = "binary" if inputs.n_outputs == 2 else "multiclass", MODELS
    predictor = TabularPredictor(
        label=LABEL,
        problem_type=problem,
        eval_metric=AUTOGLUON_METRICS[options.metric],
        path=f"{folder}/models",
        verbosity=2,
    )
    return predictor.fit(
        train,
        tuning_data=validation,
        time_limit=options.seconds,
        hyperparameters=models,
        num_bag_folds=folds,
        num_stack_levels=0,
        auto_stack=False,
        dynamic_stacking=False,
        num_cpus=options.threads,
        num_gpus=0,
        memory_limit=options.memory_mb / 1024,
    )


def _loss(metric: str, labels: np.ndarray, guesses: np.ndarray) -> float:
    """Return the loss of predicted labels or numbers, of shape (n_samples,)."""
    if metric == "error":
        return float(np.mean(guesses != labels))
    return plugins.load("metrics", metric)().loss(labels, guesses[:, None])


def _frame(X: np.ndarray):
    import pandas as pd

    return pd.DataFrame(X, columns=[f"x{i}" for i in range(X.shape[1])])


def _line(error: Exception) -> str:
    return f"{type(error).__name__}: {' '.join(str(error).split())}"[:300]


if __name__ == "__main__":
    errors.run(main)
