"""Fitted pipelines as files that are safe to load.

A member is a folder with ``member.json``, ``pipeline.skops`` and, if its learner is a booster, the
booster in the format of its own library. skops builds objects of known types only: those of
scikit-learn that it trusts by itself, and :data:`TRUSTED`. What is loaded is checked once more
where a forged array would let compiled code read outside of its memory.
"""

import io
import json
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from ensemble_search.learners.fitted import FittedPipeline
from ensemble_search.predictor import boosters
from ensemble_search.runtime.errors import UserError
from ensemble_search.runtime.files import read_json, reading, write_json

PIPELINE, MEMBER = "pipeline.skops", "member.json"

#: Types and functions that a pipeline may hold beside those that skops trusts by itself: none of
#: them runs anything that the file chooses.
TRUSTED = frozenset(
    {
        "collections.OrderedDict",
        "functools.partial",
        "numpy.max",
        "numpy.mean",
        "numpy.median",
        "sklearn.feature_selection._mutual_info.mutual_info_classif",
        "sklearn.feature_selection._mutual_info.mutual_info_regression",
        "sklearn.feature_selection._univariate_selection.f_classif",
        "sklearn.feature_selection._univariate_selection.f_regression",
        "sklearn.metrics._dist_metrics.EuclideanDistance64",
        "sklearn.neighbors._kd_tree.KDTree",
        "sklearn.tree._tree.Tree",
        # unfitted, of ImportantPolynomials
        "lightgbm.sklearn.LGBMClassifier",
        "lightgbm.sklearn.LGBMRegressor",
        "ensemble_search.learners.dropout_network.DropoutNetwork",
        "ensemble_search.learners.kernels.KernelComponents",
        "ensemble_search.learners.mlp.TwoLayerPerceptron",
        "ensemble_search.learners.products.CategoricalProducts",
        "ensemble_search.learners.products.ImportantPolynomials",
        "ensemble_search.learners.samme_r.SammeR",
        "ensemble_search.learners.scores.ScoreClassifier",
        "ensemble_search.learners.selection.Selection",
        "ensemble_search.learners.selection.chi2_of_positive_part",
    }
)
#: Deepest nesting of what a member may hold.
DEEPEST = 50


def save(estimator: Any, folder: Path) -> None:
    """Write a fitted pipeline to a folder, which is created.

    Parameters
    ----------
    estimator
        A fitted pipeline of a space; see ``Space.pipeline``.
    folder
        Where to; what it holds is replaced.

    Raises
    ------
    UserError
        If it holds a type that is not trusted, or that skops cannot write.
    """
    import skops.io

    if isinstance(estimator, FittedPipeline):
        transformers, learner = estimator.transformers_, estimator.learner_
    else:
        transformers, learner = [], estimator
    folder.mkdir(parents=True, exist_ok=True)
    description = {"transformers": [name for name, _ in transformers], "booster": None}
    if booster := boosters.save(learner, folder):
        description["booster"], learner = booster, None
    parts = {"transformers": [transformer for _, transformer in transformers], "learner": learner}
    path = folder / PIPELINE
    try:
        _write(path, skops.io.dumps(parts))
    except Exception as error:  # whatever the methods of the parts raise
        raise UserError(f"cannot be stored safely: {error}") from error
    if unknown := sorted(set(skops.io.get_untrusted_types(file=path)) - TRUSTED):
        raise UserError(
            f"holds the type '{unknown[0]}', which is not known to be safe to load; if it is, add "
            "it to TRUSTED in ensemble_search/predictor/members.py"
        )
    write_json(folder / MEMBER, description)


