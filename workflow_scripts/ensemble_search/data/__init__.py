"""Fetching, normalising and splitting data sets."""
