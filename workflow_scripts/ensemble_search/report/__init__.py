"""The HTML report."""

import os

# Read when matplotlib is imported, which a backend that is not installed here would end: notebooks
# name their own for all that they start. Figures are only written to files, and need none.
os.environ.pop("MPLBACKEND", None)
