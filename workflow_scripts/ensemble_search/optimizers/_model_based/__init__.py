"""Shared parts of the model-based optimizers."""
