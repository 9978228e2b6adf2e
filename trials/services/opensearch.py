"""Members of a real OpenSearch in the test bed, each with the exporter of its pod."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from openstack.config.ports import OPENSEARCH, OPENSEARCH_METRICS
from openstack.monitoring.quorums import SEARCH
from trials.services.containers import TriedContainer
from trials.services.testbed import Broken, ServiceMachine, ServiceTestbed, place, until

MEMBERS = tuple(f"{SEARCH}-{number}" for number in range(3))
DOMAIN = "openstack.svc"
HOME = "/usr/share/opensearch"
START = 600
"""Seconds that the start of a member may take on a busy machine: with a load above 40 on two cores, it took 250."""
_SETTINGS, _HEAP = "/etc/opensearch/opensearch.yml", 512
_SECURITY = "plugins.security.disabled: true\n"
"""A setting of a plugin that Maven Central does not have; OpenSearch refuses the setting without it."""
_OF_TRIAL = "cluster.routing.allocation.disk.threshold_enabled: false\n"
"""Members place shards also on a host whose disk is fuller than OpenSearch's limits."""
FILES = 65_535
"""Open files that a process must be admitted: with fewer, OpenSearch does not start. containerd admits more."""
_PROGRAM = f"""\
#!/bin/sh
exec /usr/lib/jvm/java-21-openjdk-amd64/bin/java -Xms{_HEAP}m -Xmx{_HEAP}m -XX:+UseG1GC \\
    -Djava.security.manager=allow -Dlog4j2.disable.jmx=true -Dopensearch.path.home={HOME} \\
    -Dopensearch.path.conf=/etc/opensearch -Dopensearch.distribution.type=tar -Dopensearch.bundled_jdk=false \\
    -cp '{HOME}/lib/*' org.opensearch.bootstrap.OpenSearch
"""
"""In place of the distribution's start program, which would read the heap of a real member from a file."""
_LOG = """\
rootLogger.level = warn
rootLogger.appenderRef.console.ref = console
appender.console.type = Console
appender.console.name = console
appender.console.layout.type = PatternLayout
appender.console.layout.pattern = %d %p %m%n
"""


@dataclass(frozen=True)
class SearchPrograms:
    """What Kolla's images contain: the Debian root with Java, OpenSearch's home directory, and the exporter."""

    root: Path
    home: Path
    exporter: Path


class SearchCluster:
    """Three members of OpenSearch with the rendered settings."""

    def __init__(
        self, testbed: ServiceTestbed, containers: Mapping[str, TriedContainer], programs: SearchPrograms
    ) -> None:
        self._container, self._exporter = (containers[f"{SEARCH}/{name}"] for name in ("opensearch", "exporter"))
        self.members = {name: testbed.add(name, root=programs.root) for name in MEMBERS}
        testbed.name_members(f"{SEARCH}-members", DOMAIN, MEMBERS)
        for machine in self.members.values():
            self._prepare(machine, programs)

    def _prepare(self, machine: ServiceMachine, programs: SearchPrograms) -> None:
        for user in ("opensearch", "prometheus"):
            machine.add_account(user)
        place(machine, self._container)
        settings = self._container.text(_SETTINGS)
        if _SECURITY not in settings:
            raise Broken(f"{_SETTINGS} has no line {_SECURITY.strip()}")
        machine.write(_SETTINGS, settings.replace(_SECURITY, _OF_TRIAL))
        machine.write("/etc/opensearch/log4j2.properties", _LOG)
        machine.own("/etc/opensearch", "opensearch")
        machine.place_file(programs.home, HOME)
        machine.write(f"{HOME}/bin/opensearch", _PROGRAM, mode="0755")
        machine.own(f"{HOME}/logs", "opensearch")
        machine.own("/var/lib/opensearch", "opensearch")
        program = self._exporter.command.split()[0]
        machine.own(program.rpartition("/")[0], "root")
        machine.place_file(programs.exporter, program)

    def start(self, *names: str) -> None:
        """Starts members; their exporters run on when a member ends, as containers of a pod do."""
        for name in names:
            machine = self.members[name]
            machine.start(self._container.command.split(), "opensearch", {"HOSTNAME": name})

    def start_exporter(self, name: str) -> None:
        self.members[name].background(self._exporter.command.split(), "prometheus")

    def kill(self, *names: str) -> None:
        for name in names:
            self.members[name].kill()

    def exports(self, name: str) -> bool:
        """Whether a member's exporter answers, as its readiness probe asks."""
        return self.members[name].get(OPENSEARCH_METRICS, "/healthz")[0] == 200

    def ask(self, name: str, path: str) -> Any:
        """Returns a member's answer to a question; {} without one."""
        status, body = self.members[name].get(OPENSEARCH, path)
        return json.loads(body) if status == 200 else {}

    def whole(self) -> bool:
        """Whether every member knows a cluster of all, with all shards in their places."""
        path = "/_cluster/health?timeout=2s&cluster_manager_timeout=2s"
        found = [self.ask(name, path) for name in self.members]
        return all(each.get("number_of_nodes") == len(MEMBERS) and each["status"] == "green" for each in found)

    def wait_whole(self) -> float:
        """Waits until the cluster is whole; starts members that have ended, as kubelet does. Returns the seconds."""

        def is_whole() -> bool:
            self.start(*(name for name, machine in self.members.items() if not machine.runs))
            return self.whole()

        return until("all members of OpenSearch are in the cluster", is_whole, START, 2)

    def add_index(self, name: str, *, replicas: int) -> None:
        """Makes an index with a shard for each member."""
        shape = {"settings": {"number_of_shards": len(MEMBERS), "number_of_replicas": replicas}}
        machine = self.members[MEMBERS[0]]
        head = f"PUT /{name} HTTP/1.0\r\nContent-Type: application/json\r\n"
        text = json.dumps(shape)
        request = f"{head}Content-Length: {len(text)}\r\n\r\n{text}"
        script = f"exec 3<>/dev/tcp/{machine.address}/{OPENSEARCH} && cat >&3 && cat <&3"
        said = machine.run(["timeout", "50", "bash", "-c", script], request)
        if '"acknowledged":true' not in said:
            raise Broken(f"OpenSearch made no index {name}: {said}")
