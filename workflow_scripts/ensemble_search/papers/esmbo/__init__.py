"""Numbers of the ESMBO paper, computations from them, and pages that compare them with ours."""
