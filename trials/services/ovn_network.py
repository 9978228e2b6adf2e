"""A network of OVN in a test bed: both databases, ovn-northd and nodes with a switch and ovn-controller, as rendered.

The switch has the userspace datapath, which needs no kernel module. Its tunnels need the node's address on one of its
bridges: the node's only interface and its address are in the bridge of the physical network. A port has a network
namespace behind it, in place of a virtual machine. Neutron does not run: ovn-nbctl makes switches, routers and ports.
"""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from trials.card_checksums import COMPLETE
from trials.services import open_vswitch
from trials.services.containers import TriedContainer
from trials.services.ovn_cluster import OvnCluster
from trials.services.testbed import NETWORK, Broken, ServiceMachine, ServiceTestbed, place, until

MTU = 1442
"""Bytes of a packet in a network of a project, where the nodes' network carries 1500 (docs/openstack.md#ovn)."""
LIMIT = 300
"""Seconds until a change must have its effect. Project figure: twice the probes of a connection to a lost host."""
SWITCHES = {"red": "192.168.1", "blue": "192.168.2"}
"""The logical switches of the networks of projects, with the first three parts of their addresses."""
EXTERNAL = f"{NETWORK}.200"
"""The router's address in the physical network."""
BRIDGE = "br-ex"
NODES = ("compute-1", "compute-2", "network-1", "network-2")


@dataclass(frozen=True)
class LogicalPort:
    """A port of a logical switch on a node, with a network namespace of its name."""

    name: str
    node: ServiceMachine
    address: str

    @property
    def inside(self) -> list[str]:
        """Prefix of a command of the node that runs in the namespace."""
        return ["nsenter", f"--net=/run/netns/{self.name}"]

    def reaches(self, address: str, *options: str) -> bool:
        """Whether a packet to an address is answered within a second."""
        try:
            self.node.run([*self.inside, "ping", "-q", "-c", "1", "-W", "1", *options, address])
        except subprocess.CalledProcessError:
            return False
        return True


