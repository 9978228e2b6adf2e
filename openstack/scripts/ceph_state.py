"""Asks Ceph's daemons for their state through their admin sockets. Exits with 1 unless each answer is accepted.

Arguments: a command such as mon_status, a pattern of sockets in which $POD_NAME is replaced, and the accepted states;
without states, any answer. `ceph daemon` asks the same, and loads Ceph's whole command line for each question.
"""

import glob
import json
import os
import socket
import sys

TIMEOUT = 5


def answer(path: str, command: str) -> dict[str, object]:
    """Returns a daemon's answer: four bytes with its length, then JSON. Raises OSError or ValueError if none comes."""
    with socket.socket(socket.AF_UNIX) as daemon:
        daemon.settimeout(TIMEOUT)
        daemon.connect(path)
        daemon.sendall(json.dumps({"prefix": command, "format": "json"}).encode() + b"\0")
        with daemon.makefile("rb") as stream:
            length = int.from_bytes(stream.read(4), "big")
            return json.loads(stream.read(length))


def accepted(command: str, pattern: str, *states: str) -> bool:
    """Whether a socket exists, and the answer on each has one of the states."""
    paths = glob.glob(os.path.expandvars(pattern))  # noqa: PTH207 - pathlib takes longer to load than the rest
    found = [answer(path, command).get("state") for path in paths]
    return bool(found) and all(not states or each in states for each in found)


if __name__ == "__main__":
    try:
        sys.exit(0 if accepted(*sys.argv[1:]) else 1)
    except (OSError, ValueError) as failure:
        sys.exit(f"no answer: {failure}")
