"""`quorate domains`: prints the DNS names by which clients outside of the cluster reach a stack's services."""

from __future__ import annotations

from pathlib import Path

from commands import stack
from console.errors import UserError
from openstack.config import domains


def show(root: Path, name: str) -> int:
    """Prints the DNS names of a stack's services, one a line. Raises UserError if the stack file sets no ingress."""
    made = stack.load(root, name).plan
    ingress = made.settings.ingress
    if ingress is None:
        raise UserError(f"{name} has no names outside of the cluster; write quorate:ingress with a domain")
    for host in domains.hosts(ingress, made.settings.records, (process.name for process in made.processes)).values():
        print(host)
    return 0
