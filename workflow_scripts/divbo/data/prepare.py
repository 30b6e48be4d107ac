"""The stratified split, and the base preparation that is fitted on its training part alone."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from divbo.data.split import Inputs
from divbo.errors import UserError

if TYPE_CHECKING:
    import pandas as pd

PARTS = ("train", "validation", "test")

# Specification A.3.
MAX_UNIQUE_SHARE = 0.8
MIN_VARIANCE = 1e-7
# A nominal column of more whole numbers than this is a code, and stays one number: one-hot, the
# nine of amazon_employee (67 to 7518 values) would make more than 15 000 columns.
MAX_CODES = 50


def check_settings(settings: Mapping[str, Any]) -> None:
    """Raise UserError unless the settings are shares that sum to 1, and a seed."""
    if not isinstance(settings, Mapping):
        raise UserError(f"split: {settings!r} is no mapping of train, validation, test and seed")
    for key in settings:
        if key not in (*PARTS, "seed"):
            raise UserError(f"split: unknown key '{key}'; known: train, validation, test, seed")
    for key in (*PARTS, "seed"):
        if key not in settings:
            raise UserError(f"split.{key}: is missing")
    for key in PARTS:
        share = settings[key]
        if isinstance(share, bool) or not isinstance(share, (int, float)) or not 0 < share < 1:
            raise UserError(f"split.{key}: {share!r} is no share between 0 and 1")
    total = sum(settings[key] for key in PARTS)
    if abs(total - 1) > 1e-9:
        raise UserError(f"split: train + validation + test is {total:.10g}; it must be 1")
    seed = settings["seed"]
    for value in seed if isinstance(seed, list) and seed else [seed]:
        if type(value) is not int or value < 0:
            raise UserError(f"split.seed: {seed!r} is no whole number from 0")


def split_rows(codes: np.ndarray, classes, settings: Mapping[str, Any]) -> dict[str, np.ndarray]:
    """Draw the rows of the three parts, class by class.

    Each class gives validation and test their share of its rows, rounded, and one row at the
    least; the rest is for training. (Two passes of scikit-learn's ``train_test_split`` can leave
    a class of three or four rows out of a part.)

    Parameters
    ----------
    codes
        int, of shape (n,): class of every row.
    classes
        Labels by code, for the message.
    settings
        Shares ``train``, ``validation``, ``test``, and ``seed``.

    Returns
    -------
    rows
        By part: int, in random order; disjoint, and together all n rows.

    Raises
    ------
    UserError
        If the settings are wrong, or a class has too few rows for its three shares.
    """
    check_settings(settings)
    rng = np.random.default_rng(settings["seed"])
    rows: dict[str, list[np.ndarray]] = {part: [] for part in PARTS}
    for code, label in enumerate(classes):
        members = rng.permutation(np.flatnonzero(codes == code))
        sizes = [max(1, round(settings[part] * len(members))) for part in ("validation", "test")]
        if sum(sizes) >= len(members):
            raise UserError(
                f"split: class '{label}' has {len(members)} rows, too few for shares of "
                f"{settings['train']:g}, {settings['validation']:g} and {settings['test']:g}; "
                "each part needs one"
            )
        validation, test, train = np.split(members, np.cumsum(sizes))
        for part, chosen in zip(PARTS, (train, validation, test), strict=True):
            rows[part].append(chosen)
    # Not class by class: some learners and folds take the rows as they come.
    return {part: rng.permutation(np.concatenate(rows[part])) for part in PARTS}


def make_split(
    frame: "pd.DataFrame", description: Mapping[str, Any], settings: Mapping[str, Any]
) -> tuple[Inputs, np.ndarray, dict[str, Any]]:
    """Split a normalised data set and prepare it.

    Parameters
    ----------
    frame, description
        Content of ``dataset.parquet`` and ``dataset.json``.
    settings
        As for :func:`split_rows`.

    Returns
    -------
    inputs
        What the searches read.
    test_labels
        int64 codes of the test rows, of shape (n_test,).
    description
        Content of ``split.json``, without the checksum of the inputs.

    Raises
    ------
    UserError
        As :func:`split_rows` and :func:`prepare`.
    """
    labels = frame[description["target"]].to_numpy(dtype=str)
    classes, codes = np.unique(labels, return_inverse=True)
    codes = codes.astype(np.int64)
    rows = split_rows(codes, classes, settings)
    parts = {part: frame.iloc[rows[part]] for part in PARTS}
    X, features, categorical, dropped = prepare(parts, description["columns"])
    inputs = Inputs(
        **{f"X_{part}": X[part] for part in PARTS},
        y_train=codes[rows["train"]],
        y_validation=codes[rows["validation"]],
        categorical=categorical,
        classes=classes,
        features=features,
    )
    counts = {
        part: {
            str(label): int(n)
            for label, n in zip(
                classes, np.bincount(codes[rows[part]], minlength=len(classes)), strict=True
            )
        }
        for part in PARTS
    }
    made = {
        "dataset": description["name"],
        "source_checksum": description["checksum"],
        "settings": {key: settings[key] for key in (*PARTS, "seed")},
        "sizes": {part: len(rows[part]) for part in PARTS},
        "features": len(features),
        "classes": counts,
        "dropped": dropped,
    }
    return inputs, codes[rows["test"]], made


def prepare(
    parts: Mapping[str, "pd.DataFrame"], kinds: Mapping[str, str]
) -> tuple[dict[str, np.ndarray], np.ndarray, np.ndarray, dict[str, str]]:
    """Fit the base preparation on ``parts["train"]`` and apply it to all parts (specification A.3).

    Columns without a value are dropped, and categorical ones of which 80 % or more of the values
    are distinct; numbers are imputed by the median, the others by the most frequent value;
    categories become one-hot columns (all 0 for one that the training part does not have), except
    codes (see ``MAX_CODES``), which are taken as numbers; columns with a variance of 1e-7 or less
    are dropped.

    Parameters
    ----------
    parts
        Frames by part, among them ``train``.
    kinds
        ``numeric``, ``boolean`` or ``categorical`` by column; others are not used.

    Returns
    -------
    X
        By part: float64, of shape (n, p).
    features
        Names, str, of shape (p,): numbers first, then booleans, then one-hot columns.
    categorical
        bool, of shape (p,).
    dropped
        Columns that were dropped, one-hot ones too, with the reason.

    Raises
    ------
    UserError
        If no column is left.
    """
    from sklearn.compose import ColumnTransformer
    from sklearn.impute import SimpleImputer
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder

    use, dropped = _columns(parts["train"], kinds)
    median = SimpleImputer(strategy="median")
    frequent = SimpleImputer(strategy="most_frequent")
    one_hot = OneHotEncoder(
        handle_unknown="ignore",
        sparse_output=False,
        feature_name_combiner=lambda column, value: f"{column}={value}",
    )
    transformer = ColumnTransformer(
        [
            ("numeric", median, use["numeric"]),
            ("boolean", frequent, use["boolean"]),
            ("categorical", make_pipeline(frequent, one_hot), use["categorical"]),
        ],
        verbose_feature_names_out=False,
    )
    if not any(use.values()):
        raise UserError(_nothing_left(dropped))
    typed = {part: _typed(frame, use) for part, frame in parts.items()}
    X = {"train": np.asarray(transformer.fit_transform(typed["train"]), dtype=np.float64)}
    X |= {
        part: np.asarray(transformer.transform(frame), dtype=np.float64)
        for part, frame in typed.items()
        if part != "train"
    }
    features = np.asarray(transformer.get_feature_names_out(), dtype=str)
    categorical = np.arange(len(features)) >= len(use["numeric"])

    with np.errstate(over="ignore"):
        varies = np.var(X["train"], axis=0) > MIN_VARIANCE
    dropped |= {str(name): f"variance is {MIN_VARIANCE:g} or less" for name in features[~varies]}
    if not varies.any():
        raise UserError(_nothing_left(dropped))
    X = {part: np.ascontiguousarray(values[:, varies]) for part, values in X.items()}
    return X, features[varies], categorical[varies], dropped


def _columns(train, kinds: Mapping[str, str]) -> tuple[dict[str, list[str]], dict[str, str]]:
    """Decide from the training part how each column is taken, and which are dropped."""
    use: dict[str, list[str]] = {"numeric": [], "boolean": [], "categorical": []}
    dropped = {}
    for name, kind in kinds.items():
        values = train[name].dropna()
        taken = kind
        if values.empty:
            dropped[name] = "no value in the training part"
            continue
        if kind == "categorical":
            distinct = values.nunique()
            if distinct >= MAX_UNIQUE_SHARE * len(values):
                dropped[name] = f"{distinct} of {len(values)} values are distinct"
                continue
            if distinct > MAX_CODES and values.str.fullmatch(r"[+-]?\d{1,15}").all():
                taken = "numeric"
        use[taken].append(name)
    return use, dropped


def _typed(frame, use: Mapping[str, list[str]]):
    """Give scikit-learn plain float and object columns, NaN for what is missing."""
    import pandas as pd

    made = {}
    for name in use["numeric"]:
        made[name] = pd.to_numeric(frame[name], errors="coerce").astype("float64")
    for name in use["boolean"]:
        made[name] = frame[name].astype("boolean").astype("Float64").astype("float64")
    for name in use["categorical"]:
        values = frame[name].astype(object)
        made[name] = values.where(values.notna(), np.nan)
    return pd.DataFrame(made)


def _nothing_left(dropped: Mapping[str, str]) -> str:
    reasons = "; ".join(f"'{name}': {reason}" for name, reason in list(dropped.items())[:5])
    return f"split: the base preparation leaves no column of the data set: {reasons}"
