"""What the ESMBO paper prints, and computations from it."""
