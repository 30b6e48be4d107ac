"""Names that several parts of the project share."""

from typing import Literal, get_args

#: What a model predicts: class probabilities, or a number.
Task = Literal["classification", "regression"]
TASKS = (CLASSIFICATION, REGRESSION) = get_args(Task)

#: Metrics used to compare with AutoGluon, and its names for them.
AUTOGLUON_METRICS = {
    "error": "accuracy",
    "squared-error": "mean_squared_error",
    "absolute-error": "mean_absolute_error",
}

# Files and columns that searches and tables have in common.
PARTS = ("validation", "test")
OBSERVATIONS = "observations.parquet"
PREDICTIONS = ("predictions-validation.npy", "predictions-test.npy")
#: Prefix of the columns of hyperparameters.
CONFIGURATION = "config."
#: Words for a missing value: ``?`` and those of ``pandas.read_csv``, so that a frame read by pandas
#: and the text of the same file give the same rows.
MISSING = frozenset(
    [
        *("", "?", "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND"),
        *("1.#QNAN", "<NA>", "N/A", "NA", "NULL", "NaN", "None", "n/a", "nan", "null"),
    ]
)
#: The word that stays a category in a column of categories, where it often means "nothing".
NONE = "None"


Status = Literal["ok", "timeout", "memory", "crash", "invalid"]
STATUSES: tuple[str, ...] = get_args(Status)
OK = "ok"
Origin = Literal["fitted", "shared", "table", "given"]
ORIGINS = (FITTED, SHARED, TABLE, GIVEN) = get_args(Origin)
