"""Comparison with published figures."""
