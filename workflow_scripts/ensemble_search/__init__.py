"""DivBO and its companions: searches that make good ensembles. Knows nothing of Snakemake.

``fit`` makes an ensemble from a table; it is imported when it is used.
"""

import os
import signal
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ensemble_search.delivery.fitting import fit

__all__ = ["fit"]

# Ctrl-C while a script beside this package imports it: the end, without a traceback. Once it runs,
# ``runtime.signals`` says more.
_here = os.path.dirname(os.path.dirname(__file__))
_beside = os.path.dirname(os.path.abspath(sys.argv[0])) == _here
if _beside and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def __getattr__(name: str) -> Any:
    if name in __all__:
        from ensemble_search.delivery import fitting

        return getattr(fitting, name)
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
