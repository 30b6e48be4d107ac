"""The report of a study: the main page, a page per analysis, tables and figures as files."""

import base64
import hashlib
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from ensemble_search.analysis import arms, datasets, failures, origins, times
from ensemble_search.analysis.load import Results, load
from ensemble_search.analysis.ranks import Comparison
from ensemble_search.analysis.verdict import verdict
from ensemble_search.report import build, overview_tables, tables
from ensemble_search.report.plots import curve_figures, figures
from ensemble_search.runtime import files
from ensemble_search.runtime.errors import UserError

HERE = Path(__file__).parent


def write(
    study: Mapping[str, Any], results: Path, output: Path, threads: int = 1
) -> list[build.Made]:
    """Write the report of a study into ``output``; return the pages that could not be made.

    It consists of ``index.html``, ``pages/``, ``tables/`` and ``figures/``; with ``single_file:
    true`` in the study's ``report``, also ``whole.html``: index and pages in one file with its
    figures, without links to other files. ``results``, the folder of the study's results, may be
    incomplete, empty or absent; ``study`` and ``threads`` are as for ``load.load`` and
    ``build.make_all``.

    If a page's code raises, the page says so, and the traceback is printed on standard error; the
    rest is written. UserError, OSError or MemoryError if a result is damaged, or the system denies
    something, such as a write to a full disk; the report is then incomplete.
    """
    output = Path(output)
    loaded = load(study, results)
    if loaded.damaged:
        more = len(loaded.damaged) - 1
        raise UserError(loaded.damaged[0] + (f" (and {more} more damaged files)" if more else ""))
    pages = build.make_all(loaded, output, threads)
    environment = Environment(
        loader=FileSystemLoader(HERE), autoescape=True, undefined=StrictUndefined,
        trim_blocks=True, lstrip_blocks=True,
    )  # fmt: skip
    # Our own files, not a user's. Pages may load images beside them, and nothing else.
    style, script = (
        Markup((HERE / name).read_text(encoding="utf-8")) for name in ("style.css", "script.js")
    )
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    single_file = (loaded.study.get("report") or {}).get("single_file", False)
    shared = {
        "study": loaded.study,
        "pages": pages,
        "style": style,
        "script": script,
        "policy": f"default-src 'none'; img-src 'self' file: data:; style-src 'unsafe-inline'; "
        f"script-src 'sha256-{digest}'",
        "single_file": single_file,
    }

    def render(template: str, path: Path, **context) -> None:
        text = environment.get_template(template).render(shared, **context)
        with files.atomic(path) as temporary:
            temporary.write_text(text, encoding="utf-8")

    for folder in ("pages", "tables", "figures"):  # even if there is nothing to show
        (output / folder).mkdir(parents=True, exist_ok=True)
    for page in pages:
        if page.linked:
            path = output / "pages" / f"{page.name}.html"
            render("page.html", path, page=page, root="../", whole=False)
    index = _Report(loaded, output).context()
    render("template.html", output / "index.html", root="", whole=False, **index)
    if single_file:
        embedded = partial(_embedded, output / "figures")
        render("template.html", output / "whole.html", embedded=embedded, whole=True, **index)
    return [page for page in pages if page.error]


