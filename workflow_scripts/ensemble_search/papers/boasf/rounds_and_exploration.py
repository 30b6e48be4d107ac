"""Weight of the standard deviation (c) and number of rounds (r); BOASF paper, Figure 3."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from ensemble_search.analysis import ranks
from ensemble_search.analysis.load import Results
from ensemble_search.papers import variants
from ensemble_search.papers.variants import PARTS, scope
from ensemble_search.report.plots import charts
from ensemble_search.report.section import Panels, Section
from ensemble_search.report.tables import Table, cells

TITLE, ORDER = "Exploration c and rounds r", 172
PAPER = "Figure 3 of Zhu et al. (2020)"
SETTINGS = {"search.exploration": "c", "search.rounds": "r"}
#: The space of the figure, where BOASF is compared only with TPE.
SPACE = "logistic-regression-hpo"
OTHERWISE = "Figure 3 of the paper is about hyperparameters of a logistic regression."

ALONE = "Figure 3 of the paper compares with Hyperopt (TPE) alone."


def build(results: Results, publish) -> list[Section] | str:
    """Show the share of data sets on which each setting wins or ties."""
    found = families(results.study)
    if not found:
        return "no two methods differ in boasf's exploration and rounds only"
    family = found[0]
    others = others_of(results.study, family)
    compared = results.comparison([*family, *others])
    present = [m for m in compared.methods if m in others]
    if len(compared.methods) - len(present) < 2 or not present:
        return "fewer than two settings of boasf and another method have finished on a data set"
    texts = [
        "c (exploration) weights the standard deviation in an arm's upper bound; r is the number "
        "of rounds. The figures show the share of data sets on which the mean loss over repeats "
        f"is not above that of any other method here ({', '.join(present)}).",
        scope(results, compared),
    ]
    theirs = [variants.settings(results.study, method)["search.optimizer"] for method in present]
    if results.study.get("space") != SPACE:
        texts.append(OTHERWISE)
    if theirs != ["tpe"]:
        texts.append(ALONE)
    if len(found) > 1:
        texts.append(f"Other settings of boasf than those of {family[0]} are left out.")
    drawings, tables = [], []
    for column, part in PARTS.items():
        mean = ranks.means(ranks.final_errors(compared, column))
        shares = wins_or_ties(results.study, mean, present)
        drawings.append((part, _figure(shares, part, publish)))
        tables.append(_table(shares, part, present))
    return [Section("Wins and ties", [*texts, Panels(drawings), *tables])]


def families(study: Mapping[str, Any]) -> list[list[str]]:
    """Return the methods that differ in c and r only, see ``variants.families``."""
    return variants.families(
        study, SETTINGS.__contains__, lambda s: s["search.optimizer"] == "boasf"
    )


def others_of(study: Mapping[str, Any], family: list[str]) -> list[str]:
    """Return the methods with another search, and an ensemble of the same type."""
    own = variants.settings(study, family[0])["ensemble.type"]
    return [
        method
        for method in study["methods"]
        if (of := variants.settings(study, method))["search.optimizer"] != "boasf"
        and of["ensemble.type"] == own
    ]


def wins_or_ties(study: Mapping[str, Any], mean: pd.DataFrame, others: list[str]) -> pd.DataFrame:
    """Return the shares of data sets on which each setting of boasf has no higher loss.

    ``mean`` losses are of shape (data sets, methods), of settings and ``others``. One row per
    setting: ``c``, ``r``, ``all`` (the share of no higher loss than all others), and one share per
    other method.
    """
    mean = mean.round(ranks.DIGITS)
    found = settings(study, [m for m in mean if m not in others])
    best = {"all": mean[others].min(axis=1), **{other: mean[other] for other in others}}
    for name, losses in best.items():
        found[name] = [(mean[method] <= losses).mean() for method in found.index]
    return found.sort_values(["c", "r"], ignore_index=True)


def settings(study: Mapping[str, Any], methods: list[str]) -> pd.DataFrame:
    """Return the columns ``c`` and ``r`` of methods that search with boasf, by method."""
    own = (variants.settings(study, method) for method in methods)
    rows = [{name: of[key] for key, name in SETTINGS.items()} for of in own]
    return pd.DataFrame(rows, methods)


def _figure(shares: pd.DataFrame, part: str, publish):
    values = 100 * shares.pivot(index="c", columns="r", values="all").rename("{:g}".format)
    figure = charts.heat_map(values, "data sets, %", (0.0, 100.0), ".0f")
    best = shares.loc[shares["all"].idxmax()]
    title = f"{part.capitalize()} loss: data sets on which BOASF wins or ties, by c and r"
    alt = f"Most: {100 * best['all']:.0f} % with c = {best['c']:g}, r = {best['r']:g}"
    return publish(figure, part, shares, title, alt)


def _table(shares: pd.DataFrame, part: str, others: list[str]) -> Table:
    rows = [
        cells(f"{row['c']:g}", f"{row['r']:g}", *(f"{100 * row[k]:.0f}" for k in ("all", *others)))
        for row in shares.to_dict("records")
    ]
    average = (f"{100 * np.mean(shares[k]):.0f}" for k in ("all", *others))
    caption = f"Data sets on which BOASF wins or ties, percent, by mean {part} loss"
    columns = ["c", "r", "against all", *(f"against {other}" for other in others)]
    foot = cells("mean", "", *average)
    return Table(part, caption, columns, [*rows, foot], shares, foot=1)
