"""The rendered containers of monitoring with Debian's programs."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import quote

from operations.living import firing
from operations.living.answers import PATIENCE, parsed, script
from operations.living.firing import LivingAlerts
from trials.services.containers import TriedContainer
from trials.services.testbed import ServiceMachine, ServiceTestbed, place, until

CONFIG, RULES = "/etc/prometheus/prometheus.yml", "/etc/prometheus/alerts.yml"
PROGRAMS = {
    "/opt/prometheus/prometheus": "prometheus",
    "/opt/prometheus_alertmanager/alertmanager": "prometheus-alertmanager",
    "/opt/mysqld_exporter/mysqld_exporter": "prometheus-mysqld-exporter",
}
"""Debian's names of the programs in Kolla's images."""
DOMAIN = "openstack.svc"
_HURRY = {"15s": "2s", "for: 1m\n": "for: 4s\n", "for: 2m\n": "for: 4s\n"}


def place_programs(machine: ServiceMachine, container: TriedContainer) -> list[str]:
    """Writes a container's files; returns its command, whose program Debian has elsewhere."""
    for path, program in PROGRAMS.items():
        machine.run(["sh", "-c", 'mkdir -p "$(dirname "$1")" && ln -sf "/usr/bin/$2" "$1"', "sh", path, program])
    return place(machine, container)


def start_node_exporter(node: ServiceMachine, container: TriedContainer) -> None:
    """Starts the rendered node-exporter on a machine with Debian's program."""
    node.show(Path("/sys"))  # node-exporter fails without its CPUs
    # The pod mounts the machine's directory here.
    node.run(["sh", "-c", "mkdir -p /var/lib/quorate/metrics /host && ln -s /var/lib/quorate/metrics /host/metrics"])
    node.run(["sh", "-c", "mkdir -p /opt/node_exporter && ln -s /usr/bin/prometheus-node-exporter $0",
              "/opt/node_exporter/node_exporter"])  # fmt: skip
    node.start(place(node, container), "prometheus", {"NODE_ADDRESS": node.address})


def hurried(container: TriedContainer) -> TriedContainer:
    """Prometheus' container with seconds instead of minutes in rules; test_alert_rules.py checks the minutes."""
    files = dict(container.files)
    for path in (CONFIG, RULES):
        text = files[path].text
        for long, short in _HURRY.items():
            text = text.replace(long, short)
        files[path] = replace(files[path], text=text)
    return replace(container, files=files)


def at_addresses(container: TriedContainer, addresses: Mapping[str, str]) -> TriedContainer:
    """Prometheus' container with other addresses in its targets, by the plan's."""
    text = container.files[CONFIG].text
    for planned, address in addresses.items():
        text = text.replace(f"- {planned}:", f"- {address}:")
    return replace(container, files={**container.files, CONFIG: replace(container.files[CONFIG], text=text)})


def _resolve(machine: ServiceMachine, records: Mapping[str, str]) -> None:
    """Starts a DNS server in a machine, because Prometheus' discovery does not read /etc/hosts."""
    machine.write("/dns_records.py", Path(__file__).with_name("dns_records.py").read_text(encoding="utf-8"))
    machine.write("/etc/resolv.conf", "nameserver 127.0.0.1\n")
    words = [word for record in records.items() for word in record]
    machine.background(["python3", "/dns_records.py", *words], "root")


class Monitoring:
    """Prometheus, Alertmanager and the exporter of MariaDB in a test bed, with the rendered configuration."""

    def __init__(
        self,
        testbed: ServiceTestbed,
        containers: Mapping[str, TriedContainer],
        *,
        root: Path | None = None,
        in_a_hurry: bool = True,
        node: ServiceMachine | None = None,
        addresses: Mapping[str, str] | None = None,
    ) -> None:
        """`root`: the Debian root with these programs, if it is not the test bed's. `node`: one with node-exporter.

        `addresses`: those of machines in the test bed, by the plan's.
        """
        self.manager = testbed.add("nagios", root=root)
        self.server = testbed.add("influxdb-grafana-0", root=root)
        self.exporter = testbed.add("mysqld-exporter", root=root)
        prometheus = at_addresses(containers["influxdb-grafana/prometheus-server"], addresses or {})
        named = {"nagios": self.manager} | ({"node-exporter": node} if node else {})
        _resolve(self.server, {f"{name}-members.{DOMAIN}.cluster.local": each.address for name, each in named.items()})
        testbed.name_services(DOMAIN, {"mysqld-exporter": self.exporter})
        testbed.name_services(f"influxdb-grafana-members.{DOMAIN}", {self.server.name: self.server})
        started = {
            self.manager: containers["nagios/alertmanager"],
            self.server: hurried(prometheus) if in_a_hurry else prometheus,
            self.exporter: containers["mysqld-exporter/mysqld-exporter"],
        }
        for machine, container in started.items():
            machine.start(place_programs(machine, container), "prometheus")

    def query(self, expression: str) -> list[dict[str, Any]]:
        """The result of a query; empty while Prometheus is not ready."""
        code, body = self.server.get(9091, f"/api/v1/query?query={quote(expression)}".replace("%", "%%"))
        return json.loads(body)["data"]["result"] if code == 200 else []

    def living_alerts(self) -> LivingAlerts:
        """Returns what `quorate status` says of the alerts, asked as in the pod of Prometheus."""
        command = ["sh", "-c", script(firing.QUESTIONS)]
        said = self.server.run(command, user="prometheus", check=False, seconds=PATIENCE)
        return firing.told({self.server.name: parsed(said)})

    def members(self) -> dict[str, int]:
        """Returns the number of members that take part in each quorum, as Prometheus counts them."""
        found = self.query("quorate:quorum:members")
        return {each["metric"]["quorum"]: int(each["value"][1]) for each in found}

    def alerts(self) -> set[tuple[str, str]]:
        """Name and quorum of the alerts that Alertmanager has received."""
        return {(each["labels"]["alertname"], each["labels"].get("quorum", "")) for each in self._received()}

    def summaries(self, name: str) -> set[str]:
        """What the alerts with a name say that Alertmanager has received."""
        received = (each for each in self._received() if each["labels"]["alertname"] == name)
        return {each["annotations"]["summary"].strip() for each in received}

    def named(self, alert: str, said: str, seconds: float) -> float:
        """Waits until Alertmanager has an alert whose summary contains a text. Returns the seconds that this took."""
        return until(f"{alert}: {said}", lambda: any(said in each for each in self.summaries(alert)), seconds, 0.5)

    def over(self, *alerts: str, seconds: float) -> float:
        """Waits until Alertmanager has none of these alerts. Returns the seconds that this took."""
        return until(f"no {', '.join(alerts)}", lambda: not any(map(self.summaries, alerts)), seconds, 0.5)

    def _received(self) -> list[dict[str, Any]]:
        code, body = self.manager.get(9093, "/api/v2/alerts")
        return json.loads(body) if code == 200 and body else []
