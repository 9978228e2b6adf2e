"""What `quorate restore` is asked for."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class RestoreRequest:
    """What the command line asks for."""

    what: str
    """etcd, or the name of a Galera, of a RabbitMQ or of Ceph's monitors."""
    source: str = ""
    """Of etcd, MACHINE or MACHINE:COPY; of a RabbitMQ or of monitors, a member; of a Galera, a member, a backup or a
    copy (galera_source.py). "" to choose."""
    dead: tuple[str, ...] = ()
    """Machines that are off and stay off, as the user says."""
    plan: bool = False
    confirm: str = ""
    """The name of the stack, if the user has confirmed the plan."""
