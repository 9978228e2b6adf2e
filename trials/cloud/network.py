"""The lab's networks: a switch, a bridge for each server behind it, and a network namespace for each machine.

Every machine has two interfaces: one on the network of the machines, and one without addresses on the network of the
instances, which Open vSwitch takes. The host's own network stays as it is: the switch is in a namespace too. Pods reach
each other by static routes, unless the lab has Calico.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from ipaddress import IPv4Interface, IPv4Network
from pathlib import Path

from console.programs import run
from toolchain.process_identity import program_name
from trials import card_checksums
from trials.cloud.lab_machines import Lab, LabMachine

PREFIX = "quorate-"
SWITCH = f"{PREFIX}switch"
_FILES = Path("/etc/netns") / SWITCH
"""Files that replace those of /etc for commands in the switch's namespace (ip-netns(8))."""
ENDING = 10.0
"""Seconds until killed processes must be gone."""
INSTANCES = "eth1"
"""A machine's interface on the network of the instances, whose VLANs the switch carries as any other frames."""
OUTSIDE = IPv4Interface("203.0.113.1/24")
"""The switch's address on the flat network of the instances: clients and routers outside of the cloud (RFC 5737)."""


@dataclass(frozen=True)
class _Wiring:
    """Names of one network's devices."""

    bridge: str
    """The switch's bridge, and that of each server."""
    uplink: str
    """A server's cable to the switch, inside of the server's namespace; the switch's ends have numbers in addition."""
    interface: str
    """A machine's interface."""
    port: str
    """A bridge's port for a machine, with the machine's number on its server, from 1."""


_NETWORKS = (_Wiring("br0", "uplink", "eth0", "port"), _Wiring("br1", "trunk", INSTANCES, "link"))
"""The network of the machines, and the network of the instances."""


def namespace(machine: LabMachine) -> str:
    """Returns the name of a machine's network namespace."""
    return f"{PREFIX}{machine.name}"


def create(lab: Lab) -> None:
    """Creates namespaces, bridges, cables, addresses and routes. What exists already stays."""
    existing = _namespaces()
    if SWITCH not in existing:
        machines, instances = _NETWORKS
        gateway = f"addr add {lab.gateway}/{lab.management.prefixlen} dev {machines.bridge}"
        _add(SWITCH, [gateway, f"addr add {OUTSIDE} dev {instances.bridge}"])
        _compute_checksums(instances.bridge)
    for number, (server, machines) in enumerate(lab.servers.items(), start=1):
        if _of_server(server) not in existing:
            _add(_of_server(server), [])
            for each in _NETWORKS:
                cable = f"{each.uplink}{number}"
                _ip(SWITCH, [f"link add {cable} type veth peer name {each.uplink} netns {_of_server(server)}"])
                _ip(SWITCH, [f"link set {cable} master {each.bridge} up"])
                _ip(_of_server(server), [f"link set {each.uplink} master {each.bridge} up"])
        for port, machine in enumerate(machines, start=1):
            if namespace(machine) not in existing:
                _add_machine(lab, machine, port)
    if lab.calico:
        route_through(lab.pods, lab.workers[0])  # it knows the other nodes' pods
    else:
        _ip(SWITCH, [f"route replace {each.pods} via {each.address}" for each in lab.machines])


def remove() -> None:
    """Removes the lab's namespaces, with everything in them, and the DNS settings of the switch's namespace."""
    shutil.rmtree(_FILES, ignore_errors=True)
    for name in _namespaces():
        run(["ip", "netns", "delete", name])


def set_power(server: str, *, on: bool) -> None:
    """Connects a server's cables, or pulls them."""
    _ip(_of_server(server), [f"link set {each.uplink} {'up' if on else 'down'}" for each in _NETWORKS])


def set_connected(lab: Lab, machine: LabMachine, *, on: bool) -> None:
    """Connects one machine to its server's bridge, or cuts it off; the server's other machines stay connected."""
    port = lab.servers[machine.server].index(machine) + 1
    _ip(_of_server(machine.server), [f"link set {each.port}{port} {'up' if on else 'down'}" for each in _NETWORKS])


