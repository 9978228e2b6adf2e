"""Trial of Ironic's API by tempest's plugin: Ironic with its fake driver, beside Keystone and Neutron's server."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from trials.services import ironic_trials, tempest_plugins
from trials.services.containers import TriedContainer
from trials.services.openstack_services import ServiceCloud
from trials.services.openstack_trials import Programs
from trials.services.testbed import ServiceTestbed
from trials.trial_report import Proof

_PROCESSES = ("ironic-api", "ironic-conductor")
_PROJECTS = {"keystone": ("keystone",), "neutron": ("neutron-server",), "ironic": _PROCESSES}
_KINDS = ("bios", "boot", "console", "deploy", "firmware", "inspect", "management", "power", "raid", "rescue", "vendor")
_NONE = {"bios", "console", "firmware", "inspect", "raid", "rescue", "vendor"}
"""Kinds of interfaces that a machine need not have."""
FAKE = {"OS_DEFAULT__ENABLED_HARDWARE_TYPES": "fake-hardware"} | {
    f"OS_DEFAULT__ENABLED_{kind.upper()}_INTERFACES": f"fake,no-{kind}" if kind in _NONE else "fake" for kind in _KINDS
}
"""Variables that replace the rendered drivers. The interfaces of networks and storage are the rendered ones."""


def prove(programs: Programs, containers: Mapping[str, TriedContainer]) -> Iterator[Proof]:
    """Starts Ironic's API and conductor in the test bed, and yields the result of tempest's plugin.

    Raises Unavailable if this machine cannot run the test bed, and Broken if a service does not work.
    """
    with ServiceTestbed(programs.root) as testbed:
        cloud = ServiceCloud(testbed, containers, programs.release, _PROJECTS, ironic_trials.CLIENT)
        for name in _PROCESSES:
            cloud.processes[name].environment |= FAKE
        cloud.start()
        cloud.use("network")
        yield tempest_plugins.ironic(cloud)
