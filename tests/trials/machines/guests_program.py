"""A Pulumi program with the virtual machines of a stack file, and nothing else of its cloud.

A member of a quorum is a file on the machine: `/root/needed` says that the quorum cannot spare it.
"""

from pathlib import Path

import pulumi

from blueprint.plan.nodes import node
from blueprint.stackfile.inventory import machines
from blueprint.stackfile.loader import load_file
from components.secrets import Keyring
from components.target import GuestMachine
from components.target.hypervisors import Hypervisors
from components.virt_host import VirtHost, VirtHostArgs, files
from components.virt_host.host_keys import HostKeys
from components.virt_host.restarts import Restart

stack = pulumi.get_stack()
settings = load_file(Path(f"Pulumi.{stack}.yaml"))
found = machines(settings)
hosts = [each for each in found if each.vms]
keys = HostKeys(Keyring("ssh", pulumi.Config("quorate").require_secret("rootSecret")))
maker = Hypervisors(stack, settings, hosts, keys)
components = {host.name: VirtHost(host.name, VirtHostArgs(host, [])) for host in hosts}
after: list[pulumi.Resource] = []
for machine in found:
    if machine.vm:
        own = node(machine, "master")
        restart = Restart(
            own, "if [ -e /root/needed ]; then echo 'the quorum cannot spare it'; exit 3; fi", "cat /proc/uptime"
        )
        vm = GuestMachine(own, files(own, settings.template), machine.vm.disk, restart)
        parent = pulumi.ResourceOptions(parent=components[machine.server])
        after = list(maker.machine(machine.name, vm, after, parent))
        pulumi.export(machine.name, keys.public(machine.name))
