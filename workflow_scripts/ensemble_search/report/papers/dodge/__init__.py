"""Pages for Dodge et al., "Open loop hyperparameter optimization and DPPs" (2017)."""
