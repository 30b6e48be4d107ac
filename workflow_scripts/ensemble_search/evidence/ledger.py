"""The ledger of claims, ``evidence/README.md``: the evidence on the papers' claims."""

import json
import re
import textwrap
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from ensemble_search.analysis import losses
from ensemble_search.evidence import claims as deciding
from ensemble_search.evidence import findings, measured
from ensemble_search.evidence import rows as evidence_rows
from ensemble_search.evidence.rows import Evidence
from ensemble_search.papers import claims
from ensemble_search.papers.claims import Claim, Decide
from ensemble_search.papers.printed import PAPERS, inconsistencies
from ensemble_search.report.plots.figures import publish
from ensemble_search.report.tables import markdown, number
from ensemble_search.runtime import files

#: Names of the papers.
NAMES = {
    "divbo": "DivBO (Shen et al., NeurIPS 2022)",
    "esmbo": "ESMBO (Lacoste et al., 2014)",
    "boasf": "BOASF (Zhu et al., 2020)",
    "dodge": "k-DPPs (Dodge et al., 2017, and Dodge's thesis proposal)",
}
#: What README's words on the findings are between.
MARKS = "(<!--findings-->|<!--/findings-->)"
VERDICTS = (
    deciding.AGREES,
    deciding.SMALLER,
    deciding.DIFFERS,
    deciding.OPEN,
    deciding.MISSING,
)

#: Columns in words.
COLUMNS = {
    "test": "test {loss}",
    "test_1": "test {loss} after a tenth of the budget",
    "test_divisions": "test {loss} over divisions",
    "validation": "validation {loss}",
    "validation_100": "validation {loss} at iteration 100",
    "member_error": "{loss} of members",
    "suggested_error": "{loss} of suggestions",
    "reached": "log2 of iterations",
    "seconds": "log2 of seconds to fit (CPU) and suggest",
    "minimum_diversity": "minimum diversity",
    "updates_100": "improvements in 100 iterations",
    "updates_50": "improvements in 50 iterations",
    "disagreement": "disagreement",
    "suggested_beats": "share of random configurations beaten",
    "tau": "Kendall's tau",
    "discrepancy": "log10 of the star discrepancy",
    "centre": "log10 of the squared distance to the centre",
    "origin": "log10 of the squared distance to the origin",
}

#: Columns of shares other than losses.
SHARES = ("suggested_beats", "disagreement")

#: What is compared, by ``Decide.by``.
KINDS = {"rank": "rank by ", "spread": "deviation of "}

#: What verdicts and numbers mean.
DEFINITIONS = (
    f"- **{deciding.AGREES}**: the 95 % intervals of all differences that the claim is about lie "
    "on the claimed side of 0. If the claim is that methods are alike, they lie within the margin; "
    "if it is that a method is not worse, above minus the margin.",
    f"- **{deciding.DIFFERS}**: at least one of these intervals lies on the other side of 0, "
    "outside the margin, or below minus the margin.",
    f"- **{deciding.SMALLER}**: an interval includes 0, but not the difference that the paper "
    "prints (for its own data sets and numbers of rows).",
    f"- **{deciding.OPEN}**: none of these, with the data sets so far, or ranks (or equal "
    f"differences) on fewer than {deciding.FEWEST} data sets. While repeats are missing, all "
    "verdicts can change.",
    f"- **{deciding.MISSING}**: no study has been run, or its rows lack what the claim is about.",
    "",
    'How to read the column "found here":',
    "",
    "- A difference is a mean over data sets, each counting with the mean of its repeats. It is "
    "above 0 where the claim holds. Its unadjusted 95 % interval is in brackets, clipped to "
    "possible differences. Of several differences, the one with the lowest limit is shown.",
    "- *Detectable*: the smallest true difference that as many data sets would detect with 80 % "
    "power; –: not even the largest possible one, or all differ by the same.",
    "- If a claim is about validation losses, the same difference on test rows follows. If studies "
    "are pooled, a data set counts again with another target or other test rows, and both tasks, "
    "or the studies of one task, follow alone. If they are not, the verdicts on each follow where "
    "they differ.",
    "- Where the units are repeats of one data set, the interval says nothing about other data "
    "sets and splits.",
    "- Ranks are among the methods that the claim is about, by their means over repeats.",
    "- A share of data sets agrees if its interval (Clopper and Pearson's) lies above the share "
    "expected by chance, of methods that are alike and tie as often. If the other methods' "
    "results are correlated, as those of one search are, it agrees by chance more often than the "
    "next line says.",
    "- If the claimed difference did not exist, a claim about a single one would still agree by "
    "chance once in forty times, and differ as often. A claim about k differences agrees more "
    "rarely, and differs up to k times as often.",
    "- Ensembles are selected on the validation rows: there, they are ahead of single models by "
    "construction.",
)


