"""Stored results are compared with their checksums, and a sample is recomputed."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import yaml

import verify as script
from ensemble_search.analysis import load
from ensemble_search.evaluation.table import Table
from ensemble_search.jobs import Jobs, check_splits
from ensemble_search.results import tables, verification
from ensemble_search.results.manifest import study_hash
from ensemble_search.runtime.errors import UserError
from ensemble_search.runtime.files import checksums, write_json, write_parquet
from ensemble_search.search.run import run_job
from ensemble_search.spaces.divbo_small import DivboSmall
from ensemble_search.study import model
from support import SCRIPTS
from support.finished_study import ENSEMBLE, SEARCH, SPLIT, STUDY

pytestmark = pytest.mark.slow


def problems(sample: int = 0) -> list[str]:
    found = verification.verify(Jobs.load("study.yaml"), Path("results"), sample, 0).problems
    assert not any("\n" in line for line in found)
    return found


def test_an_untouched_study_has_no_problem_and_gives_the_same_numbers(study):
    before = {p: p.read_bytes() for p in Path("results").rglob("*") if p.is_file()}
    found = verification.verify(Jobs.load("study.yaml"), Path("results"), 2, 0)
    assert found.problems == []
    assert (found.folders, found.same, found.rounded) == (4, 2, 0)
    assert before == {p: p.read_bytes() for p in Path("results").rglob("*") if p.is_file()}


def test_a_study_that_has_not_run_has_no_problem(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("study.yaml").write_text(yaml.safe_dump(STUDY), encoding="utf-8")
    assert problems(3) == []


def test_files_of_others_are_no_problem(study):
    """No remedy may remove what is around them."""
    for folder in ("searches", "searches/wine", "ensembles/wine/random", "splits"):
        (Path("results/tiny") / folder / "note.txt").write_text("mine")
    assert problems() == []


def test_every_damaged_or_missing_file_is_found(study):
    """One flipped bit in the middle; manifests and data, of which values count, are cut there."""
    stored = [p for p in sorted(Path("results").rglob("*")) if p.is_file()]
    stored = [p for p in stored if "checkpoints" not in p.parts]
    assert len(stored) == 14
    for path in stored:
        content = path.read_bytes()
        middle = len(content) // 2
        flipped = content[:middle] + bytes([content[middle] ^ 1]) + content[middle + 1 :]
        cut = path.suffix == ".json" or path.name == "dataset.parquet"
        for damaged in (content[:middle] if cut else flipped, b"", None):
            path.unlink() if damaged is None else path.write_bytes(damaged)
            found = problems()
            assert found, path
            assert str(path) in found[0] or str(path.parent) in found[0]
            assert "remove the folder" in found[0]
        path.write_bytes(content)
    assert problems() == []


def forge(change) -> None:
    """Change the predictions, and the manifest of the search with them."""
    path = SEARCH / "predictions-validation.npy"
    predictions = np.load(path)
    np.save(path, change(predictions))
    manifest = json.loads((SEARCH / "search.json").read_text())
    manifest["files"] |= checksums(SEARCH, [path.name])
    write_json(SEARCH / "search.json", manifest)


def test_results_that_do_not_belong_together_are_found(study):
    forge(lambda p: p[:, ::-1])
    manifest = json.loads((SEARCH / "search.json").read_text())
    manifest["fingerprint"]["data"] = "0"
    manifest["seed"] = 7
    write_json(SEARCH / "search.json", manifest)
    found = problems(sample=1)
    assert len(found) == 4
    assert "search.json' was made from other data than" in found[0]
    assert "search.json' was made with other settings: seed: 7 there, 0 here" in found[1]
    assert "ensemble.json' was made from other predictions than its search has" in found[2]
    assert "predicts otherwise now, by up to " in found[3]


def test_a_split_of_other_data_or_settings_is_found(study):
    """Two folders were swapped before their searches started: all that follows is consistent."""
    path = SPLIT / "split.json"
    made = json.loads(path.read_text())
    other_seed = {"settings": {**made["settings"], "seed": 8}}
    data = "it is not a split of the data in 'results/data/sklearn-wine'"
    for change, reason in (
        ({"source_checksum": "0" * 64}, data),
        (other_seed, "it was drawn by other settings, or another seed"),
    ):
        write_json(path, made | change)
        said = (
            f"cannot read '{path}': {reason}; remove the folder '{SPLIT}' and run the study again"
        )
        assert problems() == [said]
        with pytest.raises(UserError) as error:
            check_splits(*kept("study.yaml"))
        assert str(error.value) == said
    write_json(path, {key: made[key] for key in ("checksum", "classes", "files")})
    assert problems() == [], "older versions did not write them"
    stack = {"ensembles": {"best": {"type": "stacking"}}}
    check_splits(*kept("study.yaml", **stack))


def kept(file: str, **changes) -> tuple:
    """Jobs of the study, and the splits that a run finds."""
    content = yaml.safe_load(Path(file).read_text()) | changes
    jobs = Jobs(model.check(content))
    return jobs, [(jobs, "wine", "fixed")]


def test_a_split_that_is_there_is_compared_with_what_ensembles_need(study):
    """Of the 71 rows of the largest class of wine, 14 are for validation and 14 for the test."""
    for folds in (43, 44):
        ensembles = {"stack": {"type": "stacking", "folds": folds}, "best": {"type": "best"}}
        methods = {"a": {"search": "random", "ensemble": "stack"}}
        there = kept("study.yaml", ensembles=ensembles, methods=methods)
        if folds == 43:
            check_splits(*there)
            continue
        with pytest.raises(UserError, match=r"^config.yaml: ensembles.stack.folds: .* has 43;"):
            check_splits(*there)
    check_splits(*kept("study.yaml", ensembles=ensembles))  # which no method uses


def test_rounding_is_no_problem(study):
    forge(lambda p: p * np.float32(1 - 1e-6))
    shutil.rmtree(ENSEMBLE)
    found = verification.verify(Jobs.load("study.yaml"), Path("results"), 1, 0)
    assert (found.problems, found.same, found.rounded) == ([], 0, 1)


def test_a_replay_is_no_problem_unless_its_table_is_damaged(study, monkeypatch):
    table = Path("tables/wine/fixed")
    tables.build([SEARCH], table)
    Path("study.yaml").write_text(yaml.safe_dump({**STUDY, "evaluation": {"replay": "tables"}}))
    shutil.rmtree(SEARCH)
    shutil.rmtree(ENSEMBLE)
    jobs = Jobs.load("study.yaml")
    run_job(
        json.loads(jobs.search("wine", "random", 0)),
        SPLIT,
        Path("journal"),
        SEARCH,
        table=Table.read(table),
    )
    found = verification.verify(jobs, Path("results"), 3, 0)
    assert (found.problems, found.same) == ([], 3)
    with monkeypatch.context() as patch:  # as if its models had been made elsewhere
        patch.setattr(verification, "LookedUp", DivboSmall)
        again = verification.verify(jobs, Path("results"), 3, 0)
    assert (again.problems, again.same, again.folders) == ([], 0, found.folders)
    file = table / "predictions-test.npy"
    content = file.read_bytes()
    file.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    (problem,) = verification.verify(jobs, Path("results"), 0, 0).problems
    assert problem.startswith(f"'{file}'")
    file.unlink()
    found = verification.verify(jobs, Path("results"), 0, 0)
    assert all("copy the table again" in problem for problem in found.problems)
    assert any(str(file) in problem for problem in found.problems)


def test_other_spaces_and_older_results_are_no_problem(study):
    """A space without the hyperparameter algorithm, and observations without a fidelity."""
    path = SEARCH / "observations.parquet"
    frame = pd.read_parquet(path).drop(columns=["config.algorithm", "fidelity"])
    write_parquet(path, frame)
    manifest = json.loads((SEARCH / "search.json").read_text())
    manifest["files"] |= checksums(SEARCH, [path.name])
    write_json(SEARCH / "search.json", manifest)
    assert problems() == []
    observed = load.load(json.loads(Jobs.load("study.yaml").report()), Path("results/tiny"))
    assert observed.observations["fidelity"].tolist() == [1.0] * 5
    write_parquet(path, frame.drop(columns="why"))
    manifest["files"] |= checksums(SEARCH, [path.name])
    write_json(SEARCH / "search.json", manifest)
    assert "it has no column 'why'" in problems()[0]


def test_older_ensembles_have_no_losses_of_single_samples(study):
    manifest = json.loads((ENSEMBLE / "ensemble.json").read_text())
    del manifest["files"]["losses.npz"]
    write_json(ENSEMBLE / "ensemble.json", manifest)
    (ENSEMBLE / "losses.npz").unlink()
    assert problems() == []


def test_another_version_of_a_library_of_the_space_is_named(study, monkeypatch):
    forge(lambda p: p[:, ::-1])
    manifest = json.loads((SEARCH / "search.json").read_text())
    manifest["versions"]["pandas"] = "0"
    write_json(SEARCH / "search.json", manifest)
    monkeypatch.setattr(DivboSmall, "libraries", ("pandas",))
    assert any("; pandas: 0 there, " in line for line in problems(sample=1))


@pytest.mark.parametrize(
    ("folder", "use"), [(SEARCH, ENSEMBLE), (SPLIT, SEARCH), (Path("results/data"), SPLIT)]
)
def test_folders_that_others_were_made_from_are_missed(study, folder, use):
    shutil.rmtree(folder)
    (line,) = [line for line in problems() if "is missing, but" in line]
    assert line.startswith(f"'{folder}") and f"'{use}' was made from it" in line


def test_after_the_report_no_folder_may_be_missing(study):
    jobs = Jobs.load("study.yaml")
    described = json.loads(jobs.record())["study"]
    shutil.rmtree(SEARCH)
    shutil.rmtree(ENSEMBLE)
    found = verification.verify(jobs, Path("results"), 0, 0)
    assert (found.problems, found.missing, found.searches) == ([], 1, 1)
    report = Path("results/tiny/manifest.json")
    write_json(report, {"study_hash": study_hash(described)})
    both = [f"'{f}' is missing, but '{report}' was made from it" for f in (SEARCH, ENSEMBLE)]
    assert [line.partition(";")[0] for line in sorted(problems(), reverse=True)] == both
    write_json(report, {"study_hash": study_hash({**described, "repeats": 0})})
    assert problems() == []  # of the study as it was before
    report.write_text('{"study_hash": ')
    (line,) = problems()
    assert line.startswith(f"cannot read '{report}': ")
    assert line.endswith("; remove the file and run the study again")


def test_the_script(study):
    (SEARCH / "predictions-test.npy").unlink()
    command = [sys.executable, SCRIPTS / "verify.py", "--study", "study.yaml", "--sample", "0"]
    environment = os.environ | {"PYTHONPATH": str(SCRIPTS)}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    first, last = done.stdout.splitlines()
    assert first == (
        f"problem: '{SEARCH / 'predictions-test.npy'}' is missing; remove the folder '{SEARCH}' "
        "and run the study again"
    )
    assert last.startswith("4 folders checked; ")
    assert last.endswith("; 1 problem")
    shutil.rmtree(SEARCH)
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert "; searches without results: 1 of 1; " in done.stdout.splitlines()[-1]


def test_a_sample_has_no_negative_size(monkeypatch):
    monkeypatch.setattr(sys, "argv", ["verify.py", "--sample=-3"])
    with pytest.raises(UserError, match=r"^SAMPLE \(--sample\): -3 is not 0 or more$"):
        script.main()
