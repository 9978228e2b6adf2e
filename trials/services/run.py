"""Runs the trials of all services with their real programs, and writes the report."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Literal

from trials import trial_report
from trials.services import ceph, etcd, galera, galera_backup, openstack_trials, rabbitmq
from trials.services.containers import TriedContainer
from trials.services.etcd import RenderedEtcd
from trials.services.openstack_trials import Programs
from trials.services.testbed import Broken, Unavailable
from trials.trial_report import Proof

Trials = Mapping[str, Callable[[], Iterable[Proof]]]
"""Functions that run the trials of a service and return the results, by the service's name."""


Kind = Literal["cuts", "stalls"]
"""Power cuts of one, two and all servers; or one member that stalls, or has too little memory or a wrong clock."""


def trials(
    programs: Programs,
    ceph_root: Path,
    containers: Mapping[str, TriedContainer],
    member: RenderedEtcd,
    kind: Kind | None = None,
) -> Trials:
    """Returns the trials of all services, with the rendered containers of a stack and the settings of its etcd.

    `ceph_root`: Debian root with Ceph's programs. `kind`: only faults of this kind, of services that keep data in a
    quorum; None for all trials but the stalls.
    """
    database, queue = containers["mysqld/mariadb"], containers["rabbitmq/rabbitmq"]
    root = programs.root
    if kind == "cuts":
        return {
            "etcd": lambda: etcd.prove(root, member, etcd.CUTS),
            "Galera": lambda: galera.prove(root, database, galera.CUTS),
            "RabbitMQ": lambda: rabbitmq.prove(root, queue, rabbitmq.CUTS),
            "Ceph": lambda: ceph.prove(ceph_root, containers, ceph.CUTS),
        }
    if kind == "stalls":
        return {
            "etcd": lambda: etcd.prove(root, member, etcd.STALLS),
            "Galera": lambda: galera.prove(root, database, galera.STALLS, one_writer=True),
            "RabbitMQ": lambda: rabbitmq.prove(root, queue, rabbitmq.STALLS),
            "Ceph": lambda: ceph.prove(ceph_root, containers, ceph.STALLS),
        }
    return {
        "etcd": lambda: etcd.prove(root, member),
        "Galera": lambda: galera.prove(root, database, (*galera.QUICK, *galera.HEAVY)),
        "Galera's backup": lambda: galera_backup.prove(root, containers),
        "RabbitMQ": lambda: rabbitmq.prove(root, queue, (*rabbitmq.QUICK, *rabbitmq.HEAVY)),
        "Ceph": lambda: ceph.prove(ceph_root, containers),
        "OpenStack": lambda: openstack_trials.prove(programs, containers),
    }


def run(services: Trials, directory: Path, say: Callable[[str], None]) -> bool:
    """Runs the trials of services, and writes `directory`/report.json and report.md. Returns whether all trials passed.

    A service that cannot run on this machine (Unavailable) is skipped. The report contains the reason, and the result
    is then False.
    """
    found: list[Proof] = []
    skipped: list[str] = []
    for service, proofs in services.items():
        started = time.monotonic()
        try:
            for proof in proofs():
                say(line(proof))
                found.append(proof)
        except Unavailable as reason:
            skipped.append(f"{service}: {reason}")
        except (Broken, TimeoutError, subprocess.SubprocessError) as reason:
            seconds = round(time.monotonic() - started, 1)
            found.append(Proof(f"{service}: does not work", 0, 0, 0, seconds, failure=str(reason)))
            say(line(found[-1]))
    trial_report.write(directory, "Real services", found, skipped)
    return bool(found) and not skipped and all(proof.holds for proof in found)


def line(proof: Proof) -> str:
    """Returns the result of a trial as one line of text."""
    outcome = "holds" if proof.holds else f"FAILS: {proof.failure or 'acknowledged writes are lost'}"
    figures = f"{proof.tried} tried, {proof.acknowledged} acknowledged, {proof.lost} lost, {proof.seconds:.0f} s"
    return f"{proof.name}: {outcome} ({figures})"
