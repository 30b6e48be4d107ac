"""What the DivBO paper prints, computations from it, and pages that show it beside ours."""
