"""The reference architectures share nodes as source 004's text says (004, 5.3.6 to 5.3.15 and 5.4.6 to 5.4.15).

What is written out here was read off the text once more. Where it contradicts the tables, the row says so and says
which was followed.
"""

from __future__ import annotations

from itertools import pairwise

import pytest

from blueprint.architecture.loader import NAMES, load_architecture
from blueprint.architecture.model import Architecture

NETWORK = {"neutron-server", "neutron-dhcp-agent", "neutron-l3-agent", "neutron-metadata-agent"}
"""On one pool with a node for each instance: 5.3.8 puts the agents on the nodes of neutron-server's instances."""
HEAVY = {"nova-api", "nova-conductor", "influxdb-grafana", "elasticsearch-kibana"}
LIGHT = {"glance-api", "glance-registry", "cinder-api", "cinder-scheduler", "cinder-volume"}
SMALL = LIGHT | {"nova-scheduler", "placement-api", "lma-aggregator", "nagios"}
"""Light guests at 100 to 500 computes."""
COMMON = {"compute": {"nova-compute"}, "storage": {"ceph-osd"}}

POOLS: dict[str, dict[str, set[str]]] = {
    "100": COMMON
    | {
        "rabbitmq": {"rabbitmq", "keystone", *NETWORK},
        "mysqld": {"mysqld", "horizon", "ceph-mon", "radosgw"},
        "compute rabbitmq": {"neutron-l2-agent"},
        "mysqld controller": HEAVY,
        "rabbitmq mysqld controller": SMALL,
    },
    "300": COMMON
    | {
        "keystone": {"keystone", *NETWORK},
        "rabbitmq": {"rabbitmq"},
        "mysqld": {"mysqld", "horizon", "ceph-mon", "radosgw"},
        "compute keystone": {"neutron-l2-agent"},
        "keystone mysqld controller": HEAVY,
        "keystone rabbitmq mysqld controller": SMALL,
    },
    "500": COMMON
    | {
        "keystone": {"keystone"},
        "rabbitmq": {"rabbitmq"},
        "mysqld": {"mysqld", "horizon", "ceph-mon", "radosgw", *NETWORK},
        "compute mysqld": {"neutron-l2-agent"},
        "keystone mysqld controller": HEAVY | SMALL,
    },
    "1000": COMMON
    | {
        "nova-api": {"nova-api", *NETWORK},
        "compute nova-api": {"neutron-l2-agent"},
        "ceph-mon": {"ceph-mon", "radosgw"},
        "lma-aggregator": {"lma-aggregator"},
        "lma-aggregator controller": {"nagios"},
        "keystone nova-api controller": LIGHT,
        "nova-api keystone controller": {"nova-scheduler", "placement-api"},
    }
    | {
        alone: {alone}
        for alone in (
            "keystone", "nova-conductor", "horizon", "rabbitmq", "mysqld", "influxdb-grafana", "elasticsearch-kibana"
        )
    },
}  # fmt: skip
"""Pools in the order of preference, and who runs on them."""

ADMITS: dict[str, dict[str, tuple[str, ...]]] = {
    "100": {"rabbitmq": ("light", "neutron-l2-agent"), "mysqld": ("any",)},
    "300": {"keystone": ("any",), "rabbitmq": ("light",), "mysqld": ("any",)},
    "500": {"keystone": ("any",), "rabbitmq": (), "mysqld": ("any",)},
    "1000": {
        "keystone": ("light",),
        "nova-api": ("light", "neutron-l2-agent"),
        "nova-conductor": (),
        "horizon": (),
        "rabbitmq": (),
        "mysqld": (),
        "ceph-mon": ("radosgw",),
        "lma-aggregator": ("light",),
        "influxdb-grafana": (),
        "elasticsearch-kibana": (),
    },
}

MONITORING = {"influxdb-grafana", "elasticsearch-kibana"}
AT_LEAST = MONITORING | {
    "nova-api", "neutron-server", "neutron-metadata-agent", "glance-api", "cinder-api", "cinder-volume",
    "neutron-dhcp-agent", "neutron-l3-agent",
}  # fmt: skip
"""Where the text says "at least", "a minimal of" or "scalable by adding instances" at every size."""

LEFT_THE_TABLE = {("neutron-server", "load_balancer"), ("cinder-volume", "instances")}
"""Cells that were not followed, at every size."""

