"""Greedy ensembles, for post-hoc ensembles and searches."""
