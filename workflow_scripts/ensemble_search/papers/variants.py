"""Comparison of methods that differ in one respect only, shared by the ablation pages."""

import json
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pandas as pd

from ensemble_search.analysis import ranks, verdict, wilcoxon
from ensemble_search.analysis.load import Results
from ensemble_search.analysis.losses import Losses
from ensemble_search.papers import agreement, paired
from ensemble_search.report.section import Section
from ensemble_search.report.tables import Table, cells, number, of_losses

PARTS = {"test_error": "test", "validation_error": "validation"}


def settings(study: Mapping[str, Any], method: str) -> dict[str, Any]:
    """Settings of a method's search and ensemble, as ``search.<key>`` and ``ensemble.<key>``.

    With a constant ``weight``, DivBO's ``beta`` and ``tau`` have no effect and are None.
    """
    parts = study["methods"][method]
    found = {
        f"{kind}.{key}": value
        for kind in ("search", "ensemble")
        for key, value in study[f"{kind}{'es' if kind == 'search' else 's'}"][parts[kind]].items()
    }
    if found.get("search.weight") is not None:
        found |= {"search.beta": None, "search.tau": None}
    return found


def families(
    study: Mapping[str, Any], free: Callable[[str], bool], member: Callable[[dict], bool]
) -> list[list[str]]:
    """Group the methods whose settings are equal except for those under study.

    ``study`` has ``searches``, ``ensembles`` and ``methods``, with explicit defaults. ``free`` says
    whether a key of :func:`settings` may differ within a family, and ``member`` whether a method
    with these settings is considered. A family has the names of two or more methods in the order of
    the study; the largest comes first. A method with the same settings as another is left out.
    """
    groups: dict[str, dict[str, str]] = {}
    for method in study["methods"]:
        mine = settings(study, method)
        if member(mine):
            fixed = {key: value for key, value in mine.items() if not free(key)}
            groups.setdefault(_key(fixed), {}).setdefault(_key(mine), method)
    found = [list(group.values()) for group in groups.values() if len(group) > 1]
    return sorted(found, key=len, reverse=True)


def _key(values: dict[str, Any]) -> str:
    return json.dumps(values, sort_keys=True)


def differences(compared: ranks.Comparison, method: str, column: str) -> pd.DataFrame:
    """Compare each variant with ``method``, over data sets and on each data set.

    One row per other variant: ``difference`` (its mean minus that of ``method``), ``p`` over data
    sets (Wilcoxon signed-rank), and the numbers of data sets on which the method is significantly
    ``better``, the ``same`` or ``worse`` over the paired repeats.
    """
    final = ranks.final_errors(compared, column)
    over = wilcoxon.over_datasets(ranks.means(final), method)[["difference", "p"]]
    return over.join(wilcoxon.counts(wilcoxon.compare(final, method)))


def build(
    results: Results,
    free: Callable[[str], bool],
    member: Callable[[dict], bool],
    several: Callable[[list[dict]], bool],
    say: Callable[[dict], str],
    printed: tuple[str, Callable[[dict], str | None]],
    about: list[str],
    nothing: str,
) -> list[Section] | str:
    """Make the sections of a page, one per family of methods.

    For ``free`` and ``member``, see :func:`families`. ``several`` says whether the settings of a
    family's methods differ in the subject of the page, and ``say`` how a method with given settings
    differs from the others. ``printed`` names an entry of published errors, with a function from
    settings to the method's name there. ``about`` are paragraphs at the start of the page;
    ``nothing`` is the message if the study has no such family.
    """
    study = results.study
    found = [
        family
        for family in families(study, free, member)
        if several([settings(study, m) for m in family])
    ]
    if not found:
        return nothing
    sections = []
    for place, family in enumerate(found):
        suffix = f"-{place + 1}" if place else ""
        parts = _family(results, family, say, printed, suffix)
        sections.append(Section(heading(study, family), [*([] if place else about), *parts]))
    return sections


def heading(study: dict[str, Any], family: list[str]) -> str:
    """Describe what the methods of a family have in common: their search or their ensemble."""
    shared = []
    for kind in ("search", "ensemble"):
        names = {study["methods"][m][kind] for m in family}
        shared += [f"{kind} {names.pop()}"] if len(names) == 1 else []
    return (" and ".join(shared) or ", ".join(family)).capitalize()


def _family(results: Results, family: list[str], say, printed, suffix: str) -> list:
    described = {m: say(settings(results.study, m)) for m in family}
    parts: list = ["; ".join(f"{m}: {text}" for m, text in described.items()) + "."]
    compared = results.comparison(family)
    parts.append(scope(results, compared))
    if len(compared.methods) < 2:
        return parts
    base = results.reference if results.reference in compared.methods else compared.methods[0]
    entry, role = printed
    names = {m: role(settings(results.study, m)) for m in compared.methods}
    for column, part in PARTS.items():
        table = ranks.spreads(ranks.final_errors(compared, column))
        against = differences(compared, base, column)
        parts.append(error_table(table, part, compared.losses, suffix, against))
        if column == "test_error":
            parts += _tests(compared, base, suffix, verdict.reach(results.splits))
            if compared.losses.is_error:
                parts += printed_significance(entry, set(names.values()))
    if not compared.losses.is_error:
        return parts
    ours = ranks.spreads(ranks.final_errors(compared, "test_error"))
    ours = ours.assign(method=ours["method"].map(names)).dropna(subset="method")
    parts += beside_the_paper(results, entry, ours, suffix)
    return parts


