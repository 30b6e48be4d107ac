"""Table 8: does it matter how DivBO weighs diversity?"""

from divbo.analysis.load import Results
from divbo.report import variants

TITLE, ORDER = "Table 8: weight of diversity", 110
FREE = {"search.weight", "search.beta", "search.tau"}


def build(results: Results, publish):
    """Compare DivBO's schedule of the weight with constant weights."""
    return variants.build(
        results,
        free=FREE.__contains__,
        member=lambda s: s["search.optimizer"] == "divbo",
        several=lambda family: any(s.get("search.weight") is not None for s in family),
        say=say,
        printed=("weight-error", role),
        about=[
            "DivBO adds w times the rank by diversity to the rank by performance. With the "
            "schedule of the paper's Eq. 5, w grows from 0 towards β / 2; the ablation keeps it "
            "constant. A constant weight above β / 2 differs from the schedule in level as well "
            "as in shape: one equal to β / 2 tells the two apart."
        ],
        nothing="no two methods differ in DivBO's weight, one of them constant (setting weight)",
    )


def say(settings: dict) -> str:
    """Put the weight into words."""
    if settings.get("search.weight") is not None:
        return f"w = {settings['search.weight']:g} throughout"
    beta, tau = settings["search.beta"], settings["search.tau"]
    return f"w grows towards {beta / 2:g} (β = {beta:g}, τ = {tau:g})"


def role(settings: dict) -> str | None:
    """Name a method as Table 8 does."""
    if not variants.selection(settings):
        return None
    if settings.get("search.weight") == 0.1:
        return "DivBO (fixed)"
    return "DivBO" if variants.paper_divbo(settings) else None
