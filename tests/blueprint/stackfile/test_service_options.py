"""Options of a service, by project, service and node."""

from __future__ import annotations

from typing import Any

import pytest

from blueprint.stackfile.service_options import service_options
from tests.stacks import full_size, parsed


def options(value: str) -> dict[str, Any]:
    return {"nova.conf": {"DEFAULT": {"debug": value}}}


NODES = {
    "cmp[1-2]": {"services": {"nova-compute": {"options": options("pair")}}},
    "cmp2": {"services": {"nova-compute": {"options": options("second")}}},
    "cmp3": {"services": {"neutron-l2-agent": {"options": options("agent")}}},
}


@pytest.mark.parametrize(
    ("node", "values"),
    [
        (None, ["project", "service"]),
        ("cmp1", ["project", "service", "pair"]),
        ("cmp2", ["project", "service", "second", "pair"]),
        ("cmp3", ["project", "service"]),
    ],
)
def test_those_of_the_node_come_last_in_the_order_of_their_patterns(node: str | None, values: list[str]) -> None:
    settings = parsed(
        full_size(
            "100",
            projects={"nova": {"options": options("project")}},
            services={"nova-compute": {"options": options("service")}},
            nodes=NODES,
        )
    )
    found = service_options(settings, "nova", "nova-compute", node)
    assert [each["nova.conf"]["DEFAULT"]["debug"] for each in found] == values
