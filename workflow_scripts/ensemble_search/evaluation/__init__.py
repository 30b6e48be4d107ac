"""Fitting of single configurations under time and memory limits."""
