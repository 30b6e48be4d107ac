"""Import the libraries once, and fork for every request: ``server.py LISTENER CONTROL``.

Ends, with all of its forks, when the control socket is closed.
"""

import atexit
import contextlib
import gc
import importlib
import json
import os
import selectors
import signal
import socket
import subprocess
import sys
import threading
import types
import warnings
from pathlib import Path
from typing import Any

#: What Snakemake and the scripts import; the project's own code is that of each checkout.
LIBRARIES = (
    *("snakemake.cli", "snakemake.dag", "snakemake.scheduling.greedy"),
    *("snakemake.executors.local", "snakemake.report", "snakemake.linting"),
    *("snakemake.benchmark", "snakemake.profiles", "snakemake.report.html_reporter"),
    *("snakemake.storage", "smart_open", "encodings.idna", "http.cookiejar"),
    *("ConfigSpace", "jinja2", "joblib", "lightgbm", "pandas", "PIL.JpegImagePlugin", "psutil"),
    *(
        "pyarrow.compute",
        "pyarrow.pandas_compat",
        "pyarrow.parquet",
        "pydantic",
        "threadpoolctl",
        "yaml",
    ),
    *("matplotlib.backends.backend_agg", "matplotlib.backends.backend_svg", "matplotlib.figure"),
    *("scipy.optimize", "scipy.sparse.csgraph", "scipy.spatial", "scipy.special", "scipy.stats"),
    *("sklearn.calibration", "sklearn.cluster", "sklearn.datasets", "sklearn.decomposition"),
    *("sklearn.discriminant_analysis", "sklearn.ensemble", "sklearn.feature_selection"),
    *("sklearn.gaussian_process", "sklearn.kernel_approximation", "sklearn.linear_model"),
    *("sklearn.model_selection", "sklearn.multiclass", "sklearn.naive_bayes"),
    *("sklearn.neighbors", "sklearn.pipeline", "sklearn.preprocessing"),
    *("sklearn.random_projection", "sklearn.svm", "sklearn.tree"),
)
_PARENT = "ENSEMBLE_SEARCH_PARENT"
_WORKER = "ensemble_search.evaluation.worker"


class Fork(Exception):
    """Raised in a fork, to leave the server's functions; the argument is the request."""


class Server:
    """Takes requests until the control socket is closed."""

    def __init__(self, listener: socket.socket, control: socket.socket):
        self.listener, self.control = listener, control
        self.selector = selectors.DefaultSelector()
        self.selector.register(listener, selectors.EVENT_READ, self.accept)
        self.selector.register(control, selectors.EVENT_READ, self.stop)
        self.forks: dict[int, list] = {}  # id -> sockets and files that end with it

    def serve(self) -> None:
        while True:
            for key, _ in self.selector.select():
                if key in self.selector.get_map().values():  # not ended a moment ago
                    key.data()

    def stop(self) -> None:
        sys.exit()  # the forks get SIGKILL, as their parent ends

    def accept(self) -> None:
        """Fork for a request."""
        client, _ = self.listener.accept()
        try:
            size, files, _, _ = socket.recv_fds(client, 8, 3)
            request = json.loads(_exactly(client, int.from_bytes(size, "big")))
        except (OSError, EOFError, ValueError):  # it has been killed
            client.close()
            return
        server = os.getpid()
        pid = os.fork()
        if not pid:
            self.selector.close()
            for sockets in self.forks.values():
                for other in sockets:
                    other.close()
            for own in (self.listener, self.control, client):
                own.close()
            for number, file in enumerate(files):
                os.dup2(file, number)
                os.close(file)
            raise Fork(request | {"server": server})
        for file in files:
            os.close(file)
        ended = open(os.pidfd_open(pid), "rb", buffering=0)  # noqa: SIM115
        self.forks[pid] = [client, ended]
        self.selector.register(client, selectors.EVENT_READ, lambda: self.hand_on(client, pid))
        self.selector.register(ended, selectors.EVENT_READ, lambda: self.end(client, pid))
        if request["environment"].get(_PARENT) == str(request["parent"]):
            self.watch(pid, request["parent"])

    def watch(self, pid: int, parent: int) -> None:
        """End a fork with the process that its command is a child of, as scripts do."""
        try:
            gone = open(os.pidfd_open(parent), "rb", buffering=0)  # noqa: SIM115
        except ProcessLookupError:
            os.kill(pid, signal.SIGTERM)
            return

        def end() -> None:
            self.selector.unregister(gone)
            os.kill(pid, signal.SIGTERM)

        self.forks[pid].append(gone)
        self.selector.register(gone, selectors.EVENT_READ, end)

    def hand_on(self, client: socket.socket, pid: int) -> None:
        """Send a fork the signals of its command; SIGKILL if the command has been killed."""
        try:
            numbers = client.recv(64)
        except OSError:
            numbers = b""
        for number in numbers or [signal.SIGKILL]:
            os.kill(pid, number)  # exists until it has been waited for
        if not numbers:
            self.selector.unregister(client)

    def end(self, client: socket.socket, pid: int) -> None:
        """Tell a command how its fork has ended."""
        _, status = os.waitpid(pid, 0)
        code = os.waitstatus_to_exitcode(status)
        with contextlib.suppress(OSError):
            client.send(code.to_bytes(8, "big", signed=True))
        for file in self.forks.pop(pid):
            with contextlib.suppress(KeyError):
                self.selector.unregister(file)
            file.close()


