"""The base preparation of a split, fitted on the training part only."""

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from ensemble_search.data import checks, readings, roles
from ensemble_search.data.cells import is_missing
from ensemble_search.data.preparation import (
    DATE_PARTS,
    WORD,
    Categories,
    Column,
    Numbers,
    Preparation,
    Texts,
    ranged,
    split_words,
)
from ensemble_search.data.rows import PARTS, fold_numbers, split_rows, strata
from ensemble_search.data.split import WEIGHTS, Inputs
from ensemble_search.data.subsets import choose
from ensemble_search.runtime.errors import UserError

if TYPE_CHECKING:
    import pandas as pd

    from ensemble_search.data.normalise import Stored

# The DivBO paper does not specify the base preparation.
MAX_UNIQUE_SHARE = 0.8
# A column is of a kind if at least this share of its values is.
NEARLY = 0.9
MIN_VARIANCE = 1e-7
# A nominal column with more integers than this is a code and stays one number: one-hot encoding
# would turn the nine of amazon_employee (67 to 7518 values) into more than 15 000 columns.
MAX_CODES = 50
#: Maximum distance of a target from the mean, in standard deviations: losses are stored as float32.
FARTHEST = 1e15
#: Maximum number of rows times features, in all parts: 8 GB.
MOST_VALUES = 10**9
#: How a column divides the rows, by its role.
DIVIDED = {
    "group": "rows with the same '{column}' stay together: training and test rows share no value",
    "time": "test rows are the latest by '{column}', and validation rows those before them",
    "part": "'{column}' names the part of each row",
    "fold": "test rows are one fold of '{column}'",
}
#: Kinds of columns in the order of their features.
KINDS = "numeric", "date", "boolean", "categorical", "text"
#: Maximum number of features of a text column.
MOST_WORDS = 200
#: Many distinct values with at least this mean number of words are texts; all distinct ones with
#: fewer than the second are names.
WORDS_OF_TEXT, WORDS_OF_NAME = 4, 2
#: Why a text column is dropped.
WORDLESS = "text without a word that occurs in two or more training rows, but not in all"
#: What a note says of how a column of categories is used.
USES = {
    "categorical": "each in the training rows becomes a feature",
    "text": "text, whose words become features",
    "numeric": "codes, used as one number",
    "uuids": "dropped by the base preparation (UUIDs)",
    "names": "dropped by the base preparation (names or identifiers)",
}
#: An identifier: one word with a digit.
IDENTIFIER = r"(?=\S*\d)\S+"


def make_split(
    frame: "pd.DataFrame | Stored", description: Mapping[str, Any], settings: Mapping[str, Any]
) -> tuple[Inputs, np.ndarray, dict[str, Any]]:
    """Split and prepare a normalised data set.

    With folds, every training row is also a validation row. The preparation is fitted on all
    training rows, without their labels, even if only a part of them is used.

    Parameters
    ----------
    frame, description
        Content of ``dataset.parquet`` and ``dataset.json``.
    settings
        See ``rows.check_settings``.

    Returns
    -------
    inputs
        Inputs of the searches.
    test_labels
        int64 codes, or float64 standardised numbers, of the test rows, of shape (n_test,).
    description
        Content of ``split.json``, without the checksum of the inputs, and, as ``preparation``, of
        ``preparation.json``.

    Raises
    ------
    UserError
        As ``rows.split_rows``, :func:`prepare` and :func:`standardised`.
    """
    rows, labels, classes, of_rows, scale = divide(frame, description, settings)
    own = [description["columns"], description.get("asked"), description.get("read")]
    parts = {part: _Rows(frame, chosen) for part, chosen in rows.items()}
    X, preparation, dropped = prepare(parts, *own)
    notes = checks.notes(frame, description, rows)
    notes += [_as_used(note, preparation, dropped) for note in description.get("notes", [])]
    n_folds = settings.get("folds", 0)
    if part := settings.get("train_rows"):
        known = X["train"], labels[rows["train"]], classes
        chosen = choose(*known, part, settings["seed"], n_folds)
        rows["train"], X["train"] = rows["train"][chosen], X["train"][chosen]
    folds = np.empty(0, dtype=np.int64)
    if n_folds:
        groups = of_rows["group"][rows["train"]] if "group" in of_rows else None
        folds = fold_numbers(labels[rows["train"]], n_folds, groups)
        rows["validation"], X["validation"] = rows["train"], X["train"]
    by_row = of_rows.get("weight")
    weights = {} if by_row is None else {WEIGHTS[part]: by_row[rows[part]] for part in PARTS}
    inputs = Inputs(
        **{f"X_{part}": X[part] for part in PARTS},
        y_train=labels[rows["train"]],
        y_validation=labels[rows["validation"]],
        categorical=preparation.categorical,
        classes=classes,
        features=np.array(preparation.features, dtype=str),
        folds=folds,
        **weights,
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
        "features": len(preparation.features),
        "classes": counts,
        "dropped": dropped,
        "notes": notes,
        "columns": reading(description, preparation, dropped),
        "by": {role: c["column"] for role, c in description.get("of_rows", {}).items()},
        "preparation": {"target": description["target"], **preparation.to_json()},
    }
    style = description.get("read", {}).get(description["target"])
    each = np.ones(len(labels)) if by_row is None else by_row
    if not len(classes):
        heavy = each[rows["test"]]
        squares = math.fsum(heavy * labels[rows["test"]] ** 2)
        made["target"] = {**scale, "test_square": squares / math.fsum(heavy)}
    elif by_row is not None:
        made["weights"] = {
            part: {
                str(c): math.fsum(each[rows[part]][labels[rows[part]] == code])
                for code, c in enumerate(classes)
            }
            for part in PARTS
        }
    if len(classes) and style:
        made["labels"] = style
    return inputs, labels[rows["test"]], made


