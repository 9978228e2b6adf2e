"""Keystone and Neutron on OVN in a test bed, as rendered: the server's processes, both databases, ovn-northd, a compute
with ovn-controller and the metadata agent, and a network node.

OVN's machines have copies of the host's root, for the metadata agent needs the OpenStack release; OVN's own programs
are those of a Debian root. An instance is a network namespace with a port of Neutron. A small HTTP server answers in
place of Nova's metadata API.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from trials.card_checksums import COMPLETE
from trials.services import ovn
from trials.services.borrowed_programs import borrow
from trials.services.containers import TriedContainer
from trials.services.openstack_services import DOMAIN, START, ServiceCloud
from trials.services.openstack_trials import Programs
from trials.services.ovn_cluster import SOCKET
from trials.services.ovn_network import LogicalPort, OvnNetwork
from trials.services.testbed import ServiceMachine, ServiceTestbed, until

COMPUTE, GATEWAY = "compute-1", "network-1"
AGENTS = ("OVN Controller agent", "OVN Metadata agent")
"""The agents of the compute, as Neutron calls them."""
METADATA = "169.254.169.254"
INSTANCE = "instance"
"""The network namespace in place of an instance."""
_PROJECTS = {"keystone": ("keystone",), "neutron": ("neutron-server",)}
_AGENT = "neutron-ovn-metadata-agent/neutron-ovn-metadata-agent"
_PROGRAMS = {
    **{
        Path(path).name: path
        for path in (
            "usr/bin/busybox",
            "usr/bin/ovn-controller",
            "usr/bin/ovn-nbctl",
            "usr/bin/ovn-northd",
            "usr/bin/ovn-sbctl",
            "usr/bin/ovs-appctl",
            "usr/bin/ovs-ofctl",
            "usr/bin/ovs-vsctl",
            "usr/bin/ovsdb-client",
            "usr/bin/ovsdb-tool",
            "usr/bin/ping",
            "usr/lib/openvswitch-switch/ovs-vswitchd",
            "usr/sbin/haproxy",
            "usr/sbin/ovsdb-server",
        )
    },
    **{
        f"{name}{suffix}": f"usr/sbin/{name}-nft{suffix}"
        for name in ("iptables", "ip6tables")
        for suffix in ("", "-save", "-restore")
    },
}
_SCHEMAS = (
    "usr/share/openvswitch/vswitch.ovsschema",
    "usr/share/ovn/ovn-nb.ovsschema",
    "usr/share/ovn/ovn-sb.ovsschema",
)
_XTABLES = "usr/lib/x86_64-linux-gnu/xtables"
"""Where iptables has its targets. Of the userspace datapath, the agent needs CHECKSUM."""
_LEASE = """\
#!/bin/sh
[ "$1" = bound ] || exit 0
ip address add "$ip/$mask" dev "$interface"
set -- $staticroutes
while [ $# -gt 1 ]; do
  ip route add "$1" via "$2"
  shift 2
done
"""
"""What busybox's client of DHCP does with its lease. OVN gives all routes as classless ones."""
_SUDO = '#!/bin/sh\nexec "$@"\n'
"""The agent runs as root here; Kolla's image has sudo with a rule for neutron-rootwrap, and names to rootwrap the
directory of its programs as `_add` does."""
_NAMED = re.compile(r"neutron:network_name=written-(\d+)\b")
_STAND_IN = Path(__file__).with_name("metadata_stand_in.py")
_CLIENT = Path(__file__).with_name("ovn_client.py")


class OvnCloud:
    """The machines of the clouds and of OVN, and what the client has made of them."""

    def __init__(
        self, testbed: ServiceTestbed, programs: Programs, ovn_root: Path, containers: Mapping[str, TriedContainer]
    ) -> None:
        self.containers, self._ovn_root = containers, ovn_root
        self.services = ServiceCloud(testbed, containers, programs.release, _PROJECTS)
        self.metadata = testbed.add("nova-api", programs.release)
        testbed.name_services(DOMAIN, {"nova-api": self.metadata})
        self.network = OvnNetwork(testbed, containers, (COMPUTE, GATEWAY), self._add)
        # Neutron's server makes its first group of ports with this program.
        client = {"ovsdb-client": _PROGRAMS["ovsdb-client"]}
        borrow(self.services.processes["neutron-server"], ovn_root, client)
        self.wired: dict[str, str] = {}

    def _add(self, name: str) -> ServiceMachine:
        """Adds a machine with OVN's programs, beside those of the OpenStack release."""
        services = self.services
        machine = services.testbed.add(name, services.release)
        borrow(machine, self._ovn_root, _PROGRAMS)
        for path in _SCHEMAS:
            machine.write(f"/{path}", (self._ovn_root / path).read_text(encoding="utf-8"))
        machine.write("/usr/local/bin/sudo", _SUDO, mode="0755")
        machine.run(["sed", "-i", f"s|^exec_dirs=|&{services.release}/bin,|", "/etc/neutron/rootwrap.conf"])
        return machine

    def start(self) -> list[str]:
        """Starts OVN, then Keystone and Neutron's server, then the agents. Returns notes for the report."""
        network, services = self.network, self.services
        for cluster in (network.northbound, network.southbound):
            ovn.begin(cluster)
        for name in network.daemons:
            network.start_daemon(name)
        network.start_switches()
        self.metadata.run(["python3", "-c", COMPLETE, "eth0"])
        self.metadata.write("/metadata.py", _STAND_IN.read_text(encoding="utf-8"))
        self.metadata.start(["python3", "/metadata.py", self.agent_option("nova_metadata_port")], "root")
        services.client.write("/ovn.py", _CLIENT.read_text(encoding="utf-8"))
        notes = services.start()
        network.start_controller(GATEWAY)
        self._start_compute()
        network.wait_connected(*network.nodes)
        took = until("Neutron lists the agents as alive", self._agents_are_alive, START, 2)
        return [*notes, f"Neutron listed ovn-controllers and the metadata agent as alive after {took:.0f} s"]

    def agent_option(self, name: str) -> str:
        """Returns the value of an option of the metadata agent."""
        texts = [file.text for path, file in self.containers[_AGENT].files.items() if path.startswith("/etc/neutron/")]
        found = re.search(rf"^{name} *= *(.+)$", "\n".join(texts), re.MULTILINE)
        return found[1] if found else ""

    def _start_compute(self) -> None:
        machine, network = self.network.nodes[COMPUTE], self.network
        mine = [network.controllers[COMPUTE], self.containers[_AGENT]]
        targets = f"export XTABLES_LIBDIR={self._ovn_root}/{_XTABLES}\n"
        machine.write("/start.sh", targets + self.services.script(machine, mine), mode="0700")
        machine.start(["bash", "/start.sh"], "root")

    def _agents_are_alive(self) -> bool:
        alive = {(each["host"], each["type"]) for each in self.agents() if each["alive"]}
        return alive == {*((COMPUTE, agent) for agent in AGENTS), (GATEWAY, "OVN Controller Gateway agent")}

    def agents(self) -> list[dict[str, Any]]:
        """Returns Neutron's list of agents."""
        return self.ask("agents")

    def ask(self, what: str) -> Any:
        """Runs ovn_client.py; returns what it prints."""
        return json.loads(self.services.use(what, "/ovn.py"))

    def wire(self) -> None:
        """Makes networks, a router, a bound port and a floating IP by Neutron's API."""
        self.wired = self.ask(f"wire {COMPUTE} {self.network.outside.address}")

    def plug(self) -> LogicalPort:
        """Adds the instance's interface to the switch of the compute, as Nova does, without an address."""
        made = self.wired
        machine = self.network.nodes[COMPUTE]
        port = LogicalPort(INSTANCE, machine, made["address"])
        machine.write("/lease.sh", _LEASE, mode="0755")
        script = f"""\
ip netns add {INSTANCE}
ip link add tap0 type veth peer name eth0 netns {INSTANCE}
ip link set tap0 up
in="nsenter --net=/run/netns/{INSTANCE}"
$in ip link set lo up
$in ip link set eth0 address {made["mac"]} mtu {made["mtu"]} up
$in python3 -c '{COMPLETE}' eth0
ovs-vsctl add-port br-int tap0 -- set interface tap0 external-ids:iface-id={made["port"]}
"""
        machine.run(["sh", "-ec", script])
        return port

    def lease(self, port: LogicalPort) -> str:
        """Asks for an address by DHCP; returns the addresses and routes of the instance."""
        client = ["busybox", "udhcpc", "-q", "-n", "-f", "-t", "20", "-T", "2", "-O", "staticroutes"]
        port.node.run([*port.inside, *client, "-s", "/lease.sh", "-i", "eth0"], seconds=120)
        return port.node.run([*port.inside, "sh", "-c", "ip -o -4 address show eth0; ip route"])

    def read_metadata(self, port: LogicalPort) -> str:
        """Returns what the instance reads of its metadata; empty without an answer."""
        ask = ["busybox", "wget", "-q", "-T", "20", "-O", "-", f"http://{METADATA}/latest/meta-data/instance-id"]
        return port.node.run([*port.inside, *ask], check=False)

    def asked(self) -> list[dict[str, str]]:
        """Returns the requests that the stand-in for Nova's metadata API has had."""
        lines = self.metadata.log.read_text(encoding="utf-8").splitlines()
        return [json.loads(line) for line in lines if line.startswith("{")]

    def networks(self, member: str) -> set[int]:
        """Returns the numbers of the client's networks that a member of the northbound database has."""
        cluster = self.network.northbound
        command = [cluster.program, "--no-leader-only", "--timeout=20", f"--db={SOCKET}"]
        said = cluster.members[member].run([*command, "--bare", "--columns=external_ids", "list", "logical_switch"])
        return {int(number) for number in _NAMED.findall(said)}

    def logs(self) -> str:
        """Returns the ends of the logs of OVN's and Neutron's machines."""
        network = self.network
        machines = {**self.services.processes, **network.daemons, **network.nodes}
        own = "\n".join(f"{name}:\n{machine.tail(15)}" for name, machine in machines.items())
        return f"{network.northbound.tails()}\n{network.southbound.tails()}\n{own}"