class OvnNetwork:
    """The machines: databases, two ovn-northd, two computes, two network nodes, and one outside of the network."""

    def __init__(
        self,
        testbed: ServiceTestbed,
        containers: Mapping[str, TriedContainer],
        nodes: Sequence[str] = NODES,
        add: Callable[[str], ServiceMachine] | None = None,
    ) -> None:
        """`nodes`: some of NODES. `add`: as of OvnCluster."""
        self.testbed, self.containers = testbed, containers
        add = add or testbed.add
        self.outside = add("outside")
        self.northbound = OvnCluster(testbed, containers["ovn-nb/ovn-nb-db-server"], self.outside, add)
        self.southbound = OvnCluster(testbed, containers["ovn-sb/ovn-sb-db-server"], self.outside, add)
        self.daemons = {name: add(name) for name in ("ovn-northd-0", "ovn-northd-1")}
        for machine in (
            self.outside, *self.northbound.members.values(), *self.southbound.members.values(), *self.daemons.values()
        ):  # fmt: skip
            # A virtual cable leaves checksums to the receiver, and the datapath in user space does not complete them.
            machine.run(["python3", "-c", COMPLETE, "eth0"])
        suffixes = {name: "" if name.startswith("compute") else "-network" for name in nodes}
        self.controllers = {
            name: containers[f"ovn-controller{suffix}/ovn-controller"] for name, suffix in suffixes.items()
        }
        self.nodes = {name: add(name) for name in nodes}
        self.ports: list[LogicalPort] = []

    def start_daemon(self, name: str) -> None:
        """Starts an ovn-northd."""
        machine = self.daemons[name]
        machine.start(place(machine, self.containers["ovn-northd/ovn-northd"], "root"), "root")

    def active(self) -> str | None:
        """Returns the name of the ovn-northd that works; None while none does."""
        question = ["ovs-appctl", "--timeout=5", "--target", "/tmp/ovn-northd.ctl", "status"]  # noqa: S108
        running = {name: machine for name, machine in self.daemons.items() if machine.runs}
        return next((name for name, machine in running.items() if "active" in machine.run(question, check=False)), None)

    def start_nodes(self) -> None:
        """Starts the switches of all nodes, and then ovn-controller on each."""
        self.start_switches()
        for name in self.nodes:
            self.start_controller(name)

    def start_switches(self) -> None:
        """Starts the switches of all nodes, with the node's address on the bridge of the physical network."""
        switch = self.containers["openvswitch-vswitchd/openvswitch-vswitchd"]
        for machine in self.nodes.values():
            open_vswitch.prepare(machine)
            open_vswitch.start_database(machine, self.containers)
            machine.background(open_vswitch.command(machine, switch), "root")
        for machine in self.nodes.values():
            open_vswitch.await_switch(machine)
            machine.run(["ip", "address", "add", f"{machine.address}/24", "dev", BRIDGE])
            machine.run(["ip", "link", "set", BRIDGE, "up"])

    def start_controller(self, name: str) -> None:
        """Starts ovn-controller on a node."""
        machine = self.nodes[name]
        variables = {"NODE_NAME": name, "POD_IP": machine.address}
        machine.start(place(machine, self.controllers[name], "root"), "root", variables)

    def wait_connected(self, *names: str) -> float:
        """Waits until the readiness probes of ovn-controller on nodes succeed; returns the seconds."""

        def connected(name: str) -> bool:
            try:
                self.nodes[name].run(self.controllers[name].ready)
            except subprocess.CalledProcessError:
                return False
            return True

        return until(f"ovn-controller on {', '.join(names)} is connected", lambda: all(map(connected, names)), LIMIT)

    def change(self, *words: str) -> None:
        """Changes the northbound database, and repeats the command until a leader answers."""

        def changed() -> bool:
            try:
                self.northbound.ask(*words)
            except subprocess.SubprocessError:
                return False
            return True

        until(f"ovn-nbctl {' '.join(words)}", changed, LIMIT)

    def make_switches(self) -> None:
        """Makes a logical switch for each network, a router between them, and its gateway to the physical network."""
        self.change("--may-exist", "lr-add", "router")
        for number, (switch, network) in enumerate(SWITCHES.items(), 1):
            self._make_switch(switch, f"02:00:00:00:02:0{number}", f"{network}.1/24")
            self.change("--may-exist", "lr-nat-add", "router", "snat", EXTERNAL, f"{network}.0/24")
        self._make_switch("external", "02:00:00:00:02:0f", f"{EXTERNAL}/24")
        self.change(
            "--may-exist", "lsp-add", "external", "physical",
            "--", "lsp-set-type", "physical", "localnet",
            "--", "lsp-set-addresses", "physical", "unknown",
            "--", "lsp-set-options", "physical", "network_name=physnet1",
        )  # fmt: skip
        for name, priority in (("network-1", "20"), ("network-2", "10")):
            self.change("lrp-set-gateway-chassis", "to-external", name, priority)

    def _make_switch(self, switch: str, mac: str, address: str) -> None:
        router = f"{switch}-router"
        self.change("--may-exist", "ls-add", switch)
        self.change("--may-exist", "lrp-add", "router", f"to-{switch}", mac, address)
        self.change(
            "--may-exist", "lsp-add", switch, router,
            "--", "lsp-set-type", router, "router",
            "--", "lsp-set-addresses", router, "router",
            "--", "lsp-set-options", router, f"router-port=to-{switch}",
        )  # fmt: skip

    def add_port(self, node: str, switch: str) -> LogicalPort:
        """Adds a port to a logical switch, and its interface to the switch of a node, as Neutron and Nova do."""
        machine, network = self.nodes[node], SWITCHES[switch]
        number = len(self.ports) + 11
        port = LogicalPort(f"port{number}", machine, f"{network}.{number}")
        self.ports.append(port)
        mac = f"02:00:00:00:01:{number:02x}"
        addresses = ["lsp-set-addresses", port.name, f"{mac} {port.address}"]
        self.change("--may-exist", "lsp-add", switch, port.name, "--", *addresses)
        script = f"""\
ip netns add {port.name}
ip link add {port.name} type veth peer name eth0 netns {port.name}
ip link set {port.name} up
in="nsenter --net=/run/netns/{port.name}"
$in ip link set eth0 address {mac} mtu {MTU} up
$in ip address add {port.address}/24 dev eth0
$in ip route add default via {network}.1
ovs-vsctl add-port br-int {port.name} -- set interface {port.name} external-ids:iface-id={port.name}
"""
        machine.run(["sh", "-ec", script])
        return port

    def new_port_answers(self, node: str, source: LogicalPort) -> float:
        """Adds a port on a node; returns the seconds from the request for it until another port reaches it."""
        started = time.monotonic()
        port = self.add_port(node, "red")
        until(f"{port.name} on {node} answers", lambda: source.reaches(port.address), LIMIT)
        return time.monotonic() - started

    def tunnelled(self, node: str) -> int:
        """Returns the packets that a node has sent through tunnels of Geneve. Raises Broken if it has no tunnel."""
        question = ["ovs-vsctl", "--bare", "--columns=statistics", "find", "interface", "type=geneve"]
        said = self.nodes[node].run(question)
        counts = [int(word.partition("=")[2]) for word in said.split() if word.startswith("tx_packets=")]
        if not counts:
            raise Broken(f"{node} has no tunnel")
        return sum(counts)
