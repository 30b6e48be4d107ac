"""Table 11: equal shares of the budget for every algorithm."""

from ensemble_search.analysis.load import Results
from ensemble_search.papers import variants

TITLE, ORDER = "Equal budget per algorithm", 140
PAPER = "Table 11 of Shen et al. (2022)"
PRINTED = {"random": "RS-ES", "k-bo": "kBO-ES"}


def build(results: Results, publish):
    """Compare k-BO with every search that has the same ensemble."""
    return variants.build(
        results,
        free=lambda key: key.startswith("search."),
        member=lambda s: s["ensemble.type"] != "best",
        several=lambda family: "k-bo" in {s["search.optimizer"] for s in family},
        say=lambda s: s["search.optimizer"],
        printed=("same-budget-error", role),
        about=[
            "k-BO gives every algorithm of the space the same number of evaluations, with its own "
            "Bayesian optimization. It finds different models by construction, whereas DivBO "
            "searches for them."
        ],
        nothing="no method with an ensemble has the search k-bo beside another",
    )


def role(settings: dict) -> str | None:
    """Return a method's name in Table 11."""
    if not variants.selection(settings):
        return None
    if variants.paper_divbo(settings):
        return "DivBO"
    return PRINTED.get(settings["search.optimizer"])
