"""The page of a study's evidence, ``evidence/<study>/README.md``, computed from its rows."""

import itertools
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from ensemble_search.analysis import components, effects, losses
from ensemble_search.analysis.ranks import DIGITS
from ensemble_search.evidence import design, measured, published
from ensemble_search.evidence import rows as evidence
from ensemble_search.report.tables import markdown, spread
from ensemble_search.runtime import files

#: Names of the measures in ``measured``.
NAMES = {
    "tau": "Kendall's tau",
    "discrepancy": "star discrepancy, log10",
    "centre": "squared distance to the centre, log10",
    "origin": "squared distance to the origin, log10",
}
#: What differences over the parts of one data set are about, by part.
ONE_DATA_SET = {
    "split": "Splits of a data set share rows, so these intervals are too narrow. ",
    "repeat": (
        "All repeats have the same rows: these intervals are about repeated searches on them, not "
        "about other rows. "
    ),
}


def write(folder: Path, study: Mapping[str, Any], rows: list[dict[str, str]]) -> None:
    """Write the rows, the study and the page into ``evidence/<study>``."""
    evidence.write(folder, rows)
    files.write_json(folder / "study.json", study)
    with files.atomic(folder / "README.md") as temporary:
        temporary.write_text(page(study, rows, measured.read(folder)), encoding="utf-8")


def page(
    study: Mapping[str, Any],
    rows: Iterable[Mapping[str, str]],
    beside: Iterable[Mapping[str, str]] = (),
) -> str:
    """Write the page, in Markdown, from ``study.json``, ``runs.csv`` and ``measured.csv``.

    Stale rows are counted in the first line and otherwise ignored; repeats count only if all
    methods have a row. Without such rows, measured data sets are counted.
    """
    rows, beside = list(rows), [row for row in beside if not row["stale"]]
    table = _whole(study, rows)
    done, total = evidence.progress(study, rows)
    stale = sum(row["stale"] != "" for row in rows)
    lines = [
        f"**{done} of {total} repeats** of the study `{study['study']}`, on "
        f"{table['dataset'].nunique()} of {len(study['datasets'])} data sets, are in `runs.csv` "
        f"({study['repeats']} of each data set, each with all methods)"
        + (f"; {stale} stale rows of older code are left out here." if stale else "."),
        "",
        f"# Evidence: {study['study']}",
        "",
        "Written by `make evidence`; `runs.csv` has a row for each run (data set, repeat and "
        "method), and `study.json` has all settings.",
    ]
    if evidence.replayed(study):
        lines[-1] += (
            " Searches are replayed: they choose among the configurations of a table; each row "
            "has the table's checksum."
        )
    if tested := len(published.claims_of(study)):
        claims = "claim" if tested == 1 else "claims"
        lines += ["", f"It tests {tested} {claims} of a paper: see the [ledger](../README.md)."]
    lines += [*design.lines(study, not table.empty), *_measured(beside)]
    if beside and not rows:
        done = len({row["dataset"] for row in beside} & {*study["datasets"]})
        of = f"**{done} of {len(study['datasets'])} data sets** of" if done else "Measures of"
        lines[0] = f"{of} the study `{study['study']}` are in `measured.csv`."
        lines[4] = "Written by `make evidence`; `study.json` has all settings."
        return "\n".join([*lines, ""])
    if table.empty:
        return "\n".join([*lines, "", "No repeat has finished.", ""])
    shown = losses.of(study)
    methods = list(study["methods"])
    tests = _tests(study, table)
    errors = tests.groupby(level="dataset", sort=False).mean() * shown.scale
    commits = ", ".join(f"`{commit}`" for commit in sorted(set(table["commit"])))
    lines += ["", f"Commits of the code: {commits}.", "", *_errors(table, errors, shown)]
    reference = reference_of(study)
    lines[0] += f" {_detectable(mean_errors(study, rows), reference, shown)}"
    if len(tests) > 1:
        title = f"Differences from {reference}"
        lines += ["", *_differences(tests, reference, shown, title, "its repeats")]
        if study.get("divisions"):
            divided = _divided(study, table)
            title += f", on {study['divisions']} divisions of the held-out rows"
            text = "its repeats and divisions (the same fits with other validation and test rows, "
            text += "as many of each)"
            lines += ["", *_differences(divided, reference, shown, title, text)]
    lines += [*_validation(study, table, shown), *published.lines(study, table)]
    lines += ["", *_searches(table, methods)]
    return "\n".join([*lines, ""])


def mean_errors(study: Mapping[str, Any], rows: Iterable[Mapping[str, str]]) -> pd.DataFrame:
    """Return mean test losses, of shape (data sets, methods); for the parameters, see :func:`page`.

    Of repeats with all methods; over all divisions if the study has any. Empty without a repeat.
    """
    table = _whole(study, rows)
    if table.empty:
        return pd.DataFrame()
    tests = (_divided if study.get("divisions") else _tests)(study, table)
    return evidence.levelled(tests.groupby(level="dataset", sort=False).mean())