def divide(
    frame: "pd.DataFrame | Stored", description: Mapping[str, Any], settings: Mapping[str, Any]
) -> tuple[dict[str, np.ndarray], np.ndarray, np.ndarray, dict[str, np.ndarray], dict[str, Any]]:
    """Draw the rows of the parts; parameters and errors are as for :func:`make_split`.

    Returns the rows as ``rows.split_rows`` does; class codes, or standardised numbers, of all rows;
    labels by code, none in regression; columns of ``roles.OF_ROWS`` by role (groups from 0, indices
    of parts, numbers); and the scale (see :func:`standardised`), with the style of numbers that the
    target was text of, if any, as ``read``; empty in classification.
    """
    target = frame[description["target"]]
    of_rows = {
        role: _of_rows(frame[column["column"]], role)
        for role, column in description.get("of_rows", {}).items()
    }
    by = [of_rows.get(role) for role in DIVIDED]
    if description["classes"]:
        classes, codes = np.unique(target.to_numpy(dtype=str), return_inverse=True)
        labels = codes.astype(np.int64)
        if description.get("positive") == classes[0]:  # class 1 is the positive one
            classes, labels = classes[::-1], 1 - labels
        return split_rows(labels, classes, settings, *by), labels, classes, of_rows, {}
    numbers = target.to_numpy("float64")
    rows = split_rows(strata(numbers), None, settings, *by)
    labels, scale = standardised(numbers, rows["train"])
    style = description.get("read", {}).get(description["target"])
    scale |= {"read": style} if style else {}
    return rows, labels, np.empty(0, dtype=str), of_rows, scale


#: What :func:`reading` describes of a column, for how many columns, and the kinds' names there.
READING, SHOWN = ("column", "read as", "values missing", "becomes"), 200
CALLED = dict(zip(KINDS, ("number", "date", "yes or no", "category", "text"), strict=True))


def reading(
    description: Mapping[str, Any], preparation: Preparation, dropped: Mapping[str, str]
) -> list[list[str]]:
    """Describe how each column is read, and what it becomes: the entries :data:`READING` of each.

    ``description`` is the content of ``dataset.json``; ``preparation`` and ``dropped`` are results
    of :func:`prepare`.
    """
    made = {column.name: column for column in preparation.columns}
    rows = []
    for name, kind in description["columns"].items():
        column, (empty, lost) = made.get(name), description.get("gaps", {}).get(name, (0, 0))
        read = description.get("read", {}).get(name)
        called = CALLED[column.kind if column else kind]
        called += f": {readings.in_words(read)}" if read and read != readings.PLAIN else ""
        missing = f"{empty} empty, {lost} others" if lost else f"{empty}" if empty else ""
        n = len(column.features) if column else 0
        becomes = f"{n} feature{'s' * (n > 1)}" if n else f"dropped: {_why(name, dropped)}"
        rows.append([name, called, missing, becomes])
    for role, column in description.get("of_rows", {}).items():
        if column["column"] not in description["columns"]:
            name, kind = column["column"], CALLED[column["kind"]]
            rows.append([name, kind, "", f"no feature: {role} of rows"])
    left = description.get("left_out", {})
    return [*rows, *([name, "", "", f"dropped: {why}"] for name, why in left.items())]


