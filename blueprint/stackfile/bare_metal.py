"""Checks a stack with Ironic, whose machines are servers of projects beside virtual machines (source 004, 2.9)."""

from __future__ import annotations

from collections.abc import Iterator

from blueprint.problems import Problem
from blueprint.stackfile.service_options import MECHANISM_DRIVERS, SCHEDULER_FILTERS, lacking
from blueprint.stackfile.settings import Settings

PROJECT = "ironic"
KEY = f"quorate:projects.{PROJECT}"
FILTER = "ImagePropertiesFilter"
"""Filter of Nova's scheduler that compares an image's `hypervisor_type` with the hypervisor of a host."""
DRIVER = "baremetal"
"""Mechanism driver of Neutron's server that binds ports of machines."""


def problems(settings: Settings) -> Iterator[Problem]:
    """Yields a problem for each setting with which machines could not be provisioned, or got images of others."""
    if PROJECT not in settings.records.by_name:
        return
    if settings.has_ovn:
        yield Problem(
            KEY,
            "Ironic is built for Neutron's agents only: they answer the machines' DHCP, for which OVN would need its "
            f"gateways; remove {KEY}, or write quorate:networks.backend: ovs",
        )
    if settings.ingress is None:
        yield Problem(
            KEY,
            "machines call Ironic's API while they are deployed, and reach it by its public name only (004, 2.9.4); "
            "write quorate:ingress with a domain that the provisioning network resolves",
        )
    for needed in lacking(settings, {SCHEDULER_FILTERS: FILTER, MECHANISM_DRIVERS: DRIVER}):
        yield Problem(KEY, f"Ironic needs {needed}")
