"""A timer on every node that writes times for Prometheus: when certificates end, and when backups last succeeded.

node-exporter serves the files (openstack/projects/prometheus.py), and alerts compare the times with the present
(openstack/monitoring/age_alerts.py). A master asks the API server for the times of CronJobs with the administrator's
kubeconfig that it has, so that neither Prometheus nor a pod needs an account of the Kubernetes API (ADR 15).
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from pathlib import Path

from blueprint.plan.nodes import Node
from blueprint.plan.plan import Plan
from components.machine import File, Parts, Step, Unit
from contract import MASTER_POOL
from files.yaml_writer import literal
from openstack.config.wiring import ENVIRONMENT

CERTIFICATES, BACKUPS = (f"/usr/local/lib/quorate/{name}-metrics" for name in ("certificate", "backup"))
READER = "node-exporter"
"""The process that serves the files. Without it, machines write none."""
_NAME = "quorate-metrics"
_UNITS = "/etc/systemd/system"

TIMER = """\
[Unit]
Description=Times of certificates and backups for Prometheus, every 15 minutes

[Timer]
OnCalendar=*:0/15
RandomizedDelaySec=5m

[Install]
WantedBy=timers.target
"""
"""Alerts are about hours and days. A random delay keeps masters from asking the API servers at the same time."""

_STEP = Step(
    name=f"start-{_NAME}",
    does="Starts the timer that writes times of certificates and backups for Prometheus.",
    check=f"systemctl is-active --quiet {_NAME}.timer",
    apply=f"systemctl enable --now --quiet {_NAME}.timer",
    leave=f"systemctl disable --now --quiet {_NAME}.timer || :",
)


def parts(plan: Plan, node: Node) -> Parts:
    """Returns the files and the step of a node; none if the stack has no node-exporter."""
    if not any(process.name == READER for process in plan.processes):
        return Parts()
    backups = [File(BACKUPS, literal(_script("backup_metrics.sh")), mode=0o755)] if MASTER_POOL in node.roles else []
    return Parts(
        files=(
            File(CERTIFICATES, literal(_script("certificate_metrics.sh")), mode=0o755),
            *backups,
            File(f"{_UNITS}/{_NAME}.service", literal(unit(plan, node))),
            File(f"{_UNITS}/{_NAME}.timer", literal(TIMER), restarts=Unit(f"{_NAME}.timer")),
        ),
        steps=(_STEP,),
    )


def unit(plan: Plan, node: Node) -> str:
    """Returns the unit that writes each file in turn. The last two need an API server that answers."""
    commands = "".join(f"ExecStart={command}\n" for command in _commands(plan, node))
    return f"""\
[Unit]
Description=Times of certificates and backups for Prometheus

[Service]
Type=oneshot
Nice=10
{commands}"""


def _commands(plan: Plan, node: Node) -> Iterator[str]:
    yield f"{CERTIFICATES} files"
    if node in plan.members:
        yield f"{BACKUPS} etcd"
    if MASTER_POOL in node.roles:
        yield f"{CERTIFICATES} secrets {ENVIRONMENT}"
        yield f"{BACKUPS} cronjobs {ENVIRONMENT}"


@cache
def _script(name: str) -> str:
    return Path(__file__).with_name(name).read_text(encoding="utf-8")