def page(evidence: Mapping[str, Evidence]) -> str:
    """Write the page, in Markdown.

    ``evidence`` has, by study name, the content of ``study.json`` and the rows of ``runs.csv`` and
    ``measured.csv``.
    """
    counts, sections = [], []
    for paper in PAPERS:
        lines = []
        verdicts = dict.fromkeys(VERDICTS, 0)
        for claim in claims.load(paper).values():
            verdict, found = _decide(claim, evidence)
            verdicts[verdict] += 1
            lines.append(
                [
                    claim.claim,
                    claim.where,
                    "; ".join(_study(name, claim, evidence) for name in claim.studies) or "–",
                    f"**{verdict}**" if verdict != deciding.MISSING else verdict,
                    found,
                ]
            )
        counts.append([NAMES[paper], *(str(n) for n in (len(lines), *verdicts.values()))])
        head = ["the paper claims", "where", "study", "verdict", "found here"]
        sections += ["", f"## {NAMES[paper]}", "", *markdown(head, lines)]
        sections += ["", *_changed(paper), *_own_numbers(paper)]
    return "\n".join(
        [
            "# What is found here, and what the papers claim",
            "",
            "Written by `make evidence` from the claims in "
            "`workflow_scripts/ensemble_search/papers/` and the rows in `evidence/`.",
            "",
            *_questions(evidence),
            "## The papers' claims",
            "",
            *markdown(["paper", "claims", *VERDICTS], counts),
            "",
            *DEFINITIONS,
            *sections,
            "",
        ]
    )


def read(folder: Path) -> dict[str, Evidence]:
    """Read the evidence in a folder, by study name."""
    return {
        file.parent.name: (
            json.loads(file.read_text(encoding="utf-8")),
            [*evidence_rows.read(file.parent), *measured.read(file.parent)],
        )
        for file in sorted(folder.glob("*/study.json"))
    }


def write(evidence: Mapping[str, Evidence], folder: Path) -> None:
    """Write the page, the figure of its first table, and what it shows into README beside them."""
    with files.atomic(folder / "README.md") as temporary:
        temporary.write_text(page(evidence), encoding="utf-8")
    found = findings.table(evidence)
    if len(found):
        publish(findings.draw(found), "findings", found, "", findings.ALT, folder=folder)
        _tell(findings.words(found), folder.parent / "README.md")


def _tell(words: str, readme: Path) -> None:
    """Replace the words on the findings in README, if it is there and has any."""
    text = readme.read_text(encoding="utf-8") if readme.is_file() else ""
    parts = re.split(MARKS, text)
    if len(parts) == 5:
        parts[2] = f"\n{textwrap.fill(words, 100, break_on_hyphens=False)}\n"
        with files.atomic(readme) as temporary:
            temporary.write_text("".join(parts), encoding="utf-8")


