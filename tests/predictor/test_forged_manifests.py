"""Manifests of delivered folders that this project cannot have written are rejected in a line."""

import json
import os
import shutil

import numpy as np
import pytest

from ensemble_search.predictor import ensemble, stored
from ensemble_search.predictor.ensemble import MANIFEST, PREPARATION, load_ensemble
from ensemble_search.runtime.errors import UserError
from ensemble_search.runtime.files import sha256
from support import delivered_folder

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("delivered")
    delivered_folder.make(made, "regression")
    return made


@pytest.fixture(scope="module")
def three_classes(tmp_path_factory):
    made = tmp_path_factory.mktemp("classes")
    delivered_folder.make(made, "classification")
    return made


@pytest.fixture
def restored(folder):
    before = {name: (folder / name).read_bytes() for name in (MANIFEST, PREPARATION)}
    yield folder
    for name, content in before.items():
        (folder / name).write_bytes(content)


def forged(folder, change):
    """Change manifest and preparation, and rewrite their checksums."""
    manifest = json.loads((folder / MANIFEST).read_text())
    preparation = json.loads((folder / PREPARATION).read_text())
    change(manifest, preparation)
    (folder / PREPARATION).write_text(json.dumps(preparation))
    known = {path.relative_to(folder).as_posix() for path in folder.rglob("*")}
    more = {name: own for name, own in manifest.pop("files").items() if name not in known}
    manifest.pop("format")
    delivered_folder.write_manifest(folder, manifest)
    if more:
        made = json.loads((folder / MANIFEST).read_text())
        (folder / MANIFEST).write_text(json.dumps(made | {"files": made["files"] | more}))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda m, p: m["members"].append(m["members"][0] | {"weight": 1e-12}), "same evaluation"),
        (lambda m, p: [own.update(target="a") for own in (m, p)], "target is one of the columns"),
        (lambda m, p: p["columns"][3].update(fill="nope"), "none of its categories"),
        (lambda m, p: p["columns"][0].update(kind="boolean", fills={"a": 0.5}), "not 0 or 1"),
        (lambda m, p: p["columns"][0].update(kind="boolean", fills={"a": 1}), "columns are not"),
        (lambda m, p: p["columns"][2].update(kind="date", fills={"c.year": 1}), "columns are not"),
        (lambda m, p: p["columns"][0].update(read="numbers in kg"), "columns are not"),
        (lambda m, p: p["columns"].reverse(), "columns are not"),
        (lambda m, p: p.update(target="other"), "target or columns are not"),
        (lambda m, p: m.pop("columns"), r"an earlier version .* the folder's own '.*predict.py'"),
        (lambda m, p: m["members"][0].update(evaluation=77), "member 77 is not 'members/77'"),
        (lambda m, p: p["columns"][0].update(fills={"a": 1e39}), "imputed values of 'a'"),
        (lambda m, p: p["columns"][3].update(words="rb", fill="r"), "are not a list"),
        (lambda m, p: m["files"].update({"a/" * 3000 + "a": "0"}), "no name is so long"),
    ],
)
def test_contradictions_are_rejected(restored, change, message):
    forged(restored, change)
    with pytest.raises(UserError, match=message) as found:
        load_ensemble(restored)
    assert "\n" not in str(found.value)


def test_a_checksum_may_have_capital_letters(folder):
    digest = sha256(folder / MANIFEST)
    assert load_ensemble(folder, digest.upper()).manifest == load_ensemble(folder, digest).manifest
    with pytest.raises(UserError, match="it is another ensemble"):
        load_ensemble(folder, digest[:-1])


def test_keys_are_there_once(restored):
    text = (restored / MANIFEST).read_text()
    (restored / MANIFEST).write_text(text.replace('"weight":', '"weight": 0.3, "weight":', 1))
    with pytest.raises(UserError, match="has the key 'weight' twice"):
        load_ensemble(restored)


@pytest.mark.parametrize("checksum", [None, "0" * 64])
def test_the_length_of_a_manifest_is_checked_before_it_is_read(tmp_path, checksum):
    with (tmp_path / MANIFEST).open("wb") as file:
        file.truncate(2**45)  # which takes no space, and days to read
    with pytest.raises(UserError, match="has more than 16 MiB"):
        load_ensemble(tmp_path, checksum)


