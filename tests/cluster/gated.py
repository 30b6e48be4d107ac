"""A space whose evaluations can be held: copied into the checkouts of disasters.py."""

import time
from pathlib import Path

import numpy as np

from ensemble_search.spaces.divbo_small import DivboSmall

_FREE = 3  # evaluations before the first that is held


class Gated(DivboSmall):
    """Holds while there is a file `gate` in the working directory; `eat` in it takes memory."""

    _made = 0

    def pipeline(self, values, categorical, threads):
        """Build the pipeline once the gate is open."""
        Gated._made += 1
        gate, eaten = Path("gate"), None
        while Gated._made > _FREE and gate.exists():
            if eaten is None and gate.read_text() == "eat":
                eaten = np.ones(200_000_000)
            time.sleep(0.05)
        return super().pipeline(values, categorical, threads)
