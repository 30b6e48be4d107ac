"""Types of problems: the shape of predictions, and how predictions differ."""
