"""Metrics, one file each; the file name is the name in the study."""
