"""What surrogates share that learn from pairs of configurations."""
