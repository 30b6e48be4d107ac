"""Numbers of the BOASF paper, computations from them, and pages that compare them with ours."""
