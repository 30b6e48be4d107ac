"""Delivering an ensemble: a folder that predicts new rows, checked, with a card."""
