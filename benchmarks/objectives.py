"""Objectives to compare searches on without fitting a model: made-up errors, and stored ones.

A problem has a space, validation labels, the lowest possible error and the algorithms that reach
it; ``evaluate`` returns the result of a configuration. There are two kinds of problems:

* :class:`Synthetic` makes errors and predictions up, for every configuration of the real space.
* :class:`Table` looks them up in a stored table.
"""

import json
import zlib
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from ensemble_search.data.split import checked_inputs
from ensemble_search.evaluation import table as tables
from ensemble_search.problems.classification import CLASSIFICATION
from ensemble_search.problems.combination import rounded
from ensemble_search.runtime import plugins
from ensemble_search.runtime.errors import UserError
from ensemble_search.runtime.files import read_npy
from ensemble_search.runtime.names import OK
from ensemble_search.spaces._table import TableSpace
from ensemble_search.spaces.base import Configuration, Space

#: Increase this if a change here affects results.
VERSION = 1
ALGORITHM = "algorithm"
#: Kinds of synthetic problems, and how much their algorithms differ.
KINDS = {"ordinary": 0.05, "alike": 0.004}


@dataclass(frozen=True)
class Outcome:
    """The result of an evaluation.

    Attributes
    ----------
    status
        As in ``Observation``.
    error
        Validation error; NaN unless ``ok``.
    validation, test
        Class probabilities, float32, of shape (n_samples, n_classes); None unless ``ok``.
    """

    status: str
    error: float
    validation: np.ndarray | None = None
    test: np.ndarray | None = None


FAILED = Outcome("crash", float("nan"))


