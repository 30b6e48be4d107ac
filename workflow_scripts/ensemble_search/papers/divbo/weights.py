"""Table 8: weighting of diversity in DivBO."""

from ensemble_search.analysis.load import Results
from ensemble_search.papers import variants

TITLE, ORDER = "Weight of diversity", 110
PAPER = "Table 8 of Shen et al. (2022)"
FREE = {"search.weight", "search.beta", "search.tau"}


def build(results: Results, publish):
    """Compare the reference method's weight schedule with constant weights."""
    reference = variants.settings(results.study, results.reference)
    scheduled = reference["search.optimizer"] == "divbo" and reference.get("search.weight") is None

    def member(s: dict) -> bool:
        if s["search.optimizer"] != "divbo":
            return False
        same = all(s.get(key) == reference.get(key) for key in ("search.beta", "search.tau"))
        return s.get("search.weight") is not None or same or not scheduled

    return variants.build(
        results,
        free=FREE.__contains__,
        member=member,
        several=lambda family: any(s.get("search.weight") is not None for s in family),
        say=say,
        printed=("weight-error", role),
        about=[
            "DivBO adds w times the rank by diversity to the rank by performance. With the "
            "schedule of the paper's Eq. 5, w grows with the evaluations from 0 towards β / 2; the "
            "ablation keeps it constant. To see the effect of the schedule alone, compare it with "
            "a constant weight of β / 2; a larger one also differs in level."
        ],
        nothing="no two methods differ in DivBO's weight, one of them constant (setting weight)",
    )


def say(method: dict) -> str:
    """Describe the weight."""
    if method.get("search.weight") is not None:
        return f"w = {method['search.weight']:g} throughout"
    beta, tau = method["search.beta"], method["search.tau"]
    return f"w grows towards {beta / 2:g} (β = {beta:g}, τ = {tau:g})"


def role(method: dict) -> str | None:
    """Return a method's name in Table 8."""
    if not variants.selection(method):
        return None
    if method.get("search.weight") == 0.1:
        return "DivBO (fixed)"
    return "DivBO" if variants.paper_divbo(method) else None
