"""Every command in the documentation works; new ones are found automatically.

Commands are collected from the README, docs/, comments of the Makefile, the workflow and the
studies, and the docstrings of scripts. Those that take long, need a network, a cluster or a
finished study are run for real elsewhere, as :data:`RUN_BY` says, or not at all, as
:data:`NOT_RUN` says; here it is checked that their options, files and targets exist.
"""

import ast
import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from ensemble_search.runtime.files import sha256, write_npy, write_parquet
from ensemble_search.runtime.names import PARTS
from ensemble_search.study import schema, yaml_file
from support import ROOT, STUDIES, forks
from support.checkout import STUDY, Checkout

pytestmark = pytest.mark.slow

COMMAND = re.compile(
    r"(?:[A-Z_]+=\S+ )*(?:make|snakemake|(?:\S+/)?python|pytest|pip|git|sbatch|scancel) [^`]+"
)
MARKDOWN = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
COMMENTED = [
    *(ROOT / name for name in ("Makefile", "Snakefile", "config.yaml")),
    *STUDIES.values(),
    *(file for p in ("profiles/*/*", "rules/*.smk") for file in sorted(ROOT.glob(p))),
]
SCRIPTS = [
    file
    for pattern in (
        "workflow_scripts/*.py",
        "benchmarks/*.py",
        "tests/torture/*",
        "tests/cluster/*",
    )
    for file in sorted(ROOT.glob(pattern))
    if file.is_file() and "argparse" in file.read_text(encoding="utf-8")
]
#: The test file that really runs a script or target, and names it.
RUN_BY = {
    "make contract": "workflow/test_parts_from_outside.py",
    "make evidence": "workflow/test_kept_evidence.py",
    "make ensemble": "workflow/test_automl.py",
    "make status": "workflow/test_documented_commands.py",
    "make why": "workflow/test_documented_commands.py",
    "make verify": "workflow/test_documented_commands.py",
    "make partial": "workflow/test_documented_commands.py",
    "make reproduce": "workflow/test_documented_commands.py",
    "make reference": "study/test_reference.py",
    "make schema": "workflow/test_documented_commands.py",
    "make table": "results/test_imported.py",
    "make table-info": "workflow/test_documented_commands.py",
    "benchmarks/diversity_surrogates.py": "workflow/test_documented_commands.py",
    "benchmarks/dpp.py": "workflow/test_documented_commands.py",
    "benchmarks/dpp_ensembles.py": "workflow/test_documented_commands.py",
    "benchmarks/random_configurations.py": "workflow/test_documented_commands.py",
    "benchmarks/search_quality.py": "benchmarks/test_search_quality.py",
    "benchmarks/suite.py": "benchmarks/test_suite.py",
    "benchmarks/ties.py": "workflow/test_documented_commands.py",
    "benchmarks/tpe.py": "benchmarks/test_tpe_densities.py",
    "benchmarks/unseen_algorithms.py": "benchmarks/test_search_quality.py",
    "tests/torture/folders.py": "workflow/test_torture.py",
    "tests/torture/searches.py": "workflow/test_torture.py",
    "predict.py": "delivery/test_delivery.py",
    "workflow_scripts/deliver.py": "workflow/test_a_regression.py",
    "workflow_scripts/predict.py": "delivery/test_delivery.py",
    "workflow_scripts/automl.py": "workflow/test_automl.py",
    "workflow_scripts/divisions.py": "scoring/test_divisions.py",
    "workflow_scripts/ensemble.py": "scoring/test_ensemble_scores.py",
    "workflow_scripts/evidence.py": "workflow/test_kept_evidence.py",
    "workflow_scripts/fetch.py": "data/test_split.py",
    "workflow_scripts/manifest.py": "workflow/test_workflow.py",
    "workflow_scripts/partial_report.py": "workflow/test_workflow.py",
    "workflow_scripts/report.py": "report/test_report.py",
    "workflow_scripts/reproduce.py": "workflow/test_same_bytes.py",
    "workflow_scripts/run_autogluon.py": "workflow/test_run_autogluon.py",
    "workflow_scripts/search.py": "search/test_loop.py",
    "workflow_scripts/split.py": "data/test_split.py",
    "workflow_scripts/spread.py": "dpp/test_coverage.py",
    "workflow_scripts/status.py": "workflow/test_workflow.py",
    "workflow_scripts/surrogate.py": "report/test_surrogates_page.py",
    "workflow_scripts/table.py": "workflow/test_documented_commands.py",
    "workflow_scripts/verify.py": "results/test_verification.py",
    "workflow_scripts/why.py": "workflow/test_reruns.py",
}
#: Studies that are replayed, and those whose tables they name.
TABLES_OF = {
    "boasf-grid": "boasf-logistic-regression",
    "boasf-models-grid": "boasf-models",
    "dodge-replay": "dodge-live",
    "live-check": "search-tables",
    "quickstart-replay": "quickstart",
    "replay": "search-tables",
}
#: What no test really runs, and why.
NOT_RUN = {
    "benchmarks/automl_peers.py": "runs for hours; benchmarks/test_automl_peers.py runs parts",
    "benchmarks/peers.py": "needs what `make peers` installs; test_search_quality.py runs it then",
    "benchmarks/pyrfr_forest.py": "as benchmarks/peers.py",
    "make autogluon": "installs 1.1 GB",
    "make bench": "runs for an hour; benchmarks/test_suite.py does the same work on less",
    "make bench-automl": "installs 1.1 GB and runs for hours; benchmarks/test_automl_peers.py",
    "make bench-peers": "runs for hours",
    "make bench-search": "runs for hours; benchmarks/test_search_quality.py runs its script",
    "make check": "is a part of make test",
    "make cluster-test": "root, and a cluster of three nodes; workflow/test_slurm.py runs a part",
    "make demo": "installs, and runs for minutes; workflow/test_workflow.py runs a smaller study",
    "make env": "installs; every CI run starts with it",
    "make docs": "installs; test_links.py checks what it lists",
    "make lock": "needs a package index",
    "make peers": "installs, and compiles pyrfr",
    "make record": "writes the numbers that workflow/test_drift.py compares with",
    "make test": "is what runs this",
    "make torture": "runs for an hour; workflow/test_torture.py runs a part",
    "tests/cluster/disasters.py": "as make cluster-test",
    "tests/torture/workflows.py": "as make torture",
    "git checkout": "of the reader's own commit",
    "pip install": "needs a package index",
    "sbatch": "needs a cluster",
    "snakemake --sdm conda": "needs conda; workflow/test_conda.py runs it with a stand-in",
    "python -c": "fetches data; data/test_openml_client.py does so from a server of its own",
}
#: Keys of studies that have rules of their own.
PARTS_OF = {"autogluon", "deliver", "divisions", "evaluation", "spread", "surrogates", "tables"}
#: Placeholders in the documentation.
STANDS_FOR = {
    "results/customers/study.yaml": "study.yaml",
    "mine.yaml": "study.yaml",
    "--until surrogate": "",  # the tiny study has none
}


