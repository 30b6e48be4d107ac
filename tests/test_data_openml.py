import hashlib
import json
import logging
import os
import socket
import subprocess
import sys
import time
from pathlib import Path

import openml
import pytest
import requests

from divbo.data import normalise, openml_client, sources
from divbo.errors import UserError
from openml_server import description, serve

SCRIPTS = Path(__file__).parents[1] / "workflow_scripts"
SHARED = Path(__file__).parents[2] / "shared" / "openml"

# Nominal values are declared in another order than they are sorted, and one row has no label.
ARFF = """@relation small
@attribute größe numeric
@attribute 'eye colour' {green,blue,'grün-grau'}
@attribute remark string
@attribute row numeric
@attribute class {yes,no}
@data
1.5,blue,a,1,no
?,green,'b c',2,yes
-3,?,?,3,no
4e2,'grün-grau',a,4,yes
5,blue,b,5,no
6,blue,b,6,yes
7,green,a,7,?
"""
MD5 = hashlib.md5(ARFF.encode(), usedforsecurity=False).hexdigest()


@pytest.fixture
def server():
    with serve() as own:
        yield own


@pytest.fixture
def no_network(monkeypatch):
    """Let any use of the network fail the test, with an error that no retry catches."""

    def refuse(*args, **kwargs):
        raise AssertionError(f"the network was used: {args}")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)


@pytest.fixture
def cache(tmp_path):
    """A filled cache of the client for the ordinary server, with data set 7."""
    folder = tmp_path / "cache" / "org" / "openml" / "www" / "datasets" / "7"
    folder.mkdir(parents=True)
    text = description(7, ARFF, "https://www.openml.org/data/v1/download/7/small.arff")
    (folder / "description.xml").write_text(text, encoding="utf-8")
    (folder / "dataset.arff").write_text(ARFF, encoding="utf-8")
    return tmp_path / "cache"


def fetch(number=7, version=None, md5=None, **settings):
    settings = {"pause": 0.001, "timeout": 20.0, **settings}
    return openml_client.fetch(number, version, md5, openml_client.Access(**settings))


def content(folder):
    """Names, bytes and times of a folder, to see that nobody touched it."""
    return {
        p.relative_to(folder): (p.stat().st_mtime_ns, p.read_bytes() if p.is_file() else None)
        for p in sorted(folder.rglob("*"))
    }


def test_the_network_guard_bites(no_network, tmp_path):
    (tmp_path / "empty").mkdir()
    with pytest.raises(AssertionError, match="the network was used"):
        fetch(cache=str(tmp_path / "empty"), server="http://127.0.0.1:9/api/v1/xml")


def test_a_data_set_comes_as_the_server_has_it(server):
    server.add(7, ARFF, name="klein", version=3)
    raw = fetch(server=server.url)
    assert (raw.name, raw.version, raw.md5, raw.target) == ("klein", 3, MD5, "class")
    assert raw.source == {"openml": 7}
    frame, described = normalise.normalise(raw)
    assert described["columns"] == {
        "größe": "numeric",
        "eye colour": "categorical",
        "remark": "categorical",
        "row": "numeric",
    }
    # By label, not by the order of the declaration.
    assert frame["class"].tolist() == ["no", "yes", "no", "yes", "no", "yes"]
    assert frame["eye colour"].tolist()[0] == "blue"
    assert frame["eye colour"].tolist()[3] == "grün-grau"
    assert frame["eye colour"].isna().tolist() == [False, False, True, False, False, False]
    assert frame["größe"].tolist()[2:4] == [-3.0, 400.0]
    assert described["missing"] == 3
    assert described["classes"] == {"no": 3, "yes": 3}
    assert described["notes"] == ["1 rows without a value of the target 'class' left out"]
    # Nothing is asked for but the description and the file.
    assert server.requests == ["/api/v1/xml/data/7", "/files/7.arff"]