def _exactly(client: socket.socket, size: int) -> bytes:
    text = b""
    while len(text) < size:
        part = client.recv(size - len(text))
        if not part:
            raise EOFError
        text += part
    return text


def become(request: dict[str, Any]) -> None:
    """Make this process what a new interpreter would be for the request, and run its code."""
    import ctypes

    ctypes.CDLL(None).prctl(1, int(signal.SIGKILL), 0, 0, 0)  # with the server
    for number in request["ignored"]:
        signal.signal(number, signal.SIG_IGN)
    os.chdir(request["folder"])
    os.environ.clear()
    os.environ.update(request["environment"])
    if os.environ.get(_PARENT) == str(request["parent"]):
        os.environ[_PARENT] = str(request["server"])
    importlib.invalidate_caches()
    sys.executable = request["python"]
    name, arguments = request["name"], request["arguments"]
    if name == "snakemake" or arguments[:1] == ["-m"]:
        from snakemake.cli import main

        if name == "python":
            sys.path.insert(0, os.getcwd())
            arguments = arguments[2:]
        sys.argv = ["snakemake", *arguments]
        sys.exit(main())
    fork_workers()
    sys.argv = arguments
    script = os.path.abspath(arguments[0])
    sys.path.insert(0, os.path.dirname(os.path.realpath(script)))
    module = types.ModuleType("__main__")
    module.__file__ = script
    module.__builtins__ = __builtins__
    sys.modules["__main__"] = module
    exec(compile(Path(script).read_bytes(), script, "exec"), module.__dict__)


def fork_workers() -> None:
    """Let a search fork its workers: to import the learners takes one longer than its fits."""
    start = subprocess._fork_exec

    def start_or_fork(arguments, *others):
        _, _, kept, _, environment, stdin, _, _, stdout, _, stderr, _, failure = others[:13]
        # A fork has none of the other threads, which must hold no lock: daemons only wait.
        threads = [t for t in threading.enumerate() if t.daemon]
        alone = len(os.listdir("/proc/self/task")) == len(threads) + 1
        if _WORKER not in arguments or b"OMP_NUM_THREADS=1" not in environment or not alone:
            return start(arguments, *others)
        if pid := os.fork():
            return pid
        gc.freeze()  # no file of the search is closed after its number is another's
        signal.set_wakeup_fd(-1)
        os.setsid()
        for number, file in enumerate((stdin, stdout, stderr)):
            os.dup2(file, number)
        for name in os.listdir("/proc/self/fd"):
            if int(name) > 2 and int(name) not in set(kept) - {failure}:
                with contextlib.suppress(OSError):  # that of the list itself
                    os.close(int(name))
        os.environ.clear()
        os.environb.update(line.split(b"=", 1) for line in environment)
        warnings.simplefilter("ignore")
        sys.argv = [_WORKER, arguments[-1]]
        try:
            importlib.import_module(_WORKER).main()
        except BaseException as error:
            sys.excepthook(type(error), error, error.__traceback__)
        os._exit(1)

    subprocess._fork_exec = start_or_fork


def run(request: dict[str, Any]) -> int:
    """Run the code of a request to its end; return the exit status."""
    code = 0
    try:
        become(request)
    except SystemExit as end:
        code = end.code
        if code is not None and not isinstance(code, int):
            print(code, file=sys.stderr)
            code = 1
    except BaseException as error:
        sys.excepthook(type(error), error, error.__traceback__)
        code = 1
    threading._shutdown()
    atexit._run_exitfuncs()
    for file in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError):
            file.flush()
    return code or 0


def main() -> None:
    """Import, and serve."""
    listener, control = (socket.socket(fileno=int(number)) for number in sys.argv[1:])
    for name in LIBRARIES:
        importlib.import_module(name)
    del sys.path[:0]
    threads = len(os.listdir("/proc/self/task"))
    if threads > 1:
        sys.exit(f"importing the libraries has started threads: {threads}")
    gc.collect()
    gc.freeze()
    try:
        Server(listener, control).serve()
    except Fork as fork:
        request = fork.args[0]
    os._exit(run(request) & 0xFF)


if __name__ == "__main__":
    main()