class Synthetic:
    """Made-up errors on the real ``divbo`` space; a pure function of the kind and the number.

    A configuration of algorithm a, preprocessor p and rescaler r has the badness

        z = A[a] + P[p] + s[a] R[r] + I[a, p] + sum of the effects of its active hyperparameters

    and the error ``floor + (0.5 - floor) (1 - exp(-z))`` plus noise: good pipelines differ
    little, bad ones are as good as guessing. All terms are at least 0.

    * With E exponential of mean 1, A is 0.05 E^1.5 (0.004 E^1.5 for the kind ``alike``, whose
      algorithms hardly differ), P is 0.06 E^2 and R is 0.04 E^2, each minus the smallest: most
      operators are nearly as good as the best, and some are hopeless. s is uniform in [0, 1],
      because some algorithms do not depend on the scale of the data. I is 0 for nine pairs in ten,
      0.3 E for the others.
    * A number has the effect w ((x - best) / d)^2, where x is its position in unit scale and d the
      larger distance of ``best`` from the ends. A category has w times a uniform number, 0 for the
      best. The first two numbers of each algorithm interact: half of the tunability times the
      squared difference of their x - best is added to their effects. The weights w of an
      operator's hyperparameters share its tunability at random (Dirichlet of 0.4: a few matter),
      which is 0.15 E for algorithms, 0.05 E for preprocessors and 0.02 E for rescalers. The best
      values of an operator form a legal configuration of it.
    * ``floor`` is uniform in [0.05, 0.25]. The noise is normal with a standard deviation of 0.002
      (0.2 points), and always the same for a configuration.
    * One pair of algorithm and preprocessor in 50 always fails, other configurations in 3 of 100
      cases (never the one with the best values throughout).

    The predictions for 1000 validation and 1000 test samples (two classes of equal size) have this
    error: samples are ordered by difficulty, which depends on the sample, and on random features of
    algorithm, preprocessor, rescaler and numbers. The first ones are predicted wrongly, in the
    validation set as many as the error says, rounded to 1/1000.
    """

    def __init__(self, kind: str, number: int, space: Space | None = None, samples: int = 1000):
        if kind not in KINDS:
            raise UserError(f"there is no synthetic problem '{kind}'; known: {', '.join(KINDS)}")
        self.name, self.number = f"synthetic:{kind}", number
        self.space = space or plugins.load("spaces", "divbo")()
        rng = np.random.default_rng([zlib.crc32(kind.encode()), number])
        self.stages = {c.name: c for c in self.space.columns if ":" not in c.name}
        self._draw_stages(KINDS[kind], rng)
        self._draw_hyperparameters(rng)
        self._draw_samples(samples, rng)

    def _draw_stages(self, apart: float, rng: np.random.Generator) -> None:
        sizes = {name: len(column.choices) for name, column in self.stages.items()}
        a, p, r = (sizes[name] for name in (ALGORITHM, "preprocessor", "rescaler"))
        self.floor = rng.uniform(0.05, 0.25)
        laws = {ALGORITHM: (apart, 1.5), "preprocessor": (0.06, 2), "rescaler": (0.04, 2)}
        effects = {
            name: scale * rng.exponential(size=sizes[name]) ** power
            for name, (scale, power) in laws.items()
        }
        effects = {name: values - values.min() for name, values in effects.items()}
        scaled = rng.random(a)[:, None] * effects["rescaler"]
        pairs = rng.exponential(0.3, (a, p)) * (rng.random((a, p)) < 0.1)
        pairs[rng.random((a, p)) < 0.02] = np.inf
        #: Badness by algorithm, preprocessor and rescaler; infinite if it always fails.
        self.badness = (
            effects[ALGORITHM][:, None, None]
            + (effects["preprocessor"] + pairs)[:, :, None]
            + scaled.reshape(a, 1, r)
        )

    def _draw_hyperparameters(self, rng: np.random.Generator) -> None:
        columns = self.space.columns
        self.best = np.full(len(columns), np.nan)
        for stage, column in self.stages.items():
            for name in column.choices:
                part = self.space.restricted({stage: name}).sample_points(1, rng)[0]
                own = [i for i, c in enumerate(columns) if c.name.startswith(f"{name}:")]
                self.best[own] = part[own]
        draws = np.array([c.draw(rng.random(1))[0] for c in columns])
        inactive = np.isnan(self.best)  # besides the best values: children of other values
        self.best[inactive] = draws[inactive]
        self.weights = np.zeros(len(columns))
        self.ridges: list[tuple[int, int, float]] = []
        scale = {ALGORITHM: 0.15, "preprocessor": 0.05, "rescaler": 0.02}
        for stage, column in self.stages.items():
            for name in column.choices:
                own = [i for i, c in enumerate(columns) if c.name.startswith(f"{name}:")]
                tunability = rng.exponential(scale[stage])
                if own:
                    self.weights[own] = tunability * rng.dirichlet(np.full(len(own), 0.4))
                numbers = [i for i in own if not columns[i].categorical][:2]
                if stage == ALGORITHM and len(numbers) == 2:
                    self.ridges.append((*numbers, tunability / 2))
        self.offsets = {
            i: np.where(np.arange(len(c.choices)) == self.best[i], 0, rng.random(len(c.choices)))
            for i, c in enumerate(columns)
            if c.categorical and ":" in c.name
        }

    def _draw_samples(self, samples: int, rng: np.random.Generator) -> None:
        features = 6
        self.labels, self.test_labels = np.arange(2 * samples).reshape(2, samples) % 2
        self.sample_ease = rng.normal(size=2 * samples)
        self.loadings = rng.normal(size=(features, 2 * samples)) / np.sqrt(features)
        strength = {ALGORITHM: 0.7, "preprocessor": 0.5, "rescaler": 0.2}
        self.features = {
            stage: strength[stage] * rng.normal(size=(len(column.choices), features))
            for stage, column in self.stages.items()
        }
        self.number_features = 0.3 * rng.normal(size=(len(self.space.columns), features))

    @property
    def lowest(self) -> float:
        """The lowest error, without noise."""
        return self.floor + (0.5 - self.floor) * (1 - np.exp(-self.badness.min()))

    @property
    def best_algorithms(self) -> frozenset[str]:
        """The algorithm with the lowest error, without noise."""
        best = int(self.badness.min(axis=(1, 2)).argmin())
        return frozenset([self.stages[ALGORITHM].choices[best]])

    def errors(self, points: np.ndarray) -> np.ndarray:
        """Return the errors of points without noise, infinite if they always fail; (n,)."""
        stages = [self.space.index[stage] for stage in (ALGORITHM, "preprocessor", "rescaler")]
        z = self.badness[tuple(points[:, stages].astype(int).T)]
        distance = points - self.best
        reach = np.maximum(self.best, 1 - self.best)
        effects = np.square(distance / np.where(reach > 0, reach, 1))
        for i, column in enumerate(self.space.columns):
            if column.categorical:
                codes = np.where(np.isnan(points[:, i]), 0, points[:, i]).astype(int)
                offsets = self.offsets.get(i, np.zeros(len(column.choices)))
                effects[:, i] = np.where(np.isnan(points[:, i]), np.nan, offsets[codes])
        z = z + np.nansum(effects * self.weights, axis=1)
        for i, j, weight in self.ridges:
            z = z + np.nan_to_num(weight * np.square(distance[:, i] - distance[:, j]))
        errors = self.floor + (0.5 - self.floor) * (1 - np.exp(-z))
        return np.where(np.isinf(z), np.inf, errors)

    def evaluate(self, configuration: Configuration) -> Outcome:
        """Make up the result of a configuration; always the same."""
        text = json.dumps([self.name, self.number, sorted(configuration.items())])
        rng = np.random.default_rng(zlib.crc32(text.encode()))
        error = self.errors(configuration.point[None])[0]
        if np.isinf(error) or (rng.random() < 0.03 and error > self.lowest + 1e-9):
            return FAILED
        error = np.clip(error + rng.normal(0, 0.002), 0, 1)
        n = len(self.labels)
        wrong = round(error * n)
        ease = self.sample_ease + self._features(configuration) @ self.loadings
        order = np.sort(ease[:n])
        border = (order[wrong - 1] + order[wrong]) / 2 if 0 < wrong < n else order[0] - 1
        # Twice the distance as log-odds of the correct class.
        right = 1 / (1 + np.exp(-2 * (ease - border)))
        truth = np.concatenate([self.labels, self.test_labels])
        one = np.where(truth == 1, right, 1 - right).astype(np.float32)
        predictions = np.stack([1 - one, one], axis=1)
        return Outcome(OK, wrong / n, predictions[:n], predictions[n:])

    def _features(self, configuration: Configuration) -> np.ndarray:
        point = configuration.point
        numbers = np.where(np.isnan(point), 0, point - 0.5)
        for i in self._codes:
            numbers[i] = 0
        chosen = [
            self.features[stage][int(point[self.space.index[stage]])] for stage in self.features
        ]
        return np.sum(chosen, axis=0) + numbers @ self.number_features

    @cached_property
    def _codes(self) -> list[int]:
        return [i for i, column in enumerate(self.space.columns) if column.categorical]