def written() -> Iterator[str]:
    """Everything that could be a command."""
    for file in MARKDOWN:
        text = file.read_text(encoding="utf-8")
        fenced = r"^ *```\w*\n(.*?)^ *```$"
        rest = re.sub(fenced, "", text, flags=re.M | re.S)
        blocks = re.findall(fenced, text, re.M | re.S) + re.findall(r"(?:^    .*\n)+", rest, re.M)
        for block in blocks:
            yield from block.replace("\\\n", " ").splitlines()
        yield from re.findall(r"`([^`]+)`", rest)
    for file in COMMENTED:
        for line in file.read_text(encoding="utf-8").splitlines():
            if line.startswith("#"):
                yield from re.split(r"  +|`", line.lstrip("# "))
    for file in SCRIPTS:
        document = ast.get_docstring(ast.parse(file.read_text(encoding="utf-8"))) or ""
        for line in document.replace("\\\n", " ").splitlines():
            yield from re.split(r"`+|  +", line.strip())


def collect() -> list[str]:
    """The commands, each once, without comments."""
    lines = (" ".join(re.split(r"\s#", line)[0].split()) for line in written())
    return sorted({line for line in lines if COMMAND.fullmatch(line)})


COMMANDS = collect()


def starting(*words: str) -> list[str]:
    return [c for c in COMMANDS if re.match(rf"(?:[A-Z_]+=\S+ )*(?:{'|'.join(words)}) ", c)]


