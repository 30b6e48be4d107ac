"""Table 10: effect of the ensemble's size."""

from ensemble_search.analysis.load import Results
from ensemble_search.papers import variants

TITLE, ORDER = "Sizes of the ensemble", 130
PAPER = "Table 10 of Shen et al. (2022)"


def build(results: Results, publish):
    """Compare ensembles of one type and different sizes, built from the same search."""
    return variants.build(
        results,
        free="ensemble.size".__eq__,
        member=lambda s: s.get("ensemble.size") is not None,
        several=lambda family: True,
        say=lambda s: f"{s['ensemble.type']}, size {s['ensemble.size']}",
        printed=("size-error", role),
        about=[
            "These methods share every evaluation and differ only in the number of rounds or "
            "members of the ensemble. How much each size overfits the validation set is on the "
            "page Statistics."
        ],
        nothing="no search has an ensemble of one type in two sizes",
    )


def role(settings: dict) -> str | None:
    """Return a method's name in Table 10."""
    if settings["search.optimizer"] != "bo":
        return None
    return next((f"BO-ES ({n})" for n in (25, 100) if variants.selection(settings, n)), None)
