"""Pages for the tables of the ESMBO paper."""
