"""`python3 -m one_manager run <command>` runs cinder-volume; `… ready` and `… alive` are the probes of its pod."""

from __future__ import annotations

import configparser
import os
import subprocess
import sys
from typing import Any

from . import state
from .turns import Turns

PROGRAM, PORT = "cinder-volume", "5672"
"""The program that must be connected to RabbitMQ, and RabbitMQ's port."""
CONFIGURATION = os.environ.get("CINDER_CONFIGURATION", "/etc/cinder/cinder.conf")
STALE = 60
"""Seconds without a written state after which this program hangs, and seconds without an answer of the API server after
which a waiting pod is not ready to take over. Project figure."""
CONNECT = 660
"""Seconds that the command may take to connect to RabbitMQ for the first time, as other processes may
(CONNECT in components/openstack/probes.py)."""


def main(arguments: list[str]) -> int | str:
    """Runs the command, or a probe. Returns the exit code, or why the probe fails."""
    if arguments[0] == "run":
        return run(arguments[1:])
    said = state.read()
    if said["at"] is not None and state.now() >= said["at"] + STALE:
        return f"no sign of life for {STALE} s"
    return (ready(said) if arguments[0] == "ready" else alive(said)) or 0


def run(command: list[str]) -> int:
    """Runs the command: in turns with other pods if it shares its host name with them, otherwise at once."""
    if not shares_host():
        state.write(at=None, answered=0, active=state.now())
        os.execvp(command[0], command)  # noqa: S606 - this process becomes the command
    return Turns(command).run()


def shares_host() -> bool:
    """Whether a backend of Cinder has a host name of its own, which is the same in all pods."""
    parser = configparser.ConfigParser(strict=False, interpolation=None, allow_no_value=True)
    parser.read(CONFIGURATION, encoding="utf-8")
    backends = parser.get("DEFAULT", "enabled_backends", fallback="") or ""
    return any(parser.get(each.strip(), "backend_host", fallback="") for each in backends.split(","))


def ready(said: dict[str, Any]) -> str:
    """Returns why the pod is not ready; "" if its command is connected, or if it waits and could take over."""
    if said["active"] is None:
        return "" if state.now() < said["answered"] + STALE else "no answer of the API server"
    if subprocess.run(["healthcheck_port", PROGRAM, PORT], check=False).returncode:
        return "the command is not connected to RabbitMQ"
    state.note_connection(said["active"])
    return ""


def alive(said: dict[str, Any]) -> str:
    """Returns why kubelet must restart the container: the command has not connected for too long; "" otherwise."""
    since = said["active"]
    if since is None or state.now() < since + CONNECT or state.has_connected(since):
        return ""
    return "the command has never connected to RabbitMQ"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
