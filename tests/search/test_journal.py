"""The journal: what is appended is there after any cut, and nothing else is."""

import errno
import json
import multiprocessing
import os
import re
import shutil
from contextlib import suppress
from dataclasses import replace

import numpy as np
import pytest

from ensemble_search.evaluation.base import Evaluation
from ensemble_search.metrics.error import Error
from ensemble_search.problems.classification import CLASSIFICATION
from ensemble_search.runtime.errors import UserError
from ensemble_search.runtime.files import write_rows
from ensemble_search.runtime.names import PARTS, PREDICTIONS
from ensemble_search.search import journal as journals
from ensemble_search.search.journal import Journal, Record, differences
from support.made_journal import FINGERPRINT, SHAPES, equal, record

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("loss", [float("nan"), float("inf"), -0.5, "0.5", None])
def test_a_loss_that_is_no_loss_is_rejected(loss):
    class Odd(Error):
        title = "odd"

        def loss(self, labels, predictions, weights=None):
            return loss

    problem = replace(CLASSIFICATION, metric=Odd())
    predictions = np.full((4, 1), 0.5, dtype=np.float32)
    found = Evaluation("ok", predictions, predictions, 1.0, 1.0, 0.1, 1.0, "", "")
    said = re.escape(f"metric 'odd': its loss is {loss!r}; it must be a finite number of 0 or more")
    with pytest.raises(UserError, match=said):
        Record.of({}, found, np.zeros(4, dtype=int), problem)


@pytest.fixture
def folder(tmp_path):
    path = tmp_path / "journal"
    with Journal(path, FINGERPRINT, SHAPES) as journal:
        for i in range(6):
            journal.append(record(i))
    return path


def read(folder) -> list[Record]:
    with Journal(folder, FINGERPRINT, SHAPES) as journal:
        return list(journal.records)


def test_round_trip_is_exact(folder):
    records = read(folder)
    assert len(records) == 6
    assert all(equal(r, record(i)) for i, r in enumerate(records))


@pytest.mark.parametrize("file", ["journal.jsonl", "predictions.f32"])
def test_cut_at_every_byte(folder, tmp_path, file):
    """What is left is a prefix, from which the search continues to the same journal."""
    whole = {p.name: p.read_bytes() for p in folder.iterdir()}
    counts = []
    size = len(whole[file])
    for cut in range(size):
        copy = tmp_path / f"cut-{cut}"
        shutil.copytree(folder, copy)
        (copy / file).write_bytes(whole[file][:cut])
        with Journal(copy, FINGERPRINT, SHAPES) as journal:
            counts.append(len(journal.records))
            assert all(equal(r, record(i)) for i, r in enumerate(journal.records))
            for i in range(len(journal.records), 6):
                journal.append(record(i))
        for name in ("journal.jsonl", "predictions.f32"):
            assert (copy / name).read_bytes() == whole[name]
        shutil.rmtree(copy)
    assert counts == sorted(counts)
    assert counts[0] == 0
    assert max(counts) < 6


@pytest.mark.parametrize("file", ["journal.jsonl", "predictions.f32"])
@pytest.mark.parametrize("zeros", [1, 40, 10**6])
def test_zeroed_tail(folder, file, zeros):
    content = (folder / file).read_bytes()
    zeros = min(zeros, len(content))
    (folder / file).write_bytes(content[: len(content) - zeros] + b"\0" * zeros)
    records = read(folder)
    assert len(records) < 6
    assert all(equal(r, record(i)) for i, r in enumerate(records))


def test_a_flipped_byte_in_the_middle_drops_what_follows_and_says_so(folder, capsys):
    lines = (folder / "journal.jsonl").read_bytes()
    middle = len(lines) // 2
    flipped = lines[:middle] + bytes([lines[middle] ^ 1]) + lines[middle + 1 :]
    (folder / "journal.jsonl").write_bytes(flipped)
    arrays = (folder / "predictions.f32").read_bytes()
    left = len(read(folder))
    assert 0 < left < 6
    said = capsys.readouterr().err
    assert f"evaluation {left + 1} is damaged or of another search: dropped" in said
    assert (folder / "journal.jsonl.damaged").read_bytes() == flipped
    assert (folder / "predictions.f32.damaged").read_bytes() == arrays


def test_foreign_fingerprint_is_rejected_and_nothing_is_touched(folder):
    before = {p.name: p.read_bytes() for p in folder.iterdir() if p.name != "lock"}
    other = {**FINGERPRINT, "optimizer": {"optimizer": "bo", "initial": 10}}
    with pytest.raises(UserError) as caught, Journal(folder, other, SHAPES):
        pass
    assert "optimizer.initial: 5 there, 10 here" in str(caught.value)
    assert "\n" not in str(caught.value)
    assert before == {p.name: p.read_bytes() for p in folder.iterdir() if p.name != "lock"}


