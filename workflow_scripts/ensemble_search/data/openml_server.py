"""How OpenML's server is asked: downloads limited in size and time, tried again after failures.

The openml client downloads into memory, without limits of size or time, so only its settings are
used.
"""

import contextlib
import logging
import os
import re
import shutil
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from http.client import HTTPException
from pathlib import Path
from typing import Any, BinaryIO
from urllib.parse import urljoin, urlsplit

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from ensemble_search.runtime import files
from ensemble_search.runtime.errors import UserError
from ensemble_search.runtime.plugins import explain

log = logging.getLogger(__name__)

#: Address of an OpenML server. In a cache, each part of the host name is a folder.
ADDRESS = re.compile(
    r"https?://([A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*|\[[0-9A-Fa-f:]+\])(:[0-9]{1,5})?(/[!-~]*)?"
)
# Server error codes after which retrying is useless: unknown id, no access, unknown name.
PERMANENT = dict.fromkeys(("110", "111", "112"), "check the id") | {
    "372": "check the name, its case and 'version:', or give the id"
}
MB = 1_000_000
#: Maximum size of a description, which is read into memory; usual ones have a few kilobytes.
DESCRIPTION_MB = 10
MAX_REDIRECTS = 5


class OpenML(BaseModel):
    """How OpenML is reached; none of this changes a result."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False)

    server: str | None = Field(None, description="address of another server's XML interface")
    cache: str | None = Field(None, description="a filled cache folder of the openml client")
    tries: int = Field(5, ge=1, description="attempts per download, with growing pauses in between")
    max_mb: int = Field(
        2000, ge=1, description="largest size of a data set's file, unpacked, in MB (10^6 bytes)"
    )
    max_seconds: float = Field(
        3600,
        gt=0,
        description="largest number of seconds per data set, including all attempts and pauses",
    )
    min_kb_per_second: float = Field(
        10,
        gt=0,
        description="an attempt fails if it is slower than this over a minute (kB of 10^3 bytes, "
        "unpacked)",
    )

    @field_validator("server")
    @classmethod
    def _address(cls, server: str | None) -> str | None:
        if server is not None and not ADDRESS.fullmatch(server):
            raise ValueError("is not an address, such as https://openml.example.org/api/v1/xml")
        return server

    @field_validator("cache")
    @classmethod
    def _home(cls, folder: str | None) -> str | None:
        return None if folder is None else os.path.expanduser(folder)


class Access(OpenML):
    """The settings of a study, and those that only tests change."""

    #: Seconds to pause after the first failed attempt; doubled after every further one, up to 60.
    pause: float = 1.0
    #: An attempt fails after this many seconds without a byte from the server.
    timeout: float = 60.0


def access(settings: Mapping[str, Any]) -> Access:
    """Create an :class:`Access`; UserError if a setting is wrong or the cache does not exist."""
    try:
        made = Access.model_validate(settings)
    except ValidationError as error:
        raise UserError(*explain(error, Access, "openml")) from None
    if problem := lacks_cache(made):
        raise UserError(problem)
    return made


def lacks_cache(how: OpenML) -> str:
    """Describe a cache that is no folder; empty if it is one, or the client's own."""
    if how.cache is None or os.path.isdir(how.cache):
        return ""
    return f"openml.cache: there is no folder '{how.cache}'"


class Failed(Exception):
    """A failed attempt: the reason, and a remedy if retrying is useless."""

    def __init__(self, reason: str, remedy: str = ""):
        super().__init__(reason)
        self.remedy = remedy


@contextlib.contextmanager
def parsed(path: Path, what: str, **options: Any) -> Iterator[dict[str, Any]]:
    """Parse XML; raise Failed if it, or what the block looks for in it, is not as expected."""
    import xmltodict

    try:
        yield xmltodict.parse(path.read_text(encoding="utf-8"), **options)
    except Exception:  # the parser raises various errors for invalid XML or entities
        raise Failed(f"the answer is not {what}") from None


