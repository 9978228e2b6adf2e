"""Checks of a node's kernel settings and of its distribution, which preparation sets (quorate:prepare)."""

from __future__ import annotations

from collections.abc import Iterator

from blueprint.distributions import DISTRIBUTIONS
from blueprint.kernel_settings import CONNECTIONS_LIMIT, FORWARDING, kernel_settings
from blueprint.plan.nodes import Node
from blueprint.stackfile.settings import EXISTING, Settings
from doctor.login import Reading

PREPARED = ("containerd", "etcd", "forwarding", "kernel", "programs", "swap", "versions")
"""Names of the checks that preparation makes pass."""


def is_unprepared(reading: Reading, settings: Settings) -> bool:
    """Whether `up` will prepare the machine, and has not begun to: what it lacks is then no problem."""
    return settings.prepare.is_done and not reading.facts.one("prepared")


def kernel(node: Node, reading: Reading, settings: Settings) -> Iterator[tuple[str, str]]:
    """Checks limits of the kernel by the node's size."""
    if not node.is_kubernetes_node or settings.machines == EXISTING:
        return
    found = {name: value for name, _, value in (line.partition(" ") for line in reading.facts.all("sysctl"))}
    for name, least in kernel_settings(node.machine.cpu).items():
        value = found.get(name, "")
        # Before its module is loaded, the kernel has no limit of connections, and kube-proxy raises a low one.
        if name == FORWARDING or (name == CONNECTIONS_LIMIT and not value):
            continue
        if not (value.isdecimal() and int(value) >= least):
            problem = f"{name} is {value or 'unknown'}, not {least} or more"
            file = "/etc/sysctl.d/90-kubernetes.conf"
            yield problem, f"run `echo {name}={least} >>{file} && sysctl --load={file}`"


def distribution(_node: Node, reading: Reading, settings: Settings) -> Iterator[tuple[str, str]]:
    """Checks that the machine has a distribution that the stack can prepare."""
    name = reading.facts.one("distribution")
    if settings.prepare.is_done and name not in DISTRIBUTIONS:
        problem = f"quorate:prepare does not know {name or 'its distribution'}, but {', '.join(DISTRIBUTIONS)}"
        yield problem, "install one of these, or prepare it by hand and write prepare: none"
