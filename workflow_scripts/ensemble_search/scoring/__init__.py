"""Scores of what searches found: ensembles, surrogates."""