def test_long_classes_take_few_rows_at_a_time(three_classes):
    before = (three_classes / MANIFEST).read_bytes()
    forged(three_classes, lambda m, p: m.update(classes=["x", "y", "z" * 2**20]))
    model = load_ensemble(three_classes)
    (three_classes / MANIFEST).write_bytes(before)
    assert model.rows_ * 2**20 <= stored.ENTRIES


def test_numbers_are_finite_whatever_their_digits(restored):
    text = (restored / MANIFEST).read_text()
    (restored / MANIFEST).write_text(text.replace('"std":', '"more": 1e999, "std":', 1))
    with pytest.raises(UserError, match="it holds 1e999"):
        load_ensemble(restored)


def test_predictions_beyond_double_precision_are_an_error(restored):
    forged(restored, lambda m, p: m.update(mean=1e300, std=1e300))
    model = load_ensemble(restored)
    model.combine = lambda found: np.full((1, 1), 1e9)
    with pytest.raises(UserError, match="numbers beyond double precision"):
        model.predict({name: column[:1] for name, column in delivered_folder.columns().items()})


@pytest.mark.parametrize(
    ("classes", "message"),
    [
        (["x", "y", "z\0"], "not those of the members"),
        ("xyz", "not a list of text"),
        (["x", "y", "z" * 40], "too many letters"),
        ([1, 2, 3], "not a list of text"),
    ],
)
def test_classes_are_what_predictions_say(classes, message, three_classes, monkeypatch):
    monkeypatch.setattr(ensemble, "MOST_LETTERS", 100)
    forged(three_classes, lambda m, p: m.update(classes=classes))
    with pytest.raises(UserError, match=message):
        load_ensemble(three_classes)


@pytest.mark.parametrize(
    ("classes", "labels", "expected"),
    [
        (["-1", "0", "12"], "numbers", np.array([-1, 0, 12])),
        (["x", "False", "True"], "booleans", "KeyError: 'x'"),
        (["-1", "0", "012"], "numbers", "not those of the members"),
        (["-1", "0", "1e3"], "numbers", "invalid literal"),
        (["-1", "0", "9" * 19], "numbers", "OverflowError"),
        (["x", "y", "z"], "days", "KeyError: 'days'"),
        (["x", "y", "z"], ["numbers"], "TypeError: "),
    ],
)
def test_labels_have_the_type_of_the_target(classes, labels, expected, three_classes):
    before = (three_classes / MANIFEST).read_bytes()
    forged(three_classes, lambda m, p: m.update(classes=classes, labels=labels))
    if isinstance(expected, str):
        with pytest.raises(UserError, match=expected):
            load_ensemble(three_classes)
    else:
        model = load_ensemble(three_classes)
        assert model.classes_.dtype == expected.dtype
        assert model.classes_.tolist() == expected.tolist()
        rows = {name: column[:9] for name, column in delivered_folder.columns().items()}
        predicted = model.predict(rows)
        assert predicted.dtype == expected.dtype
        assert model.score(rows, predicted) == model.score(rows, predicted.astype(str)) == 1
    (three_classes / MANIFEST).write_bytes(before)


@pytest.mark.parametrize("name", [MANIFEST, PREPARATION, "members/1/member.npz"])
@pytest.mark.parametrize("kind", ["link", "link to nowhere", "folder", "pipe"])
def test_what_is_no_file_is_not_called_missing(folder, tmp_path, name, kind):
    copy = tmp_path / "copy"
    shutil.copytree(folder, copy)
    (copy / name).rename(tmp_path / "kept")
    if kind == "folder":
        (copy / name).mkdir()
    elif kind == "pipe":
        os.mkfifo(copy / name)
    else:
        (copy / name).symlink_to(tmp_path / ("kept" if kind == "link" else "nowhere"))
    says = f"^'{copy / name}' is {'a link' if 'link' in kind else 'not a file'}; "
    with pytest.raises(UserError, match=says):
        load_ensemble(copy)
