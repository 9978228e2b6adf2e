"""Prometheus' configuration prometheus.yml: the targets that Prometheus scrapes, and the receivers of its alerts.

Prometheus does not discover targets through the Kubernetes API, so that it needs no Kubernetes account. Members of
quorums are listed. Other targets whose number changes are found by the DNS records of a headless Service.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from openstack.config.ports import (
    ALERTMANAGER,
    CEPH_METRICS,
    MYSQLD_EXPORTER,
    NODE_EXPORTER,
    OPENSTACK_EXPORTER,
    PROMETHEUS,
)
from openstack.config.wiring import Wiring
from openstack.monitoring import ceph_alerts, disk_alerts
from openstack.monitoring.quorums import MONITORS, WatchedQuorum, member_targets, quorums

INTERVAL = 15
"""Seconds between two scrapes and between two evaluations. Project figure; Prometheus' default is 60."""

OF_NODES = 60
"""Seconds between two scrapes of a node, Prometheus' default. Every Prometheus asks every node: at `INTERVAL`, three of
them would make 200 requests a second to 1000 nodes. Only the disks of nodes with data have alerts that fire within
minutes, and a job of their own."""

LOOKUP = 5
"""Seconds between two lookups of the Alertmanagers' addresses. With Prometheus' default of 30, silent name servers
would not be noticed within a minute. Project figure."""

Job = Mapping[str, Any]


def document(wiring: Wiring, process: str, alerts: str) -> Mapping[str, Any]:
    """Returns the content of prometheus.yml.

    `process`: name of the process in the plan that runs Prometheus. `alerts`: path of the file with alert rules.
    """
    names = _records(wiring.host("nagios-members"), ALERTMANAGER)
    # A failed lookup is how Prometheus notices that its name servers are silent (alerts.py).
    managers = [{"dns_sd_configs": [{**names, "refresh_interval": f"{LOOKUP}s"}]}] if wiring.has("nagios") else []
    return {
        "global": {"scrape_interval": f"{INTERVAL}s", "evaluation_interval": f"{INTERVAL}s"},
        "rule_files": [alerts],
        "alerting": {"alertmanagers": managers},
        "scrape_configs": list(_jobs(wiring, process)),
    }


def _jobs(wiring: Wiring, process: str) -> Iterator[Job]:
    targets = {name.partition(".")[0]: f"{name}:{PROMETHEUS}" for name in wiring.members(process)}
    yield {"job_name": "prometheus", "static_configs": _static(targets)}
    yield {**_by_dns("node", wiring.host("node-exporter-members"), NODE_EXPORTER), "scrape_interval": f"{OF_NODES}s"}
    yield _disks(wiring)
    exporter = f"{wiring.host('openstack-exporter')}:{OPENSTACK_EXPORTER}"
    # Each scrape makes the exporter request lists from every OpenStack API, and these lists grow with the cloud.
    often = {"scrape_interval": "2m", "scrape_timeout": "1m"}
    yield {"job_name": "openstack", **often, "static_configs": [{"targets": [exporter]}]}
    if wiring.has(MONITORS):
        yield {"job_name": ceph_alerts.JOB, "static_configs": _static(member_targets(wiring, MONITORS, CEPH_METRICS))}
    for quorum in quorums(wiring):
        yield _probed(quorum, wiring.host(quorum.exporter)) if quorum.exporter else _direct(quorum)


def _by_dns(job: str, name: str, port: int) -> Job:
    """Returns the scrape job for all pods of a headless Service, which include pods that are not ready."""
    return {"job_name": job, "dns_sd_configs": [_records(name, port)]}


def _disks(wiring: Wiring) -> Job:
    """Returns the scrape job for the disks of nodes with data; the job `node` has all else that these nodes tell."""
    return {
        "job_name": disk_alerts.JOB,
        "params": {"collect[]": [disk_alerts.COLLECTOR]},
        "static_configs": [
            {
                "targets": [f"{node.address}:{NODE_EXPORTER}"],
                "labels": {"node": node.name, "services": ", ".join(node.services)},
            }
            for node in wiring.data_nodes
        ],
        "metric_relabel_configs": [
            {"source_labels": ["__name__"], "regex": "|".join(disk_alerts.METRICS), "action": "keep"}
        ],
    }


def _records(name: str, port: int) -> Mapping[str, Any]:
    # The whole name: Prometheus would ask each name server for it in each of the pod's search domains, and waits for
    # 2 s each time that one is silent.
    return {"names": [f"{name}.cluster.local."], "type": "A", "port": port}


def _direct(quorum: WatchedQuorum) -> Job:
    return {"job_name": quorum.name, "static_configs": _static(quorum.targets)}


def _probed(quorum: WatchedQuorum, exporter: str) -> Job:
    """Returns the scrape job for a Galera, whose members serve no metrics.

    Any instance of the mysqld-exporter at `exporter` queries the member that a request names.
    """
    return {
        "job_name": quorum.name,
        "metrics_path": "/probe",
        # The exporter's collector global_status needs no privilege in the database; other collectors need some.
        "params": {"collect[]": ["global_status"]},
        "static_configs": _static(quorum.targets),
        "relabel_configs": [
            {"source_labels": ["__address__"], "target_label": "__param_target"},
            {"source_labels": ["__param_target"], "target_label": "instance"},
            {"target_label": "__address__", "replacement": f"{exporter}:{MYSQLD_EXPORTER}"},
        ],
    }


def _static(targets: Mapping[str, str]) -> list[Mapping[str, Any]]:
    """Returns a static target for each member of a quorum, labelled with the member's name."""
    return [{"targets": [target], "labels": {"member": name}} for name, target in targets.items()]
