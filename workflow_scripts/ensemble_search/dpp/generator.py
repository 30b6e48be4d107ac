"""Check of the samplers' random generator."""

import numpy as np

from ensemble_search.runtime.errors import UserError


def check_generator(rng: np.random.Generator) -> None:
    """Raise UserError unless ``rng`` is a generator; passing a seed is a common mistake."""
    if not isinstance(rng, np.random.Generator):
        raise UserError(
            f"rng must be a numpy.random.Generator, such as numpy.random.default_rng(0), "
            f"found {type(rng).__name__}"
        )