def _as_used(note: str, preparation: Preparation, dropped: Mapping[str, str]) -> str:
    """Correct a note on the use of a column's categories, which the training rows decide."""
    if said := next((use for use in USES.values() if f": {use}" in note), None):
        gone = "dropped by the base preparation"
        used = {n: said if gone in said else f"{gone}, as {why}" for n, why in dropped.items()}
        used |= {column.name: USES.get(column.kind, said) for column in preparation.columns}
        for name, use in used.items():
            if note.startswith(f"column '{name}' has "):
                return note.replace(f": {said}", f": {use}")
    return note


def _why(name: str, dropped: Mapping[str, str]) -> str:
    """Return why nothing of a column is left: it, or everything made from it, was dropped."""
    made = (why for part, why in dropped.items() if part.startswith((f"{name}=", f"{name}.")))
    return dropped.get(name) or next(made)


def divided(by: Mapping[str, str]) -> str:
    """Describe how the rows of a split are divided; ``by`` is its ``by``: a column by its role."""
    for role, text in DIVIDED.items():
        if role in by:
            return text.format(column=by[role])
    return "rows are divided at random"


def _of_rows(values: "pd.Series", role: str) -> np.ndarray:
    """Return the column of a role in ``roles.OF_ROWS``: groups from 0, part indices, or numbers."""
    if role == "part":
        return np.array([PARTS.index(part) for part in values])
    if role == "group":
        import pandas as pd

        # An array of text would be as wide as the longest one in every row.
        return pd.factorize(values.astype(str), sort=True)[0]
    if values.dtype.kind == "M":
        return values.to_numpy("datetime64[us]").astype(np.int64)
    return values.to_numpy("float64")


def standardised(values: np.ndarray, train: np.ndarray) -> tuple[np.ndarray, dict[str, Any]]:
    """Subtract the mean of the training rows, and divide by their standard deviation.

    Also return ``mean`` and ``std``, which convert predictions back. UserError if the training rows
    have a single value, or values too large or too small to square, or any row's value is more than
    :data:`FARTHEST` standard deviations from the mean.
    """
    try:  # exact sums: NumPy's depend on the processor
        own = values[train].tolist()
        mean = math.fsum(own) / len(own)
        std = math.sqrt(math.fsum((value - mean) ** 2 for value in own) / len(own))
    except OverflowError:
        raise UserError("split: the target has values too large to square; rescale it") from None
    if not std > 0:
        if min(own) < max(own):
            raise UserError("split: the target has values too small to square; rescale it")
        raise UserError("split: all training rows have the same target value")
    with np.errstate(over="ignore"):
        scaled = (values - mean) / std
    if not np.abs(scaled).max() <= FARTHEST:
        farthest = values[np.abs(scaled).argmax()]
        raise UserError(
            f"split: the target {farthest:g} is more than {FARTHEST:g} standard deviations from "
            "the mean of the training rows; correct or remove that row"
        )
    return scaled, {"mean": mean, "std": std}


@dataclass(frozen=True)
class _Rows:
    """Some rows of a data set, whose columns are loaded lazily."""

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
    read: Mapping[str, str] | None = None,
) -> tuple[dict[str, np.ndarray], Preparation, dict[str, str]]:
    """Fit the base preparation on ``parts["train"]`` and apply it to all parts.

    Columns without values and identifiers are dropped. Words of texts become numbers (see
    :func:`use_of` and :func:`texts`), as do dates (``DATE_PARTS``). Numbers are imputed by the
    median, other columns by the most frequent value (see :func:`categories`). Categories are
    one-hot encoded (all 0 for categories not in the training part), except codes (see
    ``MAX_CODES``), which become numbers. Columns with a variance of 1e-7 or less are dropped.

    Parameters
    ----------
    parts
        Frames by part, including ``train``.
    kinds
        ``numeric``, ``date``, ``boolean`` or ``categorical`` by column; other columns are ignored.
    asked
        Roles that the study assigns, by column: a column declared categorical is not a code.
    read
        How the user's values were read, by column (``preparation.READ``).

    Returns
    -------
    X
        By part: float64, of shape (n, p): numbers, then dates, booleans, one-hot columns, words.
    preparation, dropped
        The fitted preparation, and dropped columns, including one-hot ones, with the reason.

    Raises
    ------
    UserError
        If no column is left, or there are more than :data:`MOST_VALUES` values.
    """
    preparation, dropped = fit(parts["train"], kinds, asked, read)
    _check_size(preparation, sum(map(len, parts.values())))
    taken = {column.name: column.kind for column in preparation.columns}

    def values(rows: "pd.DataFrame | _Rows", name: str) -> np.ndarray:
        return typed(rows[name], taken[name])

    X = {part: preparation.write(partial(values, rows), len(rows)) for part, rows in parts.items()}
    return X, preparation, dropped


