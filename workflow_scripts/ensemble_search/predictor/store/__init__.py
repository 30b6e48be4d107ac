"""Fitted pipelines of scikit-learn and boosters as numbers, which ``predictor`` reads.

A part is a dictionary: its ``kind`` and other settings, and arrays.
"""
