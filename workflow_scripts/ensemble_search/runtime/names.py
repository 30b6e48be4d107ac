"""Names that several parts of the project share."""

from typing import Literal, get_args

#: What a model predicts: class probabilities, or a number.
Task = Literal["classification", "regression"]
TASKS = (CLASSIFICATION, REGRESSION) = get_args(Task)

#: The metrics that AutoGluon is compared by, with its names of them.
AUTOGLUON_METRICS = {
    "error": "accuracy",
    "squared-error": "mean_squared_error",
    "absolute-error": "mean_absolute_error",
}

# Files and columns that searches and tables have in common.
PARTS = ("validation", "test")
OBSERVATIONS = "observations.parquet"
PREDICTIONS = ("predictions-validation.npy", "predictions-test.npy")
#: Beginning of the names of the hyperparameters' columns.
CONFIGURATION = "config."
#: Words for a missing value: ``?`` and those of ``pandas.read_csv``, so that a frame that it made
#: and the text of the same file are the same rows.
MISSING = frozenset(
    [
        *("", "?", "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND"),
        *("1.#QNAN", "<NA>", "N/A", "NA", "NULL", "NaN", "None", "n/a", "nan", "null"),
    ]
)
#: The one that stays a category among categories: it often says that there is none.
NONE = "None"


Status = Literal["ok", "timeout", "memory", "crash", "invalid"]
STATUSES: tuple[str, ...] = get_args(Status)
OK = "ok"
Origin = Literal["fitted", "shared", "table", "given"]
ORIGINS = (FITTED, SHARED, TABLE, GIVEN) = get_args(Origin)
