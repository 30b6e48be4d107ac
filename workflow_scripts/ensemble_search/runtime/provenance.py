"""Provenance of results: package versions, commit, machine."""

import functools
import os
import platform
import socket
import subprocess
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path

import psutil

#: Version of a package, as loaded by this process.
version = functools.cache(metadata.version)
#: Packages whose version can change what a search finds, by import name.
PACKAGES = {
    "numpy": "numpy",
    "scipy": "scipy",
    "sklearn": "scikit-learn",
    "lightgbm": "lightgbm",
    "ConfigSpace": "ConfigSpace",
}
#: Libraries that read settings and watch processes; they change no number.
NEUTRAL = ("psutil", "pydantic")


def versions(libraries: Sequence[str] = ()) -> dict[str, str]:
    """Versions of Python and of the packages that can change what a search finds.

    ``libraries`` are import names of modules that only some spaces use.
    """
    found = {package: version(package) for package in PACKAGES.values()}
    return {"python": platform.python_version(), **found, **further(libraries)}


def further(libraries: Sequence[str]) -> dict[str, str]:
    """Versions, by import name, of libraries that not every search uses.

    The package may have another name (``xgboost`` is in ``xgboost-cpu``); a module without a
    package has the version ``no package``.
    """
    further = [name for name in libraries if name not in PACKAGES and name not in NEUTRAL]
    packages = metadata.packages_distributions() if further else {}
    versions = {name: sorted(map(version, set(packages.get(name, ())))) for name in further}
    return {name: ", ".join(found) or "no package" for name, found in versions.items()}


def machine() -> dict[str, str | int | None]:
    """Host name, number of processors, architecture and system."""
    return {
        "host": socket.gethostname(),
        "processors": os.cpu_count(),
        "architecture": platform.machine(),
        "system": f"{platform.system()} {platform.release()}",
    }


def commit() -> dict[str, str | bool | None]:
    """Git commit of the code, and whether files differ from it or are untracked.

    Untracked files count because they may be plugins. Both are None outside git, and inside the
    repository of another project.
    """
    scripts = Path(__file__).resolve().parents[2]
    root = scripts.parent
    try:
        own = Path(_git("rev-parse", "--show-toplevel")) == root and (root / "Snakefile").is_file()
        if own:
            changes = _git("status", "--porcelain", "-unormal", "--", str(scripts))
            return {"commit": _git("rev-parse", "HEAD"), "dirty": bool(changes)}
    except (OSError, subprocess.CalledProcessError):
        pass
    return {"commit": None, "dirty": None}


def now() -> str:
    """The time in UTC, to the second, as ISO 8601."""
    return past(time.monotonic())


def past(moment: float) -> str:
    """Write a past time, as of ``time.monotonic``, as :func:`now` does, by the current clock.

    Durations are differences of ``time.monotonic``: the clock may have been set since.
    """
    seconds = time.time() - (time.monotonic() - moment)
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds")


def process_started() -> float:
    """When this process started, as ``time.monotonic``; its imports may have taken seconds."""
    try:
        fields = Path("/proc/self/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
        after_boot = int(fields[19]) / os.sysconf("SC_CLK_TCK")
        age = time.clock_gettime(time.CLOCK_BOOTTIME) - after_boot
    except OSError:  # not Linux
        age = max(0.0, time.time() - psutil.Process().create_time())
    return time.monotonic() - age


def _git(*arguments: str) -> str:
    folder = Path(__file__).parent
    run = subprocess.run(
        ["git", *arguments], cwd=folder, check=True, capture_output=True, text=True
    )
    return run.stdout.strip()