@pytest.mark.parametrize(
    ("which", "how"),
    [
        ("data", "500"),
        ("data", "107"),
        ("data", "hang"),
        ("data", "cut"),
        ("data", "short"),
        ("data", "page"),
        ("file", "500"),
        ("file", "hang"),
        ("file", "cut"),
        ("file", "short"),
        ("file", "page"),
    ],
)
def test_failures_are_overcome_by_further_tries(server, which, how):
    server.add(7, ARFF)
    server.fail(which, how, times=2)
    raw = fetch(server=server.url, tries=3, timeout=1.0 if how == "hang" else 20.0)
    assert raw.md5 == MD5
    assert len(raw.frame) == 7
    asked = "/api/v1/xml/data/7" if which == "data" else "/files/7.arff"
    assert server.requests.count(asked) == 3


@pytest.mark.parametrize(
    ("which", "how", "reason"),
    [
        ("data", "500", "the answer is no OpenML description"),
        ("data", "hang", r"no answer within 0\.2 s"),
        ("data", "page", "the answer is no OpenML description"),
        ("file", "cut", "the answer was cut short"),
        ("file", "short", "has not the MD5 that its description states"),
    ],
)
def test_when_all_tries_fail_one_line_says_why(server, which, how, reason):
    server.add(7, ARFF)
    server.fail(which, how, times=9)
    with pytest.raises(UserError, match=reason) as caught:
        fetch(server=server.url, tries=2, timeout=0.2 if how == "hang" else 20.0)
    line = str(caught.value)
    assert "\n" not in line
    assert "OpenML data set 7: no success in 2 tries" in line
    # The retries of the client do not come on top of ours.
    asked = "/api/v1/xml/data/7" if which == "data" else "/files/7.arff"
    assert server.requests.count(asked) == 2


def test_pauses_double_and_nobody_else_sleeps(server, monkeypatch):
    pauses = []
    monkeypatch.setattr(time, "sleep", pauses.append)
    server.add(7, ARFF)
    server.fail("data", "107", times=9)
    with pytest.raises(UserError, match="Database connection error"):
        fetch(server=server.url, pause=1.0, tries=5)
    # Id 7 stretches every pause by 7/20.
    assert pauses == pytest.approx([1.35, 2.7, 5.4, 10.8])
    assert len(server.requests) == 5


def test_pauses_are_bounded(server, monkeypatch):
    pauses = []
    monkeypatch.setattr(time, "sleep", pauses.append)
    server.fail("data", "107", times=20)
    with pytest.raises(UserError):
        fetch(number=10, server=server.url, pause=1.0, tries=9)
    assert pauses == [1, 2, 4, 8, 16, 32, 60, 60]


def test_an_unknown_id_is_not_tried_again(server):
    with pytest.raises(UserError, match=r"data set 8: .* answers: Unknown dataset") as caught:
        fetch(number=8, server=server.url)
    assert "\n" not in str(caught.value)
    assert len(server.requests) == 1


def test_wrong_md5_at_the_server(server):
    server.add(7, ARFF, md5_checksum="0" * 32)
    with pytest.raises(UserError, match="has not the MD5"):
        fetch(server=server.url, tries=2)


def test_pins_that_hold_and_pins_that_do_not(server):
    server.add(7, ARFF, version=2)
    assert fetch(version=2, md5=MD5, server=server.url).version == 2
    with pytest.raises(UserError, match="expected version 1, found version 2"):
        fetch(version=1, server=server.url)
    with pytest.raises(UserError, match=f"expected MD5 {'f' * 32}, found {MD5}"):
        fetch(md5="f" * 32, server=server.url)


def test_a_server_without_md5_gives_one_to_pin(server):
    server.add(7, ARFF, md5_checksum=None)
    assert fetch(server=server.url).md5 == MD5


def test_a_filled_cache_needs_no_network_and_is_not_touched(cache, no_network):
    before = content(cache)
    raw = fetch(cache=str(cache), version=1, md5=MD5)
    assert len(raw.frame) == 7
    assert content(cache) == before


def test_stale_pickles_of_a_cache_are_not_read(cache, no_network):
    folder = cache / "org" / "openml" / "www" / "datasets" / "7"
    for name in ("dataset.pkl.py3", "features.xml.pkl"):
        (folder / name).write_bytes(b"no pickle at all")
    assert fetch(cache=str(cache)).frame["class"].tolist()[:2] == ["no", "yes"]


