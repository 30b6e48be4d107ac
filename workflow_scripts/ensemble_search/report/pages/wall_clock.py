"""Losses over wall-clock time, with as many workers as a search suggests configurations at once."""

import pandas as pd
from matplotlib.figure import Figure

from ensemble_search.analysis import origins, wall_clock
from ensemble_search.analysis.load import Results
from ensemble_search.analysis.losses import Losses
from ensemble_search.report.build import stems
from ensemble_search.report.plots import figures
from ensemble_search.report.section import Panels, Section
from ensemble_search.report.tables import Table, cells
from ensemble_search.report.view import View, view

TITLE, ORDER = "Wall-clock time with a worker for every suggestion", 55


def build(results: Results, publish) -> list[Section] | str:
    """Draw test losses over time, and tabulate the duration of runs."""
    evaluations = results.study["budget"].get("evaluations")
    if evaluations is None:
        return "the budget is not in evaluations"
    if not wall_clock.has_batches(results.study, evaluations):
        return "no search suggests a design or batches"
    seen = view(results)
    if isinstance(seen, str):
        return seen
    curves = wall_clock.curves(results)
    text = (
        "Configurations that are suggested without each other's results could be fitted in "
        "parallel, one worker per evaluation; the next batch begins when the slowest is done. "
        "These times are computed from the seconds that every suggestion and every fit took, "
        "whatever number of workers the study had. An ensemble counts once all evaluations before "
        "it are done."
    )
    if recorded := origins.recorded(results.manifests):
        text += f" {origins.RECORDED[recorded]}"
    return [Section("Loss over time", [text, _panels(curves, seen, publish), _table(curves, seen)])]


def _panels(curves: pd.DataFrame, seen: View, publish) -> Panels:
    names, drawings = list(dict.fromkeys(curves["dataset"])), []
    alt = f"{len(seen.key)} methods; time is logarithmic"
    for name, stem in zip(names, stems(names), strict=True):
        mine = curves[curves["dataset"] == name]
        figure = _lines(mine, seen.key, seen.losses)
        title = f"{name}: test {seen.losses.title} over wall-clock time"
        drawings.append((name, publish(figure, stem, mine, title, alt, key=seen.key)))
    return Panels(drawings, figures.legend(seen.key))


def _lines(curves: pd.DataFrame, look: dict[str, dict], losses: Losses) -> Figure:
    with figures.panel() as (figure, axes):
        late = losses.scale * curves.loc[curves["mean"] < losses.worst, "mean"]
        for name, mine in curves.groupby("method", sort=False):
            style = {**look[name], "marker": None}
            axes.plot(mine["seconds"], losses.scale * mine["mean"], drawstyle="steps-post", **style)
        axes.set(xscale="log", xlabel="seconds", ylabel=losses.heading(f"test {losses.title}"))
        if len(late):
            room = 0.05 * (late.quantile(0.8) - late.min()) or 1
            axes.set_ylim(late.min() - room, late.quantile(0.8) + room)
        figures.log_ticks(axes.xaxis)
    return figure


def _table(curves: pd.DataFrame, seen: View) -> Table:
    last = curves.groupby(["dataset", "method"], sort=False).last().reset_index()
    rows = []
    for line in last.to_dict("records"):
        texts = [line["dataset"], line["method"], f"{line['workers']:.0f}", f"{line['end']:.1f}"]
        rows.append(cells(*texts, seen.losses.spread(line["mean"], line["std"])))
    columns = ["data set", "method", "workers", "seconds", seen.losses.heading("test")]
    note = "Means over repeats; the loss ± its standard deviation, at the end of the run."
    caption = "How long a run takes with as many workers as its largest batch"
    return Table("seconds", caption, columns, rows, last.drop(columns="seconds"), [note])
