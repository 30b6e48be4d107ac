"""Pages for the tables and figures of the BOASF paper."""
