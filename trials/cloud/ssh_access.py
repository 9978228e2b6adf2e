"""SSH access to the lab's machines: a host key for each, and one key of the lab with which `quorate up` logs in."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from console.errors import UserError
from files import atomic
from trials.cloud.lab_machines import DIRECTORY, LabMachine

PROGRAMS = ("ssh", "ssh-add", "ssh-agent")
_HOST_KEY = "etc/ssh/ssh_host_ed25519_key"
_LAB_KEY = DIRECTORY / "ssh-key"
_SOCKET = DIRECTORY / "ssh-agent"


def authorize(machine: LabMachine) -> None:
    """Writes a machine's host key and root's authorized key, before the machine's first start."""
    upper = machine.directory / "upper"
    (upper / "etc/ssh").mkdir(parents=True, exist_ok=True)
    _write_pair(upper / _HOST_KEY)
    if not _LAB_KEY.exists():
        _write_pair(_LAB_KEY)
    home = upper / "root"
    home.mkdir(mode=0o700, exist_ok=True)
    (home / ".ssh").mkdir(mode=0o700, exist_ok=True)
    atomic.create(home / ".ssh/authorized_keys", _public(_LAB_KEY), 0o600)


def host_key(machine: LabMachine) -> str:
    """Returns a machine's public host key, as the stack file has it."""
    return _public(machine.directory / "upper" / _HOST_KEY).strip()


@contextmanager
def agent() -> Generator[dict[str, str]]:
    """Runs an SSH agent with the lab's key. Yields the environment variables by which clients find it."""
    _SOCKET.unlink(missing_ok=True)
    variables = {"SSH_AUTH_SOCK": str(_SOCKET)}
    with subprocess.Popen(["ssh-agent", "-D", "-a", _SOCKET], stdout=subprocess.DEVNULL) as process:
        try:
            add = ["sh", "-c", 'until [ -S "$SSH_AUTH_SOCK" ]; do sleep 0.1; done; exec ssh-add -q "$0"', _LAB_KEY]
            environment = os.environ | variables
            done = subprocess.run(add, env=environment, capture_output=True, text=True, timeout=20, check=False)
            if done.returncode:
                raise UserError(f"The lab's key could not be added to an SSH agent: {done.stderr.strip()}")
            yield variables
        finally:
            process.terminate()


def _write_pair(path: Path) -> None:
    key = Ed25519PrivateKey.generate()
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.OpenSSH, serialization.NoEncryption()
    )
    public = key.public_key().public_bytes(serialization.Encoding.OpenSSH, serialization.PublicFormat.OpenSSH)
    atomic.create(path, private.decode(), 0o600)
    atomic.create(path.with_suffix(".pub"), public.decode() + "\n", 0o644)


def _public(path: Path) -> str:
    return path.with_suffix(".pub").read_text(encoding="utf-8")
