"""Run a command as a fork of the server, or as a process of its own: ``client.py COMMAND ...``."""

import array
import json
import os
import signal
import socket
import sys

#: Handed on to the fork.
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2)


def variables(environment: dict[str, str]) -> dict[str, str]:
    """Return the variables that an interpreter reads when it starts."""
    return {k: v for k, v in environment.items() if v and k.startswith(("PYTHON", "LANG", "LC_"))}


def can_fork(name: str, arguments: list[str], about: dict) -> bool:
    """Whether a fork of the server does what a new interpreter would."""
    script = arguments[:1] and arguments[0].endswith(".py")
    if name == "python" and not script and arguments[:2] != ["-m", "snakemake"]:
        return False
    if any(k.endswith("_NUM_THREADS") and v != "1" for k, v in os.environ.items()):
        return False
    if variables(os.environ) != about["variables"]:
        return False
    try:
        return not any(map(os.isatty, range(3)))
    except OSError:  # closed
        return False


def main() -> None:
    """Ask for a fork, hand signals on to it, and end as it ends."""
    folder, name = os.path.split(sys.argv[1])
    arguments = sys.argv[2:]
    with open(os.path.join(folder, "about.json"), encoding="utf-8") as file:
        about = json.load(file)
    if not can_fork(name, arguments, about):
        real = about["python"]
        real = os.path.join(os.path.dirname(real), name) if name != "python" else real
        os.execv(real, [real, *arguments])
    request = {
        "name": name,
        "arguments": arguments,
        "environment": dict(os.environ),
        "folder": os.getcwd(),
        "python": os.path.join(folder, "python"),
        "parent": os.getppid(),
        "ignored": [n for n in SIGNALS if signal.getsignal(n) == signal.SIG_IGN],
    }
    text = json.dumps(request).encode()
    server = socket.socket(socket.AF_UNIX)
    server.connect(os.path.join(folder, "socket"))
    for number in SIGNALS:
        if number not in request["ignored"]:
            signal.signal(number, lambda number, _: server.send(bytes([number])))
    files = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", range(3)))]
    server.sendmsg([len(text).to_bytes(8, "big")], files)
    server.sendall(text)
    status = int.from_bytes(server.recv(8), "big", signed=True)
    if status < 0:
        if -status != signal.SIGKILL:
            signal.signal(-status, signal.SIG_DFL)
        os.kill(os.getpid(), -status)
    os._exit(status)


if __name__ == "__main__":
    main()
