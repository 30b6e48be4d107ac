"""Fetching, normalizing and splitting data sets."""
