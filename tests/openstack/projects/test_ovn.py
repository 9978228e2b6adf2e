"""OVN's databases, their clients and Neutron's configuration name the same members, and no member has an address."""

from __future__ import annotations

import configparser
import json
from collections.abc import Mapping
from dataclasses import replace
from operator import attrgetter

import pytest

from blueprint.architecture.loader import load_architecture
from blueprint.architecture.ovn_rows import RELAY, with_ovn
from blueprint.openstack import options
from blueprint.plan.plan import Plan
from blueprint.plan.planner import plan
from blueprint.releases import DISTRO_VERSIONS
from blueprint.stackfile.resources import Amounts, PodSize
from blueprint.stackfile.settings import Networks, Override
from openstack import configuration
from openstack.config.layers import ConfigFile, Document
from openstack.config.wiring import wiring
from openstack.project_definitions import processes, projects
from openstack.projects.ovn import ELECTION_TIMERS
from policy.facts.architecture import built_in
from tests.projects import OPTION_FILES
from tests.stacks import full_size, parsed
from tests.trials.services.stack import documents
from trials.services.containers import TriedContainer, read

PLUGIN = "/etc/neutron/plugins/ml2/ml2_conf.ini"


def address(database: str, port: int, count: int = 3) -> str:
    names = (f"{database}-{number}.{database}-members.openstack.svc.cluster.local" for number in range(count))
    return ",".join(f"tcp:{name}:{port}" for name in names)


NB, SB = address("ovn-nb", 6641), address("ovn-sb", 6642)


@pytest.fixture(scope="module")
def containers() -> Mapping[str, TriedContainer]:
    return read(documents("dev", networks=Networks(backend="ovn")))


def ini(container: TriedContainer, path: str) -> configparser.ConfigParser:
    parser = configparser.ConfigParser(interpolation=None)
    parser.read_string(container.text(path))
    return parser


def test_neutron_leaves_a_silent_member_after_its_election(containers: Mapping[str, TriedContainer]) -> None:
    plugin = ini(containers["neutron-server/neutron-server"], PLUGIN)
    assert max(ELECTION_TIMERS.values()) < 2 * plugin.getint("ovn", "ovsdb_probe_interval") <= 20_000


@pytest.mark.parametrize(
    ("name", "database", "port", "timer"), [("nb", "Northbound", 6641, 10_000), ("sb", "Southbound", 6642, 16_000)]
)
def test_a_member_knows_all_members(
    containers: Mapping[str, TriedContainer], name: str, database: str, port: int, timer: int
) -> None:
    written = json.loads(containers[f"ovn-{name}/ovn-{name}-db-server"].text("/etc/ovn/member.json"))
    assert (written["database"], written["port"], written["client"]) == (f"OVN_{database}", port, f"ovn-{name}ctl")
    assert ",".join(f"tcp:{each}:{port}" for each in written["members"]) == address(f"ovn-{name}", port)
    assert (written["election_timer"], written["probe"]) == (timer, 60_000)


def test_every_client_knows_every_member(containers: Mapping[str, TriedContainer]) -> None:
    northd = containers["ovn-northd/ovn-northd"].text("/usr/local/bin/ovn-northd.sh")
    assert f"--ovnnb-db={NB} --ovnsb-db={SB}" in northd
    plugin = ini(containers["neutron-server/neutron-server"], PLUGIN)
    assert (plugin["ovn"]["ovn_nb_connection"], plugin["ovn"]["ovn_sb_connection"]) == (NB, SB)
    agent = containers["neutron-ovn-metadata-agent/neutron-ovn-metadata-agent"]
    assert ini(agent, "/etc/neutron/neutron_ovn_metadata_agent.ini")["ovn"]["ovn_sb_connection"] == SB
    chassis = containers["ovn-controller/ovn-controller"].text("/etc/ovn/chassis")
    assert f"ovn-remote {SB}\n" in chassis
    assert "ovn-ofctrl-wait-before-clear 8000\n" in chassis


def written(made: Plan, process: str, name: str) -> str | Document:
    """The text of a process's file, or its settings."""
    (file,) = (each for each in configuration.of_service(made, process) if each.name == name)
    return file.document() if isinstance(file, ConfigFile) else "".join(map(str, file.parts))


def test_nodes_ask_relays_and_all_others_ask_the_members() -> None:
    made = plan(parsed(full_size("300", networks={"backend": "ovn"})))
    relays = address("ovn-sb-relay", 6642, 6)
    assert f"ovn-remote {relays}\n" in written(made, "ovn-controller", "ovn-chassis")
    assert f" relay:OVN_Southbound:{SB}\n" in written(made, "ovn-sb-relay", "ovn-sb-relay.sh")
    assert f"--ovnsb-db={SB} " in written(made, "ovn-northd", "ovn-northd.sh")
    agent = written(made, "neutron-ovn-metadata-agent", "neutron_ovn_metadata_agent.ini")
    server = written(made, "neutron-server", "ml2_conf.ini")
    assert not isinstance(agent, str)
    assert not isinstance(server, str)
    assert [each["ovn"]["ovn_sb_connection"].value for each in (agent, server)] == [(relays,), (SB,)]


def test_instances_do_not_get_the_clusters_name_servers(containers: Mapping[str, TriedContainer]) -> None:
    plugin = ini(containers["neutron-server/neutron-server"], PLUGIN)
    assert plugin["ovn"]["dns_servers"] == "0.0.0.0,::"


def test_workers_of_the_server_start_at_a_common_second(containers: Mapping[str, TriedContainer]) -> None:
    name, path = "neutron-server/neutron-server", "/etc/neutron/neutron-server-uwsgi.ini"
    assert ini(containers[name], path)["uwsgi"]["start-time"] == "%t"


