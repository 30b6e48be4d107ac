"""Scores of ensembles and surrogates for finished searches."""
