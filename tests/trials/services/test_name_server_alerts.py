"""The name servers of Prometheus' pod pause or end: how long it takes until the rendered rules say so."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from openstack.monitoring.scraping import LOOKUP
from tests.trials.services.monitoring import DOMAIN, Monitoring
from trials.services.containers import TriedContainer
from trials.services.testbed import ServiceMachine, ServiceTestbed, until

LIMIT = 180
"""Seconds until something must be seen on a busy machine. The test prints how long each took."""
ALERT = "NameServersSilent"
SAID = "influxdb-grafana-0: its name servers do not answer"
_FAILURES = 'sum(prometheus_sd_dns_lookup_failures_total{job="prometheus"})'
_BIND = """\
options { directory "/var/cache/bind"; listen-on { any; }; recursion no; pid-file none; };
zone "cluster.local" { type primary; file "/etc/bind/cluster.local"; };
"""
_ZONE = """\
$TTL 5
@ SOA ns hostmaster 1 3600 600 86400 5
@ NS ns
ns A 127.0.0.1
"""
# As kubelet writes it: the node's own server first, then the Service of CoreDNS (components/k8s_master/node_dns.py).
_RESOLV = """\
search openstack.svc.cluster.local svc.cluster.local cluster.local
options ndots:5
"""


def begin(server: ServiceMachine, records: Mapping[str, str]) -> None:
    """Starts BIND with the cluster's names."""
    lines = [f"{name}.{DOMAIN} A {address}\n" for name, address in records.items()]
    server.write("/etc/bind/named.conf", _BIND)
    server.write("/etc/bind/cluster.local", _ZONE + "".join(lines))
    server.run(["mkdir", "-p", "/run/named"])
    server.start(["named", "-f", "-c", "/etc/bind/named.conf"], "root")


@pytest.mark.heavy
def test_silent_name_servers_are_named_within_a_minute(
    root: Path, bind_root: Path, containers: Mapping[str, TriedContainer]
) -> None:
    with ServiceTestbed(root) as testbed:
        servers = [testbed.add(name, root=bind_root) for name in ("node-dns", "coredns")]
        monitoring = Monitoring(testbed, containers, in_a_hurry=False)
        records = {
            "nagios-members": monitoring.manager.address,
            "influxdb-grafana-0.influxdb-grafana-members": monitoring.server.address,
            "mysqld-exporter": monitoring.exporter.address,
        }
        for server in servers:
            begin(server, records)
        text = _RESOLV + "".join(f"nameserver {server.address}\n" for server in servers)
        monitoring.server.write("/etc/resolv.conf", text)
        testbed.hide_names(monitoring.server.name)
        _failures(monitoring)
        _one_of_two(monitoring, servers[0])
        _fail(monitoring, "both pause", servers, ServiceMachine.freeze, ServiceMachine.thaw)
        _fail(monitoring, "both are killed", servers, ServiceMachine.kill, lambda each: begin(each, records))


def _one_of_two(monitoring: Monitoring, server: ServiceMachine) -> None:
    """The second server answers: nothing is wrong."""
    before = _failures(monitoring)
    server.freeze()
    time.sleep(90)
    assert not monitoring.summaries(ALERT)
    server.thaw()
    print(f"one of two pauses for 90 s: no alert; {_failures(monitoring) - before:.0f} lookups failed", flush=True)


def _failures(monitoring: Monitoring) -> float:
    """The lookups that failed. Prometheus may take a while to answer on a busy machine."""
    found: list[float] = []

    def told() -> bool:
        found.extend(float(each["value"][1]) for each in monitoring.query(_FAILURES))
        return bool(found)

    until("Prometheus says how many lookups failed", told, LIMIT)
    return found[0]


def _fail(
    monitoring: Monitoring,
    what: str,
    servers: list[ServiceMachine],
    begin_fault: Callable[[ServiceMachine], object],
    end_fault: Callable[[ServiceMachine], object],
) -> None:
    time.sleep(2 * LOOKUP)
    for server in servers:
        begin_fault(server)
    took = monitoring.named(ALERT, SAID, LIMIT)
    others = sorted({name for name, _ in monitoring.alerts()} - {ALERT})
    print(f"{what}: {ALERT} after {took:.0f} s; also {others}", flush=True)
    for server in servers:
        end_fault(server)
    over = monitoring.over(ALERT, seconds=LIMIT)
    print(f"{what}: over {over:.0f} s after they answered again", flush=True)
