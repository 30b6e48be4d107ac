"""Names that several parts of the project share."""

#: What a model predicts: class probabilities, or a number.
TASKS = (CLASSIFICATION, REGRESSION) = ("classification", "regression")

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
#: Words for a missing value in a CSV file. pandas would also treat None and n/a as missing; they
#: are labels in several data sets.
MISSING = ["", "?", "NA", "N/A", "NaN", "nan", "NULL", "null"]
