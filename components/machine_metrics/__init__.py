"""A timer on every node that writes files for Prometheus: certificates, disks, and on masters facts of the cluster.

node-exporter serves the files (openstack/projects/prometheus.py), for openstack/monitoring/age_alerts.py and
machine_alerts.py. A master asks the API server for CronJobs and workloads, and quorums in their pods, with the
administrator's kubeconfig that it has, so that neither Prometheus nor a pod needs an account of the Kubernetes API
(ADR 15).
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
from openstack.config.wiring import ENVIRONMENT, wiring
from openstack.monitoring import replicated_queues

OF_MACHINE, OF_MASTER = (f"/usr/local/lib/quorate/{name}-metrics" for name in ("machine", "master"))
READER = "node-exporter"
"""The process that serves the files. Without it, machines write none."""
QUEUES = "/usr/local/lib/quorate/quorum-queues"
"""The question about replicated queues, for RabbitMQ's control program."""
_NAME = "quorate-metrics"
_UNITS = "/etc/systemd/system"

TIMER = """\
[Unit]
Description=Certificates, backups and disks for Prometheus, every 5 minutes

[Timer]
OnCalendar=*:0/5
RandomizedDelaySec=1m

[Install]
WantedBy=timers.target
"""
"""A random delay keeps masters from asking the API servers at the same time."""

_STEP = Step(
    name=f"start-{_NAME}",
    does="Starts the timer that writes certificates, backups and disks for Prometheus.",
    check=f"systemctl is-active --quiet {_NAME}.timer",
    apply=f"systemctl enable --now --quiet {_NAME}.timer",
    leave=f"systemctl disable --now --quiet {_NAME}.timer || :",
)


def parts(plan: Plan, node: Node) -> Parts:
    """Returns the files and the step of a node; none if the stack has no node-exporter."""
    if not any(process.name == READER for process in plan.processes):
        return Parts()
    of_master = (
        [
            File(OF_MASTER, literal(_script("master_metrics.sh")), mode=0o755),
            File(QUEUES, literal(replicated_queues.OF_MAJORITY + "\n")),
        ]
        if MASTER_POOL in node.roles
        else []
    )
    return Parts(
        files=(
            File(OF_MACHINE, literal(_script("machine_metrics.sh")), mode=0o755),
            *of_master,
            File(f"{_UNITS}/{_NAME}.service", literal(unit(plan, node))),
            File(f"{_UNITS}/{_NAME}.timer", literal(TIMER), restarts=Unit(f"{_NAME}.timer")),
        ),
        steps=(_STEP,),
    )


def unit(plan: Plan, node: Node) -> str:
    """Returns the unit that writes each file in turn. The last ones need an API server that answers.

    Without HOME, which systemd does not set for root, kubectl would write its cache to /.kube. A command in a pod whose
    kubelet does not answer must not stop the timer.
    """
    commands = "".join(f"ExecStart={command}\n" for command in _commands(plan, node))
    return f"""\
[Unit]
Description=Certificates, backups and disks for Prometheus

[Service]
Type=oneshot
Environment=HOME=/root
TimeoutStartSec=4min
Nice=10
{commands}"""


def _commands(plan: Plan, node: Node) -> Iterator[str]:
    yield f"{OF_MACHINE} certificates"
    yield f"{OF_MACHINE} disks"
    if node in plan.members:
        yield f"{OF_MASTER} etcd"
    if MASTER_POOL in node.roles:
        yield f"{OF_MACHINE} secrets {ENVIRONMENT}"
        yield f"{OF_MASTER} cronjobs {ENVIRONMENT}"
        around = wiring(plan, ENVIRONMENT)
        if around.copied:
            yield f"{OF_MASTER} copies {ENVIRONMENT} {' '.join(around.copied)}"
        yield f"{OF_MASTER} workloads {ENVIRONMENT}"
        yield f"{OF_MASTER} nodes"
        if brokers := list(filter(around.has, around.brokers)):
            yield f"{OF_MASTER} rabbitmq {ENVIRONMENT} {' '.join(brokers)}"


@cache
def _script(name: str) -> str:
    return Path(__file__).with_name(name).read_text(encoding="utf-8")
