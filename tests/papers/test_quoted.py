"""Published numbers that the documentation quotes are those of the data."""

import pytest

from ensemble_search.papers import printed
from ensemble_search.papers.esmbo import checks as esmbo
from support import ROOT


def quoted() -> dict[str, list[str]]:
    """Texts by page, with the numbers of the data."""
    late = printed.values("divbo", "minimum-diversity")["quake"]
    updates = printed.values("divbo", "pool-updates")
    apart = printed.values("divbo", "disagreement")["quake"]
    taus = printed.values("divbo", "kendall-tau")
    ranks = printed.values("divbo", "best-ranks")
    spaces = esmbo.spaces()
    forests = spaces["random-forest-regression"]["rank"]
    order = [f"{forests[m]:.2f}" for m in ("RS", "SMBO", "ERS", "ESMBO")]
    lead = printed.values("divbo", "leads-from")["DivBO"]
    best = printed.values("divbo", "best-datasets")["DivBO"]
    second = printed.values("divbo", "second-validation-rank")["second"]
    return {
        "docs/reproduction.md": [
            f"(Figure 5) | {late['BO-ES']} / {late['DivBO']} |",
            f"here these three) | {updates['BO-ES'][50]} / {updates['DivBO'][50]} |",
            f"(Figure 6) | {apart['BO-ES']} / {apart['DivBO']} |",
            f"{taus['quake']['LightGBM']} (quake) and {taus['wind']['LightGBM']} (wind)",
            f"and {taus['quake']['PRF-p']} and {taus['wind']['PRF-p']} for",
            f"(average rank {ranks['validation']} by validation error)",
        ],
        "docs/esmbo.md": [
            f"expected rank of it with SVR is {spaces['svr']['rank']['ESMBO']}.",
            f"{', '.join(order[:3])} and {order[3]} in the paper",
        ],
        "docs/report.md": [f"({best} of 15)", f"(about {lead})", f"validation rank ({second})"],
    }


@pytest.mark.parametrize("page", quoted())
def test_quoted_numbers_are_those_of_the_data(page):
    text = " ".join((ROOT / page).read_text(encoding="utf-8").split())
    for part in quoted()[page]:
        assert part in text