def test_a_damaged_cache_is_noticed(cache, no_network):
    file = cache / "org" / "openml" / "www" / "datasets" / "7" / "dataset.arff"
    file.write_text(ARFF.replace("5,blue,b,5,no\n", ""), encoding="utf-8")
    before = content(cache)
    with pytest.raises(UserError, match=f"its description says {MD5}; remove the damaged"):
        fetch(cache=str(cache))
    assert content(cache) == before


def test_pins_are_checked_in_a_cache_too(cache, no_network):
    with pytest.raises(UserError, match=f"expected MD5 {'f' * 32}, found {MD5}"):
        fetch(cache=str(cache), md5="f" * 32)
    with pytest.raises(UserError, match="expected version 2, found version 1"):
        fetch(cache=str(cache), version=2)


def test_a_half_filled_cache_survives_a_failing_download(server, tmp_path):
    # The client deletes the folder of a data set whose download fails: the private one only.
    server.add(7, ARFF)
    port = server.origin.rsplit(":", 1)[1]
    folder = tmp_path.joinpath(*f"127.0.0.1:{port}".split(".")[::-1], "datasets", "7")
    folder.mkdir(parents=True)
    text = description(7, ARFF, f"{server.origin}/files/7.arff")
    (folder / "description.xml").write_text(text, encoding="utf-8")
    before = content(tmp_path)
    server.fail("file", "500", times=2)
    with pytest.raises(UserError):
        fetch(server=server.url, cache=str(tmp_path), tries=2)
    assert content(tmp_path) == before
    server.requests.clear()
    # After a failed first try the description is asked for as well; now it is not.
    assert fetch(server=server.url, cache=str(tmp_path)).md5 == MD5
    assert server.requests == ["/files/7.arff"]
    assert content(tmp_path) == before


def test_offline_with_nothing_cached(tmp_path):
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    with pytest.raises(UserError, match=f"no connection to 127.0.0.1:{port}; .*openml.cache"):
        fetch(server=f"http://127.0.0.1:{port}/api/v1/xml", cache=str(tmp_path), tries=2)


def test_settings_of_the_client_are_put_back(server, cache, monkeypatch):
    monkeypatch.setenv("OPENML_SKIP_PARQUET", "maybe")
    config = openml.config
    before = (
        config.server,
        config._root_cache_directory,
        config.connection_n_retries,
        requests.adapters.HTTPAdapter.send,
    )
    fetch(cache=str(cache))
    with pytest.raises(UserError):
        fetch(number=8, server=server.url)
    assert before == (
        config.server,
        config._root_cache_directory,
        config.connection_n_retries,
        requests.adapters.HTTPAdapter.send,
    )
    assert os.environ["OPENML_SKIP_PARQUET"] == "maybe"


def test_row_ids_and_ignored_columns_are_left_out_with_a_word(server):
    server.add(7, ARFF, row_id_attribute="row", ignore_attribute="remark,größe")
    frame, described = normalise.normalise(fetch(server=server.url))
    assert list(frame) == ["eye colour", "class"]
    assert "column 'row' left out: OpenML marks it as a row id" in described["notes"]
    assert "column 'größe' left out: OpenML marks it as to be ignored" in described["notes"]
    server.add(7, ARFF, ignore_attribute=["row", "remark"])
    assert list(normalise.normalise(fetch(server=server.url))[0])[:2] == ["größe", "eye colour"]


@pytest.mark.parametrize(
    ("elements", "arff", "message"),
    [
        ({"default_target_attribute": None}, ARFF, "OpenML names no target"),
        ({"default_target_attribute": "klass"}, ARFF, "its target 'klass' is not one of"),
        (
            {},
            ARFF.replace("row numeric", "row date"),
            r"\('set-7'\) cannot be read as ARFF: line 5: .* type 'date'",
        ),
        (
            {},
            ARFF.replace(",no\n", ",maybe\n"),
            "line 8: 'maybe' of attribute 'class' is not among the values that",
        ),
        (
            {},
            ARFF.replace("eye colour", "row"),
            "line 5: a second attribute is called 'row'; rename one$",
        ),
    ],
)
def test_what_cannot_be_used_is_refused_with_a_line(server, elements, arff, message):
    server.add(7, arff, **elements)
    with pytest.raises(UserError, match=message) as caught:
        fetch(server=server.url)
    assert "/tmp" not in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"retries": 3}, "openml: unknown key 'retries'; did you mean 'tries'?"),
        ({"tries": 0}, "openml.tries: 0 is no whole number from 1"),
        ({"cache": "no/such"}, "openml.cache: there is no folder 'no/such'"),
        ([], r"openml: \[\] is no mapping"),
    ],
)
def test_wrong_access_settings(settings, message):
    with pytest.raises(UserError, match=message):
        openml_client.access(settings)


