"""Small spaces, and a synthetic search on them, for the tests of optimizers."""

import json
from dataclasses import replace

import numpy as np
from ConfigSpace import Categorical, ConfigurationSpace, EqualsCondition, Float, Integer

from ensemble_search.metrics.squared_error import SQUARED_ERROR
from ensemble_search.optimizers.base import History, Observation
from ensemble_search.problems.regression import REGRESSION
from ensemble_search.spaces.base import Space

SAMPLES = 60
LABELS = (np.linspace(0, 1, SAMPLES) > 0.4).astype(int)


class _Toy(Space):
    def pipeline(self, values, categorical, threads):
        raise NotImplementedError("no test of an optimizer fits a pipeline")


class ToySpace(_Toy):
    """One choice, two numbers that are always active, one that is so for the choice ``b``."""

    def define(self):
        space = ConfigurationSpace()
        choice = Categorical("algorithm", ["a", "b", "c"])
        rate = Float("rate", (1e-3, 10.0), log=True)
        space.add([choice, Float("x", (0.0, 1.0)), Integer("k", (1, 30)), rate])
        space.add(EqualsCondition(rate, choice, "b"))
        return space


class Flat(_Toy):
    """A choice and two numbers, without conditions."""

    def define(self):
        space = ConfigurationSpace()
        numbers = [Float("x", (0.0, 1.0)), Float("rate", (1e-3, 10.0), log=True)]
        space.add([Categorical("algorithm", ["a", "b", "c"]), *numbers])
        return space


class TinySpace(_Toy):
    """Six configurations in all."""

    def define(self):
        space = ConfigurationSpace()
        space.add([Categorical("algorithm", ["a", "b", "c"]), Categorical("flag", [True, False])])
        return space


class Line(_Toy):
    """One number."""

    def define(self):
        space = ConfigurationSpace()
        space.add(Float("x", (0.0, 1.0)))
        return space


class Grid(_Toy):
    """Categoricals only: the neighbours are the same whatever the generator."""

    def define(self):
        space = ConfigurationSpace()
        space.add([Categorical(f"c{i}", list("abcd")) for i in range(5)])
        return space


def predict(configuration, classes: int = 2) -> np.ndarray:
    """Class probabilities that depend smoothly on the configuration."""
    shift = sum(
        (ord(v) - 97) / 4 if isinstance(v, str) else np.tanh(float(v) / 10)
        for v in configuration.values()
    )
    grid = np.linspace(0, 1, SAMPLES)
    logits = np.stack([4 * c * (grid - shift / classes) for c in range(classes)], axis=1)
    p = np.exp(logits)
    return (p / p.sum(axis=1, keepdims=True)).astype(np.float32)


def observe(configuration, status: str = "ok", classes: int = 2) -> Observation:
    """Evaluate a configuration synthetically."""
    if status != "ok":
        return Observation(configuration, status, float("nan"), None)
    p = predict(configuration, classes)
    return Observation(configuration, "ok", float((p.argmax(axis=1) != LABELS).mean()), p)


def history(space, size: int, failed=(), classes: int = 2, seed: int = 0) -> History:
    """Random configurations; those at the positions ``failed`` have failed."""
    drawn = space.sample(size, np.random.default_rng(seed))
    rows = [observe(c, "crash" if i in failed else "ok", classes) for i, c in enumerate(drawn)]
    return History(space, LABELS, tuple(rows))


def search(optimizer, space, size: int, seed: int = 0) -> tuple[History, list]:
    """Run a search; also return the suggestions."""
    past, suggestions = History(space, LABELS), []
    for t in range(size):
        suggestion = optimizer.suggest(past, np.random.default_rng([seed, 0, t]))
        suggestions.append(suggestion)
        new = replace(observe(suggestion.configuration), fidelity=suggestion.fidelity)
        rows = (*past.observations, new)
        past = History(space, LABELS, rows)
    return past, suggestions


def regression(past: History) -> History:
    """The same history of a regression: labels and predictions are numbers."""
    labels = np.linspace(-1, 1, SAMPLES)
    rows = list(past.observations)
    for i in past.ok:
        numbers = rows[i].prediction[:, 1:] * 3 - 1
        loss = SQUARED_ERROR.loss(labels, numbers)
        rows[i] = replace(rows[i], error=loss, prediction=numbers)
    return History(past.space, labels, tuple(rows), REGRESSION)


def from_json(past: History, space) -> History:
    """The same history as a resumed search reads it: values from JSON, predictions from a file."""
    rows = []
    for o in past.observations:
        values = json.loads(json.dumps(dict(o.configuration)))
        prediction = None if o.prediction is None else o.prediction.copy()
        rows.append(replace(o, configuration=space.configuration(values), prediction=prediction))
    return History(space, past.labels.copy(), tuple(rows))
