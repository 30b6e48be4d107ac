"""Writes results as docs/architecture.md describes them, with numbers that a test gives."""

import json
from pathlib import Path

import numpy as np
import pyarrow as pa

from ensemble_search.problems.member_diversity import DECOMPOSITIONS, MEASURES
from ensemble_search.runtime import files, plugins
from ensemble_search.runtime.names import CLASSIFICATION
from ensemble_search.scoring import ensemble_scores

ALGORITHMS = ("adaboost", "knn", "lda", "random_forest")


def study(methods=("RS", "RS-ES", "DivBO"), datasets=("quake", "wind"), repeats=3, budget=8):
    """A study whose methods each have a search and an ensemble of their own name."""
    names = {m: m.lower().replace(" ", "-") for m in methods}
    return {
        "study": "made",
        "datasets": list(datasets),
        "searches": {f"search-{n}": {"optimizer": "random"} for n in names.values()},
        "ensembles": {f"ensemble-{n}": {"type": "best"} for n in names.values()},
        "methods": {
            m: {"search": f"search-{n}", "ensemble": f"ensemble-{n}"} for m, n in names.items()
        },
        "repeats": repeats,
        "budget": {"evaluations": budget},
        "limits": {"seconds": 300, "memory_mb": 4096},
        "split": {"train": 0.6, "validation": 0.2, "test": 0.2, "resample": "never", "seed": 1},
        "space": "divbo",
        "seed": 0,
        "metric": "error",
        "report": {"reference": None},
        "file": "studies/made.yaml",
    }


def write_split(results: Path, dataset: str, test=(30, 70), name="fixed") -> None:
    files.write_json(
        results / "splits" / dataset / name / "split.json",
        {
            "dataset": dataset,
            "settings": {
                "train": 0.6,
                "validation": 0.2,
                "test": 0.2,
                "seed": 1 + int(name.removeprefix("repeat-").replace("fixed", "0")),
            },
            "sizes": {"train": 300, "validation": 100, "test": sum(test)},
            "features": 4,
            "classes": {
                "train": {"a": 90, "b": 210},
                "validation": {"a": 30, "b": 70},
                "test": dict(zip("ab", test, strict=True)),
            },
            "dropped": {},
            "checksum": "0" * 64,
        },
    )


def write_search(results: Path, dataset: str, search: str, repeat: int, errors, **more) -> None:
    """Write a search whose evaluations have these validation errors; NaN: they failed."""
    errors = np.asarray(errors, dtype=float)
    n = len(errors)
    failed = np.isnan(errors)
    folder = results / "searches" / dataset / search / str(repeat)
    columns = {
        "iteration": np.arange(1, n + 1),
        "status": np.where(failed, more.get("status", "timeout"), "ok"),
        "error": errors,
        "suggest_seconds": np.full(n, more.get("suggest", 0.5)),
        "fit_seconds": np.full(n, more.get("fit", 2.0)),
        "cpu_seconds": np.full(n, more.get("cpu", 1.5)),
        "predict_seconds": np.where(failed, np.nan, more.get("predict", 0.1)),
        "memory_mb": np.full(n, more.get("memory", 300.0)),
        "fidelity": np.full(n, more.get("fidelity", 1.0)),
        "error_type": [more.get("error_type", "TimeoutError") if f else None for f in failed],
        "message": [more.get("message", "took too long") if f else None for f in failed],
        "why": ["{}"] * n,
        "config.algorithm": [ALGORITHMS[i % len(ALGORITHMS)] for i in range(n)],
        "config.knn.n_neighbors": [5 if i % 4 == 1 else None for i in range(n)],
    }
    files.write_parquet(folder / "observations.parquet", columns)
    rng = np.random.default_rng([repeat, n])
    for part, rows in (("validation", 100), ("test", 100)):
        predictions = rng.random((n, rows, 1), dtype=np.float32)
        predictions[failed] = np.nan
        files.write_npy(folder / f"predictions-{part}.npy", predictions)
    best = None if failed.all() else float(np.nanmin(errors))
    manifest = search_manifest(
        dataset=dataset,
        search=search,
        repeat=repeat,
        evaluations=n,
        best_error=best,
        status={"ok": int(n - failed.sum()), "timeout": int(failed.sum())},
        started=f"2025-01-0{1 + repeat % 9}T08:00:00+00:00",
        finished=f"2025-01-0{1 + repeat % 9}T09:00:00+00:00",
        wall_seconds=2.5 * n,
        cpu_seconds=1.5 * n,
    )
    files.write_json(folder / "search.json", {**manifest, **more.get("made_with", {})})


