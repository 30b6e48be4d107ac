"""What a study leaves in the repository: one row per run and method, and a page."""
