"""The base preparation of a split, fitted on the training part only."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ensemble_search.data.rows import PARTS, fold_numbers, split_rows, strata
from ensemble_search.data.split import Inputs
from ensemble_search.data.subsets import choose
from ensemble_search.runtime.errors import UserError

if TYPE_CHECKING:
    import pandas as pd

    from ensemble_search.data.normalise import Stored

# The DivBO paper does not specify the base preparation.
MAX_UNIQUE_SHARE = 0.8
MIN_VARIANCE = 1e-7
# A nominal column of more integers than this is a code and stays one number: one-hot encoding would
# turn the nine of amazon_employee (67 to 7518 values) into more than 15 000 columns.
MAX_CODES = 50


def make_split(
    frame: "pd.DataFrame | Stored", description: Mapping[str, Any], settings: Mapping[str, Any]
) -> tuple[Inputs, np.ndarray, dict[str, Any]]:
    """Split a normalised data set and prepare it.

    Parameters
    ----------
    frame, description
        Content of ``dataset.parquet`` and ``dataset.json``.
    settings
        See ``rows.check_settings``. With folds, every training row is a validation row too, and
        the preparation is fitted on all of them, without their labels. It is fitted on all training
        rows also if only a part of them is used.

    Returns
    -------
    inputs
        Inputs of the searches.
    test_labels
        int64 codes, or float64 standardised numbers, of the test rows, of shape (n_test,).
    description
        Content of ``split.json``, without the checksum of the inputs.

    Raises
    ------
    UserError
        As ``rows.split_rows``, :func:`prepare` and :func:`standardised`.
    """
    target = frame[description["target"]]
    if description["classes"]:
        classes, codes = np.unique(target.to_numpy(dtype=str), return_inverse=True)
        labels = codes.astype(np.int64)
        rows = split_rows(labels, classes, settings)
    else:
        classes, labels = np.empty(0, dtype=str), target.to_numpy("float64")
        rows = split_rows(strata(labels), None, settings)
        labels, scale = standardised(labels, rows["train"])
    parts = {part: _Rows(frame, chosen) for part, chosen in rows.items()}
    X, features, categorical, dropped = prepare(
        parts, description["columns"], description.get("asked", {})
    )
    if "train_rows" in settings:
        own = labels[rows["train"]]
        chosen = choose(X["train"], own, classes, settings["train_rows"], settings["seed"])
        rows["train"], X["train"] = rows["train"][chosen], X["train"][chosen]
    folds = np.empty(0, dtype=np.int64)
    if "folds" in settings:
        folds = fold_numbers(labels[rows["train"]], settings["folds"])
        rows["validation"], X["validation"] = rows["train"], X["train"]
    inputs = Inputs(
        **{f"X_{part}": X[part] for part in PARTS},
        y_train=labels[rows["train"]],
        y_validation=labels[rows["validation"]],
        categorical=categorical,
        classes=classes,
        features=features,
        folds=folds,
    )
    counts = {
        part: {str(c): int((labels[rows[part]] == code).sum()) for code, c in enumerate(classes)}
        for part in PARTS
    }
    made = {
        "dataset": description["name"],
        "source_checksum": description["checksum"],
        "settings": dict(settings),
        "sizes": {part: len(rows[part]) for part in PARTS},
        "features": len(features),
        "classes": counts,
        "dropped": dropped,
    }
    if not len(classes):
        squares = (labels[rows["test"]] ** 2).tolist()
        made["target"] = {**scale, "test_square": math.fsum(squares) / len(squares)}
    return inputs, labels[rows["test"]], made


def standardised(values: np.ndarray, train: np.ndarray) -> tuple[np.ndarray, dict[str, float]]:
    """Subtract the mean of the training rows, and divide by their standard deviation.

    Returns
    -------
    values
        float64, of shape (n,).
    scale
        ``mean`` and ``std``, with which predictions are turned back.

    Raises
    ------
    UserError
        If the training rows have one value only, or values too large or too small to square.
    """
    try:  # exact sums: those of NumPy depend on the processor
        own = values[train].tolist()
        mean = math.fsum(own) / len(own)
        std = math.sqrt(math.fsum((value - mean) ** 2 for value in own) / len(own))
    except OverflowError:
        raise UserError("split: the target has values too large to square; rescale it") from None
    if not std > 0:
        if min(own) < max(own):
            raise UserError("split: the target has values too small to square; rescale it")
        raise UserError("split: all training rows have the same value of the target")
    return (values - mean) / std, {"mean": mean, "std": std}


@dataclass(frozen=True)
class _Rows:
    """Some rows of a data set, with lazily loaded columns."""

    frame: "pd.DataFrame | Stored"
    rows: np.ndarray

    def __getitem__(self, name: str) -> "pd.Series":
        return self.frame[name].iloc[self.rows]

    def __len__(self) -> int:
        return len(self.rows)


def prepare(
    parts: Mapping[str, "pd.DataFrame"],
    kinds: Mapping[str, str],
    asked: Mapping[str, str] | None = None,
) -> tuple[dict[str, np.ndarray], np.ndarray, np.ndarray, dict[str, str]]:
    """Fit the base preparation on ``parts["train"]`` and apply it to all parts.

    Columns without a value are dropped, and categorical ones of which 80 % or more of the values
    are distinct; dates become numbers (:func:`date_parts`); numbers are imputed by the median, the
    others by the most frequent value; categories are one-hot encoded (all 0 for a category not in
    the training part), except codes (see ``MAX_CODES``), which become numbers; columns with a
    variance of 1e-7 or less are dropped.

    Parameters
    ----------
    parts
        Frames by part, among them ``train``.
    kinds
        ``numeric``, ``date``, ``boolean`` or ``categorical`` by column; others are not used.
    asked
        Roles that the study assigns, by column: a column declared categorical is not a code.

    Returns
    -------
    X
        By part: float64, of shape (n, p).
    features
        Names, str, of shape (p,): numbers first, then dates, booleans, one-hot columns.
    categorical
        bool, of shape (p,).
    dropped
        Columns that were dropped, one-hot ones too, with the reason.

    Raises
    ------
    UserError
        If no column is left.
    """
    train = parts["train"]
    use, dropped = _columns(train, kinds, asked or {})
    fitted = [FITS[kind](name, train[name]) for kind, names in use.items() for name in names]
    for column in fitted:
        reason = f"variance is {MIN_VARIANCE:g} or less"
        dropped |= dict.fromkeys(column.constant, reason)
    fitted = [column for column in fitted if column.features]
    if not fitted:
        raise UserError(_nothing_left(dropped))
    width = sum(len(column.features) for column in fitted)
    X = {part: np.empty((len(frame), width)) for part, frame in parts.items()}
    place = 0
    for column in fitted:
        places = slice(place, place := place + len(column.features))
        for part, frame in parts.items():
            column.write(frame[column.name], X[part][:, places])
    features = [feature for column in fitted for feature in column.features]
    categorical = [column.categorical for column in fitted for _ in column.features]
    return X, np.array(features, dtype=str), np.array(categorical), dropped


def width(frame: "pd.DataFrame", kinds: Mapping[str, str], asked: Mapping[str, str]) -> int:
    """Count the columns of the base preparation on all rows, including constant ones."""
    use, _ = _columns(frame, kinds, asked)
    one_hot = sum(frame[name].nunique() for name in use["categorical"])
    return len(use["numeric"]) + len(DATE_PARTS) * len(use["date"]) + len(use["boolean"]) + one_hot


def too_distinct(distinct: int, values: int) -> bool:
    """Whether a categorical column has too many distinct values to be useful."""
    return distinct >= MAX_UNIQUE_SHARE * values


def is_code(present: "pd.Series") -> bool:
    """Whether the values of a categorical column (text, none missing) are all integers."""
    return bool(present.str.fullmatch(r"[+-]?\d{1,15}").all())


def days(dates: "pd.Series") -> "pd.Series":
    """Days since the beginning of 1970, with the time as a fraction; NaN for a missing date."""
    import pandas as pd

    # Not with pandas' timestamps: their nanoseconds end in 2262.
    elapsed = dates.to_numpy("datetime64[us]") - np.datetime64(0, "us")
    return pd.Series(elapsed / np.timedelta64(1, "D"), index=dates.index)


#: Numeric parts of a date. The hour has the minutes as a fraction; weekdays count from Monday, 0.
DATE_PARTS = {
    "year": lambda dates: dates.dt.year,
    "month": lambda dates: dates.dt.month,
    "day": lambda dates: dates.dt.day,
    "weekday": lambda dates: dates.dt.day_of_week,
    "hour": lambda dates: (dates - dates.dt.normalize()).dt.total_seconds() / 3600,
    "days": days,
}


@dataclass
class _Numbers:
    """Numeric columns computed from one column, and their imputed values."""

    name: str
    values: Mapping[str, Any]
    fills: dict[str, float]
    constant: list[str]
    categorical: bool

    @classmethod
    def fit(cls, name, train, values, fill, categorical=False) -> "_Numbers":
        fills, constant = {}, []
        for feature, read in values.items():
            column = _float(read(train))
            fills[feature] = fill(column[~np.isnan(column)])
            with np.errstate(over="ignore", invalid="ignore"):
                varies = np.var(_filled(column, fills[feature])) > MIN_VARIANCE
            if not varies:
                constant.append(feature)
                del fills[feature]
        return cls(name, values, fills, constant, categorical)

    @property
    def features(self) -> list[str]:
        return list(self.fills)

    def write(self, column: "pd.Series", out: np.ndarray) -> None:
        for place, (feature, fill) in enumerate(self.fills.items()):
            out[:, place] = _filled(_float(self.values[feature](column)), fill)


@dataclass
class _OneHot:
    """The one-hot columns of a categorical one; ``places`` are theirs by category."""

    name: str
    places: dict[str, int]
    fill: str
    constant: list[str]
    categorical: bool = True

    @classmethod
    def fit(cls, name: str, train: "pd.Series") -> "_OneHot":
        counts = train.value_counts().copy()
        fill = min(counts.index[counts == counts.max()])
        counts[fill] += train.isna().sum()
        share = counts / len(train)
        varies = share * (1 - share) > MIN_VARIANCE
        kept = sorted(counts.index[varies])
        constant = [f"{name}={word}" for word in sorted(counts.index[~varies])]
        return cls(name, {word: i for i, word in enumerate(kept)}, fill, constant)

    @property
    def features(self) -> list[str]:
        return [f"{self.name}={word}" for word in self.places]

    def write(self, column: "pd.Series", out: np.ndarray) -> None:
        places = column.fillna(self.fill).map(self.places).to_numpy("float64", na_value=-1)
        rows = np.flatnonzero(places >= 0)
        out[:] = 0
        out[rows, places[rows].astype(int)] = 1


def _number(name: str, train: "pd.Series") -> _Numbers:
    import pandas as pd

    def read(column):
        return pd.to_numeric(column, errors="coerce")

    return _Numbers.fit(name, train, {name: read}, np.median)


def _date(name: str, train: "pd.Series") -> _Numbers:
    values = {f"{name}.{part}": read for part, read in DATE_PARTS.items()}
    if (train.dropna().dt.normalize() == train.dropna()).all():
        del values[f"{name}.hour"]  # dates without a time
    return _Numbers.fit(name, train, values, np.median)


def _boolean(name: str, train: "pd.Series") -> _Numbers:
    def read(column):
        return column.astype("boolean").astype("Float64")

    def most_frequent(values):
        return float(values.mean() > 0.5)

    return _Numbers.fit(name, train, {name: read}, most_frequent, categorical=True)


#: Kinds in the order of their columns in the result, and how each is fitted.
FITS = {"numeric": _number, "date": _date, "boolean": _boolean, "categorical": _OneHot.fit}


def _float(values: "pd.Series") -> np.ndarray:
    return values.to_numpy("float64", na_value=np.nan)


def _filled(values: np.ndarray, fill: float) -> np.ndarray:
    return np.where(np.isnan(values), fill, values)


def _columns(
    train, kinds: Mapping[str, str], asked: Mapping[str, str]
) -> tuple[dict[str, list[str]], dict[str, str]]:
    """Decide from the training part how each column is used, and which are dropped."""
    use: dict[str, list[str]] = {kind: [] for kind in FITS}
    dropped = {}
    for name, kind in kinds.items():
        values = train[name].dropna()
        taken = kind
        if values.empty:
            dropped[name] = "no value in the training part"
            continue
        if kind == "categorical":
            distinct = values.nunique()
            if too_distinct(distinct, len(values)):
                dropped[name] = f"{distinct} of {len(values)} values are distinct"
                continue
            if distinct > MAX_CODES and asked.get(name) != kind and is_code(values):
                taken = "numeric"
        use[taken].append(name)
    return use, dropped


def _nothing_left(dropped: Mapping[str, str]) -> str:
    reasons = "; ".join(f"'{name}': {reason}" for name, reason in list(dropped.items())[:5])
    return f"split: the base preparation leaves no column of the data set: {reasons}"
