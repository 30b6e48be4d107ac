"""Damaged stored files: every command ends with one line that names the file and the remedy."""

import functools
import json
import re
import shutil
import sys
import tracemalloc
import zipfile
import zlib
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import search as search_script
import status
from ensemble_search.analysis import load
from ensemble_search.data import fetched, normalise, prepare, sources, split
from ensemble_search.jobs import Jobs, notes
from ensemble_search.papers.divbo import autogluon, surrogates
from ensemble_search.papers.dodge import even_coverage
from ensemble_search.report import write
from ensemble_search.results import manifest, readers, states, verification
from ensemble_search.runtime import files, plugins, provenance, slurm
from ensemble_search.runtime.errors import UserError
from ensemble_search.scoring import ensemble_scores, surrogate_quality
from ensemble_search.search import takeover
from ensemble_search.search.journal import Journal
from ensemble_search.study import model as studies
from support.finished_study import ENSEMBLE, SEARCH, SPLIT
from support.made_journal import FINGERPRINT, SHAPES, record

pytestmark = pytest.mark.slow

DATA = Path("results/data/sklearn-wine")
CHECKPOINTS = Path("results/tiny/checkpoints/wine/random/0")
NESTED = b"[" * 100_000


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    """Nothing that has to do with stored files is asked for again and again."""
    monkeypatch.setattr(provenance, "commit", lambda: {"commit": None, "dirty": None})
    monkeypatch.setattr(slurm, "queue", lambda: None)
    read = functools.cache(studies.load_extending)
    monkeypatch.setattr(studies, "load_extending", lambda file, changes: read(file))


def run_search():
    job = Jobs.load("study.yaml").search("wine", "random", 0)
    sys.argv = ["search.py", "--job", job, "--split", str(SPLIT), "--output", str(SEARCH)]
    sys.argv += ["--checkpoints", str(CHECKPOINTS)]
    search_script.main()


def run_split():
    frame, described = fetched.read(DATA)
    settings = json.loads(Jobs.load("study.yaml").split("wine", "fixed"))
    split.write(*prepare.make_split(frame, described, settings), SPLIT)


def run_ensemble():
    ensemble_scores.write(SEARCH, SPLIT, {"type": "best"}, 0, ENSEMBLE)


def run_fetch():
    frame, described = normalise.normalise(sources.read({"sklearn": "wine"}, {}))
    normalise.write(frame, described, DATA)


def run_report():
    write.write(json.loads(Jobs.load("study.yaml").report()), Path("results/tiny"), Path("report"))


def run_status():
    sys.argv = ["status.py", "--study", "study.yaml"]
    with pytest.raises(SystemExit):
        status.main()
    root, loaded = Path("results/tiny"), Jobs.load("study.yaml").study
    raise UserError(states.search_state(root, loaded, "wine", "random", 0)["problems"][0])


def run_verify():
    found = verification.verify(Jobs.load("study.yaml"), Path("results"), 0, 0)
    raise UserError(found.problems[0])


COMMANDS = {
    "snakemake": lambda: notes(Jobs.load("study.yaml")),
    "status": run_status,
    "verify": run_verify,
    "split": run_split,
    "search": run_search,
    "ensemble": run_ensemble,
    "surrogate": lambda: surrogate_quality.read(SEARCH, plugins.load("spaces", "divbo-small")()),
    "report": run_report,
    "losses": lambda: readers.losses(ENSEMBLE),
    "manifest": lambda: manifest.make(
        json.loads(Jobs.load("study.yaml").record()), Path("results/tiny")
    ),
    "autogluon": lambda: autogluon.read(Path("results/tiny"), ["wine"]),
}


def rejected(command: str, path: Path, folder: Path | None = None) -> str:
    """The line with which a command ends; it names the file and says what to do."""
    with pytest.raises(UserError) as caught:
        COMMANDS[command]()
    line = str(caught.value)
    assert str(path) in line and "\n" not in line and line.isprintable(), (command, line)
    assert f"remove the folder '{folder or path.parent}' and run the study again" in line
    return line


#: What reads a file of JSON as a whole, and a key that it needs.
JSON = {
    SEARCH / "search.json": ("status verify report manifest", "fingerprint"),
    SPLIT / "split.json": ("verify report", "classes"),
    ENSEMBLE / "ensemble.json": ("verify", "settings"),
    DATA / "dataset.json": ("verify split manifest", "columns"),
}


