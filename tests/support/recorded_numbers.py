"""The numbers of a tiny study, which tests/recorded/numbers.json holds.

`make record` rewrites that file after an intended change.
"""

import json
import platform
import random
import warnings
from functools import cache

import numpy as np

from ensemble_search.data import normalise, prepare, sources
from ensemble_search.ensembles.base import Pool, Refit
from ensemble_search.evidence.rows import COMMON
from ensemble_search.problems.classification import CLASSIFICATION, align
from ensemble_search.runtime import plugins, provenance
from ensemble_search.scoring import ensemble_scores
from ensemble_search.surrogates.base import DiversitySurrogate
from support import TESTS
from support.quick_optimizers import SETTINGS
from support.toy_space import LABELS, ToySpace, search

FILE = TESTS / "recorded/numbers.json"
EVALUATIONS = 12
#: Surrogates of diversity suggest once each: their fits take long.
SUGGESTS = 10
SPLIT = {"train": 0.6, "validation": 0.2, "test": 0.2, "seed": 1}
#: Pipelines are drawn until each of these parts of a pipeline has had each of its values.
PARTS = ("algorithm", "preprocessor", "rescaler")
#: Pipelines whose training amplifies last bits, which depend on the processor: networks fitted for
#: hundreds of iterations.
CHAOTIC = {
    ("mlp", "classification 1"),
    ("tabular", "classification 12"),
    ("tabular", "regression 11"),
}


def versions() -> dict[str, str]:
    libraries = plugins.load("spaces", "autogluon-like").libraries
    return {**provenance.versions(libraries), "processor": platform.machine()}


@cache
def searches() -> dict:
    """Of every optimizer: configurations and errors of the toy space, and of ensembles of them."""
    kinds = {name: plugins.load("ensembles", name) for name in plugins.available("ensembles")}
    ensembles = {name: kind() for name, kind in kinds.items() if not kind.refits}
    found = {}
    for optimizer in plugins.available("optimizers"):
        if optimizer == "ask-tell":
            continue  # its numbers are another library's
        settings = SETTINGS.get(optimizer, {})
        past, _ = search(plugins.load("optimizers", optimizer)(**settings), ToySpace(), EVALUATIONS)
        predictions = np.stack([CLASSIFICATION.compress(o.prediction) for o in past.observations])
        errors = np.array([o.error for o in past.observations])
        pool = Pool(predictions, LABELS, errors, seed=0)
        found[optimizer] = {
            "configurations": [dict(o.configuration) for o in past.observations],
            "errors": errors.tolist(),
            **{
                name: ensemble_scores.score(made.build_prefixes(pool), pool, predictions, LABELS)[
                    0
                ]["validation_error"].tolist()
                for name, made in ensembles.items()
            },
        }
    return found


