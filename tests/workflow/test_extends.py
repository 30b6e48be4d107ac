"""Studies that extend another: what they inherit, and which searches they share."""

import copy
import json
import os
import re
from pathlib import Path

import pytest
import yaml

from ensemble_search.jobs import Jobs
from ensemble_search.runtime.errors import UserError
from ensemble_search.runtime.locks import lock
from ensemble_search.study import model, schema
from support import ROOT, STUDIES
from support.checkout import Checkout

pytestmark = pytest.mark.slow

MAIN = {
    "study": "main",
    "datasets": {"wine": {"sklearn": "wine"}, "iris": {"sklearn": "iris"}},
    "repeats": 2,
    "budget": {"evaluations": 6},
    "limits": {"seconds": 60, "memory_mb": 3000},
    "space": "divbo-small",
    "searches": {
        "random": {"optimizer": "random"},
        "bo": {"optimizer": "bo"},
        "spare": {"optimizer": "bo", "initial": 3},
    },
    "ensembles": {"best": {"type": "best"}, "es": {"type": "selection", "size": 5}},
    "methods": {
        "RS": {"search": "random", "ensemble": "best"},
        "BO": {"search": "bo", "ensemble": "best"},
    },
}
ABLATION = {
    "extends": "../main.yaml",
    "study": "ablation",
    "datasets": {"wine": {"sklearn": "wine"}},
    "searches": {"late": {"optimizer": "bo", "initial": 4}},
    "methods": {
        "RS-ES": {"search": "random", "ensemble": "es"},
        "BO": {"search": "bo", "ensemble": "best"},
        "Late": {"search": "late", "ensemble": "best"},
    },
}


def write(folder: Path, main: dict, ablation: dict) -> Path:
    """Write both studies, and return the path of the one that extends."""
    (folder / "studies").mkdir(exist_ok=True)
    (folder / "main.yaml").write_text(yaml.safe_dump(main), encoding="utf-8")
    path = folder / "studies/ablation.yaml"
    path.write_text(yaml.safe_dump(ablation), encoding="utf-8")
    return path


def test_what_is_not_written_is_inherited(tmp_path):
    path = write(tmp_path, MAIN, {**ABLATION, "limits": {"seconds": 9}})
    loaded = model.load(path, {"budget": {"evaluations": "8"}, "limits": {"memory_mb": 2000}})
    assert (loaded.study, loaded.repeats, loaded.space) == ("ablation", 2, "divbo-small")
    assert (set(loaded.datasets), set(loaded.methods)) == ({"wine"}, {"RS-ES", "BO", "Late"})
    assert set(loaded.searches) == {"random", "bo", "spare", "late"}
    assert set(loaded.ensembles) == {"best", "es"}
    assert loaded.budget.evaluations == 8  # --config: on top, and key by key
    assert loaded.limits.model_dump() == {"seconds": 9, "memory_mb": 2000}
    own = model.load(write(tmp_path, MAIN, {**ABLATION, "limits": {"seconds": 9}}))
    assert own.limits.memory_mb == 4096  # written: as a whole, the default of a limit included
    (tmp_path / "main.yaml").write_text(yaml.safe_dump({**MAIN, "repeats": 5}))
    assert model.load(path).repeats == 5


@pytest.mark.parametrize(
    ("main", "ablation", "says"),
    [
        ({}, {"extends": "main.yaml"}, "ablation.yaml: extends: there is no file '"),
        ({"extends": "x.yaml"}, {}, r"ablation.yaml: extends: '.*' extends a study itself; name"),
        (
            {"extends": "studies/ablation.yaml"},
            {},
            r"ablation.yaml: extends: '.*main.yaml' extends this",
        ),
        ({"repeaats": 1}, {}, r"main.yaml: repeaats: unknown key; did you mean 'repeats'\?"),
        ({}, {"repeaats": 1}, r"ablation.yaml: repeaats: unknown key; did you mean 'repeats'\?"),
        ({}, {"study": ...}, "ablation.yaml: study: is missing"),
        ({}, {"study": "Main"}, "ablation.yaml: study: 'Main' is the name of the study that it e"),
        ({}, {"extends": 3}, "ablation.yaml: extends: must be text"),
        ({}, {"searches": []}, "ablation.yaml: searches: must be a mapping"),
    ],
)
def test_each_mistake_gets_one_line(tmp_path, main, ablation, says):
    written = {k: v for k, v in {**ABLATION, **ablation}.items() if v is not ...}
    with pytest.raises(UserError, match=says) as caught:
        model.load(write(tmp_path, {**MAIN, **main}, written))
    assert "\n" not in str(caught.value)


