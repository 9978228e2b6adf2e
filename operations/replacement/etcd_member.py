"""Removes the member of a dead machine from etcd, over SSH on a machine whose member takes part."""

from __future__ import annotations

import shlex
import subprocess
from pathlib import Path
from tempfile import TemporaryDirectory

from blueprint.plan.nodes import Node
from blueprint.plan.plan import Plan
from console.errors import UserError
from doctor import login
from operations.living.cloud import ETCD, LivingCloud
from operations.living.etcd import PKI

BACKUP = "/var/lib/etcd-backup"
LIMIT = 300
"""Seconds that the removal may take, with the copy of etcd's data before it. Project figure."""
_SCRIPT = Path(__file__).with_name("forget_etcd_member.sh")


def script(dead: str, own: str, pki: str = PKI, backup: str = BACKUP) -> str:
    """Returns the shell script that removes a member. `dead`, `own`: addresses of the dead machine and of this one."""
    values = {"DEAD": f"https://{dead}:2380", "OWN": f"https://{own}:2379", "PKI": pki, "BACKUP": backup}
    lines = [f"{name}={shlex.quote(value)}" for name, value in values.items()]
    return "\n".join((*lines, _SCRIPT.read_text(encoding="utf-8")))


def forget(plan: Plan, cloud: LivingCloud, dead: Node) -> str:
    """Removes the member of a machine from etcd's list. Returns what was done.

    Raises UserError if no other machine can be asked, or if etcd refuses.
    """
    counting = {
        member.name for quorum in cloud.quorums if quorum.name == ETCD for member in quorum.members if member.counts
    }
    problem = "no other member takes part"
    with TemporaryDirectory(prefix="quorate-replace-") as directory:
        known_hosts = Path(directory) / "known_hosts"
        login.write_known_hosts(known_hosts, tuple(node.machine for node in plan.members), plan.settings.ssh)
        for node in plan.members:
            if node.name != dead.name and node.name in counting:
                try:
                    return _on_machine(plan, node, dead.address, known_hosts)
                except login.LoginError as error:
                    problem = f"{node.name} was not asked: {error.problem}"
    raise UserError(f"The member of {dead.name} was not removed from etcd: {problem}.")


def _on_machine(plan: Plan, node: Node, dead: str, known_hosts: Path) -> str:
    ssh = plan.settings.ssh
    # The whole script is read before it runs: etcdctl would read the rest of it otherwise.
    command = f"sudo -n sh -c {shlex.quote(script(dead, node.address))}"
    as_root = command.removeprefix("sudo -n ")
    line = f'if [ "$(id -u)" -eq 0 ]; then exec {as_root}; else exec {command}; fi\n'
    try:
        done = login.run(node.machine, ssh, known_hosts, line, LIMIT)
    except subprocess.TimeoutExpired:
        raise login.LoginError(f"it did not end within {LIMIT} s", "look at etcd there") from None
    except FileNotFoundError:
        raise UserError("This host has no ssh; install the OpenSSH client.") from None
    if done.returncode == login.FAILED:
        raise login.login_error(done.stderr, node.machine, ssh)
    if done.returncode:
        said = done.stderr.strip() or done.stdout.strip()
        raise UserError(f"The member was not removed from etcd, on {node.name}: {said[-400:]}")
    return done.stdout.strip()
