"""A Pulumi program with the system containers of a stack file, each with a step of a machine.

A member of a quorum is a file on the machine: `/root/needed` says that the quorum cannot spare it. When a machine
leaves, its step writes `/root/left`.
"""

from pathlib import Path

import pulumi

from blueprint.plan.nodes import node
from blueprint.stackfile.inventory import machines
from blueprint.stackfile.loader import load_file
from components.machine import MachineArgs, MachineComponent, Parts, Step
from components.secrets import Keyring
from components.target import GuestMachine
from components.target.hypervisors import Hypervisors
from components.target.ssh import SshTarget
from components.virt_host import VirtHost, VirtHostArgs, files
from components.virt_host.host_keys import HostKeys
from components.virt_host.restarts import Restart

MARK = Step(
    name="mark",
    does="Marks this machine.",
    check='[ -e "$ROOT/root/joined" ]',
    apply='touch "$ROOT/root/joined"',
    leave='mv "$ROOT/root/joined" "$ROOT/root/left"',
)

stack = pulumi.get_stack()
settings = load_file(Path(f"Pulumi.{stack}.yaml"))
found = machines(settings)
nodes = [node(machine, "master") for machine in found if machine.vm]
keys = HostKeys(Keyring("ssh", pulumi.Config("quorate").require_secret("rootSecret")))
target = SshTarget(
    stack,
    settings.ssh,
    nodes,
    pulumi.Output.from_input(""),
    Hypervisors(stack, settings, [each for each in found if each.vms], keys),
)
hosts = {host.name: VirtHost(host.name, VirtHostArgs(host, [])) for host in found if host.vms}
after: list[pulumi.Resource] = []
for own in nodes:
    restart = Restart(
        own, "if [ -e /root/needed ]; then echo 'the quorum cannot spare it'; exit 3; fi", "cat /proc/uptime"
    )
    vm = GuestMachine(own, files(own, settings.template), 1, restart)
    after = list(target.virtual_machine(own.name, vm, after, pulumi.ResourceOptions(parent=hosts[own.server])))
    parent = hosts[own.server].child(depends_on=after)
    MachineComponent(f"machine-{own.name}", MachineArgs(own, Parts(steps=(MARK,)), target), parent)
    pulumi.export(own.name, keys.public(own.name))
