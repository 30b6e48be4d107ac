"""Evidence of a study in the repository: one row per run, and a page."""
