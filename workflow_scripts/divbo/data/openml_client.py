"""OpenML through its own client: a private copy a job, pins, and retries that are ours.

The client deletes a data set's cache folder when a download fails, leaves pickles in it, checks
MD5 only on download, and has no time limit. So it never works in the user's cache, but in a
temporary folder into which the user's files have been copied; everything it is given is checked.
"""

import contextlib
import hashlib
import logging
import os
import shutil
import tempfile
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any
from xml.parsers.expat import ExpatError

from divbo.data.sources import Raw, nearest, read_arff
from divbo.errors import UserError

log = logging.getLogger(__name__)

# Codes with which the server says that trying again is no use: unknown id, no access.
PERMANENT = {110, 111, 112}
CACHED = ("description.xml", "dataset.arff")


@dataclass(frozen=True)
class Access:
    """How OpenML is reached.

    Attributes
    ----------
    server
        Address of the XML interface (default: the client's, https://www.openml.org/api/v1/xml).
    cache
        A filled cache folder of the client, only read (default: the client's own).
    tries
        Attempts before the fetch fails.
    pause
        Seconds after the first failed try; they double with every further one, up to 60.
    timeout
        Seconds without a byte from the server after which a try has failed.
    """

    server: str | None = None
    cache: str | None = None
    tries: int = 5
    pause: float = 1.0
    timeout: float = 60.0


def access(settings: Mapping[str, Any]) -> Access:
    """Make an :class:`Access`; an unknown key raises UserError."""
    if not isinstance(settings, Mapping):
        raise UserError(f"openml: {settings!r} is no mapping, such as {{tries: 5}}")
    known = [f.name for f in fields(Access)]
    for key, value in settings.items():
        if key not in known:
            raise UserError(f"openml: unknown key '{key}'; {nearest(key, known)}")
        if key == "tries" and (type(value) is not int or value < 1):
            raise UserError(f"openml.tries: {value!r} is no whole number from 1")
    made = Access(**settings)
    if made.cache is not None and not Path(made.cache).is_dir():
        raise UserError(f"openml.cache: there is no folder '{made.cache}'")
    return made


def fetch(number: int, version: int | None, md5: str | None, how: Access) -> Raw:
    """Fetch a data set by its id.

    What is in the cache is taken from there, without the network; the cache is only read.

    Parameters
    ----------
    number
        Id at OpenML.
    version, md5
        What the version and the MD5 of the ARFF file must be; None: anything.
    how
        Server, cache and retries.

    Raises
    ------
    UserError
        If it cannot be reached, does not exist, is not what the pins say, is damaged, or cannot
        be read as a classification data set.
    """
    with tempfile.TemporaryDirectory(prefix="divbo-openml-") as folder, _client(how, folder) as own:
        import openml

        cached = own.cache / "datasets" / str(number)
        private = Path(openml.config.get_cache_directory()) / "datasets" / str(number)
        if (cached / "description.xml").is_file():
            private.mkdir(parents=True)
            for name in CACHED:
                with contextlib.suppress(FileNotFoundError):
                    shutil.copyfile(cached / name, private / name)
        from_cache = (private / "dataset.arff").is_file()
        dataset = _download(number, how, own.server)
        where = str(cached) if from_cache else own.server
        file = Path(dataset.data_file)
        found = hashlib.md5(file.read_bytes(), usedforsecurity=False).hexdigest()
        log.info("OpenML data set %d is '%s', from %s", number, dataset.name, where)
        what = f"OpenML data set {number} ('{dataset.name}')"
        if version is not None and dataset.version != version:
            raise UserError(
                f"{what}: expected version {version}, found version {dataset.version} in {where}; "
                "correct 'version:' or the id"
            )
        if md5 is not None and found != md5:
            raise UserError(
                f"{what}: expected MD5 {md5}, found {found} in {where}; "
                "the data have changed, or 'md5:' is wrong"
            )
        if dataset.md5_checksum and found != dataset.md5_checksum:
            raise UserError(
                f"{what}: the file in {where} has MD5 {found}, its description says "
                f"{dataset.md5_checksum}; remove the damaged folder and fetch it again"
            )
        try:
            frame = read_arff(file)
        except UserError as error:
            raise UserError(str(error).replace(f"file: '{file}'", what)) from None
        return Raw(
            frame=frame,
            target=_target(dataset, frame, what),
            name=dataset.name,
            source={"openml": number},
            version=dataset.version,
            md5=found,
            ignored=_ignored(dataset, frame),
        )


@dataclass(frozen=True)
class _Settings:
    server: str
    cache: Path


