"""Figures 1 and 5: diversity of suggestions from the ensemble, and error of its members."""

from collections.abc import Callable
from functools import partial

import numpy as np
import pandas as pd

from ensemble_search.analysis.load import Results
from ensemble_search.papers import agreement
from ensemble_search.report.build import stems
from ensemble_search.report.plots import curve_figures
from ensemble_search.report.section import Panels, Section
from ensemble_search.report.tables import Table, cells, number, spread
from ensemble_search.report.view import View, view
from ensemble_search.runtime.errors import number_of
from ensemble_search.runtime.files import Missing

TITLE, ORDER = "Diversity of suggestions", 80
PAPER = "Figures 1 and 5 of Shen et al. (2022)"
#: The paper analyses the last fifth of a search: iterations 201 to 250.
SHARE = 5
WHAT = {
    "minimum": (
        "Minimum diversity",
        "Diversity (the paper's Eq. 3: the Euclidean distance of the class probabilities over √2, "
        "mean over the validation rows) between the learner suggested at an iteration and the most "
        "similar member of the previous iteration's ensemble; mean over repeats, without failed "
        "evaluations. Values near 0 mean that the search repeats what its ensemble has. For "
        "diverse bagging, the member is the pipeline that was refitted.",
        "minimum diversity",
    ),
    "average": (
        "Average {loss} of members",
        "Validation {loss} of the ensemble's individual members, mean over the unique ones and "
        "over repeats: whether diversity comes at the price of worse members.",
        "average {loss} of members",
    ),
}

#: Entry of the printed figures.
PRINTED = {"minimum": "minimum-diversity", "average": "member-error"}


def build(results: Results, publish) -> list[Section] | str:
    """Draw both over the last fifth of the iterations, and tabulate the means."""
    seen = view(results)
    if isinstance(seen, str):
        return seen
    methods = seen.ensembles
    if not methods:
        return "no method with results builds an ensemble"
    rows = follow(results, methods)
    if rows.empty or rows["minimum"].isna().all():
        return "it needs predictions and members of the searches, which are missing"
    summary = summaries(rows)
    curves = mean_curves(rows)
    sections = []
    for column, texts in WHAT.items():
        title, text, label = map(seen.losses.fill, texts)
        printed = agreement.values(results.study, PRINTED[column])
        parts: list = [
            f"{text} {curve_figures.FRAMES}",
            _table(column, summary, methods, seen, printed),
        ]
        if here := [d for d in printed if d in set(summary["dataset"])]:
            parts += agreement.caution(results.study, PRINTED[column], here)
        parts.append(_panels(column, label, curves, methods, seen, publish))
        sections.append(Section(title, parts))
    return sections


def _table(
    column: str, summary: pd.DataFrame, methods: list[str], seen: View, printed: dict
) -> Table:
    """Show data sets × methods, with a row of the printed figures below each data set."""
    entry, losses = PRINTED[column], seen.losses
    write = losses.spread if column == "average" else partial(spread, digits=3)
    indexed = summary.set_index(["dataset", "method"])
    methods = [m for m in methods if m in set(summary["method"])]
    rows, beside = [], False
    for dataset in seen.study["datasets"]:
        if dataset not in indexed.index:
            continue
        lines = indexed.loc[dataset].reindex(methods)
        pairs = zip(lines[column], lines[f"{column}_std"], strict=True)
        rows.append(cells(dataset, *(write(*pair) for pair in pairs)))
        theirs = printed.get(dataset, {})
        if set(theirs) & set(methods):
            beside = True
            rows.append(cells(f"{dataset}, printed", *(f"{theirs.get(m, '–')}" for m in methods)))
    notes = [f"Printed: {agreement.source(entry)}, read as “around”."] if beside else []
    if column == "minimum":
        if beside:
            runs = agreement.entry("minimum-diversity-runs")["values"]["runs"]
            notes.append(
                f"Figure 1 of the paper shows {runs} runs on quake (10 by default elsewhere); ours "
                f"has {number_of(int(summary['repeats'].max()), 'run')} per data set."
            )
        caption = "Minimum diversity in the last fifth of the iterations, mean ± deviation of runs"
        notes.append(
            "The CSV also has the variant that the text at Figure 1 describes (fixed): diversity "
            "from the ensemble before that fifth began."
        )
    else:
        loss = f"{losses.title}{losses.in_percent}"
        caption = f"Average validation {loss} of the members at the last iteration"
    data = summary[["dataset", "method", column, f"{column}_std", "repeats"]]
    data = data.assign(fixed=summary["fixed"]) if column == "minimum" else data
    return Table(column, caption, ["data set", *methods], rows, data, notes)


def _panels(
    column: str, label: str, curves: pd.DataFrame, methods: list[str], seen: View, publish
) -> Panels:
    names = list(dict.fromkeys(curves["dataset"]))
    scale, axis = 1, label
    write: Callable[[float], str] = partial(number, digits=3)
    if column == "average":
        losses = seen.losses
        axis = losses.heading(f"{losses.title} of members")
        scale, write = losses.scale, losses.text
    drawings = []
    for dataset, stem in zip(names, stems(names), strict=True):
        mine = curves.loc[curves["dataset"] == dataset, ["iteration", "method", column]]
        wide = mine.pivot(index="iteration", columns="method", values=column)
        wide = wide[[m for m in methods if m in wide]]
        means = (f"{m} {write(v)}" for m, v in wide.mean().items())
        drawing = publish(
            curve_figures.multiples(scale * wide, seen.look, axis),
            f"{column}-{stem}",
            mine,
            f"{dataset}: {label} over iterations",
            f"Means over these iterations: {', '.join(means)}",
        )
        drawings.append((dataset, drawing))
    return Panels(drawings, wide=True)


