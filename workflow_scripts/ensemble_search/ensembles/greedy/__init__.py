"""Greedy ensembles and their pieces, as searches use them too."""