def route_through(network: IPv4Network, machine: LabMachine) -> None:
    """Routes a network through a machine. Its kube-proxy forwards packets for the addresses of Services."""
    _ip(SWITCH, [f"route replace {network} via {machine.address}"])


def set_resolver(*lines: str) -> None:
    """Sets the lines of resolv.conf for commands in the switch's namespace."""
    _write("resolv.conf", lines)


def set_hosts(address: str, names: Iterable[str]) -> None:
    """Gives host names an address, for commands in the switch's namespace."""
    _write("hosts", ("127.0.0.1 localhost", *(f"{address} {name}" for name in names)))


def _write(name: str, lines: Iterable[str]) -> None:
    _FILES.mkdir(parents=True, exist_ok=True)
    (_FILES / name).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def end_programs(program: str) -> None:
    """Kills the processes of a program in the switch's namespace, and waits until they are gone."""
    if SWITCH not in _namespaces():
        return
    end = time.monotonic() + ENDING
    while found := [pid for pid in _pids() if program_name(pid) == program]:
        if time.monotonic() > end:
            raise OSError(f"{program} has not ended within {ENDING:.0f} s")
        for pid in found:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(0.05)


def _pids() -> list[int]:
    return [int(line) for line in run(["ip", "netns", "pids", SWITCH]) if line.strip()]


def in_switch(command: Sequence[str]) -> list[str]:
    """Returns the command line that runs a command where all machines are reachable."""
    return ["ip", "netns", "exec", SWITCH, *command]


def _of_server(server: str) -> str:
    return f"{PREFIX}server-{server}"


def _add(name: str, lines: Iterable[str]) -> None:
    """Adds a namespace with the bridges of both networks."""
    run(["ip", "netns", "add", name])
    bridges = [f"link add {each.bridge} up type bridge" for each in _NETWORKS]
    _ip(name, ["link set lo up", *bridges, *lines])
    run(["ip", "netns", "exec", name, "sysctl", "-qw", "net.ipv4.ip_forward=1"])


def _add_machine(lab: Lab, machine: LabMachine, port: int) -> None:
    name, bridge = namespace(machine), _of_server(machine.server)
    run(["ip", "netns", "add", name])
    for each in _NETWORKS:
        _ip(bridge, [f"link add {each.port}{port} type veth peer name {each.interface} netns {name}"])
        _ip(bridge, [f"link set {each.port}{port} master {each.bridge} up"])
    others = () if lab.calico else (each for each in lab.machines if each != machine)
    routes = [f"route add {each.pods} via {each.address}" for each in others]
    _ip(
        name,
        [
            "link set lo up",
            f"addr add {machine.address}/{lab.management.prefixlen} dev eth0",
            "link set eth0 up",
            f"link set {INSTANCES} up",
            f"route add default via {lab.gateway}",
            *routes,
        ],
    )
    run(["ip", "netns", "exec", name, "sysctl", "-qw", "net.ipv4.ip_forward=1"])


def _compute_checksums(device: str) -> None:
    """Makes the kernel fill in the checksums of packets that the switch itself sends over a device."""
    run(["ip", "netns", "exec", SWITCH, sys.executable, "-c", card_checksums.COMPLETE, device])


def _ip(name: str, lines: Sequence[str]) -> None:
    """Runs commands of `ip` in a namespace, all in one process."""
    command = ["ip", "-n", name, "-batch", "-"]
    done = subprocess.run(command, input="\n".join(lines), capture_output=True, text=True, check=False)
    if done.returncode:
        raise OSError(f"ip in namespace {name} failed: {done.stderr.strip()}")


def _namespaces() -> set[str]:
    done = subprocess.run(["ip", "netns", "list"], capture_output=True, text=True, check=True)
    return {line.split()[0] for line in done.stdout.splitlines() if line.startswith(PREFIX)}
