"""A study made from its manifest, and tables compared cell by cell; nothing is run."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

import reproduce
from ensemble_search.jobs import Jobs
from ensemble_search.optimizers.ask_tell import AskTell
from ensemble_search.results import manifest, reproduction
from ensemble_search.runtime import files
from ensemble_search.runtime.errors import UserError
from ensemble_search.study.model import Study
from support import ROOT, STUDIES

pytestmark = pytest.mark.slow


def test_shared_searches_are_looked_for_where_they_lie():
    record = {
        "study": {
            "datasets": {"a": {}, "b": {}},
            "methods": {"X": {"search": "bo"}, "Y": {"search": "bo"}},
            "repeats": 2,
            "surrogates": {"datasets": ["b"]},
        },
        "homes": {"bo": {"a": {"study": "main", "repeats": 1}}},
    }
    assert [str(path) for path in manifest.searches(record, Path("results/mine"))] == [
        "results/main/searches/a/bo/0/search.json",
        "results/mine/searches/a/bo/1/search.json",
        "results/mine/searches/b/bo/0/search.json",
        "results/mine/searches/b/bo/1/search.json",
        "results/mine/configurations/b/search.json",
    ]


@pytest.mark.parametrize(
    "file", [ROOT / "config.yaml", *STUDIES.values()], ids=lambda file: file.stem
)
def test_every_study_comes_back_whole_from_its_manifest(file, tmp_path, monkeypatch):
    """After defaults, on top of no other study, through JSON and YAML: the same searches."""
    # Environments of other libraries are made by `make peers`.
    monkeypatch.setattr(AskTell, "_python", Path(sys.executable))
    jobs = Jobs.load(str(file))
    content = {**json.loads(jobs.record())["study"], "openml": {}}
    made = {"study": content, "plugins": {"files": {}}}
    if replay := jobs.study.evaluation.replay:
        (tmp_path / replay).mkdir(parents=True)
    study, _ = reproduction.study(made, tmp_path, tmp_path)
    (tmp_path / "study.yaml").write_text(yaml.safe_dump(study))
    again = Jobs.load(str(tmp_path / "study.yaml"))
    assert manifest.study_hash(json.loads(again.record())["study"]) == manifest.study_hash(
        made["study"]
    )
    for dataset in jobs.study.datasets:
        for search in jobs.study.used("search"):
            assert again.search(dataset, search, 1) == jobs.search(dataset, search, 1)


def test_data_files_are_those_of_the_original_folder(tmp_path):
    """Relative paths start where the study ran; what is not there is named, in one line."""
    made = {
        "plugins": {"files": {}},
        "study": {
            "datasets": {"mine": {"file": "data/mine.csv", "target": "y"}},
            "openml": {"cache": str(tmp_path / "gone")},
            "budget": {"evaluations": 3, "seconds": None},
            "extends": "../main.yaml",
        },
    }
    with pytest.raises(UserError, match=r"datasets\.mine\.file: there is no file '.*mine\.csv'"):
        reproduction.study(made, tmp_path, tmp_path / "reproduced/x")
    (tmp_path / "data").mkdir()
    (tmp_path / "data/mine.csv").touch()
    study, notes = reproduction.study(made, tmp_path, tmp_path / "reproduced/x")
    assert study["datasets"]["mine"]["file"] == "../../data/mine.csv"
    assert study["openml"]["cache"] is None
    assert "extends" not in study
    assert [note.split(":")[0] for note in notes] == ["openml.cache"]


def test_tables_of_another_study_are_those_of_the_original_folder(tmp_path):
    made = {
        "plugins": {"files": {}},
        "study": {
            "datasets": {"wine": {"sklearn": "wine"}},
            "deliver": {"method": "RS", "test": "further.csv"},
            "openml": {},
            "budget": {"evaluations": 3, "seconds": None},
            "evaluation": {"replay": "results/other/tables"},
            "tables": None,
            "study": "mine",
        },
    }
    with pytest.raises(UserError, match=r"evaluation\.replay: there are no tables in '.*tables'"):
        reproduction.study(made, tmp_path, tmp_path / "reproduced/x")
    (tmp_path / "results/other/tables").mkdir(parents=True)
    study, (note,) = reproduction.study(made, tmp_path, tmp_path / "reproduced/x")
    assert study["evaluation"] == {"replay": "../../results/other/tables"}
    assert "deliver" not in study
    assert note.startswith("deliver: left out")
    made["study"]["tables"] = {"random": 9}
    study, _ = reproduction.study(made, tmp_path, tmp_path / "reproduced/x")
    assert study["evaluation"] == {"replay": "../../results/other/tables"}
    made["study"]["evaluation"] = {"replay": "results/mine/tables/"}  # recomputed
    study, _ = reproduction.study(made, tmp_path, tmp_path / "reproduced/x")
    assert study["evaluation"] == {"replay": "results/mine/tables/"}
    made["study"]["evaluation"] = {"warm_start": {"bo": "results/other/tables"}}
    study, _ = reproduction.study(made, tmp_path, tmp_path / "reproduced/x")
    assert study["evaluation"] == {"warm_start": {"bo": "../../results/other/tables"}}
    made["study"]["evaluation"] = {"warm_start": {"bo": "results/nothing"}}
    with pytest.raises(UserError, match=r"evaluation\.warm_start\.bo: there are no tables in"):
        reproduction.study(made, tmp_path, tmp_path / "reproduced/x")


def test_measured_columns_are_not_compared_but_other_shapes_are(tmp_path):
    files = {
        "a.csv": ("x,predict_seconds,cpu_hours\n1,2,3\n", "x,predict_seconds,cpu_hours\n1,9,9\n"),
        "b.csv": ("x\n1\n", "x\n1\n2\n"),
        "c.csv": ("x,y\n1,2\n", "x,z\n1,2\n"),
        "d.csv": ("x,y\nok,1\n,2\n", "x,y\nno,1\n3,2.5\n"),
        "time.csv": ("x\n1\n", "x\n2\n"),
    }
    for name, texts in files.items():
        for folder, text in zip(("there", "here"), texts, strict=True):
            (tmp_path / folder).mkdir(exist_ok=True)
            (tmp_path / folder / name).write_text(text)
    (tmp_path / "there/only.csv").write_text("x\n")
    found = reproduction.compare(tmp_path / "there", tmp_path / "here")
    assert {name: str(result) for name, result in found.items()} == {
        "a.csv": "equal (1 cells)",
        "b.csv": "2 rows; there 1",
        "c.csv": "other columns: x, z; there x, y",
        "d.csv": "3 of 4 cells differ, numbers by up to 0.5",
        "only.csv": "is missing here",
    }


@pytest.fixture
def call(tmp_path, monkeypatch):
    """Reproduce a manifest of a study of wine and a file, changed; nothing is run for it."""
    folder = tmp_path / "there/results/mine"
    (folder / "report/tables").mkdir(parents=True)
    (tmp_path / "repository").mkdir()
    table, data = folder / "report/tables/a.csv", tmp_path / "there/data.csv"
    table.write_text("x\n1\n")
    data.write_text("x,y\n1,2\n")
    study = Study(
        study="mine",
        datasets={"wine": {"sklearn": "wine"}, "mine": {"file": "data.csv", "target": "y"}},
        searches={"random": {"optimizer": "random"}},
        ensembles={"best": {"type": "best"}},
        methods={"Random": {"search": "random", "ensemble": "best"}},
    )
    facts = {"source": {}, "version": None, "md5": None, "checksum": "", "rows": 1, "features": 1}
    made = {
        "study_hash": "",
        "written": "2026-01-01T00:00:00+00:00",
        **{"commit": "0" * 40, "dirty": False, "versions": {"python": "3"}},
        "machine": {"host": "x", "processors": 2, "architecture": "x", "system": "x"},
        "searches": {"ran_with": []},
        "data": {"wine": facts, "mine": {**facts, "md5": files.md5(data)}},
        **{"shared": {}, "tables": {"a.csv": files.sha256(table)}},
        "study": study.model_dump(mode="json"),
    }
    file = folder / "manifest.json"
    monkeypatch.chdir(tmp_path / "repository")
    ran = []
    monkeypatch.setattr(reproduce, "snakemake", lambda folder, *_: ran.append(folder) or sys.exit())

    def call(change=lambda made: made):
        content = change(made)
        if not isinstance(content, bytes):
            if isinstance(content.get("study"), dict) and "study_hash" in content:
                content["study_hash"] = manifest.study_hash(content["study"])
            content = json.dumps(content).encode()
        file.write_bytes(content)
        monkeypatch.setattr(sys, "argv", ["reproduce.py", "--cores", "2", "--", str(file)])
        with pytest.raises(SystemExit):
            reproduce.main()
        return ran

    return call


def at(made, path):
    """Return what holds the last key of a path of keys, such as ``study/openml/server``."""
    *above, last = path.split("/")
    for key in above:
        made = made[key]
    return made, last


def put(path, value):
    """Set what lies at a path of keys."""

    def change(made):
        place, last = at(made, path)
        place[last] = value
        return made

    return change


def rename(path, new):
    """Give what lies at a path another name there."""

    def change(made):
        place, last = at(made, path)
        place[new] = place.pop(last)
        return made

    return change


def beside(tmp_path):
    """All that there is, but for the manifest itself."""
    return sorted(p for p in tmp_path.rglob("*") if p.name != "manifest.json")


NAMES = [
    "../../x",
    "/x",
    "..",
    ".",
    "",
    "a/b",
    "-x",
    "x" * 65,
    "x\n",
    "x\0",
    "\ud800",
    "a b",
    "$(x)",
]
NESTED = b"[" * 200_000
#: What would be a wrong value elsewhere.
RIGHT = (
    *(
        ("dirty", True),
        ("searches/ran_with", []),
        ("data/wine/rows", 5),
        ("data/wine/rows", 10**400),
    ),
    ("study/openml/cache", "\0"),  # a folder that is not here
)


def without(*keys):
    return lambda made: {key: value for key, value in made.items() if key not in keys}


#: Places of code that is outside the folders of plugins, or could not be imported.
HOSTILE_FILES = (
    *("../a.py", "/a.py", "optimizers/../a.py", "optimizers/a.sh", "optimizers//a.py", "a.py"),
    *("learners/a.py", "optimizers/.a.py", "optimizers/a.py\n", "optimizers", "metrics/a/../b.py"),
)
NO_PACKAGES = ("a.b", "no_such", "", "__main__")


@pytest.mark.parametrize(
    "change",
    [
        *(put("study/study", name) for name in NAMES),
        *(
            rename(path, name)
            for path in (
                *("study/datasets/mine", "study/searches/random", "study/ensembles/best"),
                *("study/methods/Random", "tables/a.csv", "data/mine"),
            )
            for name in NAMES
        ),
        *(rename("tables/a.csv", n) for n in ("../../a.csv", "/a.csv", "a.txt", "%2e.csv", ".csv")),
        *(put("commit", c) for c in ("--force", "-b x", "; touch x", "$(touch x)", "main", "", 7)),
        *(put("format", other) for other in (1, 99, "2", None)),
        *(put("written", w) for w in ("a\nb", "\x1b[31m", "x" * 201, None, {})),
        put("versions", {"python": "\x1b[2J"}),
        put("machine", {"system\n": "x"}),
        *(without(key) for key in sorted({*reproduction.Manifest.model_fields} - {"plugins"})),
        *(put("plugins", {"files": {name: ""}, "packages": {}}) for name in HOSTILE_FILES),
        *(
            put("plugins", {"files": {}, "packages": {n: "1"}})
            for n in ("a.b", "no_such", "", "__main__")
        ),
        *(put("plugins", wrong) for wrong in ([], 5, {}, {"files": {"optimizers/a.py": 1}})),
        *(
            put(path, wrong)
            for path in (
                *("dirty", "versions", "machine", "searches", "searches/ran_with"),
                *("data", "data/wine", "data/wine/rows", "shared", "tables", "tables/a.csv"),
                *("study", "study/study", "study/datasets", "study/datasets/mine/file"),
                *("study/searches", "study/budget", "study/openml", "study/openml/cache"),
            )
            for wrong in ([], 5, 10**400, float("inf"), float("nan"), [[{}]], True, "\0")
            if (path, wrong) not in RIGHT
        ),
        put("study/openml/server", "http://tmp./"),
        put("study/datasets/mine/file", "/etc/passwd"),
        put("study/datasets/mine/file", "../secret.csv"),
        put("study/datasets/mine/file", "/dev/zero"),
        put("study/datasets/mine/file", "x" * 5000),
        *(
            lambda made, content=content: content
            for content in (b"", b"\xff", b"5", b"null", b"[]")
        ),
        *(
            lambda made, content=content: content
            for content in (NESTED, b'{"a":' * 200_000, b"9" * 5000, '"ä"'.encode("utf-16"))
        ),
        lambda made: b'{"study": {"a": ' + NESTED + b"}}",
    ],
)
def test_a_hostile_manifest_costs_a_line_and_makes_nothing(call, tmp_path, change):
    (tmp_path / "secret.csv").write_text("x,y\n1,3\n")
    before = beside(tmp_path)
    with pytest.raises(UserError) as caught:
        call(change)
    line = str(caught.value)
    assert "\n" not in line
    assert "\x1b" not in line
    assert len(line) < 6000
    assert beside(tmp_path) == before


def test_an_honest_manifest_is_run_below_reproduced(call, tmp_path):
    (folder,) = call()
    assert folder.parts[0] == "reproduced"
    content = yaml.safe_load((folder / "study.yaml").read_text())
    assert content["datasets"]["mine"]["file"] == "../../../there/data.csv"


CODE = put("plugins", {"files": {"optimizers/mine.py": "1 / 0\n"}, "packages": {}})


def test_code_of_a_manifest_runs_only_if_it_is_trusted(call, monkeypatch):
    with pytest.raises(UserError, match=r"has code of its own.*optimizers/mine\.py; read it in"):
        call(CODE)
    (folder,) = Path("reproduced").iterdir()
    assert [p for p in folder.rglob("*") if p.is_file()] == [folder / "plugins/optimizers/mine.py"]
    parse = reproduction.write_plugins
    monkeypatch.setattr(reproduction, "write_plugins", lambda *a: parse(*a[:2], True))
    assert call(CODE) == [folder]
    assert yaml.safe_load((folder / "study.yaml").read_text())["plugins"] == ["plugins"]
    (folder / "plugins/pages").mkdir()
    (folder / "plugins/pages/own.py").touch()
    with pytest.raises(UserError, match=r"plugins/pages/own\.py' is not of the manifest; remove"):
        call(CODE)


def test_another_version_of_a_package_with_parts_is_named(call, capsys):
    call(put("plugins", {"files": {}, "packages": {"yaml": "0.1"}}))
    assert "plugins: yaml: 0.1 there, " in capsys.readouterr().out


@pytest.mark.parametrize("part", ["plugins", "plugins/optimizers", "plugins/optimizers/mine.py"])
def test_code_of_a_manifest_is_not_written_through_links(call, tmp_path, part):
    with pytest.raises(UserError):
        call(CODE)
    (folder,) = Path("reproduced").iterdir()
    shutil.rmtree(folder / "plugins")
    (folder / part).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / "elsewhere").mkdir()
    (folder / part).symlink_to(tmp_path / "elsewhere")
    with pytest.raises(UserError, match="a link; remove it"):
        call(CODE)
    assert list((tmp_path / "elsewhere").iterdir()) == []


def test_a_file_outside_is_read_if_it_is_the_one_of_the_manifest(call, tmp_path):
    (tmp_path / "data.csv").write_bytes((tmp_path / "there/data.csv").read_bytes())
    call(put("study/datasets/mine/file", str(tmp_path / "data.csv")))
    (tmp_path / "there/link.csv").symlink_to(tmp_path / "secret.csv")
    (tmp_path / "secret.csv").write_text("x,y\n1,3\n")
    with pytest.raises(UserError, match=r"lies outside '.*', where the study ran, and is not"):
        call(put("study/datasets/mine/file", "link.csv"))


def test_a_file_of_test_rows_is_looked_for_too(call, tmp_path):
    shutil.copy(tmp_path / "there/data.csv", tmp_path / "there/more.csv")
    (folder,) = call(put("study/datasets/mine/test", "more.csv"))
    written = yaml.safe_load((folder / "study.yaml").read_text())["datasets"]["mine"]
    assert (folder / written["test"]).resolve() == (tmp_path / "there/more.csv").resolve()
    (tmp_path / "there/more.csv").unlink()
    with pytest.raises(UserError, match=r"datasets\.mine\.test: there is no file"):
        call(put("study/datasets/mine/test", "more.csv"))


@pytest.mark.parametrize("part", ["", "results", "results/mine", "results/data", "study.yaml"])
def test_links_do_not_lead_out_of_reproduced(call, tmp_path, part):
    (folder,) = call()
    (folder / "study.yaml").unlink()
    link = folder / part
    if part:
        link.parent.mkdir(exist_ok=True)
    else:
        folder.rmdir()
    (tmp_path / "elsewhere").mkdir()
    link.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(UserError, match="is a link; remove it"):
        call()
    assert list((tmp_path / "elsewhere").iterdir()) == []


@pytest.mark.parametrize("content", ["x\n1,2\n", "x,y\n1\n", '"' + "x" * 200_000, "x\udcff\n"])
def test_a_table_that_is_none_is_rejected_before_anything_is_run(call, tmp_path, content):
    table = tmp_path / "there/results/mine/report/tables/a.csv"
    table.write_text(content, errors="surrogateescape")
    with pytest.raises(UserError, match=r"a\.csv' is not a table") as caught:
        call(put("tables/a.csv", files.sha256(table)))
    assert "\n" not in str(caught.value)


def test_a_manifest_that_lies_nowhere(call, tmp_path, monkeypatch):
    with pytest.raises(UserError, match=r"must lie in results/<study>/"):
        reproduce._home(Path("/manifest.json"))
    monkeypatch.setattr(sys, "argv", ["reproduce.py", "x" * 5000])
    with pytest.raises(UserError, match="there is no manifest"):
        reproduce.main()


@pytest.mark.parametrize(
    "name",
    ["$(touch made)", "`touch made`", '"; touch made; "', "$(shell touch made)", "-h", "it's"],
)
def test_make_hands_names_of_files_over_as_they_are(tmp_path, name):
    """Neither make nor the shell looks into them."""
    (tmp_path / ".venv/bin").mkdir(parents=True)
    (tmp_path / "envs").mkdir()
    (tmp_path / "envs/requirements.lock").touch()
    (tmp_path / ".venv/installed").touch()
    python = tmp_path / ".venv/bin/python"
    python.write_text('#!/bin/sh\nprintf "%s\\n" "$@" > said\n')
    python.chmod(0o755)
    (tmp_path / "Makefile").write_text((ROOT / "Makefile").read_text())
    # What begins with a hyphen is no option to argparse either.
    for target, variable, option in (
        ("reproduce", "MANIFEST", ""),
        ("status", "STUDY", "--study="),
        ("ensemble", "TARGET", "--target="),
        ("table", "FROM", "--from="),
    ):
        command = ["make", "-s", target, f"{variable}={name}"]
        subprocess.run(command, cwd=tmp_path, check=True, env={"PATH": os.environ["PATH"]})
        assert f"{option}{name}" in (tmp_path / "said").read_text().splitlines()
        assert not (tmp_path / "made").exists()
