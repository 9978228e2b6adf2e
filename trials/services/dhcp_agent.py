"""Neutron's DHCP agent in the test bed, with the rendered container: machines get what Neutron knows of their ports.

dnsmasq is Debian's. Open vSwitch does not run, so that the agent's card is a macvlan (dhcp_card.py). Guests get no
metadata.
"""

from __future__ import annotations

from pathlib import Path

from trials.services.borrowed_programs import borrow
from trials.services.testbed import ServiceMachine

NAME = "neutron-dhcp-agent"
_DRIVER = Path(__file__).with_name("dhcp_card.py")
_MODULES = "/usr/local/lib/trial"
_TOOLS = {"dnsmasq": "usr/sbin/dnsmasq"} | {
    f"{name}{suffix}": f"usr/sbin/{name}-nft{suffix}"
    for name in ("iptables", "ip6tables")
    for suffix in ("", "-save", "-restore")
}


def prepare(machine: ServiceMachine, root: Path) -> None:
    """Puts what the image of the agent has on its machine. `root`: a Debian root with dnsmasq and iptables."""
    borrow(machine, root, _TOOLS)
    # The agent runs as root here. Kolla's image names to rootwrap the directory of its programs too.
    machine.write("/usr/local/bin/sudo", '#!/bin/sh\nexec "$@"\n', mode="0755")
    machine.run(["sed", "-i", f"s|^exec_dirs=|&{machine.programs}/bin,|", "/etc/neutron/rootwrap.conf"])
    machine.write(f"{_MODULES}/{_DRIVER.name}", _DRIVER.read_text(encoding="utf-8"))
    machine.environment |= {
        "PYTHONPATH": _MODULES,
        "XTABLES_LIBDIR": f"{root}/usr/lib/x86_64-linux-gnu/xtables",
        "OS_DEFAULT__INTERFACE_DRIVER": "dhcp_card.DhcpCard",
        "OS_DEFAULT__ENABLE_ISOLATED_METADATA": "false",
    }
