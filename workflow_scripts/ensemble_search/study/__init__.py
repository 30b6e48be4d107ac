"""The study file: its model and how it is read."""