class Table:
    """Stored evaluations of one data set.

    Parameters
    ----------
    folder
        A table, ``results/<study>/tables/<dataset>/<split>``; the labels come from the split of
        that study.

    Raises
    ------
    UserError
        If a file is missing or damaged, or the table belongs to another split.
    """

    def __init__(self, folder: Path):
        table = tables.Table.read(folder)
        self.name = table.manifest["dataset"]
        split = folder.parents[2] / "splits" / folder.parent.name / folder.name
        inputs = checked_inputs(split)
        if inputs.checksum() != table.manifest["data"]:
            raise UserError(f"the table '{folder}' is of another split than '{split}'")
        self.labels, self.test_labels = inputs.y_validation, read_npy(split / "test_labels.npy")
        space = plugins.load("spaces", table.manifest["space"])()
        self.space = TableSpace(space, space.configurations(table.whole))
        self._evaluator = tables.TableEvaluator(table, CLASSIFICATION)
        outcomes = {values: self.evaluate(values) for values in self.space.all}
        self.lowest = min(o.error for o in outcomes.values() if o.status == OK)
        self.best_algorithms = frozenset(
            str(values[ALGORITHM]) for values, o in outcomes.items() if o.error == self.lowest
        )

    def evaluate(self, configuration: Configuration) -> Outcome:
        """Look up the result of one of the table's configurations."""
        found = self._evaluator.evaluate(configuration)
        if found.status != OK:
            return Outcome(found.status, float("nan"))
        stored = CLASSIFICATION.compress(found.validation)
        error = CLASSIFICATION.metric.loss(self.labels, rounded(stored))
        return Outcome(OK, error, found.validation, found.test)
