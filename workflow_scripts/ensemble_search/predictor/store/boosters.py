"""Boosters of LightGBM, XGBoost and CatBoost as sums of trees.

Features are finite when they reach a learner, so no default direction for missing values is needed.
Models that depend on more than comparisons of finite numbers are rejected. Of boosters that stopped
early, only the trees up to the best one are kept, as in their own predictions.
"""

import json
import re
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from ensemble_search.predictor.store.parts import Part, need
from ensemble_search.predictor.store.trees import joined, tree_sum

#: Bits of LightGBM's ``decision_type``: categorical split; type of missing values, 1 meaning zeros.
CATEGORICAL, MISSING, ZEROS = 1, 12, 4
#: Objectives and their links.
LINKS = {
    "binary": "logistic",
    "multiclass": "softmax",
    "regression": "none",
    "binary:logistic": "logistic",
    "multi:softprob": "softmax",
    "multi:softmax": "softmax",
    "reg:squarederror": "none",
    "Logloss": "logistic",
    "MultiClass": "softmax",
    "RMSE": "none",
}


def _link(objective: str) -> str:
    need(objective in LINKS, f"a booster has the objective {objective}")
    return LINKS[objective]


def lightgbm(fitted: Any) -> Part:
    """Describe an ``LGBMClassifier`` or ``LGBMRegressor``, from the text of its model."""
    text = fitted.booster_.model_to_string()
    head, *blocks = re.split(r"^Tree=\d+\n", text.partition("\nend of trees")[0], flags=re.M)
    settings = _lines(head)
    objective, *given = settings["objective"].split()
    need("average_output" not in head.split(), "a booster averages its trees")
    need(objective != "binary" or "sigmoid:1" in given, "a booster has another sigmoid than 1")
    need(objective != "regression" or not given, f"a booster has the objective {given}")
    trees = joined([_lightgbm_tree(_lines(block)) for block in blocks], single=False)
    columns = int(settings["num_tree_per_iteration"])
    return tree_sum(trees, np.zeros(columns), _link(objective))


def _lines(text: str) -> dict[str, str]:
    return dict(line.split("=", 1) for line in text.splitlines() if "=" in line)


def _lightgbm_tree(lines: Mapping[str, str]) -> tuple[np.ndarray, ...]:
    """Return inner nodes in order, then leaves, which child indices count as -1, -2, ..."""
    need(lines["num_cat"] == "0" and lines.get("is_linear", "0") == "0",
         "a booster splits categories, or has linear models in its leaves")  # fmt: skip
    leaves = int(lines["num_leaves"])
    values = np.array(lines["leaf_value"].split(), dtype=float)[:, None]
    if leaves == 1:
        none = np.array([-1])
        return none, np.zeros(1), none, none, values
    kinds = np.array(lines["decision_type"].split(), dtype=int)
    need(not (kinds & CATEGORICAL).any() and not (kinds & MISSING == ZEROS).any(),
         "a booster splits categories, or treats zeros as missing")  # fmt: skip

    def nodes(name, kind, of_leaves):
        return np.concatenate([np.array(lines[name].split(), dtype=kind), of_leaves])

    sides = (nodes(name, int, np.full(leaves, 0)) for name in ("left_child", "right_child"))
    left, right = (np.where(side < 0, leaves - 2 - side, side) for side in sides)
    left[leaves - 1 :] = right[leaves - 1 :] = -1
    return (
        nodes("split_feature", int, np.full(leaves, -1)),
        nodes("threshold", float, np.zeros(leaves)),
        left,
        right,
        np.vstack([np.zeros((leaves - 1, 1)), values]),
    )