@contextlib.contextmanager
def _client(how: Access, folder: str) -> Iterator[_Settings]:
    """Point the client to a private root; yield the server and cache it would have used."""
    import openml
    import requests

    config = openml.config
    before = config.server, config._root_cache_directory, config.connection_n_retries
    skip_parquet = os.environ.get("OPENML_SKIP_PARQUET")
    send = requests.adapters.HTTPAdapter.send

    def send_with_limit(self, request, **options):
        return send(self, request, **{**options, "timeout": how.timeout})

    try:
        config.server = how.server or config.server
        if how.cache is not None:
            config.set_root_cache_directory(Path(how.cache).resolve())
        own = _Settings(config.server, Path(config.get_cache_directory()))
        config.set_root_cache_directory(Path(folder))
        config.connection_n_retries = 1  # no sleeps of the client inside ours
        os.environ["OPENML_SKIP_PARQUET"] = "true"  # only the ARFF file has a checksum
        requests.adapters.HTTPAdapter.send = send_with_limit
        yield own
    finally:
        requests.adapters.HTTPAdapter.send = send
        config.server, _, config.connection_n_retries = before
        config.set_root_cache_directory(before[1])
        if skip_parquet is None:
            del os.environ["OPENML_SKIP_PARQUET"]
        else:
            os.environ["OPENML_SKIP_PARQUET"] = skip_parquet


def _download(number: int, how: Access, server: str):
    """Let the client fetch description and data, again and again, with growing pauses."""
    import openml
    from openml.exceptions import PyOpenMLError

    for attempt in range(1, how.tries + 1):
        log.info("OpenML data set %d: try %d of %d", number, attempt, how.tries)
        try:
            return openml.datasets.get_dataset(
                number,
                download_data=True,
                download_qualities=False,
                download_features_meta_data=False,
            )
        # KeyError: XML that is no description, such as the page of a proxy.
        except (PyOpenMLError, OSError, ExpatError, KeyError) as error:
            reason = _reason(error, how)
            if _permanent(error):
                raise UserError(
                    f"OpenML data set {number}: {server} answers: {reason}; check the id"
                ) from None
        if attempt < how.tries:
            # The id spreads jobs that failed together over another half of the pause.
            pause = min(60.0, how.pause * 2 ** (attempt - 1)) * (1 + number % 10 / 20)
            log.info("OpenML data set %d: %s; next try in %.1f s", number, reason, pause)
            time.sleep(pause)
    raise UserError(
        f"OpenML data set {number}: no success in {how.tries} tries at {server}: {reason}; "
        "without network, name a filled cache folder as 'openml.cache'"
    )


def _permanent(error: Exception) -> bool:
    from openml.exceptions import OpenMLNotAuthorizedError, OpenMLPrivateDatasetError

    private = isinstance(error, (OpenMLNotAuthorizedError, OpenMLPrivateDatasetError))
    return private or getattr(error, "code", None) in PERMANENT


def _reason(error: Exception, how: Access) -> str:
    """Say in one short line why a try failed."""
    import requests
    from openml.exceptions import OpenMLHashException

    text = " ".join(str(getattr(error, "message", "") or error).split())[:200]
    if isinstance(error, requests.Timeout) or "timed out" in text.lower():
        return f"no answer within {how.timeout:g} s"
    if isinstance(error, requests.exceptions.ChunkedEncodingError):
        return "the answer was cut short"
    if isinstance(error, requests.ConnectionError):
        host = requests.utils.urlparse(getattr(error.request, "url", "") or "").netloc
        return f"no connection to {host or 'the server'}"
    if isinstance(error, OpenMLHashException):
        return "the downloaded file has not the MD5 that its description states"
    if isinstance(error, (KeyError, ExpatError)):
        return "the answer is no OpenML description"
    return text or type(error).__name__


def _target(dataset, frame, what: str) -> str:
    target = dataset.default_target_attribute
    if not target:
        raise UserError(f"{what}: OpenML names no target for it; download it and use 'file:'")
    if target not in frame:
        raise UserError(f"{what}: its target '{target}' is not one of its columns")
    return target


def _ignored(dataset, frame) -> dict[str, str]:
    """Columns that OpenML marks as row ids or as to be ignored; names may be joined by commas."""
    found = {}
    for names, reason in (
        (dataset.row_id_attribute, "OpenML marks it as a row id"),
        (dataset.ignore_attribute, "OpenML marks it as to be ignored"),
    ):
        for joined in [names] if isinstance(names, str) else names or []:
            for name in [joined] if joined in frame else joined.split(","):
                if name.strip() in frame and name.strip() != dataset.default_target_attribute:
                    found.setdefault(name.strip(), reason)
    return found
