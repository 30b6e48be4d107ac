"""Predict with a delivered ensemble, in an environment with NumPy and SciPy.

These modules, and the modules that they import, are copied into every delivered folder.
"""
