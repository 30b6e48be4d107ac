"""Drivers of optimizers from other libraries, one file each, for the optimizer ``ask-tell``."""
