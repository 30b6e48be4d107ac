"""Scores of ensembles and surrogates on finished searches."""