NODES = {"nova-api", "neutron-server", "cinder-volume", "rabbitmq", "mysqld", "ceph-mon", "nagios"}
DISAGREE = {
    # From 300 on keystone has the nodes that the text asks for.
    "100": NODES | MONITORING | {"keystone"},
    "300": NODES | MONITORING,
    "500": NODES | MONITORING,
    "1000": {"keystone", "nova-api", "neutron-server", "cinder-volume", "horizon", "ceph-mon", "nagios"},
}
"""Rows where the text contradicts the table or itself."""


@pytest.fixture(params=NAMES)
def architecture(request: pytest.FixtureRequest) -> Architecture:
    return load_architecture(request.param)


def test_who_runs_where(architecture: Architecture) -> None:
    pools: dict[str, set[str]] = {}
    for row in architecture.rows:
        pools.setdefault(" ".join(row.runs_on), set()).add(row.service)
    assert pools == POOLS[architecture.name]


def test_who_may_share(architecture: Architecture) -> None:
    assert {row.service: row.admits for row in architecture.owners} == ADMITS[architecture.name]
    assert {row.service for row in architecture.owners if row.shareable} == {
        service for service, admitted in ADMITS[architecture.name].items() if admitted
    }


def test_footprints(architecture: Architecture) -> None:
    heavy = HEAVY | {"ceph-mon", "horizon", "rabbitmq", "mysqld", "ceph-osd", "neutron-l2-agent"}
    if architecture.name == "1000":
        # 5.3.12 counts it among the lightweight; 5.4.6 gives it servers of its own for the load that it makes.
        heavy.add("keystone")
    assert {row.service for row in architecture.rows if row.footprint == "heavy"} == heavy


def test_at_least(architecture: Architecture) -> None:
    expected = AT_LEAST | {"100": {"keystone"}, "300": {"keystone"}, "1000": {"keystone", "nova-scheduler"}}.get(
        architecture.name, set()
    )
    assert {row.service for row in architecture.rows if row.at_least} == expected


def test_cells_that_were_not_followed(architecture: Architecture) -> None:
    left = {
        (row.service, cell)
        for row in architecture.rows
        for cell in ("instances", "shareable", "load_balancer")
        if row.in_table and getattr(row, cell) != getattr(row, f"table_{cell}")
    }
    by_text_at_1000 = {(service, "shareable") for service in ("keystone", "nova-api", "ceph-mon")}
    lost = {
        "300": {("nagios", "load_balancer")},
        "500": {("nagios", "instances"), ("nagios", "shareable")},
        "1000": by_text_at_1000,
    }
    assert left == LEFT_THE_TABLE | lost.get(architecture.name, set())


def test_disagreements_say_which_was_followed(architecture: Architecture) -> None:
    followed = {row.service for row in architecture.rows if "followed" in row.note}
    assert followed == DISAGREE[architecture.name]


def test_every_row_cites_the_table_and_the_text(architecture: Architecture) -> None:
    summary = architecture.source.section
    for row in architecture.rows:
        if row.in_table:
            assert row.sources[0].section == summary, row.row
            assert any(source.section != summary for source in row.sources), f"{row.row} cites the table alone"


def test_sections_are_those_of_the_architectures_own_chapter(architecture: Architecture) -> None:
    chapter = "5.4." if architecture.name == "1000" else "5.3."
    hardware = architecture.hardware
    assert hardware
    sources = [source for row in architecture.rows for source in row.sources] + [*hardware.sources, architecture.source]
    assert {source.section[:4] for source in sources if source.seed == "004"} == {chapter}
    assert {source.seed for source in sources} == {"004", "project"}


def test_every_guest_is_admitted_wherever_it_may_run(architecture: Architecture) -> None:
    owners = {row.service: row for row in architecture.owners}
    for row in architecture.rows:
        for pool in row.runs_on:
            if pool in owners:
                assert owners[pool].admits_guest(row), f"{row.row} on {pool}"
            else:
                assert pool in ("controller", "compute", "storage"), f"{row.row} on {pool}"


def test_owners_run_on_their_own_nodes_alone(architecture: Architecture) -> None:
    for row in architecture.owners:
        assert row.runs_on == (row.service,)
        assert row.instances == row.dedicated_nodes


def test_keystone_and_horizon_never_share_a_pool(architecture: Architecture) -> None:
    assert not set(architecture.row("keystone").runs_on) & set(architecture.row("horizon").runs_on)
    assert architecture.row("keystone").apart_from == ("horizon",)
    assert architecture.row("horizon").apart_from == ("keystone",)


def test_nothing_shares_a_storage_node(architecture: Architecture) -> None:
    assert [row.service for row in architecture.rows if "storage" in row.runs_on] == ["ceph-osd"]
    osd = architecture.row("ceph-osd")
    assert osd.everywhere
    assert not osd.shareable
    assert osd.admits == ()