def _check_size(preparation: Preparation, rows: int) -> None:
    """Reject data that would not fit into memory, which takes many categories."""
    if rows * len(preparation.features) <= MOST_VALUES:
        return
    widest = max(preparation.columns, key=lambda column: len(column.features))
    raise UserError(
        f"{rows:,} rows of {len(preparation.features):,} features are too many: at most "
        f"{MOST_VALUES:,} values; column '{widest.name}' makes {len(widest.features):,} features: "
        f"leave it out ({roles.written('drop', widest.name)}), read it as text "
        f"({roles.written('text', widest.name)}), or take a part of the rows"
    )


def fit(
    train: "pd.DataFrame | _Rows",
    kinds: Mapping[str, str],
    asked: Mapping[str, str] | None = None,
    read: Mapping[str, str] | None = None,
) -> tuple[Preparation, dict[str, str]]:
    """Fit the base preparation on training rows; see :func:`prepare`."""
    read = read or {}
    use, dropped = _columns(train, kinds, asked or {})
    fitted: dict[str, Column] = {}
    for kind, names in use.items():
        for name in names:
            own = typed(train[name], kind), read.get(name)
            column: Column
            constant: list[str] = []
            if kind == "text":
                column = texts(name, *own)
                dropped |= {} if column.features else {name: WORDLESS}
            elif kind == "categorical":
                column, constant = categories(name, *own)
            else:
                column, constant = numbers(name, kind, *own)
            dropped |= dict.fromkeys(constant, f"variance is {MIN_VARIANCE:g} or less")
            if column.features:
                fitted[name] = column
    if not fitted:
        reasons = "; ".join(f"'{name}': {why}" for name, why in list(dropped.items())[:5])
        raise UserError(f"split: the base preparation drops all columns of the data set: {reasons}")
    names = [name for name in kinds if name in fitted]
    return Preparation(list(fitted.values()), names), dropped


def width(frame: "pd.DataFrame", kinds: Mapping[str, str], asked: Mapping[str, str]) -> int:
    """Count the columns of the base preparation on all rows, including constant columns."""
    use, _ = _columns(frame, kinds, asked)
    one_hot = sum(frame[name].nunique() for name in use["categorical"])
    words = MOST_WORDS * len(use["text"])
    numbers = len(use["numeric"]) + len(use["boolean"])
    return numbers + len(DATE_PARTS) * len(use["date"]) + one_hot + words


def use_of(present: "pd.Series", asked: str | None = None) -> str | None:
    """Decide how to use a categorical column, given its values without missing ones.

    ``text`` if the study asks for it, if 80 % or more of the values are distinct, or if there are
    more than ``MAX_CODES`` distinct ones with a mean of at least ``WORDS_OF_TEXT`` words; but None
    if 80 % are distinct and nearly all are identifiers, or all are distinct and names (a mean of
    fewer than ``WORDS_OF_NAME`` words). ``numeric`` for more than ``MAX_CODES`` codes, otherwise
    ``categorical``.
    """
    if asked == "text":
        return "text"
    distinct, words = present.nunique(), present.str.count(WORD.pattern).mean()
    if distinct >= MAX_UNIQUE_SHARE * len(present):
        names = distinct == len(present) and words < WORDS_OF_NAME
        return None if names or present.str.fullmatch(IDENTIFIER).mean() >= NEARLY else "text"
    if distinct > MAX_CODES and asked is None:
        if is_code(present):
            return "numeric"
        if words >= WORDS_OF_TEXT:
            return "text"
    return "categorical"


def varies(values: np.ndarray) -> bool:
    """Whether numbers vary enough to be kept."""
    with np.errstate(over="ignore", invalid="ignore"):
        # The variance of equal numbers is above 0 if their mean is rounded.
        return bool(np.var(values) > MIN_VARIANCE and values.min() < values.max())