def head(command: str) -> str:
    """What of a command the tables go by: script, target, or first words."""
    if found := re.search(r"python ([\w/]+\.py)", command):
        return found[1]
    if command.startswith("snakemake ") and "--sdm" in command:
        return "snakemake --sdm conda"
    return " ".join(command.split()[: 1 if command.startswith("sbatch") else 2])


def environment(**more: str) -> dict[str, str]:
    """The environment of somebody who has activated .venv, has no PYTHONPATH, and runs no make."""
    absent = ("PYTHONPATH", "MAKELEVEL", "MAKEFLAGS", "MFLAGS")
    result = {k: v for k, v in os.environ.items() if k not in absent}
    path = f"{Path(sys.executable).parent}{os.pathsep}{result['PATH']}"
    return {**result, "PATH": path, **more}


def run(command: list, folder: Path = ROOT, **more: str) -> str:
    ended = subprocess.run(
        command,
        cwd=folder,
        env=environment(**more),
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        timeout=900,
        check=False,
    )
    assert ended.returncode == 0, ended.stdout
    return ended.stdout


def test_the_collector_finds_them():
    assert len(COMMANDS) >= 70
    for command in (
        "make demo",
        "snakemake --cores 2 --configfile studies/divbo/quake.yaml",
        "pytest tests/workflow/test_same_bytes.py",
        "OMP_NUM_THREADS=1 python benchmarks/dpp.py",
        "python workflow_scripts/status.py --study studies/quickstart.yaml",
    ):
        assert command in COMMANDS


def test_each_is_run_or_the_reason_is_given():
    # Dry runs of snakemake are below; pytest is this suite.
    others = [c for c in COMMANDS if "--sdm" in c or not re.match("(snakemake|pytest) ", c)]
    heads = {head(command) for command in others}
    scripts = {str(file.relative_to(ROOT)) for file in SCRIPTS}
    assert scripts <= heads, "a script without a command in its docstring"
    assert heads == {*RUN_BY, *NOT_RUN}
    for name, file in RUN_BY.items():
        text = (ROOT / "tests" / file).read_text(encoding="utf-8")
        text += (ROOT / "tests/support/checkout.py").read_text(encoding="utf-8")
        assert Path(name.split()[-1]).stem in text, f"{file} does not name {name}"


@pytest.mark.parametrize("command", starting("make"))
def test_make_knows_its_targets(command):
    words = [
        word for word in shlex.split(command) if re.fullmatch(r"make|[a-z-]+|[A-Z]+=\S+", word)
    ]
    text = (ROOT / "Makefile").read_text(encoding="utf-8")
    assert words[1] in re.search(r"^\.PHONY: (.*)$", text, re.M)[1].split()
    for word in words[2:]:
        name = word.partition("=")[0]  # of make, or handed over to the shell as it is
        assert f"$({name})" in text or f'"$${name}"' in text
    run(["make", "--dry-run", *words[1:]])


