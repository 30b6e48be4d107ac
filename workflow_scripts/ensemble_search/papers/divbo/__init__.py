"""What the DivBO paper prints, and computations from it."""