@dataclass(frozen=True)
class Server:
    """An OpenML server: how it is reached, a folder for downloads, its cache, the client's key."""

    how: Access
    folder: Path
    address: str
    cache: Path
    key: str
    key_for: str

    def copy(self, cached: Path, names: Sequence[str]) -> None:
        """Copy the files that there are from a folder of the cache."""
        for name in names:
            with contextlib.suppress(FileNotFoundError):
                shutil.copyfile(cached / name, self.folder / name)

    def retry(self, what: str, number: int, once: Callable[[float], None]) -> None:
        """Call ``once`` until it succeeds, with growing pauses; its argument is the deadline.

        UserError if retrying is useless, or all attempts failed.
        """
        how = self.how
        ends = time.monotonic() + how.max_seconds
        for attempt in range(1, how.tries + 1):
            log.info("%s: try %d of %d", what, attempt, how.tries)
            try:
                once(ends)
                return
            except Failed as error:
                reason = str(error)
                if error.remedy:
                    raise UserError(f"{what}: {reason}; {error.remedy}") from None
            if attempt < how.tries:
                # The id spreads retries of jobs that failed together over half a pause more.
                pause = min(60.0, how.pause * 2 ** (attempt - 1)) * (1 + number % 10 / 20)
                if time.monotonic() + pause >= ends:
                    raise UserError(
                        f"{what}: {reason}; not loaded within {how.max_seconds:g} s "
                        "('openml.max_seconds')"
                    )
                log.info("%s: %s; next try in %.1f s", what, reason, pause)
                time.sleep(pause)
        raise UserError(
            f"{what}: no success in {how.tries} tr{'ies' if how.tries > 1 else 'y'} at "
            f"{self.address}: {reason}; the cache '{self.cache}' does not have it, either; without "
            "network, name one that does as 'openml.cache'"
        )

    def ask(self, question: str, path: Path, ends: float) -> None:
        """Download the server's answer, XML; see :meth:`load`."""
        self.load(f"{self.address.rstrip('/')}/{question}", path, DESCRIPTION_MB, ends)

    def load(self, url: str, path: Path, most_mb: int, ends: float) -> None:
        """Download a file, with limits on size, time and minimum speed.

        Failed if the download fails, OSError if the file cannot be written.
        """
        how = self.how
        with path.open("wb") as file:  # closing it ends an abandoned transfer
            transfer = _Transfer(url, file, most_mb, self)
            transfer.start()
            since, before = time.monotonic(), 0
            while transfer.is_alive():
                transfer.join(min(1.0, how.timeout / 10))
                now, received = time.monotonic(), transfer.received
                if not transfer.is_alive():
                    break
                if now >= ends:
                    raise Failed(
                        f"not loaded within {how.max_seconds:g} s",
                        "a larger 'openml.max_seconds' allows more",
                    )
                if received and not before:  # the server may need time to prepare its response
                    since, before = now, received
                elif now - since >= how.timeout:
                    slowest = how.min_kb_per_second
                    if received == before:
                        raise Failed(f"no answer within {how.timeout:g} s")
                    if received - before < slowest * 1000 * (now - since):
                        raise Failed(f"slower than {slowest:g} kB/s ('openml.min_kb_per_second')")
                    since, before = now, received
        if transfer.error is not None:
            raise _failure(transfer.error, self) from None


@contextlib.contextmanager
def connected(how: Access, beside: Path | None = None) -> Iterator[Server]:
    """Yield the server with a temporary folder beside a path (default: in the system's).

    The next use of the same path removes a folder that a killed job left.
    """
    from openml import config

    address = how.server or config.server
    cache = config._root_cache_directory if how.cache is None else Path(how.cache).resolve()
    cache = Path(cache, *reversed(urlsplit(address).netloc.split(".")))
    beside = beside or Path(tempfile.gettempdir(), "ensemble-search-openml")
    with files.temporary_folder(beside) as folder:
        yield Server(how, folder, address, cache, config.apikey or "", config.server)


