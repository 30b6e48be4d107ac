"""Fetching, normalising and splitting of data sets."""
