"""DivBO and its companions: searches that make good ensembles. Knows nothing of Snakemake."""