def _whole(study: Mapping[str, Any], rows: Iterable[Mapping[str, str]]) -> pd.DataFrame:
    """Keep the current rows of repeats with all methods."""
    rows = evidence.with_failures(study, rows)
    lacking = set(evidence.missing(study, rows))
    kept = [
        row
        for row in rows
        if not row["stale"] and (int(row["repeat"]), row["dataset"]) not in lacking
    ]
    columns = [*evidence.COLUMNS, *evidence.OPTIONAL]
    table = pd.DataFrame(kept, columns=columns).drop(columns="stale")
    numeric = ["validation", "test", "members", "minimum_diversity", "evaluations", "failed"]
    numeric += ["cpu_seconds", "suggest_seconds", "test_rows", "majority"]
    table[numeric] = table[numeric].apply(pd.to_numeric)
    return table


def _tests(study: Mapping[str, Any], table: pd.DataFrame, column: str = "test") -> pd.DataFrame:
    """Losses, one row per (dataset, split, repeat), one column per method."""
    index = ["dataset", "split", "repeat"]
    wide = table.pivot(index=index, columns="method", values=column)
    return _ordered(study, wide)


def _ordered(study: Mapping[str, Any], wide: pd.DataFrame) -> pd.DataFrame:
    there = set(wide.index.unique("dataset"))
    return wide[list(study["methods"])].loc[[d for d in study["datasets"] if d in there]]


def reference_of(study: Mapping[str, Any]) -> str:
    """Return the method that the others of a study are compared with."""
    return (study.get("report") or {}).get("reference") or list(study["methods"])[-1]


def _detectable(errors: pd.DataFrame, reference: str, shown: losses.Losses) -> str:
    """Describe which differences can be detected; ``errors`` as of :func:`mean_errors`."""
    if len(errors) < 2:
        return "From one data set, nothing follows about others."
    found = effects.intervals(errors, reference, shown.most)["detectable"]
    if errors.round(DIGITS).nunique(axis=1).max() == 1:
        return f"On these data sets, all methods have the same mean test {shown.title}."
    found = found.dropna()
    if found.empty:
        return "They are too few to detect any difference between methods."
    least, most = shown.value(found.min()), shown.value(found.max())
    size = shown.size(found.max()) if least == most else f"{least} to {shown.size(found.max())}"
    return (
        f"With {100 * effects.POWER:g} % power, they can detect differences from {reference} in "
        f"the mean test {shown.title} of at least {size}, if these vary between data sets as so "
        "far."
    )


def _validation(study: Mapping[str, Any], table: pd.DataFrame, shown: losses.Losses) -> list[str]:
    """Show validation losses as test losses, if they decide a claim of the study."""
    where = [
        claim.where
        for _, claim in published.claims_of(study)
        if claim.decide and claim.decide.column == "validation"
    ]
    if not where:
        return []
    losses_of = _tests(study, table, "validation")
    errors = losses_of.groupby(level="dataset", sort=False).mean() * shown.scale
    head, *lines = _errors(table, errors, shown, "validation")
    lines = [
        "",
        head,
        "",
        f"In {' and '.join(dict.fromkeys(where))}, the paper has validation {shown.plural}, not "
        f"test {shown.plural}. A method can be ahead in one and behind in the other. Models and "
        "ensembles are selected by their validation losses, so these are too low, most of all "
        "those of ensembles.",
        *lines,
    ]
    if len(losses_of) > 1:
        reference = reference_of(study)
        title = f"Differences from {reference} in the validation loss"
        lines += [
            "",
            *_differences(losses_of, reference, shown, title, "its repeats", "validation"),
        ]
    return lines


def _errors(
    table: pd.DataFrame, errors: pd.DataFrame, shown: losses.Losses, part: str = "test"
) -> list[str]:
    groups = table.groupby("dataset")
    counts = pd.DataFrame({"repeats": groups["repeat"].nunique()})
    if part == "test":
        counts["test rows"] = groups["test_rows"].first()
    if part == "test" and shown.is_error:  # other losses of the majority class are not stored
        majority = groups["majority"].mean() * shown.scale
        errors = errors.assign(**{"majority class": majority})
    unit = " in percent" if shown.percent else ""
    return [
        f"## {part.capitalize()} {shown.plural}{unit}",
        "",
        *markdown(
            ["data set", *counts, *errors.columns],
            [
                [
                    name,
                    *(f"{n:.0f}" for n in counts.loc[name]),
                    *(f"{v:.{shown.digits}f}" for v in errors.loc[name]),
                ]
                for name in errors.index
            ],
        ),
    ]


