"""Operators of the pipelines: each with its hyperparameters and its scikit-learn estimator."""