@pytest.mark.parametrize("path", JSON, ids=lambda p: p.name)
def test_damaged_json(study, path):
    content, (commands, key) = path.read_bytes(), JSON[path]
    whole = json.loads(content)
    without = {k: v for k, v in whole.items() if k != key}
    damages = [content[: len(content) // 2], b"", b"[1]", b"{}", NESTED, b"\xff" + content]
    damages += [json.dumps(c).encode() for c in ({"files": 5}, without, {**whole, key: 5})]
    damages += [content.replace(b"{", b'{"x": NaN,', 1), b'{"a\\n\\u001b": ']
    for damage in damages:
        path.write_bytes(damage)
        for command in commands.split():
            rejected(command, path)
    path.unlink()
    path.mkdir()
    for command in commands.split():
        rejected(command, path)


@pytest.mark.parametrize("path", JSON, ids=lambda p: p.name)
def test_every_key_of_another_type(study, path):
    """Whichever key it is: it works, or it is one line."""
    whole = json.loads(path.read_bytes())
    for key in whole:
        for value in (None, -1.5, [[]], {"a": [1]}):
            path.write_text(json.dumps({**whole, key: value}))
            for command in {"snakemake", "manifest", "split"} & set(JSON[path][0].split()):
                try:
                    COMMANDS[command]()
                except UserError as error:
                    assert str(path) in str(error) and "\n" not in str(error)


def forged(path: Path, shape: str = "(9999999999999, 13)") -> bytes:
    """A header that promises 1 PB."""
    header = f"{{'descr': '<f8', 'fortran_order': False, 'shape': {shape}, }}".ljust(117) + "\n"
    npy = b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header.encode() + bytes(64)
    if path.suffix == ".npy":
        return npy
    names = ("X_train", "y_validation", "losses")
    with np.load(path) as arrays:
        kept = {name: arrays[name] for name in arrays if name not in names}
    np.savez("forged.npz", **kept)
    with zipfile.ZipFile("forged.npz", "a") as archive:
        for name in names:
            archive.writestr(f"{name}.npy", npy)
    return Path("forged.npz").read_bytes()


#: What reads a file of arrays or a table.
BINARY = {
    SPLIT / "inputs.npz": "search ensemble verify",
    SPLIT / "test_labels.npy": "ensemble verify",
    SEARCH / "predictions-validation.npy": "ensemble surrogate verify",
    SEARCH / "predictions-test.npy": "ensemble verify",
    SEARCH / "observations.parquet": "ensemble surrogate verify report",
    ENSEMBLE / "scores.parquet": "verify report",
    ENSEMBLE / "members.parquet": "verify",
    ENSEMBLE / "losses.npz": "verify losses",
}


@pytest.mark.parametrize("path", BINARY, ids=lambda p: p.name)
@pytest.mark.parametrize("known", [True, False], ids=["with", "without checksums"])
def test_damaged_arrays_and_tables(study, path, known):
    """Where there are checksums they tell; without them, as in older results, the schema does."""
    for sums in (
        () if known else (SEARCH / "search.json", SPLIT / "split.json", ENSEMBLE / "ensemble.json")
    ):
        content = json.loads(sums.read_text())
        del content["files"]
        files.write_json(sums, content)
    content = path.read_bytes()
    damages = [content[: len(content) // 2], b"", b"PAR1 no", b"PK\3\4 no", b"\x93NUMPY", NESTED]
    if path.suffix == ".parquet":
        table = pq.read_table(path)
        damages += [
            parquet(table.drop_columns(table.column_names[:2])),
            parquet(pa.table({name: ["x"] * len(table) for name in table.column_names})),
            parquet(table.set_column(0, "iteration", pa.array([[1]] * len(table)))),
        ]
    else:
        damages += (
            [forged(path), forged(path, "(-1, 2)")] if path.suffix == ".npz" else [forged(path)]
        )
        if known:
            half = len(content) // 2
            damages.append(content[:half] + bytes([content[half] ^ 1]) + content[half + 1 :])
    for damage in damages:
        path.write_bytes(damage)
        tracemalloc.start()
        for command in BINARY[path].split():
            rejected(command, path)
        assert tracemalloc.get_traced_memory()[1] < 200e6
        tracemalloc.stop()


def parquet(table: pa.Table) -> bytes:
    pq.write_table(table, "other.parquet")
    return Path("other.parquet").read_bytes()


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("iterations", [1.0, 2.0]),
        ("iterations", [2, 1]),
        ("iterations", [0, 1]),
        ("samples", [36]),
        ("samples", -36),
        ("samples", 37.0),
        ("samples", 2**40),
        ("losses", np.zeros((2, 36))),
        ("losses", np.zeros((1, 5), np.uint8)),
        ("losses", np.zeros((2, 4), np.uint8)),
        ("losses", np.full((2, 36), np.nan, np.float32)),
        ("losses", np.full((2, 36), -1, np.float32)),
    ],
)
def test_losses_that_are_none(study, name, value):
    path = ENSEMBLE / "losses.npz"
    manifest = json.loads((ENSEMBLE / "ensemble.json").read_text())
    files.write_json(ENSEMBLE / "ensemble.json", manifest | {"files": {}})
    whole = {"iterations": [1, 2], "samples": 36, "losses": np.ones((2, 5), np.uint8)}
    np.savez(path, **whole)
    assert readers.losses(ENSEMBLE)[1].shape == (2, 36)
    np.savez(path, **whole | {name: value})
    for command in ("verify", "losses"):
        rejected(command, path)


def test_a_flipped_bit_anywhere_in_the_inputs_stops_the_search(study):
    path = SPLIT / "inputs.npz"
    content = path.read_bytes()
    for place in np.random.default_rng(0).integers(len(content), size=60):
        path.write_bytes(content[:place] + bytes([content[place] ^ 16]) + content[place + 1 :])
        try:  # a bit without meaning (of a time, say) may go unnoticed
            inputs = split.checked_inputs(SPLIT)
        except files.Unusable as error:
            assert str(path) in str(error)
        else:
            path.write_bytes(content)
            assert inputs.checksum() == split.load_inputs(path).checksum()


REMEDIES = {
    SPLIT: ("inputs.npz", run_split),
    SEARCH: ("search.json", run_search),
    ENSEMBLE: ("scores.parquet", run_ensemble),
    DATA: ("dataset.parquet", run_fetch),
}


@pytest.mark.parametrize("folder", REMEDIES, ids=str)
def test_the_remedy_works(study, folder):
    """After the remedy in the line, the job writes the same files; a search from its journal."""
    name, job = REMEDIES[folder]
    before = {p.name: p.read_bytes() for p in folder.iterdir()}
    (folder / name).write_bytes(before[name][:40])
    line = rejected("verify", folder / name)
    shutil.rmtree(re.search("remove the folder '(.*)' and run", line)[1])
    job()
    after = {p.name: p.read_bytes() for p in folder.iterdir()}
    assert after.keys() == before.keys()
    same = [name for name in after if name != "search.json"]
    assert [after[name] for name in same] == [before[name] for name in same]
    if folder == SEARCH:
        assert json.loads(after["search.json"])["resumed_after"] == 5
    assert verification.verify(Jobs.load("study.yaml"), Path("results"), 0, 0).problems == []


def test_progress(study, capsys):
    """It holds no result: the status says what to remove, and nothing else reads it."""
    path = CHECKPOINTS / "progress.json"
    whole = json.loads(path.read_text())
    for damage in ([1], {}, {**whole, "done": "5"}, {**whole, "seconds": -1}, {**whole, "unit": 3}):
        path.write_text(json.dumps(damage))
        with pytest.raises(UserError, match=f"remove '{path}'"):
            run_status()
        assert f"problem: cannot read '{path}': " in capsys.readouterr().out
    path.write_bytes(NESTED)
    with pytest.raises(UserError, match=f"remove '{path}'"):
        run_status()
    path.unlink()
    status.main()  # which would end the process if there were a problem


@pytest.mark.parametrize(
    "damage", [NESTED, b"[]", b"\xff", b'{"status": 5}', b'{"status": "ok", "reason": ""}']
)
def test_scores_of_autogluon(study, damage):
    path = Path("results/tiny/autogluon/wine/scores.json")
    path.parent.mkdir(parents=True)
    path.write_bytes(damage)
    for command in ("autogluon", "verify"):
        rejected(command, path)


def test_quality_of_a_surrogate(study):
    path = Path("results/tiny/surrogates/wine/forest-kernel/0/quality.parquet")
    columns = {n: ["x" if k == "string" else 1] for n, k in readers.QUALITY.items()}
    section = {
        "datasets": None,
        "names": ["forest-kernel"],
        "repeats": 1,
        "sizes": [1],
        "held_out": 1,
    }
    study = {
        "datasets": ["wine"],
        "seed": 0,
        "space": "divbo",
        "surrogates": {**section, "held_out": 1},
    }
    COMMANDS["surrogates"] = lambda: surrogates.load(study, Path("results/tiny"))
    for table, job in (
        (columns, None), (columns, "[]"), (columns, NESTED.decode()), ({"tau": [1.0]}, "{}"),
        ({**columns, "tau": ["x"]}, "{}"),
    ):  # fmt: skip
        files.write_parquet(path, table, job and {"ensemble_search.job": job})
        rejected("surrogates", path)
        rejected("verify", path)
    del COMMANDS["surrogates"]


def test_spread_of_designs(study):
    path = Path("results/tiny/spread/sobol/spread.parquet")
    whole = {name: [1] for name in readers.SPREAD}
    study = {"spread": {"sizes": [1], "samples": 1}, "seed": 0}
    COMMANDS["spread"] = lambda: even_coverage.load(study, Path("results/tiny"))
    for table, job in (
        (whole, None), (whole, "[]"), (whole, NESTED.decode()), ({"size": [1]}, "{}"),
        ({**whole, "size": [0]}, "{}"), ({**whole, "centre": [None]}, "{}"),
        ({**whole, "origin": [1.1]}, "{}"), ({**whole, "discrepancy": [float("nan")]}, "{}"),
    ):  # fmt: skip
        files.write_parquet(path, table, job and {"ensemble_search.job": job})
        rejected("spread", path)
        rejected("verify", path)
    del COMMANDS["spread"]
    files.write_parquet(path, whole, {"ensemble_search.job": "{}"})
    assert verification.verify(Jobs.load("study.yaml"), Path("results"), 0, 0).problems == []


def test_the_report_is_not_written_of_damaged_results(study):
    (ENSEMBLE / "scores.parquet").write_bytes(b"PAR1")
    content = json.loads(Jobs.load("study.yaml").report())
    assert len(load.load(content, Path("results/tiny")).damaged) == 1
    rejected("report", ENSEMBLE / "scores.parquet")
    assert not Path("report").exists()


# Journals

LINES = {
    "no mapping": lambda c: [1],
    "a key missing": lambda c: {k: v for k, v in c.items() if k != "status"},
    "a key more": lambda c: {**c, "x": 1},
    "a status that is none": lambda c: {**c, "status": "well"},
    "seconds that are text": lambda c: {**c, "fit_seconds": "1"},
    "no error": lambda c: {**c, "error": None},
    "a configuration of lists": lambda c: {**c, "configuration": {"x": [1]}},
}


@pytest.mark.parametrize("change", LINES)
def test_a_line_that_is_whole_but_wrong_is_rejected_and_can_be_removed(tmp_path, change):
    with Journal(tmp_path / "j", FINGERPRINT, SHAPES) as journal:
        journal.append(record(0))
        crc = journal._crc
        journal.append(record(1))
    path = tmp_path / "j/journal.jsonl"
    first, second = path.read_bytes().splitlines(keepends=True)
    text = json.dumps(LINES[change](json.loads(second[9:]))).encode()
    path.write_bytes(first + f"{zlib.crc32(text, crc):08x} ".encode() + text + b"\n")
    before = {p.name: p.read_bytes() for p in path.parent.iterdir() if p.name != "lock"}
    with pytest.raises(UserError) as caught, Journal(tmp_path / "j", FINGERPRINT, SHAPES):
        pass
    assert f"cannot read '{path}': line 2: " in str(caught.value)
    assert f"remove line 2 and what follows it, or the folder '{path.parent}'" in str(caught.value)
    assert before == {p.name: p.read_bytes() for p in path.parent.iterdir() if p.name != "lock"}
    path.write_bytes(first)
    with Journal(tmp_path / "j", FINGERPRINT, SHAPES) as journal:
        assert len(journal.records) == 1


def test_a_damaged_fingerprint(tmp_path, capsys):
    limited = {**FINGERPRINT, "limits": {"seconds": 10, "memory_mb": 2000}, "threads": 1}
    with Journal(tmp_path / "old", limited, SHAPES) as journal:
        journal.append(record(0))
    path = tmp_path / "old/fingerprint.json"
    new = {**limited, "limits": {"seconds": 20, "memory_mb": 2000}}
    for number, damage in enumerate(
        (NESTED, b"[]", b"\xff", json.dumps({**limited, "limits": 5}).encode())
    ):
        path.write_bytes(damage)
        with Journal(tmp_path / f"new-{number}", new, SHAPES) as journal:
            takeover.take_over(journal)
            assert journal.records == []
        shutil.rmtree(tmp_path / f"new-{number}")
        assert f"nothing is taken over from '{path.parent}'" in capsys.readouterr().err
    with (
        pytest.raises(UserError, match=r"or its fingerprint.json to keep"),
        Journal(path.parent, limited, SHAPES),
    ):
        pass
    path.unlink()
    with Journal(path.parent, limited, SHAPES) as journal:
        assert len(journal.records) == 1
