"""Whether a machine that is said to be dead answers: by its kubelet, its members, or its own network."""

from __future__ import annotations

import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

from blueprint.plan.nodes import Node
from blueprint.stackfile.settings import Ssh
from cluster.objects import holds, name
from doctor import login
from operations.living.cloud import LivingCloud
from operations.replacement.dead_machine import DeadMachine

PATIENCE = 3.0
"""Seconds in which a machine that is on accepts or refuses a connection. Project figure, as for API servers."""
KUBELET = 10250
"""Port of kubelet's own server."""
LIMIT = 30.0
"""Seconds until the SSH client that asks through a jump host is given up. Its own limit for a connection is lower."""


def signs(cloud: LivingCloud, dead: DeadMachine, ssh: Ssh) -> list[str]:
    """Returns what shows that a machine is on, each as text; [] if it does not answer."""
    return [*_in_cloud(cloud, dead), *_on_network(dead.node, ssh)]


def _in_cloud(cloud: LivingCloud, dead: DeadMachine) -> Iterator[str]:
    if any(name(node) == dead.name and holds(node, "Ready") for node in cloud.nodes):
        yield f"node {dead.name} is Ready: its kubelet reports (one that has stopped counts as Ready for half a minute)"
    here = {pair for pair, node in cloud.places.items() if node == dead.name} | set(dead.all_members)
    for quorum in cloud.quorums:
        for member in quorum.members:
            if (quorum.name, member.name) in here and member.counts:
                yield f"{member.name} of {quorum.name} takes part: {member.says}"
    if cloud.storage and (up := cloud.storage.up.get(dead.name)):
        yield f"{up} of its OSDs are up"


def _on_network(node: Node, ssh: Ssh) -> Iterator[str]:
    if ssh.jump_host:
        if said := _by_jump_host(node, ssh):
            yield said
        return
    for port in (ssh.port, KUBELET):
        if answer := _answer(node.address, port):
            yield f"{node.address} {answer} connections on port {port}"


def _answer(address: str, port: int) -> str:
    """Returns how an address answers on a port; "" if it does not. A refusal is an answer: the machine is on."""
    try:
        socket.create_connection((address, port), timeout=PATIENCE).close()
    except ConnectionRefusedError:
        return "refuses"
    except OSError:
        return ""
    return "accepts"


def _by_jump_host(node: Node, ssh: Ssh) -> str:
    """Returns what a login through the jump host shows; "" if the jump host says that the machine does not answer."""
    with TemporaryDirectory(prefix="quorate-replace-") as directory:
        known_hosts = Path(directory) / "known_hosts"
        login.write_known_hosts(known_hosts, (node.machine,), ssh)
        try:
            done = login.run(node.machine, ssh, known_hosts, "exit 0", LIMIT)
        except subprocess.TimeoutExpired:
            return ""
        except FileNotFoundError:
            return "this host has no ssh, and the machine is reached through a jump host"
    if done.returncode != login.FAILED:
        return f"{node.address} accepts logins"
    problem = login.login_error(done.stderr, node.machine, ssh).problem
    if problem == f"it does not answer at {node.address}":
        return ""
    return f"the login at {node.address} did not only time out: {problem}"
