"""The workflow as a module of another one."""

import subprocess

import pytest
import yaml

from support import ROOT, forks

pytestmark = pytest.mark.slow

SNAKEFILE = """
rule mine:
    input: "results/tiny/ensembles/wine/random/best/0/scores.parquet"
    output: "mine.txt"
    shell: "cp {{input}} {{output}}"

module which:
    snakefile: {snakefile!r}
    {more}
    config: config["study"]

use rule * from which as which_*
"""
STUDY = {
    "study": "tiny",
    "datasets": {"wine": {"sklearn": "wine"}},
    "space": "divbo-small",
    "budget": {"evaluations": 3},
    "searches": {"random": {"optimizer": "random"}},
    "ensembles": {"best": {"type": "best"}},
    "methods": {"RS": {"search": "random", "ensemble": "best"}},
}


def run(folder, *options, more="", study=STUDY, end=""):
    text = SNAKEFILE.format(snakefile=str(ROOT / "Snakefile"), more=more)
    (folder / "Snakefile").write_text(text + end, encoding="utf-8")
    (folder / "config.yaml").write_text(yaml.safe_dump({"study": study}), encoding="utf-8")
    command = ["python", "-m", "snakemake", "--cores", "1", "--configfile", "config.yaml"]
    return subprocess.run(
        [*command, *options], cwd=folder, capture_output=True, text=True, check=False,
        env=forks.environment(folder),
    )  # fmt: skip


def test_another_workflow_uses_the_results_of_a_study(tmp_path):
    ended = run(tmp_path)
    assert ended.returncode == 0, ended.stderr
    made = tmp_path / "results/tiny/ensembles/wine/random/best/0/scores.parquet"
    assert (tmp_path / "mine.txt").read_bytes() == made.read_bytes()
    # The first rule is the target; the module's own is the report.
    assert "Nothing to be done" in run(tmp_path, "-n").stdout
    assert "which_report" in run(tmp_path, "-n", "which_all").stdout


OTHER = """
module other:
    snakefile: {snakefile!r}
    config: config["study"] | {{"study": "other"}}

use rule * from other as other_*
"""


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"study": {**STUDY, "budgett": 3}}, "error: module: budgett: unknown key; did you mean"),
        ({"more": 'prefix: "sub"'}, "error: module: a prefix cannot be used: results go to res"),
        (
            {"end": OTHER.format(snakefile=str(ROOT / "Snakefile"))},
            "error: module: a workflow can have one study as a module",
        ),
    ],
)
def test_mistakes_are_one_line(tmp_path, changes, message):
    ended = run(tmp_path, "-n", **changes)
    assert ended.returncode != 0
    assert message in ended.stderr
    assert "Traceback" not in ended.stderr
