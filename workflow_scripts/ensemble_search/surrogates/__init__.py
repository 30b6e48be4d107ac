"""Surrogates of performance and of diversity, one file each."""
