"""Figure 2: how well surrogates order unseen configurations."""

from collections.abc import Mapping
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from ensemble_search.analysis.load import Results
from ensemble_search.papers import agreement
from ensemble_search.report.build import stems
from ensemble_search.report.plots import figures
from ensemble_search.report.section import Panels, Section
from ensemble_search.report.tables import Cell, Table, cells, number, spread
from ensemble_search.results import layout, readers

TITLE, ORDER = "Diversity surrogates", 75
PAPER = "Figure 2 of Shen et al. (2022)"
#: Target of each protocol; "error" is for performance surrogates.
ASKED = {
    "observed": "an observed and a held-out configuration",
    "held-out": "two held-out configurations",
    "error": "{loss} of a held-out configuration",
}
#: Our names of the surrogates with printed figures, and the number of observations of these
#: figures.
PRINTED = {"lightgbm-pairs": "LightGBM", "random-forest": "PRF-p"}
OBSERVATIONS = 250


def build(results: Results, publish) -> list[Section] | str:
    """Draw tau over observations, and tabulate tau, calibration and fit seconds."""
    section = results.study.get("surrogates")
    if not section:
        return "the study evaluates no surrogates (key surrogates)"
    quality, missing = load(results.study, results.folder)
    if quality.empty:
        return "no evaluation of a surrogate has finished"
    found = taus(quality)
    asked = {protocol: results.losses.fill(text) for protocol, text in ASKED.items()}
    printed = agreement.values(results.study, "kendall-tau")
    parts: list[Any] = [results.losses.fill(_how(section))]
    if missing:
        shown = "; ".join(missing[:3]) + ("; ..." if len(missing) > 3 else "")
        parts.append(f"{len(missing)} evaluations are missing ({shown}).")
    if here := [d for d in printed if d in (section["datasets"] or results.study["datasets"])]:
        # Its configurations are its budget.
        budget = {"evaluations": section["configurations"]}
        own = {**results.study, "budget": budget, "repeats": section["repeats"]}
        parts += agreement.caution(own, "kendall-tau", here)
    parts += [_panels(found, asked, publish), _taus(found, asked, printed)]
    return [
        Section("Do they rank unseen configurations correctly?", parts),
        _calibration(calibration(quality), asked),
        _seconds(seconds(quality)),
    ]


def _how(section: dict[str, Any]) -> str:
    return (
        f"{section['configurations']} random configurations of each data set are evaluated once. "
        f"They are shuffled {section['repeats']} times; each time {section['held_out']} are held "
        "out, and each surrogate is fitted on the first of the others. Kendall's tau-b measures "
        "how well the order of its predictions agrees with the truth: 1, in all pairs; 0, no "
        "better than guessing. A diversity surrogate predicts pairs, of two kinds: an observed and "
        "a held-out configuration, which is what DivBO needs, and two held-out ones. A performance "
        "surrogate predicts the {loss} of the held-out ones, a different question."
    )


def _panels(taus: pd.DataFrame, asked: dict[str, str], publish) -> Panels:
    """Draw one panel per data set and protocol; all panels show performance surrogates."""
    look = figures.styles(list(dict.fromkeys(taus["surrogate"])))
    protocols = [p for p in ("observed", "held-out") if p in set(taus["protocol"])] or ["error"]
    names = list(dict.fromkeys(taus["dataset"]))
    drawings = []
    for dataset, stem in zip(names, stems(names), strict=True):
        for protocol in protocols:
            mine = taus[(taus["dataset"] == dataset) & taus["protocol"].isin([protocol, "error"])]
            if mine.empty:
                continue
            last = mine[mine["observations"] == mine["observations"].max()]
            ends = (f"{s} {m:.2f}" for s, m in zip(last["surrogate"], last["mean"], strict=True))
            drawing = publish(
                _lines(mine, look),
                f"{stem}-{protocol}",
                mine,
                f"{dataset}, {asked[protocol]}: Kendall's tau over observations",
                f"At the right end: {', '.join(ends)}",
                key=look,
            )
            drawings.append((f"{dataset}, {asked[protocol]}", drawing))
    return Panels(drawings, figures.legend(look))


def _lines(taus: pd.DataFrame, look: dict[str, dict]) -> Figure:
    """Draw means as lines and standard deviations over repeats as shaded areas."""
    with figures.panel() as (figure, axes):
        for name, mine in taus.groupby("surrogate", sort=False):
            x, mean, std = (mine[c].to_numpy() for c in ("observations", "mean", "std"))
            std = np.nan_to_num(std)
            axes.fill_between(
                x, mean - std, mean + std, color=look[name]["color"], alpha=0.15, linewidth=0
            )
            axes.plot(x, mean, **look[name])
        axes.axhline(0, color="black", linewidth=0.6)
        locator: Any = axes.xaxis.get_major_locator()
        locator.set_params(integer=True)
        axes.set(xlabel="observations", ylabel="Kendall's tau")
    return figure


