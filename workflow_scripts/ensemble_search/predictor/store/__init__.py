"""Convert fitted scikit-learn pipelines and boosters to numbers, which ``predictor`` reads.

A part is a dictionary: its ``kind``, other settings, and arrays.
"""
