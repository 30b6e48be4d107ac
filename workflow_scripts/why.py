"""Print what the next run of a study would do, and why.

    python workflow_scripts/why.py --study studies/quickstart.yaml

Summarises the reasons given by a dry run of Snakemake; nothing is run.
"""

if __name__ == "__main__":  # first: Ctrl-C may come during the imports
    from ensemble_search.runtime import signals

    signals.while_importing()

import argparse
import ast
import json
import re
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

from ensemble_search.runtime import errors
from ensemble_search.runtime.errors import UserError
from ensemble_search.search.journal import differences
from ensemble_search.study import yaml_file

#: Number of examples per reason.
EXAMPLES = 4
#: Rules in the order of data flow.
ORDER = (
    *("fetch", "split", "configurations", "search", "shard", "table", "replay", "last_replay"),
    "surrogate",
    "spread",
    *("ensemble", "fitted_ensemble", "replayed_ensemble", "last_replayed_ensemble"),
    "divisions",
)
FOLLOWS = "its input is recomputed"
NEW = "not computed yet"
#: Snakemake's words for a reason -> ours; the first match counts because it causes the others.
REASONS = (
    ("Missing output files", NEW),
    ("Params have changed", "{changes}"),
    ("Updated input files", "changed or newer: {files}"),
    ("Input files updated by another job", FOLLOWS),
    ("Set of input files has changed", "it has other input files than before"),
    ("Software environment", "its conda environment changed, or conda was switched on or off"),
    ("Code has changed", "the rule's command changed"),
    # With rerun-incomplete, Snakemake forces half-written outputs and gives no further reason.
    ("Forced execution", "interrupted before it finished, or forced by an option"),
    ("Incomplete output files", "interrupted before it finished"),
)


def main() -> None:
    """Print what would run, by rule and reason."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--study", default="config.yaml", help="study file (config.yaml)")
    parser.add_argument("options", nargs="*", help="more options of snakemake, after --")
    arguments = parser.parse_args()
    yaml_file.read_yaml(Path(arguments.study))  # for a clear error if it is no study at all
    for line in report(jobs(dry_run(arguments.study, arguments.options))):
        print(line)


def dry_run(study: str, options: list[str]) -> str:
    """Return Snakemake's output for a dry run.

    Raises UserError with Snakemake's own lines, if it rejects the study.
    """
    command = [sys.executable, "-m", "snakemake", "--dry-run", "--configfile", study, *options]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    if run.returncode:
        lines = [line for line in run.stderr.splitlines() if line.startswith("error: ")]
        lines = lines or (run.stderr + run.stdout).strip().splitlines()[-1:]
        raise UserError(*(line.removeprefix("error: ") for line in lines))
    sys.stderr.writelines(f"{s}\n" for s in run.stderr.splitlines() if s.startswith("note: "))
    return run.stdout + run.stderr


def jobs(text: str) -> list[tuple[str, str, str]]:
    """Parse the jobs of a dry run: rule, wildcards, reason in Snakemake's words.

    The study is among the wildcards of every job but those of data, which studies share.
    """
    found = []
    for rule, block in re.findall(r"^(?:local)?rule (\w+):\n((?: {4}.*\n?)*)", text, re.M):
        reason = re.search(r"^ {4}reason: (.*)$", block, re.M)
        wildcards = re.search(r"^ {4}wildcards: (.*)$", block, re.M)
        name = wildcards[1] if wildcards else ""
        folder = re.search(r"^ {4}output: results/([^/,]+)/", block, re.M)
        if folder and folder[1] != "data" and not re.search("(^|, )study=", name):
            name = ", ".join(filter(None, (f"study={folder[1]}", name)))
        if rule != "all":
            found.append((rule, name, reason[1] if reason else ""))
    return found


def report(found: list[tuple[str, str, str]]) -> list[str]:
    """Summarise jobs in lines for a reader: rule by rule, reason by reason, with examples."""
    if not found:
        return ["Nothing would be made: all results are there and up to date."]
    rules: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for rule, wildcards, reason in sorted(found, key=_order):
        rules[rule][words(reason)].append(_name(wildcards))
    lines = []
    for rule, reasons in rules.items():
        total = sum(map(len, reasons.values()))
        lines.append(f"{rule}: {total} {'job' if total == 1 else 'jobs'}")
        for reason, names in reasons.items():
            shown = [name for name in names if name]
            more = f", and {len(shown) - EXAMPLES} more" if len(shown) > EXAMPLES else ""
            which = f" ({'; '.join(shown[:EXAMPLES])}{more})" if shown else ""
            lines.append(f"  {len(names)} x {reason}{which}")
    return lines


def words(reason: str) -> str:
    """Translate one of Snakemake's reasons."""
    for theirs, ours in REASONS:
        if theirs in reason:
            rest = reason.split(theirs, 1)[1].partition(": ")[2]
            files = rest.split("; ")[0].strip()
            return ours.format(changes=_changes(rest) if "{changes}" in ours else "", files=files)
    return reason or "Snakemake names no reason"


def _changes(text: str) -> str:
    """Compare the previous and current parameters of a job, setting by setting."""
    before, _, now = text.partition(" now: ")
    old, new = _settings(before), _settings(now)
    changes = differences(old, new)
    if not changes:
        return "the code that it depends on changed"
    return f"its settings changed: {'; '.join(map(_said, changes))}"


def _said(change: str) -> str:
    """Write one of ``differences``, such as ``budget.fits: None there, 5 here``, for a reader."""
    change = change.replace(" there, ", " before, ").replace(" here", " now")
    return change.replace(": None before, ", ": nothing before, ").replace(
        " before, None now", " before, nothing now"
    )


def _settings(text: str) -> dict:
    """Return the JSON object among a job's parameters; the others name its code."""
    for literal in re.findall(r"'(?:[^'\\]|\\.)*'", text):
        try:
            content = json.loads(ast.literal_eval(literal))
        except (ValueError, SyntaxError):
            continue
        if isinstance(content, dict):
            return content
    return {}


def _order(job: tuple[str, str, str]) -> tuple:
    return ORDER.index(job[0]) if job[0] in ORDER else len(ORDER), *job


def _name(wildcards: str) -> str:
    values = (part.partition("=")[2] for part in wildcards.split(", "))
    return " ".join(filter(None, values))  # the tens of the first ten repeats are empty


if __name__ == "__main__":
    errors.run(main)