def _tests(compared: ranks.Comparison, base: str, suffix: str, about: str) -> list:
    """List the data sets on which the others' test losses differ from those of ``base``."""
    losses = compared.losses
    tests = wilcoxon.compare(ranks.final_errors(compared), base)
    words = [
        f"Test {losses.title} of {paired.in_words(mine, base, method)}"
        for method, mine in tests.groupby("method", sort=False)
    ]
    notes = [
        f"Mean test {losses.title} of the method minus that of {base}{losses.in_points}; p of the "
        "signed-rank test over the paired repeats, not adjusted for the number of tests; "
        f"B: {base} is significantly better (bold), S: the same, W: worse.",
        about,
    ]
    caption = f"Tests of the test {losses.title} against {base}, data set by data set"
    return [*words, paired.table(f"tests{suffix}", caption, tests, notes, losses)]


def printed_significance(entry: str, present: set[str | None]) -> list[str]:
    """Return the data sets on which the paper calls a difference of an ``entry`` significant.

    No line unless both methods are among those ``present``, by the paper's names.
    """
    stated = agreement.entry(entry).get("significant")
    if stated is None:
        return []
    subject, other = stated["of"]
    if not {subject, other} <= present:
        return []
    text = f"{agreement.source(entry)}: {paired.sentence(subject, other, stated)}"
    return [f"{text[:-1]}; {stated['also']}." if "also" in stated else text]


def scope(results: Results, compared: ranks.Comparison) -> str:
    """Return the data sets on which the methods can be compared, and those without results."""
    wanted = results.study["datasets"]
    if not compared.methods:
        return "None of them has results yet."
    text = f"Compared on {', '.join(compared.datasets)}"
    if len(compared.datasets) < len(wanted):
        text += f" ({len(compared.datasets)} of {len(wanted)} data sets)"
    text += f", {compared.runs} of {len(wanted) * results.study['repeats']} runs."
    if compared.left_out:
        text += f" Not yet: {', '.join(compared.left_out)}."
    return text


def error_table(
    table: pd.DataFrame,
    part: str,
    losses: Losses,
    suffix: str = "",
    against: pd.DataFrame | None = None,
) -> Table:
    """Show losses from ``ranks.spreads``, with data sets in rows and methods in columns.

    A method may lack data sets. ``part`` is ``test`` or ``validation``; ``suffix`` is added to the
    table's name, if a page has several of a kind. Rows of :func:`differences`, ``against``, are
    added at the bottom.
    """
    columns, rows = of_losses(table, losses)
    names = {"index": table["dataset"].unique(), "columns": columns[1:]}
    mean = table.pivot(index="dataset", columns="method", values="mean").reindex(**names)
    whole = mean.notna().all(axis=1)
    placed = ranks.rank(mean[whole].to_numpy())
    average = placed.mean(axis=0) if whole.any() else [np.nan] * mean.shape[1]
    some = "" if whole.all() else f" ({whole.sum()} of {len(whole)} data sets)"
    foot = [cells(f"average rank{some}", *map(number, average))]
    notes = []
    if against is not None:
        base = next(m for m in mean.columns if m not in against.index)
        tests = against.reindex(mean.columns)
        difference = ["" if m == base else losses.signed(d) for m, d in tests["difference"].items()]
        counts = [
            "" if m == base else f"{row['better']:.0f} / {row['same']:.0f} / {row['worse']:.0f}"
            for m, row in tests.iterrows()
        ]
        foot += [
            cells(losses.heading(f"minus {base}", "points"), *difference),
            cells(f"{base} better / same / worse", *counts),
        ]
        notes.append(
            f"Last row: data sets on which {base}'s {losses.title} is significantly lower, not "
            "different or higher (Wilcoxon signed-rank over the paired repeats, two-sided, "
            "p ≤ 0.05; nothing can be significant with fewer than 6 repeats)."
        )
    if part == "validation":
        notes.insert(0, "Best observed so far at the last iteration; optimistic.")
    what = f"{part.capitalize()} {losses.title}{losses.in_percent}"
    caption = f"{what}, mean ± standard deviation over repeats"
    name = f"{part}-error{suffix}"
    return Table(name, caption, columns, [*rows, *foot], table, notes, foot=len(foot))


def beside_the_paper(results: Results, entry: str, ours: pd.DataFrame, suffix: str = "") -> list:
    """Compare test errors with the printed ones; ``ours`` uses the paper's method names."""
    sizes = results.datasets.set_index("dataset")["test"]
    comparison = agreement.compare_errors(results.study, entry, ours, sizes)
    where = agreement.source(entry)
    if comparison.empty:
        return [f"{where} has none of these data sets and settings."]
    caption = f"Test error in percent, ours and (in parentheses) that of {where}"
    table = agreement.error_table(f"beside{suffix}", comparison, caption)
    return [agreement.tally(comparison), table]


def paper_divbo(settings: dict) -> bool:
    """Whether a search is DivBO with the paper's weight schedule."""
    return (
        settings["search.optimizer"] == "divbo"
        and settings.get("search.weight") is None
        and (settings.get("search.beta"), settings.get("search.tau")) == (0.05, 0.2)
    )


def selection(settings: dict, size: int = 25) -> bool:
    """Whether an ensemble is ensemble selection of this size, by default the paper's."""
    return settings["ensemble.type"] == "selection" and settings.get("ensemble.size") == size