def test_schema_asks_only_for_what_is_not_inherited():
    import jsonschema

    validator = jsonschema.Draft202012Validator(schema.schema())
    assert validator.is_valid(ABLATION)
    assert validator.is_valid(MAIN)
    assert not validator.is_valid({**ABLATION, "extends": None})
    assert not validator.is_valid({k: v for k, v in ABLATION.items() if k != "study"})


def shared(tmp_path, main=None, ablation=None) -> set[str]:
    """Names of the searches that the ablation shares with the main study."""
    jobs = Jobs.load(str(write(tmp_path, main or MAIN, ablation or ABLATION)))
    assert {dataset for dataset, _ in jobs.shared} <= {"wine"}
    return {search for _, search in jobs.shared}


def test_searches_with_the_same_settings_are_shared(tmp_path):
    assert shared(tmp_path) == {"random", "bo"}
    written_out = copy.deepcopy(ABLATION)
    written_out["searches"]["bo"] = {"optimizer": "bo", "initial": 5}
    assert shared(tmp_path, ablation=written_out) == {"random", "bo"}


@pytest.mark.parametrize(
    "change",
    [
        {"seed": 1},
        {"space": "divbo"},
        {"budget": {"evaluations": 7}},
        {"limits": {"seconds": 61, "memory_mb": 3000}},
        {"split": {"seed": 2}},
        {"split": {"resample": "per-repeat"}},
        {"split": {"resample": 2}},
        {"datasets": {"wine": {"sklearn": "iris"}}},
        {"datasets": {"Wine": {"sklearn": "wine"}}},
    ],
    ids=str,
)
def test_a_study_that_differs_shares_nothing(tmp_path, change):
    jobs = Jobs.load(str(write(tmp_path, MAIN, {**ABLATION, **change})))
    assert jobs.shared == set()
    assert "homes" not in jobs.report()


def test_searches_of_other_settings_or_of_no_method_are_not_shared(tmp_path):
    other = copy.deepcopy(ABLATION)
    other["searches"]["bo"] = {"optimizer": "bo", "initial": 4}
    other["methods"]["Spare"] = {"search": "spare", "ensemble": "best"}
    assert shared(tmp_path, ablation=other) == {"random"}


def test_repeats_beyond_the_extended_study_are_its_own(tmp_path):
    jobs = Jobs.load(str(write(tmp_path, MAIN, {**ABLATION, "repeats": 3})))
    homes = [jobs.home("wine", "bo", repeat).study.study for repeat in range(3)]
    assert homes == ["main", "main", "ablation"]


@pytest.mark.parametrize(
    ("name", "new", "shared_ones"),
    [
        ("weights", 5 * 2, 5 * 1),
        ("strategies", 0, 5 * 1),
        ("sizes", 0, 5 * 2),
        ("k-bo", 5 * 1, 5 * 2),
        ("autogluon", 5 * 2, 0),
        ("sensitivity", 2 * 19, 2 * 1),
        ("surrogates", 0, 2 * 3),
        ("authors", 15 * 2, 15 * 3),
    ],
)
def test_ablations_share_the_searches_of_the_paper_study(name, new, shared_ones, monkeypatch):
    """Data sets x searches; each has 10 repeats."""
    monkeypatch.chdir(ROOT)
    jobs = Jobs.load(str(STUDIES[name]))
    wanted = {(d, s) for d in jobs.study.datasets for s in jobs.study.used("search")}
    assert (len(wanted - jobs.shared), len(jobs.shared)) == (new, shared_ones)
    assert jobs.study.repeats == jobs.extended.study.repeats == 10


def rule_blocks() -> dict[str, str]:
    """The text of every rule of the workflow that runs something, by name."""
    blocks = {}
    for path in sorted((ROOT / "rules").glob("*.smk")):
        parts = re.split(r"^rule (\w+):$", path.read_text(encoding="utf-8"), flags=re.M)
        blocks |= dict(zip(parts[1::2], parts[2::2], strict=True))
    return blocks


@pytest.mark.parametrize(("name", "text"), rule_blocks().items(), ids=rule_blocks())
def test_every_rule_says_what_it_needs(name, text):
    for entry in ("    log:", "    benchmark:", "    threads:", "mem_mb=", "runtime="):
        assert entry in text, entry


class Both(Checkout):
    """A checkout with both studies; commands run the one in ``file``."""

    file = ""

    def command(self, *arguments: str) -> list[str]:
        return ["snakemake", "--cores", "2", "--configfile", self.file, *arguments]

    def plan(self, file: str) -> dict[str, int]:
        """Jobs by rule that running this study would need, report and manifest aside."""
        self.file = file
        last = {"all", "report", "manifest"}
        return {rule: n for rule, n in self.planned().items() if rule not in last}

    def run(self, file: str, *arguments: str, fails: bool = False) -> str:
        """Run this study, its report aside."""
        self.file = file
        return self.snakemake(*(arguments or ("--until", "ensemble")), fails=fails)