@pytest.mark.parametrize(
    ("words", "line"),
    [
        ("ensemble DATA=x.csv GRUOP=who", "make ensemble has no GRUOP (did you mean GROUP?); its"),
        (
            "status studdy=x",
            "make status has no studdy (did you mean STUDY?); its variables: CORES",
        ),
        ("ensemble TABLE=x.csv", "make ensemble has no TABLE; its variables: COLUMNS, CORES, DATA"),
        (
            "verify SAMPEL=1 SED=2",
            "make verify has no SAMPEL (did you mean SAMPLE?) and no SED; its",
        ),
        ("CORRES=2", "make has no CORRES (did you mean CORES?); its variables: CORES, PLUGINS, P"),
        ("status STUDY=x CORES=2 PYTHON=python3 OMP_NUM_THREADS=1", None),
        ("demo schema PLUGINS=my_parts", None),
    ],
)
def test_unknown_variables_of_make_cost_a_line(words, line):
    done = subprocess.run(
        ["make", "--dry-run", *words.split()],
        cwd=ROOT, env={"PATH": os.environ["PATH"]}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    if line is None:
        assert done.returncode == 0, done.stderr
    else:
        assert done.returncode == 2
        (said,) = done.stderr.splitlines()
        assert f"*** {line}" in said


def test_variables_of_a_target_are_those_of_its_recipe():
    text = (ROOT / "Makefile").read_text(encoding="utf-8")
    takes = {
        name: {*words.split()} for name, words in re.findall(r"^TAKES\.(\S+) := (.*)$", text, re.M)
    }
    known = {"CORES", *set().union(*takes.values())}
    phony = re.search(r"^\.PHONY: (.*)$", text, re.M)[1].split()
    needs, uses = {}, {}
    for target, before, recipe in re.findall(r"^([a-z-]+):(.*)\n((?:\t.*\n)*)", text, re.M):
        needs[target] = {*before.split()} & {*phony}
        uses[target] = {*re.findall(r"\$[({]?([A-Z]+)\b", recipe)} & known
    assert {*uses} == {*phony}
    for target in phony:
        own = uses[target].union(*(uses[other] for other in needs[target]))
        assert own - {"CORES"} == takes.get(target, set()), target


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda file: file.name)
def test_scripts_have_the_options_that_are_documented(script):
    """With docstrings left out too, and without PYTHONPATH where the command has none."""
    name = str(script.relative_to(ROOT))
    commands = [c for c in COMMANDS if head(c) == name]
    paths = {found for c in commands for found in re.findall(r"PYTHONPATH=(\S+)", c)}
    more = {"PYTHONPATH": paths.pop()} if paths else {}
    said = run([sys.executable, name, "--help"], PYTHONOPTIMIZE="2", **more)
    for command in commands:
        own = command.partition(name)[2].partition(" -- ")[0]
        for option in re.findall(r"(?<=[\s\[])--[a-z-]+", own):
            assert f"{option} " in said or f"{option}\n" in said, option


@pytest.mark.parametrize("command", starting("pytest"))
def test_tests_that_are_named_exist(command):
    files = [word for word in shlex.split(command) if word.endswith(".py")]
    assert files
    assert all((ROOT / file).is_file() for file in files)
    if " -k " in command:
        words = shlex.split(command)[-1].split(" or ")
        text = "".join((ROOT / file).read_text(encoding="utf-8") for file in files)
        for word in words:
            assert re.search(rf"def test_\w*{word}", text) or word in "".join(files), word


def write_table(folder: Path, study: dict) -> None:
    """Write files of a table that a study could be replayed on, as far as a dry run looks."""
    folder.mkdir(parents=True)
    about = {"dataset": folder.parent.name, "space": study["space"], "data": "", "versions": {}}
    about |= {"limits": {**study["limits"], "memory_mb": 4096}, "threads": 1, "entries": 250}
    columns = {"iteration": np.arange(1, 251), "fidelity": np.ones(250), "status": ["ok"] * 250}
    write_parquet(folder / "observations.parquet", columns)
    for part in PARTS:
        write_npy(folder / f"predictions-{part}.npy", np.zeros((250, 1, 1), np.float32))
    files = {path.name: sha256(path) for path in folder.iterdir()}
    about |= {"status": {"ok": 250}, "fit_seconds": 9, "files": files}
    about["metric"] = study.get("metric", "error")
    (folder / "table.json").write_text(json.dumps(about))


@pytest.fixture(scope="module")
def checkout(tmp_path_factory):
    """A copy of the repository with a tiny study that has run, and the Makefile."""
    result = Checkout(tmp_path_factory.mktemp("documented"))
    result.write({
        **STUDY,
        "budget": {"evaluations": 5},
        "searches": {"random": {"optimizer": "random"}},
        "methods": {"RS": {"search": "random", "ensemble": "best"}},
        "tables": {"random": 0, "searches": ["random"]},
    })  # fmt: skip
    for name, made_by in TABLES_OF.items():
        study, _ = yaml_file.read(STUDIES[name])
        for dataset in study["datasets"]:
            folder = result.folder / f"results/{made_by}/tables/{dataset}/fixed"
            if not folder.exists():
                write_table(folder, study)
    (result.folder / "Makefile").write_bytes((ROOT / "Makefile").read_bytes())
    result.snakemake("--quiet", "all")
    return result


