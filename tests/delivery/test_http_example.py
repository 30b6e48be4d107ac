"""The example of a server answers on the loopback interface, and builds an image as it says."""

import json
import runpy
import sys
import threading
import urllib.error
import urllib.request

import numpy as np
import pytest

from ensemble_search.predictor.ensemble import load_ensemble
from support import ROOT, delivered_folder

pytestmark = pytest.mark.slow

EXAMPLE = ROOT / "examples/http"


@pytest.fixture(params=["classification", "regression"])
def served(request, tmp_path, monkeypatch):
    """A delivered folder, and how to send it something."""
    delivered_folder.make(tmp_path, request.param)
    monkeypatch.setattr(sys, "path", [*sys.path])
    server = runpy.run_path(str(EXAMPLE / "serve.py"))["server"](str(tmp_path), port=0)
    monkeypatch.setattr(server.RequestHandlerClass, "log_message", lambda *said: None)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()

    def send(content):
        body = content if isinstance(content, bytes) else json.dumps(content).encode()
        place = f"http://127.0.0.1:{server.server_address[1]}"
        try:
            with urllib.request.urlopen(urllib.request.Request(place, body), timeout=100) as answer:
                return answer.status, json.load(answer)
        except urllib.error.HTTPError as error:
            return error.code, json.load(error)

    yield tmp_path, send
    server.shutdown()
    thread.join()
    server.server_close()


def test_rows_as_json_are_predicted(served):
    folder, send = served
    columns, model = delivered_folder.columns(5), load_ensemble(folder)
    rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    status, answer = send(rows)
    assert status == 200
    assert answer["predictions"] == model.predict(columns).tolist()
    if hasattr(model, "classes_"):
        found = [[p[c] for c in model.classes_] for p in answer["probabilities"]]
        np.testing.assert_allclose(found, model.predict_proba(columns))
    del rows[0]["a"]
    rows[1]["colour"] = "pink"
    status, answer = send(rows)
    assert status == 200
    assert "'pink'" in answer["notes"][0]


def test_mistakes_get_a_line(served):
    _, send = served
    for content, line in (
        ([{"a": 1, "b": 2, "c": 3}], "there is no column 'colour'"),
        ({"a": 1}, "send a list of objects"),
        ([], "send a list of objects"),
        (b"no JSON", "Expecting value"),
    ):
        status, answer = send(content)
        assert status == 400
        assert line in answer["error"]


def test_the_image_has_what_the_server_needs():
    text = (EXAMPLE / "Dockerfile").read_text(encoding="utf-8")
    assert "COPY serve.py ." in text
    assert f"FROM python:{sys.version_info[0]}." in text
