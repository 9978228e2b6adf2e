"""Commands on machines of a stack, as root, over SSH."""

from __future__ import annotations

import shlex
import subprocess
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from blueprint.plan.nodes import Node
from blueprint.plan.plan import Plan
from cluster.pod_exec import CommandOutput
from console.errors import UserError
from doctor import login
from operations.root_shell import Shell


@contextmanager
def machine_shell(plan: Plan) -> Generator[Shell]:
    """Yields what runs a script on a machine of a plan, with the login and the host keys of the stack file.

    It raises UserError if this host has no `ssh`.
    """
    ssh = plan.settings.ssh
    with TemporaryDirectory(prefix="quorate-machines-") as directory:
        known_hosts = Path(directory) / "known_hosts"
        login.write_known_hosts(known_hosts, tuple(node.machine for node in plan.machines), ssh)

        def run(node: Node, script: str, seconds: float) -> CommandOutput:
            # The script itself arrives on standard input, which commands must not read.
            shell = f"sh -c {shlex.quote(script)} </dev/null 2>&1\n"
            as_root = shell if ssh.user == "root" else f"sudo -n {shell}"
            try:
                done = login.run(node.machine, ssh, known_hosts, as_root, seconds)
            except subprocess.TimeoutExpired:
                return CommandOutput("", f"it did not end within {seconds:.0f} s", None)
            except FileNotFoundError:
                raise UserError("There is no `ssh` here. Install the OpenSSH client.") from None
            if done.returncode == login.FAILED and done.stderr:  # otherwise the script itself ended so
                error = login.login_error(done.stderr, node.machine, ssh)
                return CommandOutput(done.stdout, f"{error}; {error.remedy}", None)
            return CommandOutput(done.stdout, done.stderr, done.returncode)

        yield run
