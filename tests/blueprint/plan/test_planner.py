"""Properties of every plan, and the plans of the reference architectures by name."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from blueprint.architecture.loader import load_architecture
from blueprint.plan.layout import ServicePlan
from blueprint.plan.plan import Plan
from blueprint.plan.plan_json import to_json
from blueprint.plan.planner import plan
from blueprint.plan.quorum_limits import majority
from blueprint.problems import InvalidStackError
from blueprint.stackfile.loader import load_file
from tests.stacks import ROOT, SIZES, STACKS, full_size, own_galera, parsed, server, two_brokers

OWNERS = {
    "100": {"rabbitmq": 3, "mysqld": 3},
    "300": {"keystone": 3, "rabbitmq": 3, "mysqld": 3},
    "500": {"keystone": 5, "rabbitmq": 3, "mysqld": 3},
    "1000": {
        "keystone": 5, "nova-api": 3, "nova-conductor": 3, "horizon": 3, "rabbitmq": 3, "mysqld": 3, "ceph-mon": 3,
        "lma-aggregator": 1, "influxdb-grafana": 3, "elasticsearch-kibana": 3,
    },
}  # fmt: skip
"""004, 5.3.16 and 5.4.16."""


def planned(config: dict[str, Any]) -> Plan:
    return plan(parsed(config))


@st.composite
def stacks(draw: st.DrawFn) -> dict[str, Any]:
    """Production stacks on physical controllers, or on virtual ones spread over a few hosts; not all can be built."""
    size = draw(st.sampled_from(list(SIZES)))
    computes = draw(st.integers(0, 4))
    stack: dict[str, Any] = {"profile": "production", "architecture": size, "features": ["reduced-footprint"]}
    servers = [server(f"m{i}", ["master"], f"10.20.0.{i}") for i in range(1, draw(st.sampled_from([1, 3, 5])) + 1)]
    if draw(st.booleans()):
        count = SIZES[size] + draw(st.integers(-1, 4))
        servers.append(
            server(f"c[1-{count}]", ["controller"], "10.20.1.1", rack=draw(st.sampled_from(["r1", "r[1-4]"])))
        )
    else:
        for host in range(draw(st.integers(2, 9))):
            vms = [
                {"id": i, "cpu": 24, "ram": 120, "address": f"10.20.{host + 10}.{i + 10}", "roles": ["controller"]}
                for i in range(draw(st.integers(0, 8)))
            ]
            servers.append(server(f"v{host}", ["virt"], f"10.20.{host + 10}.1", memory=1024, vms=vms))
    if draw(st.booleans()):
        servers.append(server("mon[1-7]", ["monitoring"], "10.20.2.1"))
    if draw(st.booleans()):
        servers.append(server(f"e[1-{draw(st.sampled_from([3, 5, 7]))}]", ["etcd"], "10.20.5.1"))
    if computes:
        servers.append(server(f"cmp[1-{computes}]", ["compute"], "10.20.3.1"))
    if draw(st.booleans()):
        stack |= draw(st.sampled_from([two_brokers, own_galera]))(replicas=draw(st.sampled_from([3, 5])))
    return {**stack, "servers": servers}


def placed(made: Plan) -> list[ServicePlan]:
    """Returns the rows of the architecture, and the further clusters of the stack file."""
    return [*made.services, *(each for each in made.companions if each.definition and each.quorum)]


def attempt(config: dict[str, Any]) -> Plan | None:
    try:
        return planned(config)
    except InvalidStackError:
        return None


relaxed = hypothesis_settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])


@relaxed
@given(stacks())
def test_losing_any_one_physical_host_loses_no_quorum(config: dict[str, Any]) -> None:
    result = attempt(config)
    if result is None:
        return
    members: dict[str, list[str]] = defaultdict(list)
    for assignment in result.assignment:
        members[assignment.service].append(assignment.server)
    quorums = {service.name: members[service.name] for service in placed(result) if service.quorum}
    if len(result.members) > 1:
        quorums["etcd"] = [node.server for node in result.members]
    for name, servers in quorums.items():
        for lost in {node.server for node in result.machines}:
            left = sum(one != lost for one in servers)
            assert left >= majority(len(servers)), f"{name} without {lost}"


@relaxed
@given(stacks())
def test_the_witness_keeps_every_rule(config: dict[str, Any]) -> None:
    result = attempt(config)
    if result is None:
        return
    node = {node.name: node for node in result.nodes}
    at: dict[str, set[str]] = defaultdict(set)
    for assignment in result.assignment:
        assert assignment.node not in at[assignment.service], f"two of {assignment.service} on {assignment.node}"
        assert assignment.server == node[assignment.node].server
        at[assignment.service].add(assignment.node)
    for service in placed(result):
        row = result.architecture.row(service.process)
        assert len(at[service.name]) == service.instances, service.name
        assert {node[name].pool for name in at[service.name]} <= set(service.pools), service.name
        for other in service.apart_from:
            assert not at[service.name] & at[other], f"{service.name} and {other} together"
        for name in at[service.name]:
            owner = node[name].dedicated_to
            assert owner is None or result.architecture.row(owner).admits_guest(row), f"{service.name} on {owner}'s"


@relaxed
@given(stacks(), st.randoms(use_true_random=False))
def test_renaming_changes_nothing_but_names(config: dict[str, Any], random: Any) -> None:
    result = attempt(config)
    names = {old["name"]: f"{random.choice('abz')}{number}x" for number, old in enumerate(config["servers"])}
    renamed = {**config, "servers": [{**one, "name": _renamed(one["name"], names)} for one in config["servers"]]}
    other = attempt(renamed)
    assert (result is None) == (other is None)
    if result is None or other is None:
        return
    back = {new.name: old.name for old, new in zip(result.nodes, other.nodes, strict=True)}
    assert [(old.pool, old.dedicated_to) for old in result.nodes] == [
        (new.pool, new.dedicated_to) for new in other.nodes
    ]
    assert [(a.service, a.node) for a in result.assignment] == [(a.service, back[a.node]) for a in other.assignment]


def _renamed(name: str, names: dict[str, str]) -> str:
    return names[name] + (name[name.index("[") :] if "[" in name else "")


@relaxed
@given(stacks())
def test_the_same_stack_gives_the_same_bytes(config: dict[str, Any]) -> None:
    first, second = attempt(config), attempt(config)
    assert (first and to_json(first)) == (second and to_json(second))


@relaxed
@given(stacks())
def test_a_further_compute_moves_no_control_plane_service(config: dict[str, Any]) -> None:
    result = attempt(config)
    more = {**config, "servers": [*config["servers"], server("further", ["compute"], "10.20.200.1")]}
    if result is None:
        return
    grown = planned(more)
    assert [a for a in grown.assignment if a.node != "further"] == list(result.assignment)
    assert [node for node in grown.nodes if node.name != "further"] == list(result.nodes)


@relaxed
@given(st.lists(st.integers(0, 4), min_size=1, max_size=8))
def test_quorums_get_distinct_hosts_whenever_that_can_be(vms_per_host: list[int]) -> None:
    """Gale and Ryser: pools of 3 and 3 fit hosts of c nodes each iff the k largest need no more than sum min(c, k)."""
    hosts = [
        server(
            f"v{host}",
            ["virt"],
            f"10.20.{host + 10}.1",
            memory=1024,
            vms=[
                {"id": i, "cpu": 24, "ram": 120, "address": f"10.20.{host + 10}.{i + 10}", "roles": ["controller"]}
                for i in range(count)
            ],
        )
        for host, count in enumerate(vms_per_host)
    ]
    config = {
        "profile": "production", "architecture": "100", "features": ["reduced-footprint"],
        "servers": [server("m[1-3]", ["master"], "10.20.0.1"), *hosts],
    }  # fmt: skip
    possible = all(3 * k <= sum(min(count, k) for count in vms_per_host) for k in (1, 2))
    assert (attempt(config) is not None) == possible


@pytest.mark.parametrize("size", SIZES)
def test_dedicated_nodes_are_the_table_s(size: str) -> None:
    result = planned(full_size(size))
    assert Counter(node.dedicated_to for node in result.nodes if node.dedicated_to) == OWNERS[size]


@pytest.mark.parametrize("size", SIZES)
def test_instances_are_the_rows(size: str) -> None:
    result = planned(full_size(size, computes=4))
    rows = load_architecture(size)
    for service in result.services:
        row = rows.row(service.name)
        if row.replaced_by:
            assert service.instances == 0, service.name
        elif row.instances:
            assert service.instances == row.instances, service.name
    by_name = {service.name: service for service in result.services}
    assert by_name["nova-compute"].instances == 4
    assert by_name["ceph-osd"].instances == 3


@pytest.mark.parametrize("size", SIZES)
def test_the_l2_agent_is_where_computes_and_network_agents_are(size: str) -> None:
    result = planned(full_size(size))
    at: dict[str, set[str]] = defaultdict(set)
    for assignment in result.assignment:
        at[assignment.service].add(assignment.node)
    assert at["neutron-l2-agent"] >= at["nova-compute"] | at["neutron-l3-agent"] | at["neutron-dhcp-agent"]


def test_schedulers_of_1000_run_beside_nova_api_and_keystone() -> None:
    """004, 5.4.7: on nodes of other Nova services and of other components; the conductor shares with none."""
    result = planned(full_size("1000"))
    pool = {node.name: node.pool for node in result.nodes}
    at = Counter(pool[a.node] for a in result.assignment if a.service == "nova-scheduler")
    assert at == {"nova-api": 3, "keystone": 5}


def test_monitoring_nodes_carry_monitoring_where_the_stack_has_them() -> None:
    """004, 5.3.15 wants dedicated servers, the tables of 100 to 500 dedicate none: nodes of that role decide."""
    config = full_size("300")
    config["servers"].append(server("mon[1-5]", ["monitoring"], "10.20.2.1"))
    pools = {service.name: service.pools for service in planned(config).services}
    monitoring = ("lma-aggregator", "influxdb-grafana", "elasticsearch-kibana", "nagios")
    assert {name: pools[name] for name in monitoring} == dict.fromkeys(monitoring, ("monitoring",))
    assert "monitoring" not in pools["nova-api"]


def test_monitoring_nodes_of_1000_spare_controllers() -> None:
    config = full_size("1000", controllers=23)
    config["servers"].append(server("mon[1-7]", ["monitoring"], "10.20.2.1"))
    dedicated = {node.name: node.dedicated_to for node in planned(config).nodes if node.name.startswith("mon")}
    assert Counter(dedicated.values()) == {"lma-aggregator": 1, "influxdb-grafana": 3, "elasticsearch-kibana": 3}


def test_surplus_controllers_are_shared() -> None:
    result = planned(full_size("100", controllers=8))
    assert [node.name for node in result.pool("controller")] == ["ctl07", "ctl08"]
    pools = {service.name: service.pools for service in result.services}
    assert "controller" in pools["glance-api"]
    assert "controller" not in pools["horizon"]


def test_replicas_of_an_owner_take_dedicated_nodes_of_their_own() -> None:
    result = planned(full_size("100", controllers=8, services={"mysqld": {"replicas": 5}}))
    assert len(result.pool("mysqld")) == 5


@pytest.mark.parametrize(
    ("profile", "advice"),
    [
        ("lab", "or write fewer replicas of mysqld"),
        ("production", "name a smaller architecture, or write quorate:profile: lab, which builds small stacks without"),
    ],
)
def test_too_few_nodes_for_more_replicas_are_an_error_with_what_to_write(profile: str, advice: str) -> None:
    config = full_size("100", profile=profile, services={"mysqld": {"replicas": 5}})
    with pytest.raises(InvalidStackError, match=f"add 2 with role controller, {advice}"):
        planned(config)


def test_the_smallest_architecture_that_holds_the_computes_is_taken() -> None:
    config = full_size("500", computes=301)
    del config["architecture"]
    assert planned(config).architecture.name == "500"


def test_too_few_monitoring_nodes_is_an_error_that_counts() -> None:
    config = full_size("300")
    config["servers"].append(server("mon[1-2]", ["monitoring"], "10.20.2.1"))
    with pytest.raises(
        InvalidStackError, match=r"Influxdb \+ Grafana needs 3 instances; pools monitoring have 2 nodes.*add 1"
    ):
        planned(config)


def test_what_virtual_machines_take_is_not_there_for_pods() -> None:
    result = plan(load_file(STACKS["dev"]))
    host = next(node for node in result.nodes if node.name == "virt1")
    assert (host.allocatable.cpu, host.allocatable.memory) == (32 - 4 - 8 - 8 - 4, 128 - 4 - 8 - 16 - 16 - 8)


def test_requests_beyond_a_node_are_an_error() -> None:
    config = full_size("100")
    config["servers"][1] |= {"cpu": 4, "memory": 16}
    with pytest.raises(
        InvalidStackError, match=r"quorate:servers \(ctl0.\): its services request .* it has 4 cores and 16 GiB"
    ):
        planned(config)


def test_room_that_depends_on_the_scheduler_s_order_is_an_error() -> None:
    """An assignment fits on 19 cores; in another order of the scheduler an instance never starts."""
    config = full_size("100")
    config["servers"][1] |= {"cpu": 19}
    with pytest.raises(InvalidStackError) as caught:
        planned(config)
    assert [str(problem) for problem in caught.value.problems] == [
        "quorate:servers (ctl04): pool mysqld: the pods that may share one node request 20.65 cores and 74.3 GiB "
        "with the system's share, and the node has 19 cores and 256 GiB; in some scheduling orders an instance of "
        "nova-api, nova-conductor, horizon, mysqld, ceph-mon, radosgw, "
        "influxdb-grafana, elasticsearch-kibana, proxysql, nova-novncproxy, mysqld-exporter, grafana, "
        "openstack-exporter, opensearch-dashboards stays Pending; use larger nodes"
    ]


def test_enough_nodes_with_room_for_everything_are_enough() -> None:
    """One crowded node beside three of pool mysqld: an instance without room there fits on the three."""
    config = full_size("100")
    config["servers"].append(server("small", ["controller"], "10.20.7.1", cpu=10))
    assert [node.pool for node in planned(config).nodes if node.name == "small"] == ["controller"]


@pytest.mark.parametrize("stack", STACKS)
def test_shipped_stacks_plan(stack: str) -> None:
    result = plan(load_file(STACKS[stack]))
    document = json.loads(to_json(result))
    assert document["version"] == 2
    assert {"name", "server", "roles", "pool", "dedicatedTo"} <= document["nodes"][0].keys()
    assert {"name", "row", "instances", "dedicatedNodes", "shareable", "loadBalancer", "pool", "source"} <= document[
        "services"
    ][0].keys()
    rows = result.architecture
    for service in document["services"]:
        row = rows.row(service["name"])
        assert service["table"] == {
            "instances": row.table_instances,
            "dedicated": row.dedicated_nodes,
            "shareable": row.table_shareable,
            "loadBalancer": row.table_load_balancer,
        }
    assert document["assignment"][0].keys() == {"service", "node", "server"}


def test_warnings_say_what_a_reduced_footprint_costs() -> None:
    warnings = plan(load_file(STACKS["dev"])).warnings
    assert any("reduced footprint" in warning and "bad performance" in warning for warning in warnings)


def on_two_hosts(**more: Any) -> dict[str, Any]:
    """Six controllers as virtual machines of two servers: enough nodes, too few failure domains."""
    vms = [
        {"id": i, "cpu": 24, "ram": 120, "address": f"10.20.9.{10 * i + 1}", "roles": ["controller"]} for i in range(3)
    ]
    hosts = server("v[1-2]", ["virt"], "10.20.8.1", memory=1024, vms=vms)
    masters = server("m[1-3]", ["master"], "10.20.0.1")
    return {"profile": "production", "architecture": "100", "features": ["reduced-footprint"],
            "servers": [masters, hosts], **more}  # fmt: skip


def test_too_few_physical_hosts_is_an_error_that_counts() -> None:
    with pytest.raises(InvalidStackError) as caught:
        planned(on_two_hosts())
    assert [str(problem) for problem in caught.value.problems] == [
        "quorate:servers: rabbitmq-server needs 3 nodes on as many physical hosts, so that the loss of one costs one "
        "member; nodes of role controller that are still free are on 2; add 1 on a physical host of its own"
    ]


def test_a_quorum_that_shares_a_pool_needs_physical_hosts_too() -> None:
    """Four members of the log store: six nodes may run them, on three physical hosts."""
    config = on_two_hosts(services={"elasticsearch-kibana": {"replicas": 4}})
    config["servers"][1]["name"] = "v[1-3]"
    with pytest.raises(InvalidStackError) as caught:
        planned(config)
    assert [str(problem) for problem in caught.value.problems] == [
        "quorate:services.elasticsearch-kibana.replicas: Elasticsearch + Kibana needs 4 instances; pools mysqld, "
        "controller have 6 nodes on 3 physical hosts, and members of a quorum share none; add 1 to these pools, each "
        "on a physical host of its own"
    ]
    config["servers"].append(server("spare", ["controller"], "10.20.7.1"))
    assert {a.server for a in planned(config).assignment if a.service == "elasticsearch-kibana"} == {
        "v1",
        "v2",
        "v3",
        "spare",
    }


def test_a_network_agent_that_may_lack_a_companion_is_an_error() -> None:
    """Five nodes of rabbitmq and three metadata agents: a router's node may be one without."""
    more = {"rabbitmq": 5, "neutron-server": 5, "neutron-l3-agent": 5}
    config = full_size("100", controllers=8, services={name: {"replicas": count} for name, count in more.items()})
    with pytest.raises(InvalidStackError) as caught:
        planned(config)
    lacking = "its node need not run neutron-metadata-agent, which has 3 instances on 5 nodes"
    advice = "write quorate:services.neutron-metadata-agent.replicas: 5 (004, 5.3.8 and 5.4.8)"
    assert [str(problem) for problem in caught.value.problems] == [
        f"quorate:services.neutron-dhcp-agent: {lacking}; {advice}",
        f"quorate:services.neutron-l3-agent: {lacking}; {advice}",
    ]
    config["services"]["neutron-metadata-agent"] = {"replicas": 5}
    made = planned(config)
    agents = {a.node for a in made.assignment if a.service in ("neutron-l3-agent", "neutron-dhcp-agent")}
    assert agents <= {a.node for a in made.assignment if a.service == "neutron-metadata-agent"}
    lab = planned({**config, "profile": "lab", "services": {"rabbitmq": {"replicas": 5}}})
    both = "need not run neutron-server, which has 3 instances on 5 nodes and neutron-metadata-agent, which has 3"
    assert any(both in warning for warning in lab.warnings)


