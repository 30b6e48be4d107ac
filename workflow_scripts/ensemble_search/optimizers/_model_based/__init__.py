"""What model-based optimizers share."""
