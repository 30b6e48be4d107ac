"""Table 3: the single learners that a search suggests."""

from collections.abc import Mapping

import numpy as np
import pandas as pd

from ensemble_search.analysis.load import Results
from ensemble_search.analysis.losses import Losses
from ensemble_search.papers import agreement
from ensemble_search.report.section import Section
from ensemble_search.report.tables import Cell, Table, by_method, cells, number
from ensemble_search.results import layout, readers
from ensemble_search.runtime.files import Missing

TITLE, ORDER = "Validation {losses} of suggestions", 60
PAPER = "Table 3 of Shen et al. (2022)"


def build(results: Results, publish) -> list[Section] | str:
    """Show the learners' losses by search, and the share of random configurations they beat."""
    table = errors(results.observations)
    if table.empty:
        return "no search has finished that fits all of its suggestions on all training rows"
    losses = results.losses
    random = _random_errors(results)
    table["beaten"] = beaten(table, random)
    parts: list = [
        "How good a search's suggestions are as single learners, including the initial random "
        "ones. A search for diversity may suggest worse learners and still have the better "
        "ensemble."
    ]
    if left_out := on_few_rows(results.observations):
        parts.append(
            f"Left out: {', '.join(left_out)}. They fit some suggestions on few rows, so that "
            "their losses are no measure of these."
        )
    parts.append(_table(table, losses))
    sections = [Section(f"Validation {losses.plural} of suggested learners", parts)]
    if losses.is_error and (printed := _beside(results, table)):
        where = sorted(set(printed.data["dataset"]))
        text = agreement.caution(results.study, "suggested-error", where)
        sections.append(Section("Beside the paper's", [printed, *text]))
    if random:
        sections.append(Section("Against random configurations", [_shares(table, random, losses)]))
    return sections


def _random_errors(results: Results) -> dict[str, np.ndarray]:
    """Read the validation errors of the random configurations used to assess surrogates.

    By data set, without failed ones; data sets without any are left out.
    """
    found = {}
    for dataset in results.study["datasets"] if results.study.get("surrogates") else []:
        folder = layout.configurations(results.folder, results.study, dataset)
        try:
            table = results.once(readers.observations, folder, ("error",))
        except Missing:
            continue
        found[dataset] = table["error"].to_pandas().dropna().to_numpy(float)
    return found


def _table(table: pd.DataFrame, losses: Losses) -> Table:
    columns, rows = by_method(
        table.rename(columns={"search": "method"}),
        lambda line: Cell(losses.spread(line["mean"], line["std"])),
    )
    notes = [
        "Mean ± standard deviation (divisor n − 1) over all learners of all repeats that could be "
        "fitted. The CSV also has the deviation of the repeats' means (between)."
    ]
    loss = f"{losses.title}{losses.in_percent}"
    caption = f"Validation {loss} of the learners that each search suggested"
    return Table("errors", caption, columns, rows, table, notes)


def _beside(results: Results, table: pd.DataFrame) -> Table | None:
    printed = agreement.errors("suggested-error")
    searches = {m: parts["search"] for m, parts in results.study["methods"].items()}
    printed["search"] = printed["method"].map(searches)
    both = printed.merge(table, on=["dataset", "search"], suffixes=("_published", ""))
    if both.empty:
        return None
    beats = agreement.entry("suggested-beats-random")["values"]
    rows = []
    for line in both.to_dict("records"):
        ours = results.losses.spread(line["mean"], line["std"])
        theirs = results.losses.spread(line["mean_published"], line["std_published"])
        share = beats.get(line["dataset"], {}).get(line["method"], np.nan)
        texts = (number(100 * line["beaten"], 0), number(share, 0))
        rows.append(cells(line["search"], line["dataset"], ours, theirs, *texts))
    columns = ["search", "data set", "ours", "printed", "beats random, %", "printed"]
    notes = [
        f"Printed: {agreement.source('suggested-error')}. The paper does not name the data set; "
        "the errors fit only quake. Methods with the same search have the same learners."
    ]
    caption = "Validation error in percent of suggested learners, ours and the paper's"
    return Table("beside", caption, columns, rows, both, notes)


def _shares(table: pd.DataFrame, random: dict[str, np.ndarray], losses: Losses) -> Table:
    wide = table.pivot(index="dataset", columns="search", values="beaten")
    wide = wide.reindex(list(dict.fromkeys(table["dataset"])))[list(dict.fromkeys(table["search"]))]
    rows = []
    for dataset, row in wide.iterrows():
        shares = (number(100 * share, 0) for share in row)
        rows.append(cells(dataset, str(len(random.get(dataset, ()))), *shares))
    notes = [
        f"Share of random configurations whose validation {losses.title} is above the mean "
        f"{losses.title} of the learners that the search suggested. Only configurations that could "
        "be fitted count."
    ]
    data = wide.reset_index()
    columns = ["data set", "random configurations", *wide.columns]
    caption = "Random configurations that a search's mean suggestion beats, percent"
    return Table("beaten", caption, columns, rows, data, notes)


def errors(observations: pd.DataFrame) -> pd.DataFrame:
    """Mean and standard deviation of the validation errors of all learners that a search suggested.

    Failed learners (``error`` NaN) and searches of :func:`on_few_rows` are left out.

    One row per data set and search: ``mean``, ``std`` (over all learners of all repeats, divisor n
    - 1), ``learners`` (number fitted successfully), ``between`` (standard deviation of the repeats'
    means) and ``repeats``.
    """
    left_out = observations["search"].isin(on_few_rows(observations))
    fitted = observations[~left_out].dropna(subset="error")
    groups = fitted.groupby(["dataset", "search"], sort=False)
    table = groups["error"].agg(mean="mean", std="std", learners="size")
    means = fitted.groupby(["dataset", "search", "repeat"], sort=False)["error"].mean()
    runs = means.groupby(level=["dataset", "search"], sort=False)
    table["between"], table["repeats"] = runs.std(), runs.size()
    return table.reset_index()


def on_few_rows(observations: pd.DataFrame) -> list[str]:
    """List the searches that fit some suggestions on a share of the training rows."""
    return list(observations.loc[observations["fidelity"] < 1, "search"].unique())


def beaten(table: pd.DataFrame, random: Mapping[str, np.ndarray]) -> pd.Series:
    """Share of random configurations with a higher error than the suggested learners' mean.

    In [0, 1], one value per row of a table from :func:`errors`; NaN for data sets without random
    configurations. ``random`` has the errors of those that were fitted, by data set.
    """
    shares = []
    for dataset, mean in zip(table["dataset"], table["mean"], strict=True):
        theirs = np.asarray(random.get(dataset, ()), dtype=float)
        shares.append((theirs > mean).mean() if len(theirs) else np.nan)
    return pd.Series(shares, table.index, dtype=float)
