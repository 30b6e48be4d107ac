"""Gradient boosting machines in the formats of their own libraries: text, JSON or binary."""

from pathlib import Path
from typing import Any

import numpy as np

from ensemble_search.runtime.files import reading


class LightGBM:
    """A LightGBM model, read from its text.

    Parameters
    ----------
    path
        The text.
    classes
        Labels of a classifier; None for a regressor.
    """

    def __init__(self, path: Path, classes: list[int] | None):
        from lightgbm import Booster

        self.booster = Booster(model_str=path.read_text(encoding="utf-8"))
        if classes is not None:
            self.classes_ = np.array(classes)

    def predict(self, X: np.ndarray) -> np.ndarray:
        """Predict as ``LGBMRegressor`` does."""
        return self.booster.predict(X, num_threads=1)

    def predict_proba(self, X: np.ndarray) -> np.ndarray:
        """Predict as ``LGBMClassifier`` does."""
        found = self.predict(X)
        return found if found.ndim == 2 else np.vstack((1.0 - found, found)).transpose()


def _xgboost(path: Path, classes: list[int] | None) -> Any:
    from xgboost import XGBClassifier, XGBRegressor

    model = (XGBRegressor if classes is None else XGBClassifier)(n_jobs=1)
    model.load_model(path)
    return model


class CatBoost:
    """A CatBoost model, read from its binary file; parameters as of :class:`LightGBM`."""

    def __init__(self, path: Path, classes: list[int] | None):
        from catboost import CatBoostClassifier, CatBoostRegressor

        self.model = (CatBoostRegressor if classes is None else CatBoostClassifier)()
        self.model.load_model(str(path))
        if classes is not None:
            self.classes_ = np.array(classes)

    def predict(self, X: np.ndarray) -> np.ndarray:
        """Predict as ``CatBoostRegressor`` does."""
        return self.model.predict(X, thread_count=1)

    def predict_proba(self, X: np.ndarray) -> np.ndarray:
        """Predict as ``CatBoostClassifier`` does."""
        return self.model.predict_proba(X, thread_count=1)


#: By library: the file, and what reads it.
LIBRARIES = {
    "lightgbm": ("learner.txt", LightGBM),
    "xgboost": ("learner.json", _xgboost),
    "catboost": ("learner.cbm", CatBoost),
}


def save(learner: Any, folder: Path) -> dict[str, Any] | None:
    """Write a booster to a folder; what :func:`load` needs to know, None for other learners.

    Of boosters that stopped early, the trees up to the best one are kept.
    """
    if type(learner).__name__ == "EarlyStopping":
        # Its labels are codes without gaps; those of the booster are their numbers.
        found = save(learner.booster, folder)
        if found and found["classes"] is not None:
            found["classes"] = learner.classes_.tolist()
        return found
    library = type(learner).__module__.partition(".")[0]
    if library not in LIBRARIES:
        return None
    path = str(folder / LIBRARIES[library][0])
    if library == "lightgbm":
        learner.booster_.save_model(path)
    else:
        learner.save_model(path)
    classes = getattr(learner, "classes_", None)
    if classes is None or not len(classes):  # CatBoost's regressors have an empty array
        return {"library": library, "classes": None}
    return {"library": library, "classes": np.asarray(classes).tolist()}


def load(described: dict[str, Any], folder: Path, remedy: str) -> Any:
    """Read a booster that :func:`save` has written.

    Raises
    ------
    UserError
        If it is missing or damaged.
    """
    with reading(folder / "member.json", remedy):
        file, read = LIBRARIES[described["library"]]
        classes = described["classes"]
        if classes is not None and not all(type(c) is int for c in classes):
            raise ValueError("classes are not codes")
    with reading(folder / file, remedy) as path:
        return read(path, classes)