def xgboost(fitted: Any) -> Part:
    """Describe an ``XGBClassifier`` or ``XGBRegressor``, from the JSON of its model."""
    booster = fitted.get_booster()
    model = json.loads(booster.save_raw("json"))["learner"]
    machine = model["gradient_booster"]
    need(machine["name"] in ("gbtree", "dart"), f"a booster is a {machine['name']}")
    weights = machine.get("weight_drop")
    made = machine.get("gbtree", machine)["model"]
    trees, columns = made["trees"], max(1, int(model["learner_model_param"]["num_class"]))
    need(made["tree_info"] == [i % columns for i in range(len(trees))], "a booster has odd trees")
    if getattr(fitted, "early_stopping_rounds", None) is not None:
        trees = trees[: (booster.best_iteration + 1) * columns]
    weights = [1.0] * len(trees) if weights is None else weights
    link = _link(model["objective"]["name"])
    nodes = [_xgboost_tree(tree, w) for tree, w in zip(trees, weights, strict=False)]
    base = np.array(json.loads(model["learner_model_param"]["base_score"]), dtype=np.float32)
    if link == "logistic":
        base = -np.log(np.float32(1) / base - np.float32(1))
    start = np.broadcast_to(np.ravel(base), (columns,)).astype(float)
    return tree_sum(joined(nodes, single=True), start, link, single_sums=True)


def _xgboost_tree(tree: Mapping[str, Any], weight: float) -> tuple[np.ndarray, ...]:
    need(not any(tree["split_type"]) and not tree["categories"], "a booster splits categories")
    need(int(tree["tree_param"]["size_leaf_vector"]) <= 1, "a booster has vectors in its leaves")
    numbers = np.array(tree["split_conditions"], dtype=np.float32)
    left, right = (np.array(tree[name]) for name in ("left_children", "right_children"))
    # In single precision, x < t means x <= the number before t.
    below = np.nextafter(numbers, np.float32(-np.inf)).astype(float)
    values = (numbers * np.float32(weight)).astype(float)[:, None]
    return np.array(tree["split_indices"]), below, left, right, values


def catboost(fitted: Any) -> Part:
    """Describe a ``CatBoostClassifier`` or ``CatBoostRegressor``, from the JSON of its model."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.json"
        fitted.save_model(str(path), format="json")
        model = json.loads(path.read_text(encoding="utf-8"))
    need(not model["features_info"].get("categorical_features"), "a booster splits categories")
    places = {f["feature_index"]: f["flat_feature_index"]
              for f in model["features_info"]["float_features"]}  # fmt: skip
    need("oblivious_trees" in model, "a booster's trees are not oblivious")
    scale, bias = model["scale_and_bias"]
    start = np.ravel(np.array(bias, dtype=float))
    link = _link(model["model_info"]["params"]["loss_function"]["type"])
    trees = [
        _oblivious(tree, places, scale, column, len(start))
        for tree in model["oblivious_trees"]
        for column in range(len(start))
    ]
    return tree_sum(joined(trees, single=True), start, link)


def _oblivious(
    tree: Mapping[str, Any], places: Mapping[int, int], scale: float, column: int, columns: int
) -> tuple[np.ndarray, ...]:
    """Make a tree that has the same split for all nodes of a level; its first is the lowest bit."""
    splits = tree["splits"] or []
    need(all(s["split_type"] == "FloatFeature" for s in splits), "a booster splits categories")
    depth = len(splits)
    levels = np.repeat(np.arange(depth), 2 ** np.arange(depth))
    n, leaves = len(levels), 2**depth
    features = np.array([places[s["float_feature_index"]] for s in splits], dtype=int)
    borders = np.array([s["border"] for s in splits], dtype=float)
    child = np.concatenate([2 * np.arange(n) + 1, np.full(leaves, -2)])
    bits = np.arange(leaves)[:, None] >> np.arange(depth)[::-1] & 1  # of the path to a leaf
    own = (bits << np.arange(depth)).sum(axis=1)
    values = scale * np.array(tree["leaf_values"], dtype=float)[own * columns + column]
    return (
        np.concatenate([features[levels], np.full(leaves, -1)]).astype(int),
        np.concatenate([borders[levels], np.zeros(leaves)]),
        child,
        child + 1,
        np.concatenate([np.zeros(n), values])[:, None],
    )


#: Functions by library and class.
STORED: Mapping[str, Callable[[Any], Part]] = {
    "lightgbm.LGBMClassifier": lightgbm,
    "lightgbm.LGBMRegressor": lightgbm,
    "xgboost.XGBClassifier": xgboost,
    "xgboost.XGBRegressor": xgboost,
    "catboost.CatBoostClassifier": catboost,
    "catboost.CatBoostRegressor": catboost,
}
