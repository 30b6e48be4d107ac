"""Files below results/: layout, reading, verification and reproduction."""