def _questions(evidence: Mapping[str, Evidence]) -> list[str]:
    """Show :func:`findings.table`."""
    lines = []
    for name, methods in findings.table(evidence).groupby("study", sort=False):
        study = evidence[name][0]
        about = f"{_link(name, evidence)}; {methods['datasets'].iloc[0]} data sets"
        if study.get("divisions"):
            about += f", {study['divisions']} divisions of the held-out rows of each repeat"
        ends = [findings.QUESTIONS[name], about]
        for row in methods.itertuples():
            numbers = row.error, row.error_low, row.error_high, row.detectable
            mean, low, high, least = (number(value, row.digits) for value in numbers)
            difference = f"{row.method} − {row.reference}"
            rest = (number(n, row.digits) for n in (row.rest, row.rest_low, row.rest_high))
            without = "{}: {} [{}, {}]".format(row.without, *rest)
            lines.append([ends[0], difference, mean, f"[{low}, {high}]", least, without, ends[1]])
            ends = ["", ""]
    if not lines:
        return []
    return [
        "![" + findings.ALT + "](findings.svg)",
        "",
        "Mean test error of each method minus that of a reference over data sets, in points; above "
        "0: worse. Unadjusted 95 % intervals by Student's t over the data sets. *Detectable* is "
        "explained below. *Without*: the data set that changes the mean most, and the difference "
        "on the others.",
        "",
        *markdown(
            ["question", "difference", "mean", "interval", "detectable", "without", "study"], lines
        ),
        "",
    ]


def _study(name: str, claim: Claim, evidence: Mapping[str, Evidence]) -> str:
    """Link a study of a claim."""
    if claim.decide and claim.decide.column in measured.MEASURES and name in evidence:
        return f"[{name}]({name}/README.md)"
    return _link(name, evidence) if name in evidence else name


def _link(name: str, evidence: Mapping[str, Evidence]) -> str:
    """Link a study, with its number of repeats as long as some are missing."""
    study, rows = evidence[name]
    done, total = evidence_rows.progress(study, rows)
    link = f"[{name}]({name}/README.md)"
    if evidence_rows.replayed(study):
        link += ", replayed"
    return link if done == total else f"{link}, {done} of {total} repeats"


def _decide(claim: Claim, evidence: Mapping[str, Evidence]) -> tuple[str, str]:
    rule, names = claim.decide, claim.studies
    if rule is None:
        return deciding.MISSING, ""
    if rule.pooled:
        names = [name for name in names if name in evidence] or names
    verdict, pairs = _decided(rule, names, evidence)
    if verdict == deciding.MISSING:
        return verdict, ""
    pair = _deciding(rule, pairs)
    said = [_found(rule, names, pair, evidence)]
    if rule.column == "validation" and rule.by in ("mean", "rank"):
        # The same methods by test losses, of which the claim says nothing.
        alike = {"column": "test", "lower": [pair["lower"]], "higher": [pair["higher"]]}
        if not (rule.printed or rule.halfway or rule.largest_in_first):
            said.append(_alone(rule.model_copy(update=alike), names, evidence, "on test rows"))
    if rule.pooled:
        parts: dict[str, list[str]] = {}
        for name in names:
            parts.setdefault(losses.of(evidence[name][0]).task, []).append(name)
        if len(parts) == 1:
            parts = {name: [name] for name in names}
        if len(parts) > 1:
            said += [_alone(rule, own, evidence, f"{part} alone") for part, own in parts.items()]
    elif len(names) > 1 and not rule.largest_in_first:
        by: dict[str, list[str]] = {}
        for name in names:
            by.setdefault(_decided(rule, [name], evidence)[0], []).append(name)
        if len(by) > 1:
            said.append("; ".join(f"{own} in {', '.join(where)}" for own, where in by.items()))
    return verdict, "; ".join(filter(None, said))


def _decided(
    rule: Decide, names: Sequence[str], evidence: Mapping[str, Evidence]
) -> tuple[str, pd.DataFrame]:
    return deciding.decide(rule, *(evidence.get(name, ({}, [])) for name in names))


def _deciding(rule: Decide, pairs: pd.DataFrame) -> pd.Series:
    """Return the pair that decides a claim.

    Of equal limits, which are clipped to a possible difference, that of the mean furthest from the
    claim.
    """
    low, mean = pairs["low"], pairs["difference"]
    if rule.within is not None:
        low, mean = -pairs[["low", "high"]].abs().max(axis=1), -mean.abs()
    return pairs.iloc[np.lexsort((mean, low))[0]]


def _alone(rule: Decide, names: Sequence[str], evidence: Mapping[str, Evidence], what: str) -> str:
    """Describe a part of what decides a claim; empty if nothing has been run."""
    verdict, pairs = _decided(rule, names, evidence)
    if verdict == deciding.MISSING:
        return ""
    pair = _deciding(rule, pairs)
    scale, digits, numbers = _scaled(rule, pair, evidence[names[pair["study"]]][0])
    mean, low, high, _ = (number(scale * value, digits) for value in numbers)
    return f"{what}: {mean} [{low}, {high}], {pair['units']} {_units(rule, {})}"


