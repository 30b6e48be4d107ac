"""What Dodge et al. print, computations from it, and the page that shows it beside ours."""
