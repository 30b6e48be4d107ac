"""Study files: their model, and how they are read."""
