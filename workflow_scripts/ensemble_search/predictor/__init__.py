"""Using a delivered ensemble, in an environment with numpy, scikit-learn and skops.

With the modules that these import, they are copied into every delivered folder.
"""