def test_progress_says_what_is_fetched(server, caplog):
    server.add(7, ARFF)
    server.fail("data", "107")
    with caplog.at_level(logging.INFO, logger="divbo"):
        fetch(server=server.url)
    said = [r.message for r in caplog.records if r.name.startswith("divbo")]
    assert said[0] == "OpenML data set 7: try 1 of 5"
    assert "Database connection error" in said[1]
    assert said[-1] == f"OpenML data set 7 is 'set-7', from {server.url}"


def run_fetch(source, output, access):
    options = {"source": json.dumps(source), "output": str(output), "openml": json.dumps(access)}
    return subprocess.run(
        [sys.executable, str(SCRIPTS / "fetch.py"), *(f"--{k}={v}" for k, v in options.items())],
        capture_output=True,
        text=True,
        check=False,
    )


def test_the_script_writes_the_same_bytes_again(server, tmp_path):
    server.add(7, ARFF)
    for folder in ("a", "b"):
        done = run_fetch({"openml": 7}, tmp_path / folder, {"server": server.url})
        assert done.returncode == 0, done.stderr
        assert "set-7: 6 rows, 4 features, 2 classes" in done.stderr
        assert "note: 1 rows without a value" in done.stderr
    names = ["dataset.json", "dataset.parquet", "fetched.json"]
    assert sorted(p.name for p in (tmp_path / "a").iterdir()) == names
    for name in names:
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()


def test_data_that_changed_at_openml_are_named(server, tmp_path):
    server.add(7, ARFF)
    first = run_fetch({"openml": 7}, tmp_path, {"server": server.url})
    assert "DATA CHANGED" not in first.stdout
    lines = ARFF.rstrip().splitlines()
    server.add(7, "\n".join([*lines, lines[-2]]) + "\n")
    second = run_fetch({"openml": 7}, tmp_path, {"server": server.url})
    assert second.returncode == 0, second.stderr
    assert "DATA CHANGED: the data of 'set-7' are not those of the last time" in second.stdout
    assert "rows 6 -> 7" in second.stdout


def test_the_script_ends_with_one_line_and_leaves_what_was_there(server, tmp_path):
    server.add(7, ARFF)
    run_fetch({"openml": 7}, tmp_path / "a", {"server": server.url})
    before = content(tmp_path)
    done = run_fetch({"openml": 7, "version": 9}, tmp_path / "a", {"server": server.url})
    assert done.returncode == 2
    lines = [line for line in done.stderr.splitlines() if line.startswith("error:")]
    assert len(lines) == 1
    assert "expected version 9, found version 1" in lines[0]
    assert "Traceback" not in done.stderr
    assert content(tmp_path) == before


@pytest.mark.parametrize(
    ("number", "counts", "classes"),
    [
        (772, (2178, 3, 0), {"N": 969, "P": 1209}),
        (1590, (48842, 14, 6465), {"<=50K": 37155, ">50K": 11687}),
        (
            182,
            (6430, 36, 0),
            {"1.": 1531, "2.": 703, "3.": 1356, "4.": 625, "5.": 707, "7.": 1508},
        ),
    ],
)
def test_development_copies(number, counts, classes, no_network):
    if not SHARED.is_dir():
        pytest.skip("the development copies of OpenML data sets are not on this machine")
    before = sorted(SHARED.rglob("*"))
    raw = sources.read({"openml": number}, {"cache": str(SHARED)})
    frame, described = normalise.normalise(raw)
    assert (described["rows"], described["features"], described["missing"]) == counts
    assert frame.shape == (counts[0], counts[1] + 1)
    assert described["classes"] == classes
    assert described["notes"] == []
    assert sorted(SHARED.rglob("*")) == before