def _taus(taus: pd.DataFrame, asked: dict[str, str], printed: dict) -> Table:
    """Show tau at each number of observations, with the paper's if it is printed."""
    sizes = sorted(taus["observations"].unique())
    rows = []
    for (dataset, protocol), part in taus.groupby(["dataset", "protocol"], sort=False):
        best = part.groupby("observations")["mean"].max()
        for surrogate, own in part.groupby("surrogate", sort=False):
            mine = own.set_index("observations")
            row = cells(dataset, asked[protocol], surrogate)
            for size in sizes:
                if size not in mine.index:
                    row.append(Cell("–"))
                    continue
                mean, std = mine.loc[size, ["mean", "std"]]
                row.append(Cell(spread(mean, std), bool(np.isclose(mean, best[size]))))
            if printed:
                theirs = printed.get(dataset, {}).get(PRINTED.get(surrogate, ""), np.nan)
                row.append(Cell(number(theirs)))
            rows.append(row)
    note = (
        "Mean ± standard deviation over repeats; bold: the highest for a question. A model that "
        "predicts the same for all has 0."
    )
    if printed:
        note += (
            f" Printed: {agreement.source('kendall-tau')}, at {OBSERVATIONS} observations; the "
            "paper does not say which of the two questions about pairs it asked, so its number is "
            "shown for both."
        )
    notes = [
        note,
        "All repeats share the configurations and the split of the data. With others, the numbers "
        "would differ by more than the deviation over repeats, so no agreement with the paper, and "
        "no difference from it, is claimed.",
    ]
    columns = ["data set", "question", "surrogate", *map(str, sizes)]
    columns += ["printed"] if printed else []
    caption = "Kendall's tau-b by number of observations"
    return Table("tau", caption, columns, rows, taus, notes)


def _calibration(table: pd.DataFrame, asked: dict[str, str]) -> Section:
    rows = []
    for line in table.to_dict("records"):
        known = line["spread"] > 0
        share = [f"{100 * line[c]:.0f} %" if known else "–" for c in ("within_1", "within_2")]
        row = [line["dataset"], asked[line["protocol"]], line["surrogate"], *share]
        row += [f"{line['absolute_error']:.3f}", f"{line['spread']:.3f}" if known else "–"]
        rows.append(cells(*row, number(line["ratio"], 1)))
    columns = ["data set", "question", "surrogate", "within 1 spread", "within 2 spreads"]
    columns += ["mean absolute error", "mean spread", "error / spread"]
    largest = table["observations"].max()
    text = (
        "A surrogate that knows its uncertainty predicts a large spread where it is far off. "
        "If its errors were normal with the predicted spread, 68 % of the truths would lie within "
        "one spread of the prediction, 95 % within two, and the mean absolute error would be 0.8 "
        "spreads. Lower shares, or a larger ratio, mean that it is overconfident. The spread is "
        "the standard deviation of the members' predictions; a single model has none (–)."
    )
    caption = f"Does the predicted spread cover the error? With {largest} observations"
    return Section("Calibration", [text, Table("calibration", caption, columns, rows, table)])


def _seconds(table: pd.DataFrame) -> Section:
    rows = [cells(name, *(number(v) for v in row)) for name, *row in table.itertuples()]
    columns = ["surrogate", *map(str, table.columns)]
    caption = "CPU seconds of one fit by number of observations, mean over data sets and repeats"
    shown = Table("seconds", caption, columns, rows, table.reset_index())
    return Section("What a fit costs", [shown])


KEYS = ["dataset", "protocol", "surrogate", "observations"]


def load(study: Mapping[str, Any], results: Path) -> tuple[pd.DataFrame, list[str]]:
    """Read the surrogate evaluations of a study from its folder ``results``.

    Returns their table, and the files that are missing or were made with other settings, with the
    reason. The table has one row per data set, surrogate, repeat, size and protocol, with the
    columns of ``surrogate_quality.assess``. An undefined ``tau`` is 0: a model with constant
    predictions orders nothing. Raises Unusable if a file is damaged.
    """
    jobs: list[tuple[dict, dict]] = []
    if section := study.get("surrogates"):
        common = {key: section[key] for key in ("sizes", "held_out")}
        common |= {key: study[key] for key in ("seed", "space")}
        parts = (
            section["datasets"] or study["datasets"],
            section["names"],
            range(section["repeats"]),
        )
        for dataset, surrogate, repeat in product(*parts):
            asked = {"surrogate": surrogate, "repeat": repeat}
            jobs.append(({"dataset": dataset, **asked}, {**asked, **common}))
    pattern = f"{layout.SURROGATE}/quality.parquet"
    columns = [*KEYS, "repeat", "tau"]
    quality, missing = readers.of_jobs(readers.quality, results, pattern, jobs, columns)
    return quality.assign(tau=quality["tau"].fillna(0.0)), missing


def taus(quality: pd.DataFrame) -> pd.DataFrame:
    """Mean, standard deviation (divisor n - 1) and number of repeats of tau.

    One row per data set, protocol, surrogate and number of observations: ``mean``, ``std``,
    ``repeats``.
    """
    groups = quality.groupby(KEYS, sort=False)["tau"]
    return groups.agg(mean="mean", std="std", repeats="size").reset_index()


def calibration(quality: pd.DataFrame) -> pd.DataFrame:
    """Compare the predicted spread with the error at the largest number of observations.

    One row per data set, protocol and surrogate, means over repeats: ``within_1``, ``within_2``,
    ``absolute_error``, ``spread``, and ``ratio`` of the last two.
    """
    last = quality[quality["observations"] == quality["observations"].max()]
    columns = ["within_1", "within_2", "absolute_error", "spread"]
    table = last.groupby(KEYS, sort=False)[columns].mean().reset_index()
    return table.assign(ratio=table["absolute_error"] / table["spread"].where(table["spread"] > 0))


def seconds(quality: pd.DataFrame) -> pd.DataFrame:
    """Mean CPU seconds per fit, over data sets and repeats.

    One row per surrogate, one column per number of observations.
    """
    fits = quality.drop_duplicates(["dataset", "surrogate", "repeat", "observations"])
    return fits.pivot_table(
        index="surrogate", columns="observations", values="fit_cpu_seconds", sort=False
    )
