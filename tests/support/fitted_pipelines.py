"""Fitted pipelines of given parts, and what they predict."""

import warnings

import numpy as np

from ensemble_search.learners.fitted import FittedPipeline


def pipeline(learner, *transformers) -> FittedPipeline:
    """Put fitted transformers before a fitted learner."""
    made = FittedPipeline()
    made.transformers_, made.learner_ = [("t", t) for t in transformers], learner
    if hasattr(learner, "classes_"):
        made.classes_ = learner.classes_
    return made


def predictions(fitted, X) -> np.ndarray:
    """Return probabilities, (n, n_classes), or numbers, (n, 1), without warnings."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if hasattr(fitted, "classes_"):
            return fitted.predict_proba(X)
        return fitted.predict(X)[:, None]
