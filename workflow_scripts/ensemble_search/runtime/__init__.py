"""Foundations: files, errors, locks, signals, plugins and code versions."""
