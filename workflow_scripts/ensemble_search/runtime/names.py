"""Names that several parts of the project share."""

#: What a model predicts: class probabilities, or a number.
TASKS = (CLASSIFICATION, REGRESSION) = ("classification", "regression")

# Files and columns that searches and tables have in common.
PARTS = ("validation", "test")
OBSERVATIONS = "observations.parquet"
PREDICTIONS = ("predictions-validation.npy", "predictions-test.npy")
#: Beginning of the names of the hyperparameters' columns.
CONFIGURATION = "config."
