"""DivBO and its companions: searches that make good ensembles. Knows nothing of Snakemake.

``fit`` makes an ensemble from a table; it is imported when it is used.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ensemble_search.delivery.fitting import fit

__all__ = ["fit"]


def __getattr__(name: str) -> Any:
    if name in __all__:
        from ensemble_search.delivery import fitting

        return getattr(fitting, name)
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