def is_code(present: "pd.Series") -> bool:
    """Whether all values of a categorical column (text, none missing) are integers."""
    return bool(present.str.fullmatch(r"[+-]?[0-9]{1,15}").all())


def numbers(name: str, kind: str, train: np.ndarray, read: str | None) -> tuple[Numbers, list[str]]:
    """Fit the numeric features of a column on typed values of the training rows.

    Imputed values are medians, or the most frequent value of booleans. Also return the features
    that are left out because they hardly vary.
    """
    parts = {name: train}
    if kind == "date":
        parts = {f"{name}.{part}": compute(train) for part, compute in DATE_PARTS.items()}
        known = train[~np.isnat(train)]
        if (known == known.astype("M8[D]")).all():
            del parts[f"{name}.hour"]  # dates without a time
    fills, constant = {}, []
    for feature, column in parts.items():
        known = column[~np.isnan(column)]
        fill = float(known.mean() > 0.5) if kind == "boolean" else float(np.median(known))
        if varies(np.where(np.isnan(column), fill, column)):
            fills[feature] = fill
        else:
            constant.append(feature)
    ends, own = None, ranged(name, kind)
    if own in fills:
        ends = [float(np.nanmin(parts[own])), float(np.nanmax(parts[own]))]
    return Numbers(name, kind, fills, read, ends), constant


def categories(name: str, train: np.ndarray, read: str | None) -> tuple[Categories, list[str]]:
    """Fit the one-hot features of a column; see :func:`numbers`.

    Missing values count as the most frequent category, or form one with words for them, if these
    are among the categories, because pandas frames do not distinguish them.
    """
    counts = Counter(word for word in train.tolist() if word is not None)
    absent = {word: count for word, count in counts.items() if is_missing(word)}
    among = absent or counts
    fill = min(among, key=lambda word: (-among[word], word))
    for word in absent:
        del counts[word]
    counts[fill] += len(train) - counts.total()
    kept, rare = list[str](), list[str]()
    for word in sorted(counts):
        share = counts[word] / len(train)
        (kept if share * (1 - share) > MIN_VARIANCE else rare).append(word)
    return Categories(name, kept, rare, fill, read), [f"{name}={word}" for word in rare]


def texts(name: str, train: np.ndarray, read: str | None) -> Texts:
    """Fit the words of a text column; see :func:`numbers`.

    Uses up to ``MOST_WORDS`` words, those in a number of rows closest to half, at least two. The
    inverse document frequency is that of ``TfidfVectorizer``: ln((1 + n) / (1 + rows with the
    word)) + 1, rounded to six digits because the last digits of logarithms differ.
    """
    rows = Counter(word for text in train.tolist() for word in set(split_words(text)))
    n = len(train)
    used = [word for word, count in rows.items() if 2 <= count < n]
    used.sort(key=lambda word: (-rows[word] * (n - rows[word]), word))
    words = sorted(used[:MOST_WORDS])
    idf = [round(math.log((1 + n) / (1 + rows[word])) + 1, 6) for word in words]
    return Texts(name, words, idf, read)


def typed(column: "pd.Series", kind: str) -> np.ndarray:
    """Convert a column for ``Preparation.write``; codes, which are text, become numbers."""
    import pandas as pd

    match kind:
        case "categorical":
            return column.astype(object).where(column.notna(), None).to_numpy()
        case "text":  # words such as None are categories, but missing in texts, as in new rows
            return column.astype(object).mask(column.map(is_missing), None).to_numpy()
        case "date":
            return column.to_numpy("datetime64[us]")
        case "boolean":
            column = column.astype("boolean").astype("Float64")
        case _:
            column = pd.to_numeric(column, errors="coerce")
    values = column.to_numpy("float64", na_value=np.nan)
    return np.where(np.isfinite(values), values, np.nan)  # the word inf may occur among codes


def _columns(
    train, kinds: Mapping[str, str], asked: Mapping[str, str]
) -> tuple[dict[str, list[str]], dict[str, str]]:
    """Decide from the training part how to use each column, and which ones to drop."""
    use: dict[str, list[str]] = {kind: [] for kind in KINDS}
    dropped = {}
    for name, kind in kinds.items():
        values = train[name].dropna()
        if values.empty:
            dropped[name] = "no value in the training rows"
        elif taken := use_of(values, asked.get(name)) if kind == "categorical" else kind:
            use[taken].append(name)
        else:
            distinct = f"{values.nunique()} of {len(values)} values are distinct"
            dropped[name] = f"{distinct} (names or identifiers)"
    return use, dropped
