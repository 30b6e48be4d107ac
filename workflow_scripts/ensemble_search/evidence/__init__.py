"""Evidence of a study in the repository: one row per run and method, and a page."""