@pytest.mark.parametrize("text", ["", "{", "1", "\0\0\0"])
def test_a_torn_fingerprint_is_written_again(folder, text):
    (folder / "fingerprint.json").write_text(text, encoding="utf-8")
    assert len(read(folder)) == 6
    assert json.loads((folder / "fingerprint.json").read_text()) == {"format": 2, **FINGERPRINT}


def test_a_journal_copied_from_another_search_is_not_taken(folder, tmp_path):
    """Neither with its own fingerprint, which is rejected, nor without."""
    other = {**FINGERPRINT, "seed": [0, 2]}
    (folder / "fingerprint.json").write_text(json.dumps(other), encoding="utf-8")
    with Journal(folder, other, SHAPES) as journal:
        assert journal.records == []


@pytest.mark.parametrize("change", ["removed", "swapped", "doubled"])
def test_lines_out_of_their_place_are_not_taken(folder, change):
    """Evaluations 3 and 6 failed: they have no predictions that would give them away."""
    path = folder / "journal.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    changed = {
        "removed": lines[:2] + lines[3:],
        "swapped": [*lines[:2], lines[5], *lines[3:5], lines[2]],
        "doubled": lines[:3] + lines[2:],
    }
    path.write_bytes(b"".join(changed[change]))
    expected = 3 if change == "doubled" else 2
    records = read(folder)
    assert len(records) == expected
    assert all(equal(r, record(i)) for i, r in enumerate(records))


def test_differences_of_nested_keys():
    assert differences({"a": {"b": 1}, "c": 2}, {"a": {"b": 3}, "c": 2}) == ["a.b: 1 there, 3 here"]
    assert differences({"a": 1}, {}) == ["a: 1 there, None here"]


def _hold(folder, ready, done):
    with Journal(folder, FINGERPRINT, SHAPES):
        ready.set()
        done.wait(30)


def test_second_writer_is_rejected_and_a_dead_one_is_not(folder):
    context = multiprocessing.get_context("spawn")
    ready, done = context.Event(), context.Event()
    process = context.Process(target=_hold, args=(folder, ready, done))
    process.start()
    assert ready.wait(30)
    with (
        pytest.raises(UserError, match=f"process {process.pid} on "),
        Journal(folder, FINGERPRINT, SHAPES),
    ):
        pass
    process.kill()
    process.join()
    assert len(read(folder)) == 6


def test_full_disk_leaves_the_journal_as_it_was(folder, monkeypatch):
    before = (folder / "journal.jsonl").read_bytes(), (folder / "predictions.f32").read_bytes()
    write = journals.os.write

    def full(file, data):
        if len(data) > 30:
            write(file, bytes(data)[:20])  # some of it goes through, as on a real disk
            raise OSError(28, "No space left on device")
        return write(file, data)

    with Journal(folder, FINGERPRINT, SHAPES) as journal:
        monkeypatch.setattr(journals.os, "write", full)
        with pytest.raises(UserError, match="No space left on device"):
            journal.append(record(6))
        monkeypatch.undo()
        assert len(journal.records) == 6
    assert before == (
        (folder / "journal.jsonl").read_bytes(),
        (folder / "predictions.f32").read_bytes(),
    )


def test_folder_that_cannot_be_made(tmp_path):
    (tmp_path / "file").write_text("")
    with (
        pytest.raises(UserError, match="cannot write"),
        Journal(tmp_path / "file" / "journal", FINGERPRINT, SHAPES),
    ):
        pass


@pytest.fixture
def output(tmp_path):
    """The predictions of a finished search of six evaluations."""
    for name, part, shape in zip(PREDICTIONS, PARTS, SHAPES, strict=True):
        write_rows(tmp_path / "output" / name, [getattr(record(i), part) for i in range(6)], shape)
    return tmp_path / "output"


def share(folder, output) -> None:
    with Journal(folder, FINGERPRINT, SHAPES) as journal:
        journal.share(output)


def went_on(folder) -> bool:
    """Whether it has the first evaluations, and the same ones after a seventh and eighth."""
    for last in (7, 8):
        with Journal(folder, FINGERPRINT, SHAPES) as journal:
            found = len(journal.records)
            for i in range(found, last):
                journal.append(record(i))
        if not all(equal(r, record(i)) for i, r in enumerate(read(folder))):
            return False
    return len(read(folder)) == 8


def test_a_finished_search_stores_its_predictions_once(folder, output):
    own = (folder / "predictions.f32").read_bytes()
    share(folder, output)
    assert (folder / "predictions.f32").stat().st_size == 0
    for name in PREDICTIONS:
        assert (folder / name).samefile(output / name)
    stored = {name: (output / name).read_bytes() for name in PREDICTIONS}
    assert [equal(r, record(i)) for i, r in enumerate(read(folder))] == [True] * 6
    with Journal(folder, FINGERPRINT, SHAPES) as journal:
        journal.append(record(6))
    assert (folder / "predictions.f32").read_bytes().startswith(own)
    assert not any((folder / name).exists() for name in PREDICTIONS)
    assert {name: (output / name).read_bytes() for name in PREDICTIONS} == stored


