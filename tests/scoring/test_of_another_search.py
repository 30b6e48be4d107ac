"""Results that lie where those of another search belong: two folders were swapped."""

import re
from pathlib import Path

import pytest

from ensemble_search.results import readers
from ensemble_search.runtime import plugins
from ensemble_search.runtime.errors import UserError
from ensemble_search.runtime.files import read_json, write_json
from ensemble_search.scoring import ensemble_scores, surrogate_quality
from support import finished_study

pytestmark = pytest.mark.slow

OF = {"dataset": "wine", "search": "random", "repeat": 0}
SETTINGS = {"type": "selection", "size": 5}


@pytest.fixture(scope="module")
def root(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("study")
    finished_study.make(folder)
    return folder


@pytest.mark.parametrize(
    ("key", "value", "said"),
    [
        ("dataset", "iris", "dataset is 'wine', not 'iris'"),
        ("search", "bo", "search is 'random', not 'bo'"),
        ("repeat", 1, "repeat is 0, not 1"),
    ],
)
def test_a_search_of_another_name(root, tmp_path, key, value, said):
    places = root / finished_study.SEARCH, root / finished_study.SPLIT
    ensemble_scores.load(*places, 0, OF)
    with pytest.raises(UserError, match=re.escape(said)):
        ensemble_scores.write(*places, SETTINGS, 0, tmp_path / "out", of=OF | {key: value})
    assert not (tmp_path / "out").exists()
    with pytest.raises(UserError, match=re.escape(said)):
        readers.search(places[0], OF | {key: value})


def test_a_search_on_another_split(root, tmp_path):
    split = tmp_path / "split"
    split.mkdir()
    about = read_json(root / finished_study.SPLIT / "split.json")
    write_json(split / "split.json", {"checksum": "0" * 64})
    search = root / finished_study.SEARCH
    with pytest.raises(UserError, match="it is of another split, or of other data"):
        ensemble_scores.load(search, split, 0, OF)
    space = plugins.load("spaces", "divbo-small")()
    assert len(surrogate_quality.read(search, space, data=about["checksum"]).errors)
    with pytest.raises(UserError, match="it is of another split, or of other data"):
        surrogate_quality.read(search, space, data="0" * 64)
