"""Shared parts of the surrogates on pairs of configurations."""
