"""Fitting one configuration under limits of time and memory."""
