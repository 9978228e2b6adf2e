"""Reports about names and addresses: what real clouds call their nodes."""

from __future__ import annotations

import re
from typing import Any

import pytest

from blueprint.problems import InvalidStackError
from tests.reports.stacks import objects, planned
from tests.stacks import server

OBJECT = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
"""A DNS subdomain (Kubernetes documentation, Object Names and IDs)."""


def domain(name: str) -> dict[str, Any]:
    """Keys of a stack whose servers have their domain in their names, as inventories of Genestack and Kubespray do."""
    return {
        "servers": [
            server(f"k8s-[01-03].{name}", ["master"], "10.30.0.11", cpu=8, memory=16),
            server(f"ctl-[01-06].{name}", ["controller"], "10.30.0.21", cpu=16, memory=64),
            server(f"osd-[01-03].{name}", ["storage"], "10.30.0.41", cpu=16, memory=64),
            server(f"cmp-[01-03].{name}", ["compute"], "10.30.0.51", cpu=32, memory=128),
        ]
    }


@pytest.mark.parametrize("machines", ["existing", "managed"])
def test_nodes_have_their_domain_in_their_names(machines: str) -> None:
    made = planned(machines=machines, **domain("zone7.example.org"))
    assert made.masters[0].name == "k8s-01.zone7.example.org"
    assert [node.address for node in made.nodes if node.name.startswith("ctl-0")] == [
        f"10.30.0.{number}" for number in range(21, 27)
    ]
    found = objects(made)
    names = [each.inputs["metadata"]["name"] for each in found if each.type.startswith("kubernetes:")]
    assert not [name for name in names if not OBJECT.fullmatch(name) or len(name) > 253]


def test_pools_follow_the_number_of_the_host_and_not_that_of_its_domain() -> None:
    plain = planned(**domain("zone.example.org"))
    numbered = planned(**domain("zone7.example.org"))
    assert [node.pool for node in plain.nodes] == [node.pool for node in numbered.nodes]


def test_a_name_that_no_label_can_hold_is_refused() -> None:
    with pytest.raises(InvalidStackError, match="cannot name a node; write lower-case letters, digits and '-', 63 at"):
        planned(**domain(f"{'a' * 50}.example.org"))
