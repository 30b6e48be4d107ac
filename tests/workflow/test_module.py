"""The workflow as a module of another one."""

import subprocess

import pytest
import yaml

from support import ROOT, forks

pytestmark = pytest.mark.slow

MINE = """
rule mine:
    input: "{root}/tiny/ensembles/wine/random/best/0/scores.parquet"
    output: "mine.txt"
    shell: "cp {{input}} {{output}}"
"""
FIRST = MINE.format(root="results")
MODULE = """
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


def run(folder, *options, first=FIRST, more="", study=STUDY, end=""):
    text = first + MODULE.format(snakefile=str(ROOT / "Snakefile"), more=more)
    (folder / "Snakefile").write_text(text + end, encoding="utf-8")
    (folder / "config.yaml").write_text(yaml.safe_dump({"study": study}), encoding="utf-8")
    command = ["python", "-m", "snakemake", "--cores", "1", "--configfile", "config.yaml"]
    return subprocess.run(
        [*command, *options], cwd=folder, capture_output=True, text=True, check=False,
        env=forks.environment(folder),
    )  # fmt: skip


@pytest.mark.parametrize(
    ("more", "root"), [("", "results"), ('prefix: "sub/of"', "sub/of/results")]
)
def test_another_workflow_uses_the_results_of_a_study(tmp_path, more, root):
    first = MINE.format(root=root)
    ended = run(tmp_path, first=first, more=more)
    assert ended.returncode == 0, ended.stderr
    made = tmp_path / root / "tiny/ensembles/wine/random/best/0/scores.parquet"
    assert (tmp_path / "mine.txt").read_bytes() == made.read_bytes()
    assert root == "results" or not (tmp_path / "results").exists()
    # The first rule is the target; the module's own is the report.
    assert "Nothing to be done" in run(tmp_path, "-n", first=first, more=more).stdout
    assert "which_report" in run(tmp_path, "-n", "which_all", first=first, more=more).stdout


def test_a_workflow_that_begins_with_the_module_makes_its_report(tmp_path):
    shown = run(tmp_path, "-n", first="", end=FIRST)
    assert shown.returncode == 0, shown.stderr
    assert "which_report" in shown.stdout
    assert "rule mine" not in shown.stdout


def test_a_replaced_prefix_moves_all_results(tmp_path):
    more = 'replace_prefix: {"results/": "moved/"}'
    study = {
        **STUDY,
        "tables": {"random": 4},
        "evaluation": {"replay": "moved/tiny/tables"},
        "report": {"single_file": True},
    }
    shown = run(tmp_path, "-n", "which_all", first="", more=more, study=study)
    assert shown.returncode == 0, shown.stderr
    for path in ("data/sklearn-wine/dataset.json", "tiny/tables/wine/fixed/table.json",
                 "tiny/searches/wine/random/0/search.json", "tiny/report/whole.html"):  # fmt: skip
        assert f"moved/{path}" in shown.stdout
    assert "results/" not in shown.stdout


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
        ({"more": 'prefix: "two words"'}, "error: module: prefix: 'two words/results/' may have"),
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