def refitting() -> dict:
    """Of ensembles that refit pipelines: errors after the random search of the toy space.

    A refit predicts of any rows what the search's pipeline predicted of the validation rows.
    """
    past, _ = search(plugins.load("optimizers", "random")(), ToySpace(), EVALUATIONS)
    predictions = np.stack([CLASSIFICATION.compress(o.prediction) for o in past.observations])
    refits = [Refit(own, own, own, 0.0) for own in predictions]
    pool = Pool(
        predictions,
        LABELS,
        np.array([o.error for o in past.observations]),
        seed=0,
        refit=lambda indices, held: [refits[i] for i in indices],
        train_inputs=np.linspace(0, 1, len(LABELS))[:, None],
        train_labels=np.roll(LABELS, len(LABELS) // 5),  # harder to learn
    )
    kinds = {name: plugins.load("ensembles", name) for name in plugins.available("ensembles")}
    return {
        name: ensemble_scores.score(kind().build_prefixes(pool), pool, predictions, LABELS)[0][
            "validation_error"
        ].tolist()
        for name, kind in kinds.items()
        if kind.refits
    }


@cache
def surrogates() -> dict:
    """What divbo suggests next with every surrogate, after the same random configurations."""
    past, _ = search(plugins.load("optimizers", "random")(), ToySpace(), SUGGESTS)
    found = {}
    for name in plugins.available("surrogates"):
        if not issubclass(plugins.load("surrogates", name), DiversitySurrogate):
            continue
        optimizer = plugins.load("optimizers", "divbo")(diversity_surrogate=name, interleave=0)
        suggestion = optimizer.suggest(past, np.random.default_rng([0, 0, SUGGESTS]))
        found[name] = {"configuration": dict(suggestion.configuration), "why": suggestion.why}
    return found


def pipelines() -> dict:
    """Errors of pipelines with every operator, and the mean probability of the true class: wine."""
    frame, description = normalise.normalise(sources.read({"sklearn": "wine"}))
    inputs, *_ = prepare.make_split(frame, description, SPLIT)
    space = plugins.load("spaces", "divbo")()
    found, seen = {}, set()
    for i, configuration in enumerate(space.sample(60, np.random.default_rng(0))):
        parts = {(part, configuration.get(part)) for part in PARTS}
        if parts <= seen:
            continue
        random.seed(0)  # as the worker does
        np.random.seed(0)
        made = space.pipeline(dict(configuration), inputs.categorical, 1)
        with warnings.catch_warnings(action="ignore"):
            try:
                made.fit(inputs.X_train.copy(), inputs.y_train.copy())
            except np.linalg.LinAlgError:  # as in a search, where it is a failed evaluation
                continue
        seen |= parts
        y = inputs.y_validation
        p = align(made.predict_proba(inputs.X_validation), made.classes_, len(y), inputs.n_outputs)
        found[f"{i + 1} {configuration['algorithm']}"] = {
            "configuration": dict(configuration),
            "error": float(np.mean(p.argmax(axis=1) != y)),
            "probability": float(p[np.arange(len(y)), y].mean(dtype=float)),
        }
    return found


def spaces() -> dict:
    """Of every other space: pipelines with the defaults of all algorithms, or three draws."""
    names = [name for name in plugins.available("spaces") if name not in COMMON]
    kinds = {name: plugins.load("spaces", name) for name in names}
    return {
        name: {
            f"{task} {number}": _fitted(space, configuration)
            for task in kind.tasks
            for space in [kind().for_task(task)]
            for number, configuration in enumerate(_some(space), 1)
            if (name, f"{task} {number}") not in CHAOTIC
        }
        for name, kind in kinds.items()
    }


def _some(space) -> list:
    parts = [space.restricted({"algorithm": name}) for name in space.algorithms]
    if not parts:
        return space.sample(3, np.random.default_rng(0))
    return space.at(np.array([p.compose(lambda i: space.columns[i].default) for p in parts]))


def _fitted(space, configuration) -> dict:
    """Mean loss of a pipeline, and mean probability of the true class or mean prediction."""
    inputs = _inputs(space.task)
    random.seed(0)
    np.random.seed(0)
    made = space.pipeline(dict(configuration), inputs.categorical, 1)
    found, y = {"configuration": dict(configuration)}, inputs.y_validation
    with warnings.catch_warnings(action="ignore"):
        made.fit(inputs.X_train.copy(), inputs.y_train.copy())
        if space.task == "regression":
            p = made.predict(inputs.X_validation)
            return {**found, "error": float(np.mean((p - y) ** 2)), "mean": float(p.mean())}
        p = np.nan_to_num(made.predict_proba(inputs.X_validation))
    right = made.classes_[p.argmax(axis=1)] == y
    own = p[np.arange(len(y)), np.searchsorted(made.classes_, y)]
    return {**found, "error": 1 - float(right.mean()), "probability": float(own.mean(dtype=float))}


@cache
def _inputs(task: str):
    source = {"classification": "wine", "regression": "diabetes"}[task]
    frame, description = normalise.normalise(sources.read({"sklearn": source}), task=task)
    return prepare.make_split(frame, description, SPLIT)[0]


def rounded(content):
    """Round to six digits: the last ones depend on the processor."""
    if isinstance(content, dict):
        return {key: rounded(part) for key, part in content.items()}
    if isinstance(content, list | tuple):
        return [rounded(part) for part in content]
    return float(f"{content:.6g}") if isinstance(content, float) else content


def numbers() -> dict:
    found = {"search": searches(), "surrogate": surrogates(), "pipeline": pipelines()}
    return rounded({**found, "space": spaces(), "refitting": refitting()})


def record() -> None:
    """Write the file: one line per search, surrogate and pipeline."""
    parts = []
    for section, content in {"versions": versions(), **numbers()}.items():
        lines = [f"  {json.dumps(name)}: {json.dumps(part)}" for name, part in content.items()]
        parts.append(f' "{section}": {{\n' + ",\n".join(lines) + "\n }")
    FILE.write_text("{\n" + ",\n".join(parts) + "\n}\n", encoding="utf-8")


if __name__ == "__main__":
    record()
