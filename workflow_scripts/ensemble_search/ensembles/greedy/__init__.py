"""Greedy ensembles, shared by post-hoc ensembles and searches."""