def _units(rule: Decide, study: Mapping[str, Any]) -> str:
    if rule.column in measured.DESIGNS:
        return "repeats"
    if rule.over == "repeats":
        of = rule.datasets or rule.printed or study.get("datasets")
        return f"repeats of {', '.join(of)}" if of else "repeats"
    return "data sets"


def _scaled(
    rule: Decide, pair: pd.Series, study: Mapping[str, Any]
) -> tuple[float, int, np.ndarray]:
    """Return scale, digits, and the difference with its limits and what is detectable."""
    shown = losses.of(study)
    errors = rule.by != "rank" and "{loss}" in COLUMNS[rule.column]
    scale, digits = (shown.scale, shown.digits) if errors else (1, 2)
    numbers = pair[["difference", "low", "high", "detectable"]].to_numpy(float)
    most = shown.most if errors else 1.0 if rule.column in SHARES else np.inf
    bottom, top = -most, most
    if rule.printed and np.isfinite(most):
        top = float(np.mean([*rule.printed.values()]))
        bottom = top - most
    numbers[1:3] = numbers[1:3].clip(bottom, top)
    if numbers[3] > max(-bottom, top):
        numbers[3] = np.nan
    return scale, digits, numbers


def _found(
    rule: Decide, names: Sequence[str], pair: pd.Series, evidence: Mapping[str, Evidence]
) -> str:
    name = names[pair["study"]]
    study = evidence[name][0]
    units = _units(rule, study)
    what = losses.of(study).fill(COLUMNS[rule.column])
    if rule.pooled and len({losses.of(evidence[n][0]).title for n in names if n in evidence}) > 1:
        what = COLUMNS[rule.column].format(loss="loss")
    if rule.by in ("best", "tied"):
        of = f"lowest {what} of {', '.join([*rule.lower, *rule.higher])}"
        if rule.by == "tied":
            of = f"{what} not above that of {pair['higher']}"
        return (
            f"{pair['lower']}: {of} on {_percentages(pair)} of {pair['units']} {units}, by chance "
            f"on {pair['chance']:.0%}{deciding.impossible(pair)}"
        )
    if rule.by in KINDS:
        what = KINDS[rule.by] + what
    scale, digits, numbers = _scaled(rule, pair, study)
    mean, low, high, least = (number(scale * value, digits) for value in numbers)
    given = rule.within or rule.margin
    margin = f"; margin {scale * given:.{digits}f}" if given else ""
    where = f" in {name}" if len(names) > 1 and not rule.pooled else ""
    if rule.largest_in_first:
        where = f" in {names[0]} more than in {name}"
    return (
        f"{what}{where}, {pair['higher']} − {pair['lower']}: {mean} [{low}, {high}]; "
        f"detectable {least}{margin}; {pair['units']} {units}"
    )


def _percentages(pair: pd.Series) -> str:
    """Format a share, with its interval in brackets."""
    share, low, high = (pair[name] + pair["chance"] for name in ("difference", "low", "high"))
    return f"{share:.0%} [{low:.0%}, {high:.0%}]"


def _changed(paper: str) -> list[str]:
    """List the rules that changed; empty if none did."""
    rows = [[own.claim, own.changed] for own in claims.load(paper).values() if own.changed]
    if not rows:
        return []
    return [
        "Rules that changed after the first results of their studies, with the verdicts then:",
        "",
        *markdown(["the paper claims", "what changed"], rows),
        "",
    ]


def _own_numbers(paper: str) -> list[str]:
    lines = [
        [found.where, found.what, found.kind, str(found.printed or ""), found.shown]
        for found in inconsistencies(paper).values()
    ]
    head = ["where", "what", "kind", "printed", "computed"]
    return [
        "What follows from the paper's own numbers (*contradicts*: a statement cannot be true; "
        "*qualifies*: it means less than it seems to, or is unlikely):",
        "",
        *markdown(head, lines),
    ]
