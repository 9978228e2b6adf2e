"""Runs the probe on machines over SSH, with the OpenSSH client.

The stack file has the machines' host keys, and the keys to log in come from the SSH agent or the user's default files.
The user's and the system's SSH configuration are not read, so that the result does not depend on them.
"""

from __future__ import annotations

import re
import shlex
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

from blueprint.stackfile.inventory import Machine
from blueprint.stackfile.settings import Ssh
from doctor.facts import IncompleteError, ReadFacts, parse
from formats.ssh_options import options

PROBE = Path(__file__).with_name("probe.sh")
LIMIT = 60
"""Seconds until a probe that does not end fails."""
FAILED = 255
"""Exit code of the OpenSSH client if it did not run the command (ssh(1))."""
JUMP = "quorate-jump-host"
"""Name under which the jump host's key is in the file of known hosts."""

_REASONS = (
    (
        r"REMOTE HOST IDENTIFICATION HAS CHANGED|Host key verification failed",
        "{host} has another host key than the stack file",
        "compare {key} with /etc/ssh/ssh_host_ed25519_key.pub there, on its console",
    ),
    (
        r"Permission denied",
        "{host} refuses the login of {user}",
        "add a key of your SSH agent (ssh-add -L) to its authorized_keys there, or correct the user in quorate:ssh",
    ),
    (
        r"Connection refused",
        "nothing listens on port {port} of {host}",
        "start sshd there, or correct the port in quorate:ssh",
    ),
    (
        r"timed out|No route to host|Network is unreachable|Could not resolve hostname",
        "{host} does not answer at {address}",
        "start it, and check its address and the route to it",
    ),
)
"""Pattern in the client's messages, problem, remedy."""


class LoginError(Exception):
    """Raised if the probe did not run on a machine."""

    def __init__(self, problem: str, remedy: str) -> None:
        super().__init__(problem)
        self.problem = problem
        self.remedy = remedy


@dataclass(frozen=True)
class Reading:
    """The facts of a machine, and between which times of this host's clock the machine read its clock."""

    facts: ReadFacts
    earliest: float
    latest: float
    """Seconds since 1970."""


def write_known_hosts(file: Path, machines: tuple[Machine, ...], ssh: Ssh) -> None:
    """Writes the host keys of the stack file, under the names of the machines."""
    lines = [f"{machine.name} {machine.host_key}" for machine in machines if machine.host_key]
    if ssh.jump_host:
        lines.append(f"{JUMP} {ssh.jump_host.host_key}")
    file.write_text("\n".join((*lines, "")), encoding="utf-8")


def read(machine: Machine, ssh: Ssh, known_hosts: Path) -> Reading:
    """Runs the probe on a machine. Raises LoginError if that fails."""
    earliest = time.time()
    return Reading(facts(machine, ssh, known_hosts, PROBE.read_text(encoding="utf-8"), LIMIT), earliest, time.time())


def facts(machine: Machine, ssh: Ssh, known_hosts: Path, script: str, seconds: int) -> ReadFacts:
    """Returns the facts that a script prints on a machine.

    Raises LoginError if the script does not end within the time, or prints no last line.
    """
    if machine.host_key is None:
        raise LoginError("the stack file has no hostKey of it", "write the line of /etc/ssh/ssh_host_ed25519_key.pub")
    try:
        done = run(machine, ssh, known_hosts, script, seconds)
    except subprocess.TimeoutExpired:
        raise LoginError(f"the checks there did not end within {seconds} s", "look at its load and its disks") from None
    try:
        return parse(done.stdout)
    except IncompleteError:
        raise login_error(done.stderr, machine, ssh) from None


def run(machine: Machine, ssh: Ssh, known_hosts: Path, script: str, seconds: float) -> subprocess.CompletedProcess[str]:
    """Runs a script on a machine. Raises TimeoutExpired, and FileNotFoundError if the host has no `ssh`."""
    return subprocess.run(
        command(machine, ssh, known_hosts),
        input=script,
        capture_output=True,
        text=True,
        errors="replace",
        timeout=seconds,
        check=False,
    )


def command(machine: Machine, ssh: Ssh, known_hosts: Path) -> list[str]:
    """Returns the command line that runs a script of standard input on a machine."""
    found = list(options(str(known_hosts)))
    if jump := ssh.jump_host:
        words = ["ssh", *found, "-o", f"HostKeyAlias={JUMP}", "-p", str(jump.port), "-l", jump.user]
        # %h and %p are the machine's address and port.
        found += ["-o", f"ProxyCommand={shlex.join(words)} -W %h:%p {shlex.quote(jump.host)}"]
    found += ["-o", f"HostKeyAlias={machine.name}", "-p", str(ssh.port), "-l", ssh.user]
    return ["ssh", *found, machine.address, "sh -s"]


def login_error(messages: str, machine: Machine, ssh: Ssh) -> LoginError:
    """Returns the problem and the remedy that the messages of the OpenSSH client mean."""
    names = {"host": "it", "key": "hostKey", "user": ssh.user, "port": ssh.port, "address": machine.address}
    jump = ssh.jump_host
    if jump and any(each in messages for each in (JUMP, f"@{jump.host}:", f"host {jump.host} port", f"{jump.host}: ")):
        names = {"host": "the jump host", "key": "jumpHost.hostKey"}
        names |= {"user": jump.user, "port": jump.port, "address": jump.host}
    for pattern, problem, remedy in _REASONS:
        if re.search(pattern, messages):
            return LoginError(problem.format(**names), remedy.format(**names))
    last = next((line for line in reversed(messages.splitlines()) if line.strip()), "no message")
    return LoginError(f"the checks failed there ({last.strip()})", "log in with ssh, and look at its system log")
