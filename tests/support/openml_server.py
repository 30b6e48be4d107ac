"""A stand-in for OpenML on the loopback interface, as far as its client's ``get_dataset`` asks.

It can also misbehave: see :meth:`OpenMLServer.fail` and :meth:`OpenMLServer.reply`.
"""

import hashlib
import threading
from collections import deque
from collections.abc import Callable
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from xml.sax.saxutils import escape

ERROR = (
    '<oml:error xmlns:oml="http://openml.org/openml"><oml:code>{code}</oml:code>'
    "<oml:message>{message}</oml:message></oml:error>"
)
HANG_SECONDS = 5.0  # at most: closing the server ends it at once


def description(number: int, arff: str, url: str, **elements) -> str:
    """Write a description.xml; ``elements`` replace or, with None, remove its parts."""
    parts = {
        "id": number,
        "name": f"set-{number}",
        "version": 1,
        "description": "written by a test",
        "format": "ARFF",
        "licence": "Public",
        "url": url,
        "default_target_attribute": "class",
        "status": "active",
        "md5_checksum": hashlib.md5(arff.encode(), usedforsecurity=False).hexdigest(),
        **elements,
    }
    lines = [
        f"<oml:{key}>{escape(str(one))}</oml:{key}>"
        for key, value in parts.items()
        if value is not None
        for one in (value if isinstance(value, list) else [value])
    ]
    opening = '<oml:data_set_description xmlns:oml="http://openml.org/openml">'
    return "\n".join([opening, *lines, "</oml:data_set_description>"])


class OpenMLServer:
    """Data sets by id, and a queue of failures for descriptions and for files.

    Attributes
    ----------
    url
        Address for the client's ``config.server``.
    requests
        Paths asked for, in their order.
    queries
        What followed them, after a question mark.
    pages
        What is offered, by path.
    released
        Set when the server is closed: what answers without an end must look at it.
    """

    def __init__(self, port: int):
        self.origin = f"http://127.0.0.1:{port}"
        self.url = f"{self.origin}/api/v1/xml"
        self.requests: list[str] = []
        self.queries: list[str] = []
        self.released = threading.Event()
        self.pages: dict[str, str] = {}
        self._replies: dict[str, Callable[[BaseHTTPRequestHandler], None]] = {}
        self._failures: dict[str, deque[str]] = {"data": deque(), "file": deque()}

    def add(self, number: int, arff: str, **elements) -> None:
        """Offer a data set; ``elements`` as in :func:`description`."""
        path = f"/files/{number}.arff"
        self.pages[path] = arff
        self.pages[f"/api/v1/xml/data/{number}"] = description(
            number, arff, self.origin + path, **elements
        )

    def fail(self, which: str, how: str, times: int = 1) -> None:
        """Let the next answers for ``which`` (``data``: descriptions, or ``file``) go wrong.

        ``how`` is ``500`` (an HTML error), ``107`` (OpenML's database error), ``hang``, ``cut``
        (fewer bytes than announced), ``short`` (a whole answer, but half of the text) or ``page``
        (status 200 with a web page, as proxies give).
        """
        self._failures[which].extend([how] * times)

    def reply(self, which: str, how: Callable[[BaseHTTPRequestHandler], None]) -> None:
        """Let ``how`` write all answers for ``which``, from the status line on."""
        self._replies[which] = how

    def answer(self, request: BaseHTTPRequestHandler) -> None:
        path, _, query = request.path.partition("?")
        path = _plain(path)
        self.requests.append(path)
        self.queries.append(query)
        which = "file" if path.startswith("/files/") else "data"
        if which in self._replies:
            self._replies[which](request)
            return
        queue = self._failures[which]
        how = queue.popleft() if queue else "well"
        page = self.pages.get(path)
        if how == "hang":
            self.released.wait(HANG_SECONDS)
        elif how == "500":
            _send(request, 500, "<html><body>Internal Server Error</body></html>")
        elif how == "107":
            _send(request, 412, ERROR.format(code=107, message="Database connection error"))
        elif how == "page":
            _send(request, 200, "<html><body>Please log in</body></html>")
        elif page is None:
            code, message = (372, "No results") if "/list/" in path else (111, "Unknown dataset")
            _send(request, 412, ERROR.format(code=code, message=message))
        elif how == "short":
            _send(request, 200, page[: len(page) // 2])
        else:
            _send(request, 200, page, cut=how == "cut")


def _plain(path: str) -> str:
    """Leave out of a list's filters what is the server's default, as the client asks for it."""
    start, found, filters = path.partition("/data/list/")
    words = filters.split("/")
    pairs = [f"{key}/{value}" for key, value in zip(words[::2], words[1::2], strict=False)]
    return start + found + "/".join(p for p in pairs if p.startswith("data_"))


def _send(request: BaseHTTPRequestHandler, status: int, text: str, cut: bool = False) -> None:
    body = text.encode()
    request.send_response(status)
    request.send_header("Content-Type", "text/xml; charset=utf-8")
    request.send_header("Content-Length", str(len(body)))
    request.end_headers()
    request.wfile.write(body[: len(body) // 2] if cut else body)


@contextmanager
def serve():
    """Run an :class:`OpenMLServer` on a free loopback port while the block runs."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            own.answer(self)

        def log_message(self, *_):
            pass

    class Server(ThreadingHTTPServer):
        def handle_error(self, *_):  # whoever asked has hung up
            pass

    http = Server(("127.0.0.1", 0), Handler)
    own = OpenMLServer(http.server_port)
    thread = threading.Thread(target=http.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield own
    finally:
        own.released.set()
        http.shutdown()
        http.server_close()
        thread.join()
