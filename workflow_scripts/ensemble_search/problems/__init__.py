"""Problem types: the shape of predictions, and how predictions differ."""
