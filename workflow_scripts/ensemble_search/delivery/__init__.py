"""Delivering an ensemble: a checked folder that predicts new rows, with a card."""
