"""Determinantal point processes: exact and Markov chain samplers, greedy maximisation, kernels."""
