"""What Dodge's thesis proposal prints, and computations from it."""
