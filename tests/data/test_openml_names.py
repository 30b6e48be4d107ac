"""Data sets of OpenML by their names, from a stand-in for the server and from a cache."""

import json

import openml
import pytest

from ensemble_search.data import sources
from ensemble_search.runtime.errors import UserError
from ensemble_search.study import model
from support.openml_server import description, serve

ARFF = "@relation r\n@attribute x numeric\n@attribute class {yes,no}\n@data\n1,yes\n2,no\n"
LIST = '<oml:data xmlns:oml="http://openml.org/openml">{rows}</oml:data>'
ROW = "<oml:dataset><oml:did>{}</oml:did><oml:name>{}</oml:name><oml:version>{}</oml:version>"
ROW += "<oml:status>active</oml:status><oml:format>ARFF</oml:format></oml:dataset>"
PATH = "/api/v1/xml/data/list/data_name/{}"


@pytest.fixture
def server():
    with serve() as own:
        yield own


def offer(server, name, *numbers, quoted=None):
    """Offer data sets of a name, with versions from 1, and lists of all and of each."""
    path = PATH.format(quoted or name)
    rows = [ROW.format(number, name, v) for v, number in enumerate(numbers, 1)]
    server.pages[path] = LIST.format(rows="".join(rows))
    for version, number in enumerate(numbers, 1):
        server.add(number, ARFF, name=name, version=version)
        server.pages[f"{path}/data_version/{version}"] = LIST.format(rows=rows[version - 1])


def read(server, tmp_path, name, **source):
    how = {"server": server.url, "cache": str(tmp_path), "tries": 2, "pause": 0.001}
    return sources.read({"openml": name, **source}, how)


def test_a_name_is_asked_for_as_the_client_does(server, tmp_path, monkeypatch):
    offer(server, "BNG(kc1) a", 1067, quoted="BNG%28kc1%29%20a")
    raw = read(server, tmp_path, "BNG(kc1) a")
    assert (raw.name, raw.version, raw.source) == ("BNG(kc1) a", 1, {"openml": 1067})
    offer(server, "kc1", 1067, 41)
    monkeypatch.setattr(openml.config, "server", server.url)
    monkeypatch.setattr(openml.config, "_root_cache_directory", tmp_path / "client")
    for version, number in ((1, 1067), (2, 41)):
        server.requests.clear()
        found = openml.datasets.get_dataset("kc1", version=version, download_data=False)
        assert found.dataset_id == number
        (asked,) = (path for path in server.requests if "/list/" in path)
        server.requests.clear()
        assert read(server, tmp_path, "kc1", version=version).version == version
        assert asked == server.requests[0]


@pytest.mark.parametrize(
    ("name", "version", "message"),
    [
        (
            "kc1",
            None,
            r"OpenML data set 'kc1': http.* has 2 of this name: version 1 \(id 1067\), version 2 "
            r"\(id 41\); add 'version:' or give the id",
        ),
        ("kc1", 3, r"OpenML data set 'kc1': http.* answers: No results; check the name, its case"),
        ("kc2", None, r"OpenML data set 'kc2': http.* answers: No results; check the name, its ca"),
        ("KC1", None, r"OpenML data set 'KC1': http.* has none of exactly this name; check the na"),
        ("x", None, r"'x': no success in 2 tries .*: the answer is not a list of OpenML data sets"),
    ],
)
def test_names_without_exactly_one_data_set(server, tmp_path, name, version, message):
    offer(server, "kc1", 1067, 41)
    server.pages[PATH.format("KC1")] = server.pages[PATH.format("kc1")]
    server.pages[PATH.format("x")] = "<html/>"
    with pytest.raises(UserError, match=message) as caught:
        read(server, tmp_path, name, **({"version": version} if version else {}))
    assert "\n" not in str(caught.value)


def test_a_cache_is_searched_first(server, tmp_path):
    port = server.origin.rsplit(":", 1)[1]
    root = tmp_path.joinpath(*f"127.0.0.1:{port}".split(".")[::-1], "datasets")
    for number, name, version in ((7, "kc1", 1), (8, "kc1", 2), (9, "kc2", 4)):
        (root / str(number)).mkdir(parents=True)
        text = description(number, ARFF, f"{server.origin}/files/7", name=name, version=version)
        (root / str(number) / "description.xml").write_text(text)
        (root / str(number) / "dataset.arff").write_text(ARFF)
    (root / "10").mkdir()
    (root / "10/description.xml").write_text("damaged")
    (root / "10/dataset.arff").write_text(ARFF)
    assert read(server, tmp_path, "kc1", version=2).source == {"openml": 8}
    assert read(server, tmp_path, "kc2").version == 4
    with pytest.raises(UserError, match=f"{tmp_path}.* has 2 of this name: version 1 .id 7., ver"):
        read(server, tmp_path, "kc1")
    assert server.requests == []
    offer(server, "kc1", 30, 31, 32)
    assert read(server, tmp_path, "kc1", version=3).source == {"openml": 32}


def test_folders_of_names():
    keys = [
        sources.source_key(source)
        for source in (
            {"openml": 7},
            {"openml": "a/b"},
            {"openml": "a_b"},
            {"openml": "a_b", "version": 1},
            {"openml": "a_b", "version": 1, "target": "x"},
        )
    ]
    assert len({*keys}) == 5
    assert all(key.startswith("openml-a_b-") for key in keys[1:])


def test_a_study_of_names():
    content = {
        "study": "s",
        "datasets": {"one": {"openml": "kc1", "version": 1}, "two": {"openml": "kc1"}},
        "searches": {"random": {"optimizer": "random"}},
        "ensembles": {"best": {"type": "best"}},
        "methods": {"RS": {"search": "random", "ensemble": "best"}},
    }
    assert model.check(content).datasets["one"].source == {"openml": "kc1", "version": 1}
    assert json.dumps(model.check(content).model_dump(mode="json")["datasets"]["two"]["openml"])