def _differences(
    tests: pd.DataFrame,
    reference: str,
    shown: losses.Losses,
    title: str,
    text: str,
    part: str = "test",
) -> list[str]:
    """Compare the methods; ``tests`` has an index that begins with dataset, split and repeat.

    Over data sets or, if there is only one, over its splits, or the repeats of its only split.
    """
    level = next(name for name in tests.index.names if tests.index.unique(name).size > 1)
    errors = evidence.levelled(tests.groupby(level=level, sort=False).mean())
    units = components.LEVELS[level]
    over = f"{len(errors)} {units}"
    if level != "repeat":
        over += f", each counting with its mean over {text}"
    found = effects.intervals(errors, reference, shown.most)
    parts = components.deviations(tests, reference)
    parts = parts.iloc[:, : len(parts.columns) if len(parts.columns) > 1 else 0]
    levels = [components.LEVELS[level] for level in parts.columns]
    equal = (errors[found.index].sub(errors[reference], axis=0) == 0).all()
    # Intervals without width would claim perfect power.
    ends = found[["error_low", "error_high"]].mask(equal)
    rows = []
    for method, line in found.iterrows():
        differences = errors[method] - errors[reference]
        signs = [int((np.sign(differences) == sign).sum()) for sign in (1, 0, -1)]
        low, high = ends.loc[method]
        sizes = [differences.std(), line["detectable"], *parts.loc[method]]
        rows.append(
            [
                str(method),
                _number(line["error"], shown, "+"),
                _interval(low, high, shown),
                "/".join(map(str, signs)),
                *(_number(size, shown) for size in sizes),
            ]
        )
    impossible = "; –: none that is possible" if found["detectable"].isna().any() else ""
    about_parts = (
        f"Then the components of the deviation, between {', between '.join(levels)}: square roots "
        "of unbiased estimates of the variances, 0 where such an estimate is negative. "
    )
    return [
        f"## {title}",
        "",
        f"Mean {part} {shown.title} of each method minus {reference}'s, over {over}; above 0: "
        f"worse. Columns: unadjusted 95 % intervals by Student's t over the {units}; number of "
        f"{units} with a higher, equal and lower {shown.title}; standard deviation over the "
        f"{units}; and the smallest true difference that this study would detect with "
        f"{100 * effects.POWER:g} % power (two-sided, at 5 %{impossible}). "
        f"{about_parts if levels else ''}{ONE_DATA_SET.get(level, '')}{effects.by_chance(found)}",
        "",
        *markdown(
            ["method", "difference", "95 % interval", "+/=/−", "sd", "detectable", *levels], rows
        ),
        *(["", f"Without an interval: equal on all {units}."] if equal.any() else []),
    ]


def _interval(low: float, high: float, shown: losses.Losses) -> str:
    if not np.isfinite([low, high]).all():
        return "–"
    return f"[{_number(low, shown, '+')}, {_number(high, shown, '+')}]"


def _number(value: float, shown: losses.Losses, sign: str = "") -> str:
    return f"{shown.scale * value:{sign}.{shown.digits}f}" if np.isfinite(value) else "–"


def _divided(study: Mapping[str, Any], table: pd.DataFrame) -> pd.DataFrame:
    """Losses, one row per division, with the index (dataset, split, repeat, division)."""
    keys = ["dataset", "split", "repeat", "method"]
    lists = table.set_index(keys)[evidence.DIVISIONS].str.split()
    losses_of = lists.explode().astype(float).to_frame("test")
    losses_of["division"] = losses_of.groupby(level=keys).cumcount() + 1
    wide = losses_of.set_index("division", append=True)["test"].unstack("method")
    return _ordered(study, wide.dropna())


def _searches(table: pd.DataFrame, methods: Sequence[str]) -> list[str]:
    means = table.groupby("method")[
        ["minimum_diversity", "members", "failed", "cpu_seconds", "suggest_seconds"]
    ].mean()
    columns = list(itertools.compress(methods, [method in means.index for method in methods]))
    return [
        "## Searches",
        "",
        "Means over all runs: minimum diversity between a suggestion and a member of the current "
        "ensemble, over the last fifth of a search; members of the final ensemble; failed "
        "evaluations; CPU seconds to fit, and wall-clock seconds to suggest.",
        "",
        *markdown(
            ["method", "min. diversity", "members", "failed", "fit s", "suggest s"],
            [
                [name, f"{m.iloc[0]:.3f}", *(f"{value:.1f}" for value in m.iloc[1:])]
                for name, m in means.loc[columns].iterrows()
            ],
        ),
    ]


def _measured(beside: Sequence[Mapping[str, str]]) -> list[str]:
    """Show means and standard deviations of measurements other than searches."""
    table = pd.DataFrame(beside)
    if table.empty:
        return []
    shown = [name for name in measured.MEASURES if (table[name] != "").any()]
    table[shown] = table[shown].apply(pd.to_numeric)
    groups = table.groupby(["dataset", "method"], sort=False)[shown]
    means, deviations, sizes = groups.mean(), groups.std(), groups.size()
    return [
        "",
        "## Other measurements",
        "",
        "Mean ± standard deviation over repeats (`measured.csv`). Kendall's tau: of a surrogate "
        "fitted on that number of observations, on unseen configurations. Measures of designs are "
        "means over their sizes.",
        "",
        *markdown(
            ["data set", "method", "repeats", *(NAMES[name] for name in shown)],
            [
                [*key, str(sizes[key])]
                + [spread(means.loc[key, c], deviations.loc[key, c], 3) for c in shown]
                for key in means.index
            ],
        ),
    ]