def test_removed_results_stay_in_the_journal(folder, output):
    share(folder, output)
    shutil.rmtree(output)
    assert len(read(folder)) == 6
    assert went_on(folder)


@pytest.mark.parametrize("code", [errno.EXDEV, errno.EPERM, errno.EMLINK])
def test_without_links_the_journal_keeps_its_copy(folder, output, monkeypatch, code):
    def reject(*_, **__):
        raise OSError(code, os.strerror(code))

    own = (folder / "predictions.f32").read_bytes()
    with monkeypatch.context() as patch:
        patch.setattr(os, "link", reject)
        share(folder, output)
    assert (folder / "predictions.f32").read_bytes() == own
    assert went_on(folder)


def test_a_full_disk_leaves_shared_predictions_and_no_others(folder, output, monkeypatch):
    def reject(*_):
        raise OSError(errno.ENOSPC, "no space")

    share(folder, output)
    with Journal(folder, FINGERPRINT, SHAPES) as journal, monkeypatch.context() as patch:
        patch.setattr(os, "fsync", reject)
        with pytest.raises(UserError, match=r"cannot write .*: no space"):
            journal.append(record(6))
    assert (folder / "predictions.f32").stat().st_size == 0
    assert went_on(folder)


def test_evaluations_are_synced_at_most_once_a_second(folder, monkeypatch):
    now, synced = [0.0], []
    sync = os.fsync
    with Journal(folder, FINGERPRINT, SHAPES) as journal:
        monkeypatch.setattr("time.monotonic", lambda: now[0])
        monkeypatch.setattr(os, "fsync", lambda file: (synced.append(now[0]), sync(file)))
        for now[0] in (5.0, 5.5, 5.9, 6.0, 6.5, 100.0):
            journal.append(record(len(journal.records)))
        before = list(synced)
    assert before == [5.0, 5.0, 6.0, 6.0, 100.0, 100.0]  # predictions, then lines
    assert len(synced) == 8  # at the end


class Killed(BaseException):
    pass


def kill_at(patch, moment: int, after: bool) -> list[str]:
    """Raise at a call to the system, before or after it, and at all that follow; list the calls."""
    made = []

    def watch(name, call):
        def watched(*arguments, **more):
            made.append(name)
            if len(made) > moment or (len(made) == moment and not after):
                raise Killed
            call(*arguments, **more)
            if len(made) == moment:
                raise Killed

        patch.setattr(os, name, watched)

    for name in ("link", "replace", "unlink", "ftruncate", "fsync"):
        watch(name, getattr(os, name))
    return made


@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize("shared", [False, True])
def test_killed_while_sharing_or_adding(folder, output, tmp_path, shared, after):
    """Nothing is lost, whichever of the two copies is there."""
    if shared:
        share(folder, output)
    made, moment = [None], 0
    while len(made) >= moment:
        moment += 1
        copy = tmp_path / f"killed-{moment}"
        shutil.copytree(folder, copy)
        with (
            Journal(copy, FINGERPRINT, SHAPES) as journal,
            pytest.MonkeyPatch.context() as patch,
            suppress(Killed),
        ):
            made = kill_at(patch, moment, after)
            if shared:
                journal.append(record(6))
            else:
                journal.share(output)
        assert 6 <= len(read(copy)) <= 7
        if not shared:
            share(copy, output)
            assert all((copy / name).samefile(output / name) for name in PREDICTIONS)
        assert went_on(copy)
    assert moment > 6


@pytest.mark.parametrize("name", PREDICTIONS)
@pytest.mark.parametrize("damage", ["cut", "flipped", "removed", "emptied", "other"])
def test_damaged_results_cost_what_follows_the_damage(folder, output, name, damage):
    share(folder, output)
    path, content = folder / name, (folder / name).read_bytes()
    if damage == "cut":
        path.write_bytes(content[:-20])
    elif damage == "flipped":
        path.write_bytes(content[:-20] + bytes([content[-20] ^ 1]) + content[-19:])
    elif damage == "removed":
        path.unlink()
    elif damage == "emptied":
        path.write_bytes(b"")
    else:
        np.save(path, np.zeros((6, 1, 1)))
    assert len(read(folder)) < 6
    assert went_on(folder)


@pytest.mark.parametrize(
    "place", ["", "journal", "journal/lock", "journal/journal.jsonl", "journal/predictions.f32"]
)
def test_a_link_to_nowhere_is_named(tmp_path, place):
    link = tmp_path / "results" / place
    link.parent.mkdir(parents=True, exist_ok=True)
    link.symlink_to(tmp_path / "unplugged/disk")
    says = f"^'{link}' is a link to '{tmp_path / 'unplugged/disk'}', which does not exist: "
    with pytest.raises(UserError, match=says):
        read(tmp_path / "results/journal")


def test_a_file_instead_of_the_folder_is_named(tmp_path):
    (tmp_path / "journal").write_text("mine")
    with pytest.raises(UserError, match=f"^'{tmp_path / 'journal'}' is not a folder; move it"):
        read(tmp_path / "journal")