def test_a_worker_of_the_server_imports_what_lets_it_replace_a_killed_one(
    containers: Mapping[str, TriedContainer],
) -> None:
    server = containers["neutron-server/neutron-server"]
    module = ini(server, "/etc/neutron/neutron-server-uwsgi.ini")["uwsgi"]["import"]
    assert "ring.remove_node_by_uuid" in server.text(f"/etc/neutron/python/{module}.py")


def test_workers_of_the_server_know_how_many_they_are() -> None:
    larger = Override(resources=PodSize(requests=Amounts(cpu="3")))
    found = read(documents("dev", networks=Networks(backend="ovn"), services={"neutron-server": larger}))
    server = found["neutron-server/neutron-server"]
    assert ini(server, "/etc/neutron/neutron-server-uwsgi.ini")["uwsgi"]["processes"] == "3"
    assert ini(server, "/etc/neutron/neutron.conf")["DEFAULT"]["api_workers"] == "3"


def test_neutron_has_the_plugins_of_ovn(containers: Mapping[str, TriedContainer]) -> None:
    server = containers["neutron-server/neutron-server"]
    plugin = ini(server, PLUGIN)["ml2"]
    assert (plugin["mechanism_drivers"], plugin["project_network_types"]) == ("ovn", "geneve")
    general = ini(server, "/etc/neutron/neutron.conf")["DEFAULT"]
    assert general["service_plugins"] == "ovn-router"
    assert not {"l3_ha", "dhcp_agents_per_network"} & general.keys()


def test_all_neutrons_processes_resolve_names(containers: Mapping[str, TriedContainer]) -> None:
    clients = [
        each for each in containers.values() if each.workload in ("neutron-server", "neutron-ovn-metadata-agent")
    ]
    assert len(clients) == 5
    for each in clients:
        assert each.variables["PYTHONPATH"] == "/etc/neutron/python"
        assert "class ub_ctx" in each.text("/etc/neutron/python/unbound.py")


def test_gateways_are_on_network_nodes_only(containers: Mapping[str, TriedContainer]) -> None:
    texts = {name: containers[f"{name}/ovn-controller"].text("/etc/ovn/chassis") for name in _WORKLOADS}
    assert "ovn-cms-options\n" in texts["ovn-controller"]
    assert "ovn-cms-options enable-chassis-as-gw\n" in texts["ovn-controller-network"]


_WORKLOADS = ("ovn-controller", "ovn-controller-network")


def test_the_agents_password_is_in_no_config_map(containers: Mapping[str, TriedContainer]) -> None:
    agent = containers["neutron-ovn-metadata-agent/neutron-ovn-metadata-agent"]
    written = ini(agent, "/etc/neutron/neutron_ovn_metadata_agent.ini")
    assert "metadata_proxy_shared_secret" not in written["DEFAULT"]
    assert not ini(agent, "/etc/neutron/neutron.conf").has_section("database")
    assert "metadata_proxy_shared_secret" in agent.text("/etc/neutron/neutron.conf.d/metadata.conf")


def test_a_stack_without_ovn_has_none_of_it() -> None:
    found = read(documents("dev"))
    assert not [name for name in found if name.startswith("ovn-")]
    server = found["neutron-server/neutron-server"]
    assert "start-time" not in ini(server, "/etc/neutron/neutron-server-uwsgi.ini")["uwsgi"]
    assert "api_workers" not in ini(server, "/etc/neutron/neutron.conf")["DEFAULT"]
    assert "PYTHONPATH" not in server.variables
    assert "/etc/neutron/python/unbound.py" not in server.files
    assert not ini(server, PLUGIN).has_section("ovn")


def test_a_process_comes_after_the_one_that_answers_its_start() -> None:
    settings = parsed(full_size("100", networks={"backend": "ovn"}))
    for project in projects(settings.records):
        names = [process.name for process in project.processes]
        for place, process in enumerate(project.processes):
            assert process.after is None or process.after in names[:place], process.name


@pytest.mark.parametrize("name", ["100", "300", "500", "1000"])
def test_every_row_runs_as_something(name: str) -> None:
    settings = parsed(full_size("100", networks={"backend": "ovn"}))
    rows = with_ovn(load_architecture(name)).rows
    with_rows = {name for name, process in processes(settings.records).items() if process.companion is None}
    assert {row.service for row in rows if not row.replaced_by} == with_rows - ({RELAY} if name == "100" else set())


@pytest.mark.parametrize("name", ["100", "300", "500", "1000"])
def test_the_policy_requires_the_same_rows(name: str) -> None:
    own = with_ovn(load_architecture(name)).rows
    required = built_in(name).with_ovn().rows
    names = ("row", "service", "instances", "at_least", "runs_on", "quorum", "admits", "beside")
    facts = attrgetter(*names)
    assert list(map(facts, own)) == list(map(facts, required))


@pytest.mark.parametrize("release", DISTRO_VERSIONS)
def test_every_option_is_one_of_the_release(release: str) -> None:
    settings = parsed(full_size("100", networks={"backend": "ovn"}))
    around = replace(wiring(plan(settings), "openstack"), release=release)
    (neutron,) = (each for each in projects(settings.records) if each.name == "neutron")
    for process in neutron.processes:
        for file in neutron.configure(around, process.name):
            if isinstance(file, ConfigFile) and file.name in OPTION_FILES["neutron"]:
                known = options.listed(release, file.name)
                for section, written in file.document().items():
                    own = known.get(options.as_listed(section), {})
                    renamed = [name for name in written if name in own and own[name].renamed]
                    assert (written.keys() - own.keys(), renamed) == (set(), []), (file.name, section)
