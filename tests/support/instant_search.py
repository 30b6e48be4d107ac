"""Whole search jobs in the calling process, with instant learners, to be forked and killed."""

import json
from functools import partial
from pathlib import Path

import pandas as pd

from ensemble_search.data.split import load_inputs
from ensemble_search.evaluation.base import Evaluation
from ensemble_search.problems.classification import align
from ensemble_search.runtime import plugins
from ensemble_search.runtime.code_version import code_version
from ensemble_search.runtime.errors import run
from ensemble_search.scoring import ensemble_scores
from ensemble_search.search import fingerprint
from ensemble_search.search.run import run_job
from support import hostile_space

OPTIMIZERS = {
    "random": {"optimizer": "random"},
    "bo": {"optimizer": "bo", "candidates": 30, "local": 2},
    "divbo": {"optimizer": "divbo", "candidates": 30, "local": 2},
}
TIMES = ["suggest_seconds", "fit_seconds", "cpu_seconds"]
#: Keys of search.json that time, interruptions and commits to the repository decide.
PASSING = {"started", "finished", "resumed_after", "files", "commit", "dirty"} | {
    *("job_seconds", "wall_seconds", "rest_seconds", "suggest_seconds", "cpu_seconds")
}


class InstantEvaluator:
    """Fits in this process; sharp learners crash, the same ones always."""

    def __init__(self, space, inputs, limits, threads):
        self.data = load_inputs(inputs)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass

    def evaluate(self, values, fidelity=1.0):
        if values["sharpness"] > 20:
            return Evaluation("crash", None, None, 1.0, 1.0, None, 1.0, "SIGSEGV", "too sharp")
        learner = hostile_space.HostileSpace().pipeline(values, self.data.categorical, 1)
        learner.fit(self.data.X_train.copy(), self.data.y_train.copy())
        predictions = [
            align(learner.predict_proba(X), learner.classes_, len(X), self.data.n_outputs)
            for X in (self.data.X_validation, self.data.X_test)
        ]
        return Evaluation("ok", *predictions, 1.0, 1.0, 0.5, 1.0, None, None)


def install() -> None:
    """Put the space ``hostile`` and the instant evaluator in place, for this process."""
    load = plugins.load

    def load_hostile(kind, name):
        if (kind, name) == ("spaces", "hostile"):
            return hostile_space.HostileSpace
        return load(kind, name)

    plugins.load = load_hostile
    for settings in OPTIMIZERS.values():  # is remembered, and takes longer than a search
        fingerprint.guard(settings, "hostile", "error")
        modules = fingerprint.modules(settings, "hostile", "error")
        {code_version(*names) for names in modules.values()}


def make_split(folder: Path) -> None:
    """Write what the jobs read."""
    folder.mkdir()
    hostile_space.write_inputs(folder, n_rows=40, n_features=3, n_classes=3, test_rows=9)
    checksum = load_inputs(folder / "inputs.npz").checksum()
    (folder / "split.json").write_text(json.dumps({"checksum": checksum}), encoding="utf-8")


def make_job(optimizer: dict, **more) -> dict:
    """A job of a search in the space ``hostile``; ``more`` are other keys, or other values."""
    return {
        "dataset": "blobs",
        "search": optimizer["optimizer"],
        "repeat": 0,
        "seed": 1,
        "space": "hostile",
        "metric": "error",
        "limits": {"seconds": 60.0, "memory_mb": 4096},
        "optimizer": optimizer,
        **more,
    }


def run_search(folder: Path, split: Path, optimizer: str, budget: int, repeat: int = 0) -> None:
    """Run the job; ends with SystemExit, as the script does, unless all went well."""
    job = make_job(OPTIMIZERS[optimizer], repeat=repeat, budget={"evaluations": budget})
    folders = split, folder / "checkpoints", folder / "output"
    run(partial(run_job, job, *folders, make_evaluator=InstantEvaluator))


def outcome(folder: Path, split: Path) -> dict[str, object]:
    """What a finished job has found, bit by bit; the ensembles from it too."""
    output = folder / "output"
    found: dict[str, object] = {"names": sorted(p.name for p in output.iterdir())}
    table = pd.read_parquet(output / "observations.parquet").drop(columns=TIMES)
    found["observations"] = table.to_json(double_precision=15)
    for part in ("validation", "test"):
        found[part] = (output / f"predictions-{part}.npy").read_bytes()
    manifest = json.loads((output / "search.json").read_text(encoding="utf-8"))
    found["manifest"] = {k: v for k, v in manifest.items() if k not in PASSING}
    for ensemble in ({"type": "best"}, {"type": "selection", "size": 5}):
        target = folder / "ensembles" / ensemble["type"]
        ensemble_scores.write(output, split, ensemble, 0, target)
        for file in sorted(target.iterdir()):
            found[f"{ensemble['type']} {file.name}"] = file.read_bytes()
    return found
