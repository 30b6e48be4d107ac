"""Pages for the tables and figures of the DivBO paper."""
