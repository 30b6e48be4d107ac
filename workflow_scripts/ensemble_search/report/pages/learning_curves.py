"""Learning curves over parts of the training rows, chosen in several ways."""

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.ticker import NullLocator

from ensemble_search.analysis import datasets, ranks
from ensemble_search.analysis.load import Results
from ensemble_search.analysis.losses import Losses
from ensemble_search.data.subsets import kernel
from ensemble_search.report.build import stems
from ensemble_search.report.plots import figures
from ensemble_search.report.section import Panels, Section
from ensemble_search.report.tables import Cell, Table, cells
from ensemble_search.report.view import view

TITLE, ORDER = "Learning curves: which training rows?", 150


def build(results: Results, publish) -> list[Section] | str:
    """Draw test losses over training rows, and compare choices of rows at the same size."""
    if not results.study.get("train_rows"):
        return "the study uses all training rows of every data set (key train_rows)"
    seen = view(results)
    if isinstance(seen, str):
        return seen
    losses = curves(results)
    if losses.empty:
        return "no two data sets with results are parts of the same source"
    found = summary(losses)
    loss = seen.losses
    text = (
        "The points of a curve are data sets from one source, each with a part of its training "
        f"rows; all have the same test rows. Lines are the final test {loss.title}, mean over "
        "repeats; shading is its standard error. Random search draws the same configurations for "
        "all parts, so only the rows differ. Of data sets with the same part, the first counts."
    )
    if ALL in set(found["chosen"]):
        text += " The dotted line is for all training rows."
    return [
        Section("Test loss over training rows", [text, _panels(found, loss, publish)]),
        Section("At the same number of rows", [_table(found, loss)]),
    ]


def _panels(found: pd.DataFrame, losses: Losses, publish) -> Panels:
    look = figures.styles([name for name in dict.fromkeys(found["chosen"]) if name != ALL])
    groups, drawings = list(found.groupby(["source", "method"], sort=False)), []
    names = stems([" ".join(key) for key, _ in groups])
    for (key, mine), stem in zip(groups, names, strict=True):
        title = f"{', '.join(key)}: test {losses.title} over rows"
        alt = f"{len(look)} ways to choose rows, at {mine['share'].nunique()} shares"
        figure = _lines(mine, look, losses)
        drawings.append((", ".join(key), publish(figure, stem, mine, title, alt, key=look)))
    return Panels(drawings, figures.legend(look))


def _lines(found: pd.DataFrame, look: dict[str, dict], losses: Losses) -> Figure:
    with figures.panel() as (figure, axes):
        # A way with one size is a point instead of a line; points of a size are side by side.
        groups = found[found["chosen"] != ALL].groupby("chosen", sort=False)
        alone = groups.filter(lambda mine: len(mine) == 1)
        for name, mine in found.groupby("chosen", sort=False):
            mean = losses.scale * mine["mean"].to_numpy()
            if name == ALL:
                axes.axhline(mean[0], color="black", linestyle="dotted", linewidth=0.8)
                continue
            order = np.argsort(mine["rows"].to_numpy())
            rows, mean = mine["rows"].to_numpy()[order], mean[order]
            error = (losses.scale * mine["std"] / np.sqrt(mine["repeats"])).fillna(0).to_numpy()
            error = error[order]
            if len(rows) == 1:
                beside = alone.loc[alone["rows"] == rows[0], "chosen"].tolist()
                place = beside.index(name) - (len(beside) - 1) / 2
                axes.errorbar(rows * 1.03**place, mean, error, **look[name])
                continue
            shade = {"color": look[name]["color"], "alpha": 0.15, "linewidth": 0}
            axes.fill_between(rows, mean - error, mean + error, **shade)
            axes.plot(rows, mean, **look[name])
        label = losses.heading(f"test {losses.title}")
        axes.set(xscale="log", xlabel="training rows", ylabel=label)
        sizes = sorted(found.loc[found["chosen"] != ALL, "rows"].unique())
        axes.set_xticks(sizes, [f"{size:.0f}" for size in sizes])
        axes.xaxis.set_minor_locator(NullLocator())
        if len(sizes) == 1:
            axes.set_xlim(sizes[0] / 1.5, sizes[0] * 1.5)
    return figure


