"""From stored scores to tables and figures, one module per question."""
