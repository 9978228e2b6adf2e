"""Which files that commands, copies and cloud-init place on a machine the rules read, beside those of its component."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from policy.facts.machines.host_commands import Hosts, PlacedFile
from policy.facts.machines.machine import MachineFacts
from policy.properties import UNKNOWN as NOT_KNOWN
from policy.resource import Resource
from policy.shell.edits import COMMAND_LINE, MANAGER, MOUNTS
from policy.shell.syntax import UNKNOWN
from policy.shell.wrappers import MANY

OF_NODES = re.compile(r"/etc/kubernetes/.+|/var/lib/kubelet/.+|.*(kubeadm|kubelet|etcd)[^/]*", re.IGNORECASE)
"""Paths of files that configure kubeadm, kubelet or etcd, or are static pods."""
_OF_UNITS = re.compile(
    r"/(etc|run|lib|usr/lib|usr/local/lib)/systemd/.+|/etc/(default|sysconfig|environment\.d|etcd|libvirt)/.+|"
    r"/etc/(environment|fstab)|/sys/block/.+"
)
"""Paths of units with their drop-ins, of variables, of etcd's files, of mounts, virtual machines, settings of disks."""
_NOT_FOUND = re.compile(r"/(etc|run|lib|usr/lib|usr/local/lib)/(?!.*\.(crt|pem|key|csr|pub|gpg|asc|cnf|list|repo)$).*")
"""Paths of files whose text must be known, because a setting in them can cost the quorum or its data."""


def is_read(path: str) -> bool:
    """Whether rules on machines' files read a file that a command places on a machine."""
    return path in (MOUNTS, MANAGER, COMMAND_LINE) or bool(OF_NODES.fullmatch(path) or _OF_UNITS.fullmatch(path))


def with_placed_files(machines: Iterable[MachineFacts], hosts: Hosts) -> Iterator[MachineFacts]:
    """Yields each machine of a component with the files that the stack's commands and copies leave on it.

    A file that a command changes in a way that cannot be computed is not known.
    """
    for machine in machines:
        placed = [
            (file, name)
            for name in (*machine.names, MANY)
            for file in hosts.placed.get(name, ())
            if is_read(file.path) or file.path in machine.files
        ]
        yield _changed(machine, placed) if placed else machine


def _changed(machine: MachineFacts, placed: Iterable[tuple[PlacedFile, str]]) -> MachineFacts:
    resource = machine.resource
    props = resource.plain()
    files, writers = dict(props.get("files") or {}), dict[str, str]()
    for file, host in placed:
        before = files.get(file.path, "")
        known = before if isinstance(before, str) else UNKNOWN
        text = file.over(known) if host == MANY else file.text  # it was read without the machine's own files
        if is_computed(text):
            files[file.path] = text
        elif _NOT_FOUND.fullmatch(file.path):
            files[file.path] = NOT_KNOWN
        else:
            continue
        writers[file.path] = file.resource.name
    changed = Resource(
        resource.type,
        resource.urn,
        resource.name,
        lambda: {**props, "files": files},
        protected=resource.protected,
        after=resource.after,
        parent=resource.parent,
        provider=resource.provider,
    )
    return MachineFacts(changed, writers=writers)


def is_computed(text: str) -> bool:
    """Whether every line of a file's text is known, at least in part."""
    return all(line.strip() != UNKNOWN for line in text.splitlines())
