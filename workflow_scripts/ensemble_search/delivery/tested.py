"""A delivered ensemble and its test rows, as the card measures them."""

import re
import unicodedata
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from ensemble_search.delivery import measures
from ensemble_search.delivery.measures import Measure
from ensemble_search.delivery.own_rows import OwnRows
from ensemble_search.runtime import plugins

#: With more classes, measures of pairs of classes, and confusion matrices, are left out.
MOST_CLASSES = 20
#: Metrics that calibration changes.
OF_PROBABILITIES = ("log-loss", "brier", "auc", "average-precision")
#: Report copies if at least this share of the test rows also occurs in the table.
COPIED = 0.01


class Tested:
    """The ensemble and its test rows."""

    def __init__(self, delivery: Any, ensemble: Any, manifest: Mapping[str, Any]):
        self.delivery, self.ensemble, self.manifest = delivery, ensemble, manifest
        inputs, labels, own = delivery.inputs, delivery.test_labels, delivery.own_test
        groups = delivery.groups() if own is None else None
        rows = own or OwnRows("", inputs.X_test, labels, inputs.test_weights, groups, [])
        #: Of the test rows; weights are empty if equal, groups None if rows are independent.
        self.labels, self.X, self.weights, self.groups = (
            rows.labels,
            rows.X,
            rows.weights,
            rows.groups,
        )
        #: The loss shown: the study's, or the RMSE instead of its square.
        self.squared = manifest["metric"] == "squared-error"
        self.name = "rmse" if self.squared else manifest["metric"]
        self.metric = plugins.load("metrics", self.name)().with_weights(self.weights)
        #: Whether the tested members have not seen the test rows.
        self.unseen = manifest["rows"] != "all" or own is not None
        #: Test predictions as stored: of the members of the search, which has not predicted rows in
        #: a file of their own, and of the tested members.
        self.as_found, self.found = None, np.empty(0)
        if own is None:
            self.as_found = self.found = delivery.members.predict(delivery.test_predictions)
        if self.unseen:
            self.found = ensemble.combine(ensemble.member_predictions(self.X))
        self.classes = manifest.get("classes", [])
        self.std = manifest.get("std", 1.0)
        self.scale = self.std**self.metric.power
        #: Constant predictions as stored, the shares of classes in the training rows or their mean.
        self.baseline = np.empty(0)
        problem, n = delivery.pool.problem, len(self.labels)
        weights = inputs.weights if inputs.weights.size else None
        if self.classes:
            counts = np.bincount(inputs.y_train, weights, minlength=len(self.classes))
            self.commonest = self.classes[int(counts.argmax())]
            self.baseline = problem.compress(np.tile(counts / counts.sum(), (n, 1)))
            self.probabilities = ensemble.probabilities(self.found)
        else:
            self.baseline = np.full((n, 1), np.average(inputs.y_train, weights=weights))

    def as_used(self, stored: np.ndarray, name: str = "") -> np.ndarray:
        """Return stored predictions as a metric sees those that users get: calibrated.

        ``name`` is the metric's (default: the one that is shown).
        """
        if not self.classes or (name or self.name) not in OF_PROBABILITIES:
            return stored
        return self.delivery.pool.problem.compress(self.ensemble.probabilities(stored))

    def loss(self, losses: Any) -> Any:
        """Convert losses of the study's metric for display: in the target's unit, not squared."""
        return self.scale * (np.sqrt(losses) if self.squared else losses)

    @cached_property
    def copied(self) -> int:
        """Number of rows of a file of test rows that the table has, too; see :func:`copies`."""
        return copies(self)

    def outputs(self, combined: np.ndarray) -> np.ndarray:
        """Return probabilities, or numbers in the unit of the target, (n, n_outputs)."""
        if self.classes:
            return self.ensemble.probabilities(combined)
        return self.manifest["mean"] + self.std * combined

    def measured(self) -> dict[str, Measure]:
        """Measure the study's metric, and those that most readers know."""
        names = ["error", "log-loss", "auc", "average-precision", "f1"]
        if len(self.classes) > MOST_CLASSES:
            names = ["error", "log-loss", "f1"]
        if not self.classes:
            names = ["rmse", "absolute-error", "r2"]
        return {
            name: measures.measured(
                name, self.labels, self.as_used(self.found, name), self.baseline,
                weights=self.weights, std=self.std, groups=self.groups,
            )
            for name in dict.fromkeys([*names, self.name])
        }  # fmt: skip


def distinct(words: Sequence[str]) -> list[str]:
    """Return words for a page, quoted if it would hide blanks or show two of them alike.

    Characters that do not show, and those of several Unicode forms, become escapes.
    """
    seen = [" ".join(unicodedata.normalize("NFKC", word).split()) for word in words]
    count, found = Counter(seen), []
    for word, alike in zip(words, seen, strict=True):
        if count[alike] == 1 and word.isprintable() and word == " ".join(word.split()):
            found.append(word)
        else:
            shown = "".join(c if _is_plain(c) else ascii(c)[1:-1] for c in word)
            same = unicodedata.is_normalized("NFKC", shown)
            quoted = f"'{shown}'" if same and shown != word else repr(word) if same else ascii(word)
            found.append(re.sub("(?<= ) ", r"\\x20", quoted))
    return found


def _is_plain(character: str) -> bool:
    """Whether a character has one form, and is seen by itself."""
    one = unicodedata.is_normalized("NFKC", character) and not unicodedata.combining(character)
    return one and character.isprintable() and character not in "\\'"


def copies(tested: Tested) -> int:
    """Count the rows in a file of test rows that the table has, too.

    Return 0 if they are less than 1 % or, as in tables with few distinct rows, less than twice the
    share for the table's own test rows.
    """

    def rows(X: np.ndarray, labels: np.ndarray) -> list[bytes]:
        return [row.tobytes() for row in np.column_stack((X, labels)) + 0.0]  # not -0.0

    inputs, own = tested.delivery.inputs, rows(tested.X, tested.labels)
    known = {*rows(inputs.X_train, inputs.y_train)}
    if not inputs.folds.size:
        known |= {*rows(inputs.X_validation, inputs.y_validation)}
    others = rows(inputs.X_test, tested.delivery.test_labels)
    chance = sum(row in known for row in others) / len(others)
    known |= {*others}
    found = sum(row in known for row in own)
    return found if found >= max(COPIED, 2 * chance) * len(own) else 0
