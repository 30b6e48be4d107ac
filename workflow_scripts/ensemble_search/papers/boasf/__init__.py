"""What the BOASF paper prints, and computations from it."""
