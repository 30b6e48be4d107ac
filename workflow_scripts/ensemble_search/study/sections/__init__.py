"""The sections of a study file; those that belong together share a module.

A module holds the types of its sections. If types do not check everything, it also has
``problems(study)``, which checks a section against the rest of the study: one line per mistake.
"""