def at_each(members: pd.DataFrame, iterations: int) -> list[np.ndarray]:
    """Return the ensemble's members after each iteration, as iterations of their evaluations.

    ``members`` has ``iteration`` and ``member``; rows only where the ensemble changed. Entry t of
    the result has the unique members after t iterations, t = 0 ... iterations; empty before the
    first success.
    """
    pairs = np.unique(members[["iteration", "member"]].to_numpy(int), axis=0)
    iteration, starts = np.unique(pairs[:, 0], return_index=True)
    ends = np.append(starts, len(pairs))[1:]
    written = {
        t: pairs[first:end, 1]
        for t, first, end in zip(iteration.tolist(), starts, ends, strict=True)
    }
    found = [np.empty(0, dtype=int)]
    for t in range(1, iterations + 1):
        found.append(written.get(t, found[-1]))
    return found


def of_run(
    diversities, errors: np.ndarray, members: pd.DataFrame, first: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Follow one run from the iteration ``first`` on, at least 2.

    ``diversities`` returns the diversity matrix for rows and columns (iterations). ``errors`` has
    the validation error of each evaluation, of shape (n,); NaN if it failed or was fitted on a
    share of the training rows. For ``members``, see :func:`at_each`. Returns three arrays for t =
    first ... n:

    - the lowest diversity between evaluation t and a member of the ensemble after t - 1 iterations;
      NaN if the error of evaluation t is NaN
    - the same, but always with the ensemble after first - 1 iterations (text for Figure 1)
    - the mean validation error of the unique members after t iterations
    """
    n = len(errors)
    ensembles = at_each(members, n)
    late = np.arange(first, n + 1)
    late = late[~np.isnan(errors[late - 1])]
    columns = np.unique(np.concatenate([np.empty(0, int), *ensembles[first - 1 : n]]))
    minimum, fixed = np.full((2, n - first + 1), np.nan)
    if len(late) and len(columns):
        matrix = diversities(late, columns)
        for row, t in zip(matrix, late, strict=True):
            for target, ensemble in ((minimum, ensembles[t - 1]), (fixed, ensembles[first - 1])):
                if len(ensemble):
                    target[t - first] = row[np.searchsorted(columns, ensemble)].min()
    average = [errors[p - 1].mean() if len(p) else np.nan for p in ensembles[first:]]
    return minimum, fixed, np.asarray(average)


def follow(results: Results, methods: list[str]) -> pd.DataFrame:
    """Follow the last fifth of every finished run whose files exist.

    One row per method, data set, repeat and iteration: ``minimum``, ``fixed`` and ``average``, the
    arrays of :func:`of_run`.
    """
    tables = []
    seen = results.scores[results.scores["method"].isin(methods)]
    seen = seen[["method", "dataset", "repeat"]].drop_duplicates()
    made = results.observations.groupby(["dataset", "search", "repeat"]).size()
    for method, dataset, repeat in seen.itertuples(index=False, name=None):
        run = dataset, results.study["methods"][method]["search"], repeat
        own = made.get(run, 0)
        if own < SHARE:
            continue
        first = own - own // SHARE + 1
        try:
            given = results.given(*run)
            errors = results.errors(*run)[: given + own]
            members = results.members(method, dataset, repeat)
            found = of_run(partial(results.diversities, *run), errors, members, given + first)
        except Missing:
            continue
        where = {"method": method, "dataset": dataset, "repeat": repeat}
        columns = dict(zip(("minimum", "fixed", "average"), found, strict=True))
        tables.append(pd.DataFrame({**where, "iteration": np.arange(first, own + 1), **columns}))
    names = ["method", "dataset", "repeat", "iteration", "minimum", "fixed", "average"]
    return pd.concat(tables, ignore_index=True) if tables else pd.DataFrame(columns=names)


def mean_curves(rows: pd.DataFrame) -> pd.DataFrame:
    """Mean over repeats at every iteration, ignoring failed evaluations."""
    keys = ["dataset", "method", "iteration"]
    return rows.groupby(keys, sort=False)[["minimum", "fixed", "average"]].mean().reset_index()


def summaries(rows: pd.DataFrame) -> pd.DataFrame:
    """Mean and standard deviation over repeats of each run's means.

    One row per data set and method: ``minimum``, ``minimum_std``, ``fixed``, ``average`` (at the
    last iteration), ``average_std`` and ``repeats``.
    """
    keys = ["dataset", "method", "repeat"]
    runs = rows.groupby(keys, sort=False).agg(
        minimum=("minimum", "mean"), fixed=("fixed", "mean"), average=("average", "last")
    )
    groups = runs.groupby(level=["dataset", "method"], sort=False)
    table = groups.mean()
    table["minimum_std"] = groups["minimum"].std()
    table["average_std"] = groups["average"].std()
    table["repeats"] = groups.size()
    return table.reset_index()
