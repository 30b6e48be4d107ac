"""Fitted pipelines as ONNX, which runs without Python.

They are built from the stored parts, in double precision; see ``onnx_parts``.
"""

from typing import Any

import numpy as np

from ensemble_search.delivery.onnx_parts import learners, transformers
from ensemble_search.delivery.onnx_parts.graph import DOUBLE, Graph, Value
from ensemble_search.predictor.stored import StoredPipeline
from ensemble_search.problems.base import Problem

INPUT, OUTPUT = "features", "variable"
#: Rows at a time: kernels and neighbours need a matrix of these rows times the training rows.
BATCH = 1000
#: Largest accepted difference of predictions.
TOLERANCE = 1e-5


class NotConvertible(Exception):
    """A part of a pipeline has no counterpart in ONNX."""


def export(pipeline: StoredPipeline, n_features: int, n_classes: int | None) -> bytes:
    """Convert a stored pipeline of an ensemble with n classes (None in a regression).

    The ONNX model has the input ``features``, double, of shape (n_samples, n_features), and one
    output, of shape (n_samples, n_classes) or (n_samples, 1): probabilities or values.
    NotConvertible if the training rows of the learner lacked a class, or a part has no counterpart.
    """
    from onnx import helper

    if n_classes and pipeline.classes_.tolist() != list(range(n_classes)):
        raise NotConvertible("it has not seen all classes")
    X = Value(Graph(), INPUT)
    try:
        for part in pipeline.transformers:
            X = transformers.graph(part, X)
        found = learners.graph(pipeline.learner, pipeline.link, X)
        X.graph.add("Identity", found.name, output=OUTPUT)
        widths = {INPUT: n_features, OUTPUT: n_classes or 1}
        ends = [helper.make_tensor_value_info(n, DOUBLE, [None, k]) for n, k in widths.items()]
        return X.graph.model("pipeline", ends[:1], ends[1:])
    except Exception as error:  # protobuf has its own exception types
        raise NotConvertible(str(error).strip().split("\n", 1)[0]) from error


def check(model: bytes, X: np.ndarray, expected: np.ndarray, problem: Problem) -> float:
    """Return the largest difference of a model's predictions from those of its pipeline.

    ``expected`` are the latter, in stored form, see ``Problem``, for the features X, float64, of
    shape (n_samples, n_features). Raises NotConvertible if the difference is more than 1e-5, or the
    model does not run.
    """
    try:
        found = problem.compress(predict(model, X))
    except Exception as error:  # onnxruntime has its own exception types
        raise NotConvertible(str(error).strip().split("\n", 1)[0]) from error
    difference = float(np.abs(found - expected).max())
    if not difference <= TOLERANCE:
        raise NotConvertible(f"its predictions of the test rows differ by up to {difference:.2g}")
    return difference


def predict(model: bytes, X: np.ndarray) -> np.ndarray:
    """Return the output of a model, float64, of shape (n_samples, n_columns)."""
    own, X = session(model), np.asarray(X, dtype=np.float64)
    starts = range(0, len(X), BATCH)
    found = [own.run(None, {INPUT: X[start : start + BATCH]})[0] for start in starts]
    return np.concatenate(found).reshape(len(X), -1).astype(np.float64)


def session(model: bytes) -> Any:
    """Load a model into ONNX Runtime, with one thread."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3  # no notes on optimizations
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    return onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
