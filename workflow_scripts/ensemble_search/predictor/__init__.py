"""Using a delivered ensemble, in an environment with numpy, scipy and scikit-learn.

With the modules that these import, they are copied into every delivered folder.
"""
