"""Which nodes an assignment prefers: another physical host first, then another rack, then the least loaded node."""

from __future__ import annotations

from dataclasses import dataclass

from blueprint.openstack.projects.process_definition import Resources
from blueprint.plan.assignment import find
from blueprint.plan.nodes import Capacity, Node
from blueprint.stackfile.inventory import Machine

SIZE = Resources(cpu_m=1000, memory_mi=1024, limit_memory_mi=1024)


@dataclass(frozen=True)
class Service:
    """A service with the properties that decide about its nodes."""

    name: str
    instances: int
    quorum: bool = False
    apart_from: tuple[str, ...] = ()
    row: str = "a row"
    companion_of: str | None = None
    pools: tuple[str, ...] = ("control",)
    everywhere: bool = False
    every_node: bool = False

    def may_use(self, node: Node) -> bool:
        return node.pool in self.pools


def node(name: str, rack: str, pool: str = "control") -> Node:
    """A physical server of 8 cores and 32 GiB that is a node of a pool."""
    machine = Machine(name, name, "10.0.0.1", ("controller",), 8, 32, rack)
    return Node(machine=machine, pool=pool, allocatable=Capacity(8, 32))


def placed(services: list[Service], among: list[Node]) -> dict[str, set[str]]:
    assignment, problems = find(services, among, {each.name: SIZE for each in services})
    assert problems == []
    return {each.name: {one.node for one in assignment if one.service == each.name} for each in services}


def test_instances_go_to_different_racks() -> None:
    among = [node("a1", "r1"), node("a2", "r1"), node("b1", "r2"), node("b2", "r2")]
    assert {name[0] for name in placed([Service("keystone", 2)], among)["keystone"]} == {"a", "b"}


def test_another_rack_is_better_than_a_node_with_less_load() -> None:
    among = [node("a1", "r1"), node("a2", "r1"), node("b1", "r2", "network")]
    guest = Service("neutron-l3-agent", 1, pools=("network",))
    found = placed([guest, Service("keystone", 2, pools=("control", "network"))], among)
    assert found["neutron-l3-agent"] == {"b1"}
    assert "b1" in found["keystone"]


def test_within_a_rack_the_node_with_the_least_load_is_chosen() -> None:
    among = [node("a1", "r1", "network"), node("a2", "r1")]
    guest = Service("neutron-l3-agent", 1, pools=("network",))
    assert placed([guest, Service("keystone", 1, pools=("control", "network"))], among)["keystone"] == {"a2"}


def test_the_service_with_the_fewest_spare_nodes_is_first() -> None:
    """It needs all of its nodes; the other one, of more nodes, then finds the one that is left."""
    among = [node("a1", "r1"), node("a2", "r1"), node("a3", "r1"), node("a4", "r1", "network")]
    tight, loose = Service("rabbitmq", 3), Service("keystone", 1, pools=("control", "network"))
    assert placed([loose, tight], among) == {"keystone": {"a4"}, "rabbitmq": {"a1", "a2", "a3"}}


def test_a_node_may_be_full_and_no_more() -> None:
    """The system's share is half a core and 1 GiB of the 8 cores and 32 GiB."""
    for cpu, memory, fits in ((7500, 31 * 1024, True), (7501, 1024, False), (1000, 31 * 1024 + 1, False)):
        size = Resources(cpu_m=cpu, memory_mi=memory, limit_memory_mi=memory)
        problems = find([Service("keystone", 1)], [node("a1", "r1")], {"keystone": size})[1]
        assert (problems == []) is fits, problems
