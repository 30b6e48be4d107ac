"""The HTML report."""

import os

# matplotlib reads this when it is imported, and fails if the backend is not installed here:
# notebooks set it for all child processes. Figures are only written to files and need no backend.
os.environ.pop("MPLBACKEND", None)
