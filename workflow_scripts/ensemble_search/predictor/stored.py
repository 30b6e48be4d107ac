"""Stored pipelines: a folder with ``member.json``, the settings of the parts, and ``member.npz``.

Only numbers are stored, no objects of other libraries; each is checked when it is read
(``fields``). ``members`` writes these folders.
"""

from pathlib import Path
from typing import Any

import numpy as np

from ensemble_search.predictor.fields import Fields, checked
from ensemble_search.predictor.learners import LEARNERS
from ensemble_search.predictor.links import LINKS, n_scores
from ensemble_search.predictor.transformers import TRANSFORMERS
from ensemble_search.runtime.files import read_json, read_npz, reading

MEMBER, ARRAYS = "member.json", "member.npz"
REMEDY = "copy the whole folder of the ensemble again, or deliver it again"
#: Maximum number of transformers in a pipeline.
MOST = 20
#: Numbers that a part may need at a time; this limits the rows that a pipeline processes at a time.
#: Memory holds up to four times as many: input and output, each perhaps also in another order.
ENTRIES = 2**25
#: Maximum bytes of a description.
LONGEST = 2**20


class StoredPipeline:
    """A stored pipeline, with the interface of scikit-learn's estimators.

    Attributes
    ----------
    transformers
        In order; see ``transformers``.
    learner, link
        The model that computes scores, and the name of the link that turns them into predictions.
    classes_
        Codes of its classes, int64, of shape (n_classes,); only in classification.
    """

    def __init__(
        self,
        described: dict[str, Any],
        arrays: dict[str, np.ndarray],
        n_features: int,
        n_classes: int | None,
    ):
        parts, outputs = described["transformers"], 1
        if type(parts) is not list or len(parts) > MOST:
            raise ValueError(f"'transformers' is not a list of at most {MOST}")
        self.transformers, width, widest = [], n_features, n_features
        for number, part in enumerate(parts):
            fields = Fields(f"t{number}", part, arrays)
            made = TRANSFORMERS[fields.choice("kind", list(TRANSFORMERS))](fields, width)
            self.transformers.append(made)
            width = made.width
            widest = max(widest, width, getattr(made, "entries", 0))
        fields = Fields("learner", described["learner"], arrays)
        self.link = fields.choice("link", list(LINKS))
        if n_classes is not None:
            codes = fields.integers("classes", None, low=0, high=n_classes - 1)
            if not (np.diff(codes) > 0).all() or len(codes) < 2:
                raise ValueError("'learner.classes' are not at least two, in order")
            self.classes_, outputs = codes, len(codes)
        elif self.link != "none":
            raise ValueError("a regressor has a link")
        scores = n_scores(self.link, outputs)
        self.learner = LEARNERS[fields.choice("kind", list(LEARNERS))](fields, width, scores)
        self.rows = max(1, ENTRIES // max(widest, self.learner.entries))
        if arrays:
            raise ValueError(f"it holds an array '{min(arrays)}', which no part has")

    def predict_proba(self, X: np.ndarray) -> np.ndarray:
        """Return class probabilities, of shape (n_samples, n_classes); rows sum to 1."""
        found = self._outputs(X)
        if found.min(initial=0) < 0:
            raise ValueError("probabilities below 0")
        return found / found.sum(axis=1, keepdims=True)

    def predict(self, X: np.ndarray) -> np.ndarray:
        """Return regression predictions, float64, of shape (n_samples,)."""
        return self._outputs(X)[:, 0]

    def _outputs(self, X: np.ndarray) -> np.ndarray:
        parts = [self._some(X[start : start + self.rows]) for start in range(0, len(X), self.rows)]
        return np.concatenate(parts)

    def _some(self, X: np.ndarray) -> np.ndarray:
        for transformer in self.transformers:
            X = np.ascontiguousarray(checked(transformer(X)))
        return LINKS[self.link](checked(self.learner(X))).astype(float)


def load(folder: Path, n_features: int, n_classes: int | None) -> StoredPipeline:
    """Load a stored pipeline of an ensemble with n classes (None in a regression).

    ``n_features`` is the number of columns of its input. UserError if a file in the member's folder
    is missing or damaged, or is not a pipeline for these features and classes.
    """
    with reading(folder / MEMBER, REMEDY):
        if (folder / MEMBER).stat().st_size > LONGEST:
            raise ValueError(f"it has more than {LONGEST >> 20} MiB")
    described = read_json(folder / MEMBER, REMEDY)
    with reading(folder / ARRAYS, REMEDY):
        return StoredPipeline(
            described, read_npz(folder / ARRAYS, remedy=REMEDY), n_features, n_classes
        )
