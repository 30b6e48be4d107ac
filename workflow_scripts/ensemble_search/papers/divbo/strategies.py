"""Table 9: ensemble strategies on the same evaluations."""

from ensemble_search.analysis.load import Results
from ensemble_search.papers import variants

TITLE, ORDER = "Ensemble strategies", 120
PAPER = "Table 9 of Shen et al. (2022)"
PRINTED: dict[tuple[str, int | None], str] = {
    ("bagging", 5): "Bagging",
    ("stacking", 5): "Stacking",
    ("selection", 25): "Ensemble selection",
}


def build(results: Results, publish):
    """Compare ensembles of different types, built from the same search."""
    return variants.build(
        results,
        free=lambda key: key.startswith("ensemble."),
        member=lambda s: True,
        several=lambda family: len({s["ensemble.type"] for s in family} - {"best"}) > 1,
        say=say,
        printed=("strategy-error", role),
        about=["These methods share every evaluation and differ only in the ensemble."],
        nothing="no search has two types of ensembles besides best",
    )


def say(settings: dict) -> str:
    """Describe the ensemble's settings."""
    values = {k.removeprefix("ensemble."): v for k, v in settings.items() if "ensemble." in k}
    kind = values.pop("type")
    return kind + "".join(f", {k} {v}" for k, v in values.items() if v is not None)


def role(settings: dict) -> str | None:
    """Return a method's name in Table 9."""
    if not variants.paper_divbo(settings):
        return None
    return PRINTED.get((settings["ensemble.type"], settings.get("ensemble.size")))
