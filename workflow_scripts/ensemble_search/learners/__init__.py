"""Operators of the pipelines: hyperparameters and scikit-learn estimators."""
