"""Stand-ins for `python` and `snakemake` that fork a process which has imported the libraries.

A start of Snakemake or of a script takes a second of imports, and the tests make thousands. The
stand-ins (``client.py``) ask a server, one for every process of tests (``server.py``), for a fork
with their arguments, environment, folder and standard files, hand on signals and end as it ends.
The workers of a search that is such a fork are forks of it, with the seed of hashes that they have.
What a fork cannot do as a new interpreter would is left to one: options and variables of Python,
other numbers of threads, terminals. Tests of kills, signals and installations start real processes.
"""

import atexit
import functools
import json
import os
import shlex
import shutil
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

from support.forks.client import variables

#: The commands that have stand-ins.
COMMANDS = ("python", "snakemake")
#: Threads of libraries, which read them when they are imported; Snakemake sets them for its jobs.
THREADS = ("OMP", "GOTO", "OPENBLAS", "MKL", "NUMEXPR")
_HERE = Path(__file__).parent
_STAND_IN = """#!/bin/sh
exec {python} -IS {client} "$0" "$@"
"""


def environment(folder: Path, forked: bool = True) -> dict[str, str]:
    """Return the environment of somebody with this home who has activated .venv.

    Parameters
    ----------
    folder
        The home.
    forked
        Whether `python` and `snakemake` are the stand-ins.
    """
    places = [commands()] if forked and commands() else []
    path = os.pathsep.join(map(str, [*places, Path(sys.executable).parent, os.environ["PATH"]]))
    return {**os.environ, "PATH": path, "HOME": str(folder)}


@functools.cache
def commands() -> Path | None:
    """Start the server of this process; return the folder of the stand-ins, None but on Linux."""
    if sys.platform != "linux":
        return None
    folder = Path(tempfile.mkdtemp(prefix="forks-"))
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(folder / "socket"))
    listener.listen(64)
    ours, theirs = socket.socketpair()
    single = {f"{name}_NUM_THREADS": "1" for name in THREADS}
    single |= {"JE_ARROW_MALLOC_CONF": "background_thread:false", "PYTHONHASHSEED": "0"}
    server = subprocess.Popen(
        [sys.executable, "-P", _HERE / "server.py", str(listener.fileno()), str(theirs.fileno())],
        pass_fds=(listener.fileno(), theirs.fileno()),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        env=os.environ | single,
        start_new_session=True,
    )
    listener.close()
    theirs.close()

    def stop() -> None:
        ours.close()  # at which it ends, with all of its forks
        server.wait()
        shutil.rmtree(folder)

    atexit.register(stop)
    about = {"python": sys.executable, "variables": variables(os.environ)}
    (folder / "about.json").write_text(json.dumps(about), encoding="utf-8")
    for name in COMMANDS:
        paths = {"python": sys.executable, "client": str(_HERE / "client.py")}
        text = _STAND_IN.format(**{key: shlex.quote(path) for key, path in paths.items()})
        (folder / name).write_text(text, encoding="utf-8")
        (folder / name).chmod(0o755)
    return folder
