"""Using a delivered ensemble, in an environment with numpy and scipy.

With the modules that these import, they are copied into every delivered folder.
"""
