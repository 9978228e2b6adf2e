"""sshd on this host: the login of the user of the tests, with programs before the system's on both sides."""

from __future__ import annotations

import getpass
import os
import shutil
import socket
import subprocess
import time
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.fakes import script
from tests.host_programs import require

HOST = "vm1"
"""The name by which the client's configuration has the server."""
SSHD = "/usr/sbin/sshd"


@dataclass(frozen=True)
class LocalSshd:
    """A running sshd, with directories of programs that are first on PATH."""

    here: Path
    """Of the client: has an `ssh` that knows HOST."""
    there: Path
    """Of logins."""
    port: int

    @property
    def path(self) -> str:
        """The PATH of the client."""
        return f"{self.here}:{os.environ['PATH']}"

    def write_shell(self, path: str = "") -> None:
        """Writes the `sh` of logins, with a PATH: that of the login may begin with what its ~/.bashrc adds."""
        script(self.there, "sh", f'PATH="{path or f"{self.there}:$PATH"}" exec /bin/sh "$@"')


@contextmanager
def local_sshd(directory: Path, address: str = "127.0.0.1") -> Generator[LocalSshd]:
    """Runs sshd on a free port of an address. Installs it and rsync on Debian as root; elsewhere skips the test.

    It admits the key in the directory's file `user`, and proves itself by that in `host`.
    """
    require(("rsync", "ssh", "ssh-keygen", SSHD), ("openssh-client", "openssh-server", "rsync"))
    if os.geteuid() == 0:
        Path("/run/sshd").mkdir(exist_ok=True)  # sshd requires it as root
    for name in ("host", "user"):
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", directory / name], check=True)
    with socket.create_server((address, 0)) as free:
        port = free.getsockname()[1]
    found = LocalSshd(directory / "here", directory / "there", port)
    (directory / "sshd_config").write_text(
        f"ListenAddress {address}:{port}\nHostKey {directory}/host\nAuthorizedKeysFile {directory}/user.pub\n"
        "UsePAM no\nStrictModes no\nPasswordAuthentication no\nPidFile none\nLoginGraceTime 0\n"
        f"SetEnv PATH={found.there}:{os.environ['PATH']}\n"
    )
    (directory / "known_hosts").write_text(f"[{address}]:{port} {(directory / 'host.pub').read_text()}")
    (directory / "ssh_config").write_text(
        f"Host {HOST}\n  HostName {address}\n  Port {port}\n  User {getpass.getuser()}\n"
        f"  IdentityFile {directory}/user\n  IdentitiesOnly yes\n  UserKnownHostsFile {directory}/known_hosts\n"
    )
    script(found.here, "ssh", f'exec {shutil.which("ssh")} -F {directory}/ssh_config "$@"')
    found.write_shell()
    with (directory / "log").open("w") as log:
        server = subprocess.Popen([SSHD, "-D", "-e", "-f", directory / "sshd_config"], stderr=log)
    try:
        _await(found, server, directory / "log")
        yield found
    finally:
        server.terminate()
        server.wait()


def _await(found: LocalSshd, server: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + 60
    while subprocess.run([found.here / "ssh", HOST, "true"], check=False, capture_output=True).returncode:
        if server.poll() is not None or time.monotonic() > deadline:
            pytest.fail(f"sshd does not answer: {log.read_text()}")
        time.sleep(0.1)
