"""Numbers of the DivBO paper, computations from them, and pages that compare them with ours."""