class _Report:
    """Draws and tabulates one set of results, writing the files on the way."""

    def __init__(self, results: Results, output: Path):
        self.results = results
        self.output = output
        self._publish = partial(figures.publish, folder=output / "figures")
        self.compared = results.compared
        self.look = figures.styles(results.methods, results.reference)
        self.spent = times.time_spent(results.observations, results.manifests)

    def context(self) -> dict[str, Any]:
        """Everything that the template shows."""
        results, compared = self.results, self.compared
        answer = verdict(compared, results.reference, results.splits, results.single)
        manifests, evaluations = results.manifests, results.study["budget"].get("evaluations")
        if (results.observations["fidelity"] < 1).any():  # of fewer configurations
            evaluations = None
        return {
            "command": _command(results.study),
            "losses": results.losses,
            "answer": answer,
            "parts": datasets.caveat(results.study),
            "replayed": origins.caveat(manifests, evaluations, len(set(results.splits))),
            "used_up": origins.used_up(results.observations, manifests, results.study["budget"]),
            "arms": arms.caveats(results),
            "compared": compared,
            "combinations": len(results.study["datasets"]) * results.study["repeats"],
            "expected": results.expected,
            "lost": results.missing["stage"].value_counts().to_dict(),
            "without_model": failures.without_model(results.scores),
            "period": origins.period(manifests),
            "searches": len(manifests),
            "total": times.total(self.spent, origins.recorded(manifests)),
            **self._tables(answer),
            **self._figures(answer),
        }

    def _tables(self, answer) -> dict[str, Any]:
        results, compared, made = self.results, self.compared, overview_tables
        found: dict[str, tables.Table] = {}
        if compared.methods:
            found["summary"] = made.summary(answer, compared, _sizes(compared))
            found["errors"] = made.error_table(results, compared)
        observations = results.observations
        if len(observations):
            found["time"] = made.time_table(self.spent, origins.recorded(results.manifests))
            found["causes"] = made.cause_table(observations)
            for column, heading in (("dataset", "data set"), ("search", "search")):
                found[column] = made.failure_table(observations, column, heading)
            if len(refits := failures.refits(results)):
                found["refits"] = made.refit_table(refits)
            if observations["algorithm"].notna().any():
                ordered = observations.sort_values("algorithm", kind="stable")
                found["algorithm"] = made.failure_table(ordered, "algorithm", "algorithm")
        if len(results.missing):
            found["missing"] = made.missing_table(results.missing)
            found["progress"] = made.progress_table(results)
        settings = origins.settings(results.study, datasets.by(results.study, results.folder))
        found["settings"] = made.plain("settings", "Settings of the study", settings)
        if len(results.manifests):
            ran_with = origins.origins(results.manifests)
            found["origins"] = made.plain("origins", "What the searches ran with", ran_with)
        for table in found.values():
            tables.write(table, self.output / "tables")
        return {"tables": found}

    def _figures(self, answer) -> dict[str, Any]:
        results = self.results
        found: dict[str, Any] = {}
        if len(self.compared.methods) > 1:
            found["intervals"] = self._publish(
                figures.intervals(answer.summary, self.look, results.losses),
                "average-rank",
                answer.summary.rename_axis("method").reset_index(),
                f"Average rank in test {results.losses.title}"
                + ("; the bar is the 95 % interval" if answer.summary["low"].notna().any() else ""),
                "; ".join(f"{m} {r:.2f}" for m, r in answer.summary["rank"].items()),
            )
        observations = results.observations
        if len(observations):
            spent, recorded = self.spent, origins.recorded(results.manifests)
            found["time"] = self._publish(
                figures.time_bars(spent),
                "time",
                spent.rename_axis("search").reset_index(),
                "Mean time per run, by search" + (f"; fitting {recorded}" if recorded else ""),
                "; ".join(
                    f"{s}: fitting {times.duration(r['fit'])}, suggesting "
                    f"{times.duration(r['suggest'])}, other {times.duration(r['rest'])}"
                    for s, r in spent.iterrows()
                ),
            )
            growth = times.suggest_curves(observations)
            searches = list(spent.index)
            found["suggest"] = self._publish(
                curve_figures.suggest_lines(growth, searches, figures.styles(searches)),
                "time-to-suggest",
                growth,
                "Time to suggest the next configuration, over the search",
                f"Lines over iterations for {', '.join(searches)}; numbers in the CSV",
            )
        return {"figures": found}


def _embedded(folder: Path, name: str) -> str:
    """Return a figure as a data URL."""
    return figures.data_address((folder / f"{name}.svg").read_bytes())


def _sizes(compared: Comparison) -> pd.Series:
    """Mean number of unique members of the final ensemble, by method."""
    last = compared.scores[compared.scores["iteration"] == compared.scores["iteration"].max()]
    return last.groupby("method", observed=True)["members"].mean()


def _command(study: Mapping[str, Any]) -> str:
    """Return the command that runs the rest of the study."""
    file = str(study.get("file") or "<file of the study>")
    default = Path(file).name == "config.yaml"
    return "snakemake --cores all" + ("" if default else f" --configfile {file}")
