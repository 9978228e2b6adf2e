"""What a stack file may ask for with processes of their own, which other stacks do not have."""

from __future__ import annotations

from collections.abc import Mapping

from blueprint.openstack.projects.process_definition import Feature

ASKED_WITH: Mapping[Feature, str] = {
    "bare-metal": "quorate:projects.ironic: {}",
    "distributed-routers": "quorate:networks.distributedRouters: true",
    "sr-iov": "quorate:nodes.<nodes>.sriov",
}
"""The setting that asks for a feature."""