@pytest.fixture(scope="module")
def both(tmp_path_factory):
    """A main study that ran after its ablation, and the jobs that were left to it."""
    checkout = Both(tmp_path_factory.mktemp("both"))
    write(checkout.folder, MAIN_OF_ONE, ABLATION)
    checkout.run(ABLATION_FILE)
    checkout.main_after_ablation = checkout.plan(MAIN_FILE)
    checkout.run(MAIN_FILE)
    return checkout


MAIN_FILE, ABLATION_FILE = "main.yaml", "studies/ablation.yaml"
MAIN_OF_ONE = {**MAIN, "repeats": 1, "datasets": ABLATION["datasets"]}


@pytest.fixture
def restored(both):
    """The same checkout, for tests that write other studies into it and run nothing."""
    yield both
    write(both.folder, MAIN_OF_ONE, ABLATION)


def made_searches(text: str) -> set[str]:
    """Folders of the searches that a dry run names."""
    return set(re.findall(r"^    output: (results/\S+)/observations.parquet", text, flags=re.M))


def test_nothing_runs_twice(both):
    assert both.main_after_ablation == {"ensemble": 2}
    searches = {
        name: {path.name for path in (both.folder / f"results/{name}/searches/wine").iterdir()}
        for name in ("main", "ablation")
    }
    assert searches == {"main": {"random", "bo"}, "ablation": {"late"}}
    assert both.plan(ABLATION_FILE) == {}


def test_an_ablation_of_a_finished_study_runs_only_what_is_new(restored):
    more = copy.deepcopy(ABLATION)
    more["searches"]["early"] = {"optimizer": "bo", "initial": 3}
    more["methods"]["Early"] = {"search": "early", "ensemble": "best"}
    more["methods"]["Late-ES"] = {"search": "late", "ensemble": "es"}
    write(restored.folder, MAIN_OF_ONE, more)
    assert restored.plan(ABLATION_FILE) == {"search": 1, "ensemble": 2}


def test_a_changed_limit_ends_the_sharing(restored):
    write(restored.folder, MAIN_OF_ONE, {**ABLATION, "limits": {"seconds": 50}})
    text = restored.run(ABLATION_FILE, "--dry-run")
    made = made_searches(text)
    assert {
        "results/ablation/searches/wine/bo/0",
        "results/ablation/searches/wine/random/0",
    } <= made
    assert "results/main/" not in text


def test_an_edit_of_the_extended_study_counts_for_both(restored):
    write(restored.folder, {**MAIN_OF_ONE, "budget": {"evaluations": 9}}, ABLATION)
    assert made_searches(restored.run(ABLATION_FILE, "--dry-run")) == {
        "results/ablation/searches/wine/late/0",
        "results/main/searches/wine/bo/0",
        "results/main/searches/wine/random/0",
    }


def test_status_and_report_find_shared_searches(both, monkeypatch):
    from ensemble_search.analysis.load import load

    run = both.script("status", "--study", ABLATION_FILE)
    assert "3 searches: 3 done; 18/18 evaluations" in run.stdout
    assert "Shared with the study 'main', in its folder: 2 searches" in run.stdout
    monkeypatch.chdir(both.folder)
    told = json.loads(Jobs.load(ABLATION_FILE).report())
    results = load(told, Path("results/ablation"))
    assert results.missing.empty
    assert set(results.manifests.search) == {"random", "bo", "late"}
    assert results.scores.groupby("method", observed=True).size().to_dict() == {
        "RS-ES": 6,
        "BO": 6,
        "Late": 6,
    }
    assert results.datasets.classes.tolist() == [3]
    assert results.predictions("wine", "bo", 0, "test").shape == (6, 36, 3)
    assert set(told["searches"]) == {"random", "bo", "late"}


def test_a_study_whose_files_are_made_is_locked_and_one_that_is_only_read_is_not(both):
    with lock(both.folder / "results/main/.lock", "it"):
        both.run(
            ABLATION_FILE, "--force", "results/ablation/ensembles/wine/bo/best/0/scores.parquet"
        )
        text = both.run(
            ABLATION_FILE, "--force", "results/main/searches/wine/bo/0/search.json", fails=True
        )
    assert f"the study in 'results/main' is being written by process {os.getpid()} on " in text
    assert "Traceback" not in text
    assert (both.folder / "results/main/searches/wine/bo/0/search.json").is_file()
