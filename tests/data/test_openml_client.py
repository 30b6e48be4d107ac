import gzip
import hashlib
import json
import logging
import os
import signal
import socket
import subprocess
import sys
import time
import tracemalloc
import zlib
from dataclasses import replace

import openml
import pandas as pd
import pytest
import requests

import fetch as fetch_script
from ensemble_search.data import normalise, openml_client, openml_server, paper_sets, sources
from ensemble_search.runtime import files
from ensemble_search.runtime.errors import UserError
from ensemble_search.study import model
from support import NO_COPIES, OPENML_COPIES, SCRIPTS, forks
from support.openml_server import ERROR, description, serve

pytestmark = pytest.mark.slow

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
ZEROS = bytes(20_000_000)
BOMB = gzip.compress(ZEROS)
#: Empty gzip blocks, without end.
FLUSHES = b"\x00\x00\x00\xff\xff" * 1000


@pytest.fixture
def server():
    with serve() as own:
        yield own


@pytest.fixture
def no_network(monkeypatch):
    """Let any use of the network fail the test, with an error that no retry catches."""

    def reject(*args, **kwargs):
        raise AssertionError(f"the network was used: {args}")

    monkeypatch.setattr(socket.socket, "connect", reject)
    monkeypatch.setattr(socket, "getaddrinfo", reject)


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
    return openml_client.fetch(number, version, md5, openml_server.Access(**settings))


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
    assert described["notes"] == ["1 row without a value of the target 'class' left out"]
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
        ("data", "500", "the answer is not an OpenML description"),
        ("data", "hang", r"no answer within 0\.2 s"),
        ("data", "page", "the answer is not an OpenML description"),
        ("file", "cut", "the answer was cut short"),
        ("file", "short", "does not have the MD5 of its description"),
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
    with pytest.raises(UserError, match="does not have the MD5"):
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
            ARFF.replace("row numeric", "row relational"),
            r"\('set-7'\) cannot be read as ARFF: line 5: .* type 'relational'",
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
def test_what_cannot_be_used_is_rejected_with_a_line(server, elements, arff, message):
    server.add(7, arff, **elements)
    with pytest.raises(UserError, match=message) as caught:
        fetch(server=server.url)
    assert "/tmp" not in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"retries": 3}, "openml.retries: unknown key; did you mean 'tries'?"),
        ({"tries": 0}, "openml.tries: input should be greater than or equal to 1; found 0"),
        ({"cache": "no/such"}, "openml.cache: there is no folder 'no/such'"),
        ([], "openml: must be a mapping of keys to values; found a list"),
        ({"max_mb": 0.5}, r"openml.max_mb: input should be a valid integer; found 0\.5"),
        ({"max_seconds": float("nan")}, "openml.max_seconds: input should be .*; found nan"),
        ({"min_kb_per_second": "10"}, "openml.min_kb_per_second: .* a valid number; found '10'"),
        ({"cache": 5}, "openml.cache: must be text: YAML reads it as 5; quote it"),
        ({"cache": "x" * 5000}, "openml.cache: there is no folder"),
        ({"server": ["http://a"]}, "openml.server: must be text; found a list"),
    ],
)
def test_wrong_access_settings(settings, message):
    with pytest.raises(UserError, match=message):
        openml_server.access(settings)


def test_progress_says_what_is_fetched(server, caplog):
    server.add(7, ARFF)
    server.fail("data", "107")
    with caplog.at_level(logging.INFO, logger="ensemble_search"):
        fetch(server=server.url)
    said = [r.message for r in caplog.records if r.name.startswith("ensemble_search")]
    assert said[0] == "OpenML data set 7: try 1 of 5"
    assert "Database connection error" in said[1]
    assert said[-1] == f"OpenML data set 7 is 'set-7', from {server.url}"


def sends(body=b"", *headers, status="200 OK", length=True):
    """Write an answer of the given bytes, with more headers or without its length."""
    body = body.encode(errors="surrogateescape") if isinstance(body, str) else body

    def reply(request, server):
        lines = [f"HTTP/1.1 {status}", *headers, "Connection: close"]
        if length:
            lines.append(f"Content-Length: {len(body)}")
        request.wfile.write("\r\n".join([*lines, "", ""]).encode("latin-1") + body)

    return reply