def test_everywhere_rows_and_their_pools(architecture: Architecture) -> None:
    everywhere = {row.service: row.instances for row in architecture.rows if row.everywhere}
    assert everywhere == {"nova-compute": None, "neutron-l2-agent": None, "ceph-osd": None}
    assert architecture.row("nova-compute").runs_on == ("compute",)


def test_l2_agent_comes_wherever_an_l3_or_dhcp_agent_does(architecture: Architecture) -> None:
    network = {row.runs_on for row in architecture.rows if row.service.startswith("neutron-") and not row.everywhere}
    assert len(network) == 1, "L3 and DHCP agents are on neutron-server's own nodes (5.3.8)"
    (pools,) = network
    assert len(pools) == 1
    assert architecture.row("neutron-l2-agent").runs_on == ("compute", *pools)


def test_network_agents_are_certain_to_be_beside_their_companions(architecture: Architecture) -> None:
    """A node for each instance: whatever the scheduler does, an agent's node has a server and a metadata agent."""
    beside = ("neutron-server", "neutron-metadata-agent", "neutron-l2-agent")
    assert {row.service: row.beside for row in architecture.rows if row.beside} == {
        "neutron-l3-agent": beside,
        "neutron-dhcp-agent": beside,
        "nova-compute": ("neutron-l2-agent",),
    }
    nodes = {owner.service: owner.dedicated_nodes for owner in architecture.owners}
    for service in NETWORK:
        row = architecture.row(service)
        assert row.instances == sum(nodes[pool] for pool in row.runs_on) == 3


def test_light_is_a_quarter_of_rabbitmq(architecture: Architecture) -> None:
    assert (architecture.light.cpu_m, architecture.light.memory_mi) == (1000, 4096)


def test_neutron_server_has_the_load_balancer_that_the_text_asks_for(architecture: Architecture) -> None:
    row = architecture.row("neutron-server")
    assert (row.load_balancer, row.table_load_balancer) == (True, False)


def test_cinder_volume_has_three_with_ceph(architecture: Architecture) -> None:
    row = architecture.row("cinder-volume")
    assert (row.instances, row.table_instances, row.at_least) == (3, None, True)


def test_members_of_quorums(architecture: Architecture) -> None:
    quorums = {row.service: row.instances for row in architecture.rows if row.quorum}
    assert quorums == dict.fromkeys(("rabbitmq", "mysqld", "ceph-mon", "elasticsearch-kibana"), 3)


def test_monitoring_rows(architecture: Architecture) -> None:
    assert {row.service for row in architecture.rows if row.monitoring} == {
        "lma-aggregator", "influxdb-grafana", "elasticsearch-kibana", "nagios",
    }  # fmt: skip


def test_scheduler_fills_the_eight_nodes_of_nova_api_and_keystone_at_1000() -> None:
    architecture = load_architecture("1000")
    row = architecture.row("nova-scheduler")
    owners = {owner.service: owner.dedicated_nodes for owner in architecture.owners}
    assert row.instances == 8 == sum(owners.get(pool, 0) for pool in row.runs_on)
    assert "nova-conductor" not in row.runs_on


def test_scheduler_by_size() -> None:
    rows = {name: load_architecture(name).row("nova-scheduler") for name in NAMES}
    assert {name: row.instances for name, row in rows.items()} == {"100": 3, "300": 3, "500": 5, "1000": 8}
    assert {name: row.minimum_workers for name, row in rows.items()} == {"100": 3, "300": 3, "500": 3, "1000": None}
    assert {name for name, row in rows.items() if row.at_least} == {"1000"}


def test_retired_parts_name_what_replaced_them(architecture: Architecture) -> None:
    assert architecture.row("glance-registry").replaced_by == "glance-api"
    assert {entry.service for entry in architecture.retired} == {"glance-registry", "nova-consoleauth"}


def test_placement_api_is_ours_and_like_nova_api(architecture: Architecture) -> None:
    row, nova = architecture.row("placement-api"), architecture.row("nova-api")
    assert row.sources[0].seed == "project"
    assert not row.in_table
    assert (row.table_instances, row.table_shareable, row.table_load_balancer) == (None, None, None)
    assert (row.instances, row.load_balancer) == (nova.instances, nova.load_balancer) == (3, True)


def test_services_never_shrink_between_sizes() -> None:
    for smaller, larger in pairwise(load_architecture(name) for name in NAMES):
        assert smaller.dedicated_total < larger.dedicated_total
        for row in smaller.rows:
            assert (larger.row(row.service).instances or 0) >= (row.instances or 0), row.row
