"""Reports about options whose change interrupted tenants: it restarted more than the process that reads them."""

from __future__ import annotations

from typing import Any

import pytest

from tests.reports.stacks import objects, planned


def templates(**changed: Any) -> dict[str, dict[str, Any]]:
    """The pods that each workload of a node makes, by the workload's name: what differs is restarted."""
    found = objects(planned(**changed))
    return {
        each.inputs["metadata"]["name"]: each.inputs["spec"]["template"] for each in found if each.kind == "DaemonSet"
    }


@pytest.mark.parametrize(
    ("project", "file", "restarted", "kept"),
    [
        ("neutron", "neutron.conf", "neutron-l2-agent", {"openvswitch-db", "openvswitch-vswitchd", "nova-libvirt"}),
        ("nova", "nova.conf", "nova-compute", {"nova-libvirt", "openvswitch-db", "openvswitch-vswitchd"}),
    ],
)
def test_an_option_restarts_neither_switches_nor_guests(
    project: str, file: str, restarted: str, kept: set[str]
) -> None:
    before = templates()
    after = templates(projects={project: {"options": {file: {"DEFAULT": {"debug": True}}}}})
    changed = {name for name in before if before[name] != after[name]}
    assert restarted in changed
    carriers = {name for name in before if any(name.endswith(each) for each in kept)}
    assert len(carriers) >= len(kept)
    assert not changed & carriers