class _Transfer(threading.Thread):
    """A download in its own thread, so that a slow server cannot block the caller.

    ``received`` is the number of bytes so far, unpacked; ``error`` the exception that ended it.
    """

    def __init__(self, url: str, file: BinaryIO, most_mb: int, server: Server):
        super().__init__(daemon=True)
        self.received = 0
        self.error: Exception | None = None
        self._url, self._file, self._most_mb, self._server = url, file, most_mb, server

    def run(self) -> None:
        try:
            self._follow()
        except Exception as error:  # raised again in the waiting thread
            self.error = error

    def _follow(self) -> None:
        import requests

        url = _web_address(self._url)
        with requests.Session() as session:
            # Following a redirect, requests would read its whole body.
            session.get_redirect_target = lambda resp: None  # type: ignore[method-assign]
            for _ in range(MAX_REDIRECTS + 1):
                # Other servers named by a study, description or redirect do not get the key.
                server = self._server
                own = server.key and _origin(url) == _origin(server.key_for)
                key, timeout = {"api_key": server.key} if own else {}, server.how.timeout
                with session.get(url, params=key, stream=True, timeout=timeout) as response:
                    if not response.is_redirect:
                        self._save(response)
                        return
                    url = _web_address(response.headers["Location"], url)
        raise Failed(f"more than {MAX_REDIRECTS} redirects")

    def _save(self, response) -> None:
        if response.status_code != 200:
            body = next(response.iter_content(100_000), b"")
            raise _rejected(response.status_code, body, self._url)
        too_large = Failed(
            f"{short(self._url)} has more than {self._most_mb} MB",
            "a larger 'openml.max_mb' allows more"
            if self._most_mb != DESCRIPTION_MB
            else "that is not a description of a data set",
        )
        announced = response.headers.get("Content-Length", "")
        if announced.isdecimal() and float(announced) > self._most_mb * MB:
            raise too_large
        for chunk in response.iter_content(8192):  # unpacked
            self.received += len(chunk)
            if self.received > self._most_mb * MB:
                raise too_large
            self._file.write(chunk)


def _web_address(url: str, before: str = "") -> str:
    """Return an address if it is allowed; ``before`` is the address that redirects to it."""
    try:
        url = urljoin(before, url)
        parts = urlsplit(url)
        right = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
    except ValueError:  # invalid port or bracket
        right = False
    if not right:
        raise Failed(f"the server names {short(url)}, which is not an http(s) address")
    if before.startswith("https:") and parts.scheme != "https":
        raise Failed(f"the server redirects to {short(url)}, without encryption")
    return url


def _origin(url: str) -> tuple[str, str]:
    parts = urlsplit(url)
    return parts.scheme, parts.netloc.rpartition("@")[2].lower()


def _rejected(status: int, body: bytes, url: str) -> Failed:
    """Parse an error response of OpenML."""
    import xmltodict

    try:
        error = xmltodict.parse(body)["oml:error"]
        code, told = error["oml:code"], error["oml:message"]
        more = error.get("oml:additional_information")
    except Exception:  # the response may be anything
        return Failed(f"the answer is not an OpenML description or file (status {status})")
    told = short(f"{told} - {more}" if more else str(told))
    if code in PERMANENT:
        return Failed(f"{short(url)} answers: {told}", PERMANENT[code])
    return Failed(told)


def _failure(error: Exception, server: Server) -> Exception:
    """Turn a transfer error into one short line; return disk errors unchanged."""
    import requests
    from urllib3.exceptions import HTTPError, ProtocolError

    if not isinstance(error, (requests.RequestException, HTTPError, HTTPException, ValueError)):
        return error
    text = str(error)
    if isinstance(error, requests.Timeout) or "timed out" in text.lower():
        return Failed(f"no answer within {server.how.timeout:g} s")
    if isinstance(error, requests.exceptions.ChunkedEncodingError):
        return Failed("the answer was cut short")
    if isinstance(error, requests.exceptions.ContentDecodingError):
        return Failed("the answer cannot be unpacked")
    if isinstance(error, requests.ConnectionError):
        if error.args and isinstance(error.args[0], ProtocolError):
            return Failed("the connection was broken off, or the answer is not HTTP")
        host = urlsplit(getattr(error.request, "url", "") or "").netloc
        return Failed(f"no connection to {host or 'the server'}")
    return Failed(short(text.replace(server.key or "\0", "...")) or type(error).__name__)


def short(text: str) -> str:
    """Make a server's message one printable line of at most 200 characters."""
    text = " ".join(text.split())[:200]
    return "".join(c if c.isprintable() else "?" for c in text)
