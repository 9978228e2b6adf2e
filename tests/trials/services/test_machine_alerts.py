"""What machines tell of disks and services, and whether they do, in the real promtool with the rendered rules."""

from __future__ import annotations

from openstack.monitoring import machine_alerts
from tests.trials.services.promtool import Metrics, raised, rules
from trials.services.testbed import ServiceMachine

NODES = [f"10.0.0.{number}:9100" for number in (1, 2, 3)]
FILE = {"file": "/host/metrics/certificates.prom"}


def told() -> Metrics:
    """What three nodes tell while all is well, for four hours."""
    metrics = Metrics("node", NODES).each("node_textfile_mtime_seconds", "0+15x1000", **FILE)
    for line in metrics.lines[:3]:
        line["values"] = "1x1000"  # up
    metrics.each("node_textfile_scrape_error", "0x1000").each(machine_alerts.DISK, "0.16x1000", mountpoint="/")
    for service in ("nova-api", "mysqld"):
        for metric in (machine_alerts.REPLICAS, machine_alerts.READY):
            metrics.each(metric, "3x1000", workload=service)
    return metrics


def change(metrics: Metrics, name: str, values: str, node: int | None = None, word: str = "") -> Metrics:
    """Gives a metric of all nodes, or of one, other values. `word`: a part of its labels."""
    for line in metrics.lines:
        ours = node is None or f'instance="{NODES[node]}"' in line["series"]
        if line["series"].startswith(f"{name}{{") and ours and word in line["series"]:
            line["values"] = values
    return metrics


def machines(tool: ServiceMachine, metrics: Metrics, minutes: str) -> dict[str, tuple[str, str]]:
    return raised(tool, rules(3), metrics, minutes, "machines")


def test_nothing_is_raised_while_all_is_well(tool: ServiceMachine) -> None:
    assert machines(tool, told(), "150m") == {}


def test_a_disk_that_fills_is_named(tool: ServiceMachine) -> None:
    metrics = change(told(), machine_alerts.DISK, "0.1499x1000", node=1)
    assert machines(tool, metrics, "9m") == {}
    said = "10.0.0.2:9100: 14.99% of the disk at / is left"
    assert machines(tool, metrics, "11m") == {"DiskAlmostFull": ("warning", said)}


def test_a_service_without_all_replicas_is_named(tool: ServiceMachine) -> None:
    """A quorum is not: it has alerts of its own. Nor does one master that has not asked for a while raise anything."""
    metrics = change(told(), machine_alerts.READY, "2x1000", word="nova-api")
    assert machines(tool, metrics, "29m") == {}
    said = "nova-api: 1 replicas are not ready"
    assert machines(tool, metrics, "31m") == {"ServiceLacksReplicas": ("warning", said)}
    assert machines(tool, change(told(), machine_alerts.READY, "2x1000", word="mysqld"), "31m") == {}
    assert machines(tool, change(told(), machine_alerts.READY, "2x1000", node=0, word="nova-api"), "31m") == {}


def test_a_service_without_any_replica_is_critical(tool: ServiceMachine) -> None:
    metrics = change(told(), machine_alerts.READY, "0x1000", word="nova-api")
    assert machines(tool, metrics, "4m") == {}
    assert machines(tool, metrics, "35m") == {"ServiceDown": ("critical", "nova-api: no replica is ready")}
    off = change(metrics, machine_alerts.REPLICAS, "0x1000", word="nova-api")
    assert machines(tool, off, "35m") == {}, "it should have none"


def test_a_node_that_is_not_ready_is_named(tool: ServiceMachine) -> None:
    """Once, though every master tells it."""
    metrics = told().each(machine_alerts.CONDITION, "1x1000", node="cmp7", condition="NotReady")
    assert machines(tool, metrics, "4m") == {}
    said = "cmp7 has the condition NotReady"
    assert machines(tool, metrics, "6m") == {"NodeCondition": ("warning", said)}


def queues(lost: str, reduced: str, answers: str = "1x1000") -> Metrics:
    metrics = told()
    for kind, values in {"all": "40x1000", "lost": lost, "reduced": reduced}.items():
        metrics.each(machine_alerts.QUEUES, values, cluster="rabbitmq", kind=kind)
    return metrics.each(machine_alerts.BROKER_ANSWERS, answers, cluster="rabbitmq")


def test_quorum_queues_without_a_majority_or_a_replica_are_named(tool: ServiceMachine) -> None:
    assert machines(tool, queues("0x1000", "0x1000"), "60m") == {}
    assert machines(tool, queues("0x39 2x900", "0x1000"), "10m45s") == {}
    said = "rabbitmq: 2 replicated queues have no majority of their replicas"
    assert machines(tool, queues("0x39 2x900", "0x1000"), "11m") == {"RabbitmqQueuesLost": ("critical", said)}
    assert machines(tool, queues("0x1000", "3x1000"), "14m") == {}
    said = "rabbitmq: 3 replicated queues lack a replica that runs"
    assert machines(tool, queues("0x1000", "3x1000"), "16m") == {"RabbitmqQueuesReduced": ("warning", said)}


def test_quorum_queues_that_nobody_can_count_are_named(tool: ServiceMachine) -> None:
    """Not if one master has an answer."""
    metrics = queues("0x1000", "0x1000", answers="0x1000")
    ((name, (severity, summary)),) = machines(tool, metrics, "16m").items()
    assert (name, severity) == ("RabbitmqQueuesUnknown", "warning")
    assert summary.startswith("rabbitmq: no member with a majority of the others could count")
    metrics.lines[-1]["values"] = "1x1000"
    assert machines(tool, metrics, "16m") == {}


def test_a_machine_whose_timer_does_not_write_is_named(tool: ServiceMachine) -> None:
    metrics = change(told(), "node_textfile_mtime_seconds", "0x1000", node=2)
    said = "10.0.0.3:9100: /host/metrics/certificates.prom was written 2h 30m 0s ago"
    assert machines(tool, metrics, "150m") == {"MachineMetricsOld": ("warning", said)}
    metrics.lines = [
        line for line in metrics.lines if not ("mtime" in line["series"] and f'instance="{NODES[2]}"' in line["series"])
    ]
    assert machines(tool, metrics, "55m") == {}
    ((name, (_, summary)),) = machines(tool, metrics, "65m").items()
    assert (name, summary[:13]) == ("MachineMetricsMissing", NODES[2])


def test_a_file_that_cannot_be_read_is_named(tool: ServiceMachine) -> None:
    metrics = change(told(), "node_textfile_scrape_error", "1x1000", node=0)
    ((name, (_, summary)),) = machines(tool, metrics, "65m").items()
    assert (name, summary[:13]) == ("MachineMetricsMissing", NODES[0])