def _table(found: pd.DataFrame, losses: Losses) -> Table:
    sizes = found.groupby(["source", "method", "rows"])["mean"]
    best = np.isclose(found["mean"], sizes.transform("min")) & (sizes.transform("size") > 1)
    rows = []
    for line, lowest in zip(found.to_dict("records"), best, strict=True):
        change = losses.signed(line["difference"])
        if np.isfinite(line["se"]):
            change += f" ± {losses.value(line['se'])}"
        row = cells(line["source"], line["method"], f"{line['share']:g}", f"{line['rows']:.0f}")
        spread = losses.spread(line["mean"], line["std"])
        rows.append([*row, *cells(line["chosen"]), Cell(spread, bool(lowest)), *cells(change)])
    columns = ["data set", "method", "share", "rows", "chosen", losses.heading("test"), "− uniform"]
    note = (
        "Mean ± standard deviation over repeats; bold: the lowest of its size. The last column is "
        "the mean difference from as many uniformly chosen rows in the same repeat, ± its standard "
        "error."
    )
    caption = f"Final test {losses.title}{losses.in_percent} by choice of the training rows"
    return Table("learning-curves", caption, columns, rows, found, [note])


#: Name for data sets that use all training rows.
ALL = "all rows"


def curves(results: Results) -> pd.DataFrame:
    """Collect the final test losses of data sets that are parts of the same source.

    If several data sets have the same source and part, the first one counts. One row per run:
    ``source`` (the first data set's name), ``method``, ``chosen`` (how its rows are chosen, as
    :func:`described`, or :data:`ALL`), ``share``, ``rows`` (for training), ``repeat``,
    ``test_error``. Without rows if no source has two parts.
    """
    parts, groups = results.study.get("train_rows", {}), datasets.of_one_source(results.study)
    curves = [g for g in groups if sum(name in parts for name in g) > 1]
    source = {name: group[0] for group in curves for name in group}
    final = ranks.final_errors(results.compared)
    long = final.melt(ignore_index=False, var_name="method", value_name="test_error").reset_index()
    long = long[long["dataset"].isin(source)]
    names = long["dataset"]
    rows = results.datasets.set_index("dataset")["train"]
    task = results.losses.task
    table = pd.DataFrame(
        {
            "dataset": names,
            "source": names.map(source),
            "method": long["method"],
            "chosen": [described(parts[n], task) if n in parts else ALL for n in names],
            "share": [parts[n]["share"] if n in parts else 1.0 for n in names],
            "rows": names.map(rows),
            "repeat": long["repeat"],
            "test_error": long["test_error"],
        }
    )
    places = table["dataset"].map({name: i for i, name in enumerate(results.study["datasets"])})
    first = places.groupby([table[key] for key in ("source", "chosen", "share")]).transform("min")
    return table[places == first].drop(columns="dataset").reset_index(drop=True)


def described(part: dict, task: str) -> str:
    """Describe how rows are chosen: ``uniform``, or ``k-DPP, product``."""
    return part["by"] if part["by"] != "k-dpp" else f"k-DPP, {kernel(part, task)}"


def summary(losses: pd.DataFrame) -> pd.DataFrame:
    """Average :func:`curves` over repeats, and compare with the uniform choice of the same size.

    One row per source, method, choice and share: ``rows``, ``mean``, ``std`` and ``repeats`` of the
    test loss; ``difference`` to ``uniform`` with as many rows, averaged over the repeats that both
    have, and its standard error ``se`` (NaN for fewer than two repeats).
    """
    keys = ["source", "method", "chosen", "share"]
    result = []
    for key, runs in losses.groupby(keys, sort=False):
        found = dict(zip(keys, key, strict=True))
        own = runs.set_index("repeat")["test_error"]
        like = (losses["source"] == key[0]) & (losses["method"] == key[1])
        same = losses[like & (losses["rows"] == runs["rows"].iloc[0])]
        uniform = same[same["chosen"] == "uniform"].groupby("repeat")["test_error"].first()
        pairs = (own - uniform).dropna() if found["chosen"] != "uniform" else pd.Series(dtype=float)
        found |= {"rows": runs["rows"].iloc[0], "mean": own.mean(), "std": own.std()}
        found |= {"repeats": len(own), "difference": pairs.mean() if len(pairs) else np.nan}
        found["se"] = pairs.std() / np.sqrt(len(pairs)) if len(pairs) > 1 else np.nan
        result.append(found)
    return pd.DataFrame(result)