def goes_on(head, piece, pause=0.0, first=b""):
    """Write a head, and then a piece again and again, as long as somebody listens."""

    def reply(request, server):
        request.wfile.write(head.replace("\n", "\r\n").encode() + first)
        while not server.released.wait(pause):
            request.wfile.write(piece)

    return reply


def describes(**elements):
    """A description as the server writes it, with other elements."""
    return lambda request, server: sends(
        description(7, ARFF, **{"url": f"{server.origin}/files/7.arff", **elements})
    )(request, server)


def raw_description(old, new):
    """A description whose text is another, as XML."""

    def reply(request, server):
        text = description(7, ARFF, f"{server.origin}/files/7.arff")
        assert old in text
        sends(text.replace(old, new))(request, server)

    return reply


def redirects(to):
    return sends(b"", f"Location: {to}", status="302 Found")


def entities(declared, used):
    return sends(
        f"<!DOCTYPE a [{declared}]><oml:data_set_description><oml:name>{used}</oml:name>"
        "</oml:data_set_description>"
    )


LAUGHS = '<!ENTITY a "ha">' + "".join(
    f'<!ENTITY {b} "{f"&{a};" * 10}">' for a, b in zip("abcdefgh", "bcdefghi", strict=True)
)
OK, CHUNKED = "HTTP/1.1 200 OK\n", "HTTP/1.1 200 OK\nTransfer-Encoding: chunked\n\n"
NONE = "the answer is not an OpenML description"
WELL = describes(md5_checksum=None)
#: name -> how descriptions are answered, how files are (None: well), what the line says, settings.
HOSTILE = {
    # Answers of another kind.
    "empty": (sends(), None, NONE),
    "json": (sends('{"data_set_description": {"id": "7"}}'), None, NONE),
    "html": (sends("<!DOCTYPE html><html><body>hello</body></html>"), None, NONE),
    "another root": (sends("<a/>"), None, NONE),
    "empty root": (sends("<oml:data_set_description/>"), None, NONE),
    "text root": (sends("<oml:data_set_description>x</oml:data_set_description>"), None, NONE),
    "nested": (sends("<a>" * 100_000), None, NONE),
    "utf-16": (sends("<a/>".encode("utf-16")), None, NONE),
    "no utf-8": (raw_description("written by a test", "\udcff"), None, NONE),
    "binary": (sends(bytes(range(256))), None, NONE),
    "laughs": (entities(LAUGHS, "&i;"), None, NONE),
    "external": (entities('<!ENTITY a SYSTEM "file:///etc/passwd">', "&a;"), None, NONE),
    "parameter": (entities('<!ENTITY % a SYSTEM "http://127.0.0.1/x">%a;', "x"), None, NONE),
    # Descriptions with wrong elements.
    "version text": (describes(version="three"), None, "its 'version' is 'three'"),
    "version fraction": (describes(version="1.5"), None, "its 'version' is '1.5'"),
    "version huge": (describes(version="9" * 5000), None, "its 'version' is '999"),
    "version none": (describes(version=None), None, "its 'version' is 'None'"),
    "another id": (describes(id=8), None, "the answer describes data set 8"),
    "id text": (describes(id="seven"), None, "its 'id' is 'seven'"),
    "id negative": (describes(id=-7), None, "its 'id' is '-7'"),
    "id path": (describes(id="../7"), None, "its 'id' is"),
    "name nested": (raw_description("set-7", "<a><b/></a>"), None, "its 'name' is"),
    "name attribute": (raw_description("<oml:name>", "<oml:name a='1'>"), None, "its 'name' is"),
    "name twice": (describes(name=["a", "b"]), None, "its 'name' is"),
    "name of lines": (describes(name="a\nerror: b"), None, "its 'name' is 'a error: b'"),
    "name that paints": (describes(name="a\x9b31m"), None, "its 'name' is 'a.31m'"),
    "name too long": (describes(name="x" * 100_000), None, "its 'name' is 'xxx"),
    "format twice": (describes(format=["ARFF", "CSV"]), None, "its 'format' is"),
    "target twice": (describes(default_target_attribute=["a", "b"]), None, "its 'default_target"),
    "ignored nested": (describes(ignore_attribute=["a", ""]), None, "its 'ignore_attribute' is"),
    "md5 text": (describes(md5_checksum="abc"), None, "its 'md5_checksum' is 'abc'"),
    "no url": (describes(url=None), None, "its 'url' is 'None'"),
    "url of a file": (describes(url="file:///etc/passwd"), None, "is not an http.s. address"),
    "url of ftp": (describes(url="ftp://127.0.0.1/x"), None, "is not an http.s. address"),
    "url relative": (describes(url="/files/7.arff"), None, "is not an http.s. address"),
    "url without host": (describes(url="http:///x"), None, "is not an http.s. address"),
    "url with a bad port": (
        describes(url="http://127.0.0.1:99999999/x"),
        None,
        "is not an http.s. address",
    ),
    "url with a bracket": (describes(url="http://[::1/x"), None, "is not an http.s. address"),
    "url with a bad name": (describes(url=f"http://{'x' * 300}/"), None, "Failed to parse"),
    # Redirects.
    "to a file": (redirects("file:///etc/passwd"), None, "is not an http.s. address"),
    "to data": (redirects("data:text/xml,<a/>"), None, "is not an http.s. address"),
    "to a bracket": (redirects("http://[::1/x"), None, "is not an http.s. address"),
    "to itself": (redirects("/api/v1/xml/data/7"), None, "more than 5 redirects"),
    "to nobody": (redirects("http://127.0.0.1:1/"), None, "no connection to 127.0.0.1:1"),
    "file to a file": (WELL, redirects("file:///etc/passwd"), "is not an http.s. address"),
    "file to itself": (WELL, redirects("7.arff"), "more than 5 redirects"),
    "endless redirect": (
        goes_on("HTTP/1.1 302 Found\nLocation: /x\n\n", b"x" * 65536),
        None,
        "more than 5 redirects",
    ),
    # Errors of the server.
    "error html": (
        sends("<html>", status="500 Oh"),
        None,
        "not an OpenML description .*status 500",
    ),
    "error of laughs": (entities(LAUGHS, "&i;"), None, NONE),
    "error without code": (sends("<oml:error/>", status="412 No"), None, "status 412"),
    "error that paints": (
        sends(ERROR.format(code=111, message="a\x9b31m\nerror: b"), status="412 No"),
        None,
        r"answers: a\?31m error: b; check the id",
    ),
    "error without end": (goes_on("HTTP/1.1 500 Oh\n\n", b"x" * 65536), None, "status 500"),
    "file missing": (WELL, sends("<html>", status="404 No"), "status 404"),
    # No HTTP, or broken.
    "no http": (goes_on("SSH-2.0-OpenSSH\n", b"x\r\n"), None, "the answer is not HTTP"),
    "closed": (goes_on("", b"", pause=0), None, "no answer"),
    "many headers": (goes_on(OK, b"A: b\r\n"), None, "the answer is not HTTP"),
    "long header": (goes_on(OK + "A: ", b"x" * 65536), None, "the answer is not HTTP"),
    "continue": (goes_on("", b"HTTP/1.1 100 Continue\r\n\r\n"), None, "no answer within 0.5 s"),
    "header in drops": (goes_on(OK + "A: ", b"x", pause=0.1), None, "no answer within 0.5 s"),
    "two lengths": (sends("<a/>", "Content-Length: 3"), None, "Content-Length"),
    "negative length": (sends("<a/>", "Content-Length: -3", length=False), None, NONE),
    "length text": (sends("<a/>", "Content-Length: four", length=False), None, NONE),
    "cut": (sends("<a/>", "Content-Length: 400", length=False), None, "cut short"),
    "bad chunk": (sends("xyz\r\n", "Transfer-Encoding: chunked", length=False), None, "cut short"),
    "no gzip": (sends("<a/>", "Content-Encoding: gzip"), None, "cannot be unpacked"),
    "gzip cut": (sends(gzip.compress(b"<a/>")[:12], "Content-Encoding: gzip"), None, NONE),
    "seven times gzip": (
        sends("<a/>", "Content-Encoding: " + "gzip," * 6 + "gzip"),
        None,
        "cannot be unpacked",
    ),
    # Too large, too slow.
    "long description": (goes_on(OK + "\n", b" " * 65536), None, "more than 10 MB"),
    "announced": (
        sends("", "Content-Length: 9" + "0" * 300, length=False),
        None,
        "more than 10 MB",
    ),
    "description bomb": (sends(BOMB, "Content-Encoding: gzip"), None, "more than 10 MB"),
    "file too long": (WELL, goes_on(OK + "\n", b"x" * 65536), "more than 1 MB; .*max_mb"),
    "chunks too long": (WELL, goes_on(CHUNKED, b"1000\r\n" + b"x" * 4096 + b"\r\n"), "than 1 MB"),
    "file announced": (WELL, sends("", "Content-Length: 1000001", length=False), "than 1 MB"),
    "file bomb": (WELL, sends(BOMB, "Content-Encoding: gzip"), "more than 1 MB"),
    "deflated bomb": (WELL, sends(zlib.compress(ZEROS), "Content-Encoding: deflate"), "than 1 MB"),
    "two bombs": (WELL, sends(gzip.compress(BOMB), "Content-Encoding: gzip, gzip"), "than 1 MB"),
    "stops": (WELL, goes_on(OK + "\nx", b"x", pause=9), "no answer within 0.5 s"),
    "in drops": (WELL, goes_on(OK + "\n", b"x" * 8192, pause=0.05), "slower than 1000 kB/s"),
    "empty chunks of gzip": (
        WELL,
        goes_on(OK + "Content-Encoding: gzip\n\n", FLUSHES, first=BOMB[:10]),
        "no answer within 0.5 s",
    ),
    # Files that are no ARFF.
    "file empty": (WELL, sends(), "cannot be read as ARFF"),
    "file html": (WELL, sends("<html></html>"), "cannot be read as ARFF"),
    "file zeros": (WELL, sends(b"\0" * 1000), "cannot be read as ARFF"),
    "file utf-16": (WELL, sends(ARFF.encode("utf-16")), "cannot be read as ARFF"),
    "file latin-1": (WELL, sends(ARFF.encode("latin-1")), "cannot be read as ARFF"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_answer_costs_a_line(server, tmp_path, name):
    """No traceback, no second line, no control characters, nothing left on the disk."""
    data, file, told = HOSTILE[name]
    server.add(7, ARFF)
    server.reply("data", lambda request: data(request, server))
    if file is not None:
        server.reply("file", lambda request: file(request, server))
    how = openml_server.Access(
        server=server.url,
        tries=1,
        timeout=0.5 if "no answer" in told else 1.0 if "slower" in told else 30.0,
        max_mb=1,
        min_kb_per_second=1000.0,
    )
    with pytest.raises(UserError, match=told) as caught:
        openml_client.fetch(7, None, None, how, tmp_path / "openml-7")
    line = str(caught.value)
    assert line.isprintable()
    assert len(line) < 500
    assert "root:" not in line
    assert list(tmp_path.iterdir()) == []


def test_a_bomb_does_not_grow_in_memory(server, tmp_path):
    server.add(7, ARFF)
    server.reply("file", lambda request: sends(BOMB, "Content-Encoding: gzip")(request, server))
    tracemalloc.start()
    try:
        with pytest.raises(UserError, match="more than 19 MB"):
            fetch(server=server.url, tries=1, max_mb=19)
        assert tracemalloc.get_traced_memory()[1] < 10e6
    finally:
        tracemalloc.stop()


def test_the_time_for_everything_is_limited(server, monkeypatch):
    """Within one slow but successful try, and over all tries and pauses."""
    server.add(7, ARFF)
    slow = goes_on(OK + "\n", b"x" * 8192, pause=0.02)
    server.reply("file", lambda request: slow(request, server))
    with pytest.raises(
        UserError, match=r"not loaded within 0\.5 s; a larger 'openml\.max_seconds'"
    ):
        fetch(server=server.url, max_seconds=0.5)
    server.reply("data", lambda request: sends()(request, server))
    with pytest.raises(UserError, match=r"not loaded within 0\.5 s"):
        fetch(server=server.url, max_seconds=0.5, pause=100.0, tries=3)


def test_packed_answers_and_redirects_to_other_hosts_are_followed(server):
    server.add(7, ARFF)
    port = server.origin.rsplit(":", 1)[1]
    packed = sends(gzip.compress(ARFF.encode()), "Content-Encoding: gzip")
    moved = redirects(f"http://localhost:{port}/files/moved")

    def reply(request):
        (packed if request.path.startswith("/files/moved") else moved)(request, server)

    server.reply("file", reply)
    assert fetch(server=server.url).md5 == MD5
    assert server.requests[1:] == ["/files/7.arff", "/files/moved"]


def test_the_key_goes_to_its_own_server_only(server, monkeypatch):
    """Not to another host that answers redirect to, nor to one that a study names."""
    monkeypatch.setattr(openml.config, "apikey", "secret")
    monkeypatch.setattr(openml.config, "server", server.url)
    server.add(7, ARFF)
    port = server.origin.rsplit(":", 1)[1]
    moved = redirects(f"http://localhost:{port}/data/8")
    fetch()
    assert server.queries == ["api_key=secret", "api_key=secret"]
    server.queries.clear()
    server.reply("data", lambda request: moved(request, server))
    with pytest.raises(UserError, match="more than 5 redirects") as caught:
        fetch(tries=1)
    assert server.queries == ["api_key=secret", *[""] * 5]
    assert "secret" not in str(caught.value)
    server.queries.clear()
    with pytest.raises(UserError):
        fetch(server=f"http://localhost:{port}/api/v1/xml", tries=1)
    assert set(server.queries) == {""}


@pytest.mark.parametrize(
    "address",
    [
        *("", "x", "file:///etc", "ftp://a/", "http://", "http:///x", "http://a b/", "http://a\n/"),
        *("http://a..b/", "http://tmp./", "http://../", "http://u:p@a/", "http://a:b/"),
    ],
)
def test_a_server_that_is_no_address(address, tmp_path):
    """The client makes folders of it: ``tmp.`` would be ``/tmp``."""
    with pytest.raises(UserError, match=r"openml\.server: is not an address, such as https"):
        openml_server.access({"server": address})
    with pytest.raises(UserError, match=r"openml\.server: is not an address, such as https"):
        model.check({"openml": {"server": address}})


def start_fetch(source, output, access, python=sys.executable, **environment):
    options = {"source": json.dumps(source), "output": str(output), "openml": json.dumps(access)}
    return subprocess.Popen(
        [python, str(SCRIPTS / "fetch.py"), *(f"--{k}={v}" for k, v in options.items())],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, **environment},
    )


def run_fetch(source, output, access):
    forked = forks.environment(output.parent)
    with start_fetch(source, output, access, "python", **forked) as fetching:
        out, err = fetching.communicate()
    return subprocess.CompletedProcess(fetching.args, fetching.returncode, out, err)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_a_killed_fetch_leaves_nothing_for_long(server, tmp_path, number):
    server.add(7, ARFF)
    slow = goes_on(OK + "\n", b"x" * 1000, pause=0.1)
    server.reply("file", lambda request: slow(request, server))
    (temporary := tmp_path / "tmp").mkdir()
    access = {"server": server.url}
    source, data = {"openml": 7}, tmp_path / "data"
    with start_fetch(source, data / "openml-7", access, TMPDIR=str(temporary)) as fetching:
        while "/files/7.arff" not in server.requests:
            assert fetching.poll() is None
            time.sleep(0.02)
        assert [p.name.split(".")[1] for p in data.iterdir()] == ["openml-7"]
        fetching.send_signal(number)
        fetching.wait()
    if number == signal.SIGKILL:
        assert len(list(data.iterdir())) == 1
        with files.temporary_folder(data / "openml-7") as folder:  # as the next fetch begins
            assert list(data.iterdir()) == [folder]
    assert list(data.iterdir()) == []
    assert list(temporary.iterdir()) == []


def test_the_script_writes_the_same_bytes_again(server, tmp_path):
    server.add(7, ARFF)
    for folder in ("a", "b"):
        done = run_fetch({"openml": 7}, tmp_path / folder, {"server": server.url})
        assert done.returncode == 0, done.stderr
        assert "set-7: 6 rows, 4 features, 2 classes" in done.stderr
        assert "note: 1 row without a value" in done.stderr
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


@pytest.mark.parametrize("text", ["{", "", "[" * 200_000, "9" * 5000, '{"a": 1e999'])
def test_arguments_that_are_no_json(text, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["fetch.py", "--output", "x", "--source", text])
    with pytest.raises(SystemExit) as end:
        fetch_script.main()
    assert end.value.code == 2
    assert capsys.readouterr().err.endswith("argument --source: that is not JSON\n")


def arff(rows: int, features: int, classes: int) -> str:
    """Write a data set of this size, in which the first column is a row id."""
    names = [f"@attribute x{i} numeric" for i in range(features)]
    kinds = ",".join(f"c{i}" for i in range(classes))
    head = ["@relation made", "@attribute id numeric", *names, f"@attribute class {{{kinds}}}"]
    lines = [f"{r},{'0,' * features}c{r % classes}" for r in range(rows)]
    return "\n".join([*head, "@data", *lines, ""])


def sized(server, number, rows, features, classes, **source):
    """Read a data set of this size and id from a server."""
    server.add(number, arff(rows, features, classes), row_id_attribute="id")
    return sources.read({"openml": number, **source}, {"server": server.url, "tries": 1})


@pytest.mark.parametrize("number", paper_sets.TABLE_5)
def test_the_papers_data_sets_are_those_of_its_table(number, server):
    known = paper_sets.TABLE_5[number]
    right = (known.rows, known.features, known.classes)
    raw = sized(server, number, *right)
    assert len(raw.frame) == known.rows
    frame, target = raw.frame, raw.frame[raw.target].astype(str)
    one_more_class = target.where(frame.index > 0, "another")
    for change, wrong in (
        ((2, 0, 0), pd.concat([frame, frame[:2]])),
        ((-2, 0, 0), frame[:-2]),
        ((0, 1, 0), frame.assign(another=0)),
        ((0, 0, 1), frame.assign(**{raw.target: one_more_class})),
    ):
        with pytest.raises(UserError) as caught:
            paper_sets.check(number, replace(raw, frame=wrong))
        line = str(caught.value)
        rows, features, classes = (a + b for a, b in zip(right, change, strict=True))
        said = f"has {rows} rows, {features} features and {classes} classes; {known.name} of"
        assert line.startswith(f"OpenML data set {number} ('set-{number}'): {said} the DivBO paper")
        printed = "{} rows, {} features and {} classes".format(*right)
        assert f" (Table 5) has {printed}; correct" in line
        assert "\n" not in line


def test_one_row_more_is_right_for_spambase_only(server):
    assert len(sized(server, 44, 4601, 57, 2).frame) == 4601
    with pytest.raises(UserError, match="has 2179 rows, 3 features and 2 classes; quake of"):
        sized(server, 772, 2179, 3, 2)


def test_sizes_do_not_matter_to_a_pinned_file_nor_to_other_ids(server):
    text = arff(20, 3, 2)
    md5 = hashlib.md5(text.encode(), usedforsecurity=False).hexdigest()
    with pytest.raises(UserError, match=f"or pin 'md5: {md5}' to take it as it is"):
        sized(server, 772, 20, 3, 2, version=1)  # a version does not determine the size
    assert len(sized(server, 772, 20, 3, 2, md5=md5).frame) == 20
    assert len(sized(server, 773, 20, 3, 2).frame) == 20


def test_columns_of_a_study_do_not_change_the_size(server):
    raw = sized(server, 772, 2178, 3, 2, columns={"drop": ["x0", "x1"]})
    described = normalise.normalise(raw, {"drop": ["x0", "x1"]})[1]
    assert described["features"] == 1
    sized(server, 772, 2178, 3, 2, columns={"numeric": ["id"]})


def test_development_copies_have_the_sizes_of_the_paper(no_network):
    if not OPENML_COPIES.is_dir():
        pytest.skip(NO_COPIES)
    folder = OPENML_COPIES / "org" / "openml" / "www" / "datasets"
    here = [n for n in paper_sets.TABLE_5 if (folder / str(n)).is_dir()]
    assert len(here) >= 7
    for number in here:
        sources.read({"openml": number}, {"cache": str(OPENML_COPIES)})


@pytest.mark.parametrize("number", [-7, 0, 10**9 + 1, 10**400, "7", "", "a\n", 7.0, True])
def test_ids_that_are_none(number):
    with pytest.raises(UserError, match=r"source\.version: .* is not an integer from 1 to"):
        sources.source_key({"openml": 7, "version": number})
    with pytest.raises(UserError, match=r"source\.openml: .*(an id, an int|no quotes).*; found"):
        sources.source_key({"openml": number})
    with pytest.raises(UserError, match=r"datasets\.a"):
        model.check({"study": "x", "datasets": {"a": {"openml": number}}})


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
    if not OPENML_COPIES.is_dir():
        pytest.skip(NO_COPIES)
    before = sorted(OPENML_COPIES.rglob("*"))
    raw = sources.read({"openml": number}, {"cache": str(OPENML_COPIES)})
    frame, described = normalise.normalise(raw)
    assert (described["rows"], described["features"], described["missing"]) == counts
    assert frame.shape == (counts[0], counts[1] + 1)
    assert described["classes"] == classes
    assert described["notes"] == []
    assert sorted(OPENML_COPIES.rglob("*")) == before