def search_manifest(**more) -> dict:
    """What every search.json holds, with these values for some keys."""
    made = {
        "dataset": "quake",
        "search": "bo",
        "repeat": 0,
        "seed": 0,
        "settings": {"optimizer": "random"},
        "space": "divbo",
        "metric": "error",
        "limits": {"seconds": 300, "memory_mb": 4096},
        "evaluations": 8,
        "best_error": 0.2,
        "status": {"ok": 8},
        "fingerprint": {"data": "0" * 64},
        "commit": "0123456789abcdef0123456789abcdef01234567",
        "dirty": False,
        "versions": {"python": "3.11.2", "numpy": "2.4.6"},
        "machine": {"host": "node-1", "processors": 64},
        "threads": 1,
        "started": "2025-01-01T08:00:00+00:00",
        "finished": "2025-01-01T09:00:00+00:00",
        "wall_seconds": 20.0,
        "suggest_seconds": 4.0,
        "cpu_seconds": 12.0,
        "rest_seconds": 0.0,
        **more,
    }
    return {"budget": {"evaluations": made["evaluations"]}, **made}


def made_with(study: dict, search: str) -> dict:
    """What search.json says of the settings of a search."""
    shared = {key: study[key] for key in ("space", "metric", "limits", "seed")}
    return {"settings": study["searches"][search], **shared}


def write_ensemble(folder: Path, validation, test, settings=None, metric="error") -> None:
    n = len(test)
    scores = {
        "iteration": np.arange(1, n + 1),
        "validation_error": np.asarray(validation, dtype=float),
        "test_error": np.asarray(test, dtype=float),
        "members": np.where(np.isnan(np.asarray(test, dtype=float)), 0, 3),
        "predict_seconds": np.where(np.isnan(np.asarray(test, dtype=float)), np.nan, 0.3),
    }
    metadata = {} if settings is None else {"ensemble_search.settings": json.dumps(settings)}
    files.write_parquet(folder / "scores.parquet", pa.table(scores, metadata=metadata))
    files.write_parquet(folder / "members.parquet", _last_two(np.asarray(validation, float)))
    test = np.asarray(test, float)
    built = np.flatnonzero(~np.isnan(test))
    losses = _single(test[built, None], metric)
    ensemble_scores.write_losses(folder / "losses.npz", 1 + built, losses)
    labels = plugins.load("metrics", metric).task == CLASSIFICATION
    values = dict.fromkeys([*(MEASURES if labels else ()), *DECOMPOSITIONS], 0.25)
    diversity = {"iteration": n, "validation": values, "test": values} if len(built) else None
    about = {"settings": settings or {}, "search": {}, "diversity": diversity}
    files.write_json(folder / "ensemble.json", about)


def _single(losses: np.ndarray, metric: str) -> np.ndarray:
    """Losses of 100 samples whose mean is the given one; of an error, rounded."""
    if metric in ("auc", "balanced-error"):
        return np.empty((len(losses), 0))
    if metric == "error":
        return (np.arange(100) < np.round(100 * losses)).astype(float)
    return losses * np.linspace(0, 2, 100)


def _last_two(errors: np.ndarray) -> dict:
    """Members of an ensemble of the last two evaluations that did not fail, at every iteration."""
    rows = []
    for t in range(1, len(errors) + 1):
        members = 1 + np.flatnonzero(~np.isnan(errors[:t]))[-2:]
        rows += [(t, m, 1 / len(members)) for m in members]
    columns = [list(c) for c in zip(*rows, strict=True)] or [[], [], []]
    types = (pa.int64(), pa.int64(), pa.float64())
    names = ("iteration", "member", "weight")
    return {n: pa.array(c, t) for n, c, t in zip(names, columns, types, strict=True)}


def write(results: Path, study: dict, error, skip=(), fidelity=None) -> None:
    """Write a whole study.

    ``error(method, dataset, repeat)`` gives the arrays of validation and test errors; a run that is
    in ``skip`` as (method, dataset, repeat) is left out. ``fidelity`` has those of the evaluations
    of some methods.
    """
    spent = {"budget": study["budget"]} if "fits" in study["budget"] else {}
    for dataset in study["datasets"]:
        write_split(results, dataset)
        for method, parts in study["methods"].items():
            for repeat in range(study["repeats"]):
                if (method, dataset, repeat) in skip:
                    continue
                validation, test = error(method, dataset, repeat)
                where = results, dataset, parts["search"]
                more = {"made_with": made_with(study, parts["search"]) | spent}
                more |= {"fidelity": (fidelity or {}).get(method, 1.0)}
                write_search(*where, repeat, validation, **more)
                folder = results / "ensembles" / dataset / parts["search"] / parts["ensemble"]
                folder /= str(repeat)
                write_ensemble(folder, validation, test, metric=study["metric"])
