"""Average ranks against prediction time."""

import matplotlib as mpl
import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from ensemble_search.analysis import deliverables, origins, ranks
from ensemble_search.analysis.load import Results
from ensemble_search.analysis.losses import Losses
from ensemble_search.report.plots import figures
from ensemble_search.report.section import Section
from ensemble_search.report.tables import Table, cells, number
from ensemble_search.report.view import view

TITLE, ORDER = "Time to predict", 57


def build(results: Results, publish) -> list[Section] | str:
    """Draw average ranks over the milliseconds to predict 1000 rows."""
    seen = view(results, least=2)
    if isinstance(seen, str):
        return seen
    losses = seen.losses
    delivered = deliverables.deliverables(results)
    wide = delivered.pivot(index="dataset", columns="method", values="milliseconds")
    wide = wide.where(wide > 0).dropna()
    if wide.empty:
        return "on no data set is the time to predict known for every method"
    final = ranks.final_errors(seen.compared)
    table = pd.DataFrame({"milliseconds": np.exp(np.log(wide).mean())}).reindex(final.columns)
    table["rank"] = ranks.mean_error_ranks(final).mean()
    table["error"] = ranks.means(final).mean()
    table = table.rename_axis("method").reset_index()
    rows, fastest = [], table["milliseconds"].min()
    for line in table.to_dict("records"):
        time = number(line["milliseconds"], 1), f"{line['milliseconds'] / fastest:.1f}×"
        rows.append(
            cells(line["method"], *time, f"{line['rank']:.2f}", losses.value(line["error"]))
        )
    columns = ["method", "ms to predict 1000 rows", "relative to fastest", "average rank"]
    columns.append(losses.heading(f"mean test {losses.title}"))
    rows_of = delivered.loc[delivered["dataset"].isin(wide.index), "rows"]
    text = (
        "The time to predict is the sum over the members of the final ensemble "
        f"{deliverables.measured_on(rows_of, origins.recorded(results.manifests))}. Mean over "
        f"repeats, then geometric mean over {len(wide)} of {len(seen.compared.datasets)} data "
        "sets. Lower left is best."
    )
    drawing = publish(
        _figure(table, seen.look, losses),
        "",
        table,
        f"Average rank in test {losses.title} over the time to predict",
        "; ".join(f"{r.method} {r.milliseconds:.1f} ms, {r.rank:.2f}" for r in table.itertuples()),
    )
    shown = Table("", "Time to predict 1000 rows", columns, rows, table)
    return [Section("What do ensembles cost?", [text, drawing, shown])]


def _figure(table: pd.DataFrame, look: dict[str, dict], losses: Losses) -> Figure:
    with mpl.rc_context(figures.STYLE):
        figure = Figure(figsize=(5.4, max(3.0, 0.2 + 0.175 * len(table))), layout="constrained")
        axes = figure.subplots()
        for line in table.to_dict("records"):
            style = look[line["method"]] | {"linestyle": "none", "markersize": 7}
            axes.plot(line["milliseconds"], line["rank"], **style, label=line["method"])
        axes.set(xscale="log", xlabel="ms to predict 1000 rows",
                 ylabel=losses.fill("average rank (1 = lowest {loss})"))  # fmt: skip
        figures.log_ticks(axes.xaxis)
        figure.legend(loc="outside right upper", frameon=False)
    return figure
