"""Where a result comes from: versions of packages, commit, machine."""

import os
import platform
import socket
import subprocess
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

#: Packages whose version can change what a search finds.
PACKAGES = ("numpy", "scipy", "scikit-learn", "lightgbm", "ConfigSpace")


def versions() -> dict[str, str]:
    """Versions of Python and of the packages that can change what a search finds."""
    return {"python": platform.python_version(), **{p: version(p) for p in PACKAGES}}


def machine() -> dict[str, str | int | None]:
    """Host name, number of processors, architecture and system."""
    return {
        "host": socket.gethostname(),
        "processors": os.cpu_count(),
        "architecture": platform.machine(),
        "system": f"{platform.system()} {platform.release()}",
    }


def commit() -> dict[str, str | bool | None]:
    """Git commit of the code, and whether tracked files differ from it; None outside git."""
    try:
        head = _git("rev-parse", "HEAD")
        return {"commit": head, "dirty": bool(_git("status", "--porcelain", "-uno"))}
    except (OSError, subprocess.CalledProcessError):
        return {"commit": None, "dirty": None}


def now() -> str:
    """The time in UTC, to the second, as ISO 8601."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def _git(*arguments: str) -> str:
    folder = Path(__file__).parent
    run = subprocess.run(
        ["git", *arguments], cwd=folder, check=True, capture_output=True, text=True
    )
    return run.stdout.strip()