def of_each_kind() -> list[str]:
    """Commands of snakemake, but of studies with the same parts and options only the smallest.

    Such studies have the same rules, and test_study_model.py reads them all.
    """
    found = {}
    for command in starting("snakemake"):
        kind, size, file = command, 0, re.search(r"studies/\S+\.yaml", command)
        if file:
            study = yaml_file.read(ROOT / file[0])[0]
            size = len(study["datasets"]) * len(study["searches"])
            parts = sorted(
                PARTS_OF & study.keys() | {"replay"} & study.get("evaluation", {}).keys()
            )
            kind = re.sub(r"--cores \d+", "", command.replace(file[0], " ".join(parts)))
        if "--sdm" not in command:
            found[kind] = min(found.get(kind, (size, command)), (size, command))
    return [command for _, command in found.values()]


@pytest.mark.slow
@pytest.mark.parametrize("command", of_each_kind())
def test_snakemake_takes_the_command(command, checkout):
    for word, other in STANDS_FOR.items():
        command = command.replace(word, other)
    options = shlex.split(command)[1:]
    if options not in (["--help"], ["--unlock"]) and "--cores" not in options:
        options += ["--cores", "1"]
    if "--configfile" not in options:
        options += ["--configfile", "study.yaml"]
    if "--config" not in options:  # all repeats have the same jobs
        options += ["--config", "repeats=1"]
    path = checkout.environment["PATH"]
    run(["snakemake", *options, "--dry-run", "--quiet", "all"], checkout.folder, PATH=path)


@pytest.mark.slow
def test_make_writes_the_schema(checkout):
    run(["make", "-o", "env", "schema"], checkout.folder)
    written = json.loads((checkout.folder / "schemas/study.schema.json").read_text("utf-8"))
    assert written == schema.schema()


@pytest.mark.slow
def test_make_on_a_finished_study(checkout):
    def make(*words: str) -> str:
        # What `make env` makes is there: the environment of this test.
        path = checkout.environment["PATH"]
        return run(["make", "-o", "env", *words, "CORES=2"], checkout.folder, PATH=path)

    assert "1 done; 5/5 evaluations" in make("status", "STUDY=study.yaml")
    of_all = [line.split() for line in make("status").splitlines()]
    assert of_all[1] == ["tiny", "1", "0", "1", "results/tiny/report/index.html"]
    assert "5 configurations of 'divbo-small'" in make("table-info", "TABLE=results/tiny")
    assert "Nothing would be made" in make("why", "STUDY=study.yaml")
    assert "no problem" in make("verify", "STUDY=study.yaml", "SAMPLE=1")
    assert "partial-report/index.html" in make("partial", "STUDY=study.yaml")
    assert "tables are equal" in make("reproduce", "MANIFEST=results/tiny/manifest.json")


@pytest.mark.slow
@pytest.mark.parametrize(
    "command",
    [
        "benchmarks/diversity_surrogates.py --space divbo-small --configurations 62 --shuffles 1 "
        "forest-kernel",
        "benchmarks/dpp.py --items 100 --size 5 --steps 100 --points 9",
        "benchmarks/random_configurations.py --dataset sklearn=iris --count 2 --space divbo-small",
    ],
)
def test_benchmarks(command, tmp_path):
    script, *options = shlex.split(command)
    path = forks.environment(tmp_path)["PATH"]
    assert run(["python", ROOT / script, *options], tmp_path, OMP_NUM_THREADS="1", PATH=path)


@pytest.mark.slow
def test_dpp_ensembles_on_a_finished_search(checkout):
    searches = sorted((checkout.folder / "results/tiny/searches").glob("*/*/*"))
    script = ROOT / "benchmarks/dpp_ensembles.py"
    said = run(["python", script, *searches, "--seeds", "1"], PATH=checkout.environment["PATH"])
    for name in ("selection", "uniform", "dpp, map", "dpp, k-dpp, power 50"):
        assert re.search(rf"^\| {name} \| [\d. ]+/[\d. ]+/ [1-5]\.0 \|", said, re.M)


@pytest.mark.slow
def test_rules_for_ties_on_a_finished_search(checkout):
    searches = sorted((checkout.folder / "results/tiny/searches").glob("*/*/*"))
    command = ["python", ROOT / "benchmarks/ties.py", *searches, "--seeds", "2"]
    said = run(command, PATH=checkout.environment["PATH"])
    for ties in ("random", "selected-first", "log-loss"):
        assert re.search(rf"^\S+ +1 {ties} +[\d. ]+$", said, re.M)
