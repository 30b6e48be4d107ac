"""Serve a delivered ensemble: rows as JSON in, predictions as JSON out.

    python serve.py results/articles/delivered/articles/DivBO
    curl --data '[{"size": 3, "colour": "red"}]' http://127.0.0.1:8000

For a trusted network: there is neither encryption nor a login; one request at a time.
"""

import argparse
import json
import sys
from http.server import BaseHTTPRequestHandler, HTTPServer

#: Bytes of a request.
LARGEST = 2**24


def server(folder, host="127.0.0.1", port=8000):
    """Load the ensemble with the code of its folder; return a server that is not started yet."""
    sys.path.insert(0, folder)
    from ensemble_search.predictor.ensemble import load_ensemble

    model = load_ensemble(folder)

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            try:
                size = int(self.headers.get("Content-Length", 0))
                if not 0 <= size <= LARGEST:
                    raise ValueError(f"a request has at most {LARGEST} bytes")
                status, answer = 200, predict(model, json.loads(self.rfile.read(size)))
            except (ValueError, RecursionError) as error:  # of JSON, too
                status, answer = 400, {"error": str(error)}
            content = json.dumps(answer).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

    return HTTPServer((host, port), Handler)


def predict(model, rows):
    """Predict a list of objects; a key that some of them lack is a missing value there."""
    if not isinstance(rows, list) or not rows or not all(isinstance(row, dict) for row in rows):
        raise ValueError('send a list of objects, such as [{"size": 3, "colour": "red"}]')
    known = {name for row in rows for name in row}
    columns = {name: [row.get(name) for row in rows] for name in known}
    if not hasattr(model, "classes_"):
        return {"predictions": model.predict(columns).tolist(), "notes": model.notes_}
    labels, probabilities = model.predict_both(columns)
    named = [dict(zip(model.classes_.tolist(), p, strict=True)) for p in probabilities.tolist()]
    return {"predictions": labels.tolist(), "probabilities": named, "notes": model.notes_}


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Serve a delivered ensemble.")
    parser.add_argument("folder")
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=8000)
    options = parser.parse_args()
    served = server(options.folder, options.host, options.port)
    print("http://{}:{}".format(*served.server_address), flush=True)
    served.serve_forever()
