# pyright: reportMissingModuleSource=false, reportMissingImports=false, reportUntypedBaseClass=false
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
"""Interface driver of Neutron's DHCP agent in the test bed, in place of the one for Open vSwitch.

The agent's card is a macvlan of the machine's interface, so that it is on the test bed's network with an address of its
own. Neutron loads this module on the agent's machine.
"""

from __future__ import annotations

import subprocess

from neutron.agent.linux import interface, ip_lib


class DhcpCard(interface.LinuxInterfaceDriver):
    """Makes and removes the card of a network."""

    def plug_new(self, *port: str) -> None:
        """Makes the card of a port: network, port, name, address, bridge, namespace, and what does not matter here."""
        _, _, name, address, _, namespace, *_ = port
        ip_lib.IPWrapper().ensure_namespace(namespace)
        card = ["type", "macvlan", "mode", "bridge"]
        _ip("link", "add", "link", "eth0", "name", name, "address", address, "netns", namespace, *card)
        _ip("-netns", namespace, "link", "set", name, "up")

    def unplug(self, device_name: str, **options: str) -> None:
        """Removes a card from the namespace that the options name."""
        _ip("-netns", options["namespace"], "link", "delete", device_name)


def _ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=True)
