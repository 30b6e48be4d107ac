"""Numbers of Dodge et al., computations from them, and the page that compares them with ours."""