def _write(path: Path, content: bytes) -> None:
    """Compress a skops file, and number its objects in their order: skops names them by address."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        schema = json.loads(archive.read("schema.json"))
        names: dict[str, str] = {}
        _number(schema, {}, names)
        entries = [("schema.json", json.dumps(schema).encode())]
        entries += [(new, archive.read(old)) for old, new in names.items()]
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in entries:
            about = zipfile.ZipInfo(name)  # of 1980
            archive.writestr(about, data, zipfile.ZIP_DEFLATED, compresslevel=1)


def _number(node: Any, ids: dict[int, int], names: dict[str, str]) -> None:
    """Replace the addresses in a schema; ``names`` gets new names of files by old ones."""
    if isinstance(node, dict):
        if type(address := node.get("__id__")) is int:
            node["__id__"] = ids.setdefault(address, len(ids) + 1)
        if isinstance(name := node.get("file"), str):
            suffix = name.partition(".")[2]
            node["file"] = names.setdefault(name, f"{len(names) + 1}.{suffix}")
        for value in node.values():
            _number(value, ids, names)
    elif isinstance(node, list):
        for value in node:
            _number(value, ids, names)


def load(folder: Path) -> FittedPipeline:
    """Load a pipeline that :func:`save` has written.

    Raises
    ------
    UserError
        If a file is missing, damaged, of an unknown type, or holds arrays that do not fit together.
    """
    import skops.io

    pipeline = FittedPipeline()
    remedy = "copy the whole folder of the ensemble again, or deliver it again"
    described = read_json(folder / MEMBER, remedy)
    with reading(folder / PIPELINE, remedy) as path:
        unknown = sorted(set(skops.io.get_untrusted_types(file=path)) - TRUSTED)
        if unknown:
            raise UserError(
                f"'{path}' holds the type '{unknown[0]}', which no delivered ensemble has: it is "
                "damaged or forged; do not use it"
            )
        parts = skops.io.load(path, trusted=sorted(TRUSTED))
        names = described["transformers"]
        pipeline.transformers_ = list(zip(names, parts["transformers"], strict=True))
        pipeline.learner_ = parts["learner"]
        for part in _parts(parts):
            _check(part)
    if described.get("booster"):
        pipeline.learner_ = boosters.load(described["booster"], folder, remedy)
    if hasattr(pipeline.learner_, "classes_"):
        pipeline.classes_ = pipeline.learner_.classes_
    return pipeline


def _parts(thing: Any, depth: int = 0) -> Iterator[Any]:
    """List the objects in an object, itself included."""
    if depth > DEEPEST:
        raise ValueError("it is nested too deeply")
    yield thing
    if isinstance(thing, np.ndarray):
        inner = thing.ravel().tolist() if thing.dtype == object else []
    elif isinstance(thing, (list, tuple, set)):
        inner = thing
    elif isinstance(thing, dict):
        inner = thing.values()
    else:
        inner = getattr(thing, "__dict__", {}).values()
    for part in inner:
        if not isinstance(part, (str, bytes, int, float, type(None))):
            yield from _parts(part, depth + 1)


def _check(part: Any) -> None:
    """Check arrays that compiled code trusts; ValueError if they do not fit together."""
    name = f"{type(part).__module__}.{type(part).__qualname__}"
    if name == "sklearn.tree._tree.Tree":
        _check_tree(part)
    elif name == "sklearn.neighbors._kd_tree.KDTree":
        _check_neighbours(part)
    elif name.startswith("sklearn.svm._classes.") and hasattr(part, "support_vectors_"):
        _check_vectors(part)


def _check_tree(tree: Any) -> None:
    left, right = tree.children_left, tree.children_right
    nodes = np.arange(tree.node_count)
    inner = left != -1
    ordered = (left > nodes) & (right > nodes) & (left < len(nodes)) & (right < len(nodes))
    known = (tree.feature >= 0) & (tree.feature < tree.n_features)
    leaves = right[~inner] == -1
    if not (len(nodes) and leaves.all() and (ordered & known)[inner].all()):
        raise ValueError("a tree has nodes or features that are not there")


def _check_neighbours(tree: Any) -> None:
    data, order, nodes, bounds = map(np.asarray, tree.get_arrays())
    n = len(data)
    starts, ends = nodes["idx_start"], nodes["idx_end"]
    leaves = np.flatnonzero(nodes["is_leaf"])
    children = 2 * np.flatnonzero(nodes["is_leaf"] == 0) + 2
    if not (
        len(order) == n
        and np.array_equal(np.sort(order), np.arange(n))
        and (starts >= 0).all()
        and (starts <= ends).all()
        and (ends <= n).all()
        and len(leaves)
        and (children < len(nodes)).all()
        and bounds.shape == (2, len(nodes), data.shape[1])
    ):
        raise ValueError("a tree of neighbours has rows or nodes that are not there")


def _check_vectors(machine: Any) -> None:
    vectors, coefficients = machine.support_vectors_, machine._dual_coef_
    counts = np.asarray(machine._n_support)
    pairs = len(counts) * (len(counts) - 1) // 2 if hasattr(machine, "classes_") else 1
    rows = max(len(counts) - 1, 1) if hasattr(machine, "classes_") else 1
    fits = (
        vectors.ndim == 2
        and vectors.shape[1] == machine.n_features_in_
        and coefficients.shape == (rows, len(vectors))
        and len(machine.support_) == len(vectors)
        and (counts >= 0).all()
        and (counts.sum() == len(vectors) or not hasattr(machine, "classes_"))
        and len(machine._intercept_) == pairs
        and len(machine._probA) in (0, pairs)
        and len(machine._probA) >= len(machine._probB)
    )
    if not fits:
        raise ValueError("a support vector machine has vectors that are not there")
