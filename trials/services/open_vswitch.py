"""Starts a node's switch in a machine of a test bed: Open vSwitch's database and its daemon, as their containers do."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from trials.services.containers import TriedContainer
from trials.services.testbed import Broken, ServiceMachine, place, until

BACK = 60
"""Seconds until a switch must answer. Project figure; its start script waits 6 s."""
_WRAPPER = '#!/bin/sh\nexec "$@"\n'
"""Kolla's wrapper only forwards signals."""
_DATABASE = "/var/lib/openvswitch/conf.db"
_PREPARE = f"""\
mkdir -p /run/openvswitch /var/log/kolla/openvswitch /var/lib/openvswitch
ovsdb-tool create {_DATABASE} /usr/share/openvswitch/vswitch.ovsschema
ip address flush dev eth0
"""


def prepare(machine: ServiceMachine) -> None:
    """Makes an empty database, and takes the address from the interface, which the switch gets."""
    machine.write("/usr/local/bin/ovs_wrapper", _WRAPPER, mode="0755")
    machine.run(["sh", "-ec", _PREPARE])


def start_database(machine: ServiceMachine, containers: Mapping[str, TriedContainer]) -> None:
    """Starts the database, and waits until it answers."""
    database = containers["openvswitch-db/openvswitch-db-server"]
    machine.background(place(machine, database, owner="root"), "root")
    until("the database answers", lambda: machine.run(["ovsdb-client", "list-dbs"], check=False), BACK)


def command(machine: ServiceMachine, container: TriedContainer) -> Sequence[str]:
    """Writes the files of ovs-vswitchd's container; returns its command."""
    return ["env", f"NODE_NAME={machine.name}", *place(machine, container, owner="root")]


def await_switch(machine: ServiceMachine) -> None:
    """Waits until ovs-vswitchd answers. Raises Broken if it does not."""
    # Its process has another number outside of the container: it is found by its socket.
    answers = ["sh", "-c", "ovs-appctl -T 5 -t $(ls -t /run/openvswitch/ovs-vswitchd.*.ctl | head -n 1) version"]
    try:
        until("the switch answers", lambda: machine.run(answers, check=False), BACK)
    except TimeoutError:
        raise Broken(f"the switch of {machine.name} does not answer:\n{machine.tail()}") from None
