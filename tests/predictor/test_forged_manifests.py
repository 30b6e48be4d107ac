"""Manifests of delivered folders that this project cannot have written are refused in a line."""

import json

import pytest

from ensemble_search.predictor.ensemble import MANIFEST, PREPARATION, load_ensemble
from ensemble_search.runtime.errors import UserError
from support import delivered_folder


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("delivered")
    delivered_folder.make(made, "regression")
    return made


@pytest.fixture
def restored(folder):
    before = {name: (folder / name).read_bytes() for name in (MANIFEST, PREPARATION)}
    yield folder
    for name, content in before.items():
        (folder / name).write_bytes(content)


def forged(folder, change):
    """Change manifest and preparation, and write their checksums anew."""
    manifest = json.loads((folder / MANIFEST).read_text())
    preparation = json.loads((folder / PREPARATION).read_text())
    change(manifest, preparation)
    (folder / PREPARATION).write_text(json.dumps(preparation))
    for key in ("files", "format"):
        manifest.pop(key, None)
    delivered_folder.write_manifest(folder, manifest)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda m, p: m["members"][1].update(evaluation=1), "of the same evaluation"),
        (lambda m, p: m.update(target="a"), "target is one of the columns"),
        (lambda m, p: p["columns"][3].update(fill="nope"), "none of its categories"),
        (lambda m, p: p["columns"][0].update(kind="boolean", fills={"a": 0.5}), "not 0 or 1"),
    ],
)
def test_contradictions_are_refused(restored, change, message):
    forged(restored, change)
    with pytest.raises(UserError, match=message) as found:
        load_ensemble(restored)
    assert "\n" not in str(found.value)


def test_keys_are_there_once(restored):
    text = (restored / MANIFEST).read_text()
    (restored / MANIFEST).write_text(text.replace('"weight":', '"weight": 0.3, "weight":', 1))
    with pytest.raises(UserError, match="has the key 'weight' twice"):
        load_ensemble(restored)
