"""What the rest stands on: files, errors, locks, signals, plugins, versions of code."""
