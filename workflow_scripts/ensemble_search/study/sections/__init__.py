"""The sections of a study file, one module each.

A module holds the types of its section. If types do not check everything, it also has
``problems(study)``, which checks the section against the rest of the study: one line per mistake.
"""
