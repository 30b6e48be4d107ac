"""The sections of a study file, one module each.

A module has the types of its section, and ``problems(study)``, which checks the section against the
rest of the study and yields one line per mistake, if there is more to check than types.
"""