def test_more_instances_than_nodes_name_everything_that_must_grow_with_them() -> None:
    """Five DHCP agents at 300: the pool is keystone's, and each of its nodes needs a server and a metadata agent."""
    config = full_size("300", services={"neutron-dhcp-agent": {"replicas": 5}})
    with pytest.raises(InvalidStackError) as caught:
        planned(config)
    grows = ("keystone", "neutron-metadata-agent", "neutron-server")
    named = ", ".join(f"quorate:services.{name}.replicas: 5" for name in grows)
    assert [str(problem) for problem in caught.value.problems] == [
        "quorate:services.neutron-dhcp-agent.replicas: neutron-dhcp-agent needs 5 instances; pools keystone have 3 "
        f"nodes that may run it, one instance on each; add 2 to these pools, with {named}, or write 3 or less"
    ]
    config["services"] |= {name: {"replicas": 5} for name in grows}
    bigger = full_size("300", controllers=11, services=config["services"])
    assert sum(a.service == "neutron-dhcp-agent" for a in planned(bigger).assignment) == 5


def test_the_owner_of_a_pool_grows_to_an_odd_number_if_it_is_a_quorum() -> None:
    """At 100, the DHCP agents run on the nodes of RabbitMQ: for four of them it gets a fifth member."""
    with pytest.raises(InvalidStackError) as caught:
        planned(full_size("100", services={"neutron-dhcp-agent": {"replicas": 4}}))
    grows = ("rabbitmq", "neutron-metadata-agent", "neutron-server")
    named = ", ".join(f"quorate:services.{name}.replicas: 5" for name in grows)
    assert any(f"add 1 to these pools, with {named}, or" in str(problem) for problem in caught.value.problems)


def test_the_l2_agent_of_network_nodes_is_a_workload_of_its_own() -> None:
    made = planned(full_size("500"))
    parts = {name: service for name, service in made.workloads if service.name == "neutron-l2-agent"}
    assert {name: (part.pools, part.instances) for name, part in parts.items()} == {
        "neutron-l2-agent": (("compute",), 3),
        "neutron-l2-agent-network": (("mysqld",), 3),
    }
    assert [name for name, _ in made.workloads if name.startswith(("nova-compute", "ceph-osd"))] == [
        "nova-compute",
        "ceph-osd",
    ]


def test_a_row_of_a_user_s_architecture_that_nothing_runs_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = (ROOT / "blueprint" / "architecture" / "100.yaml").read_text(encoding="utf-8")
    (tmp_path / "own.yaml").write_text(text.replace("service: nagios", "service: nagois"), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InvalidStackError) as caught:
        planned(full_size("100") | {"architecture": "own.yaml"})
    assert [str(problem).split("; ")[0] for problem in caught.value.problems] == [
        "quorate:architecture (100, row 'Nagios'): there is no service 'nagois' (did you mean 'nagios'?)"
    ]
