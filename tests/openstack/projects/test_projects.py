"""OpenStack's services as data: what runs, from which image, with which configuration and share of the pod."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from blueprint.architecture.loader import NAMES, load_architecture
from blueprint.openstack import options
from blueprint.openstack.projects.process_definition import Connection, Container, Exec, Http, ProcessDefinition, Tcp
from blueprint.plan.companions import beside_rows
from blueprint.plan.planner import plan
from blueprint.plan.sizing import load_sizing
from blueprint.releases import DISTRO_VERSIONS
from blueprint.replicas import is_agent
from blueprint.stackfile.image_settings import Images
from blueprint.stackfile.settings import Override, Settings
from components.openstack.pod import divide
from openstack import images, kolla
from openstack.config.layers import ConfigFile
from openstack.config.ports import AMQP, MYSQL
from openstack.config.wiring import wiring
from openstack.definition import ProjectDefinition
from openstack.project_definitions import processes, projects
from tests.projects import OPTION_FILES
from tests.stacks import ROOT, full_size, parsed

SETTINGS = parsed(  # all projects but OVN, also the optional ones
    full_size(
        "100", projects={"designate": {}, "ironic": {}}, ingress={"domain": "cloud.example.org", "className": "nginx"}
    )
)
RECORDS = SETTINGS.records
PROJECTS, PROCESSES = projects(RECORDS), processes(RECORDS)
COMPANIONS = {name: beside.of for name, beside in beside_rows(RECORDS).items()}
DATABASES = {name: record.databases for name, record in RECORDS.by_name.items() if record.databases}
WIRING = wiring(plan(SETTINGS), "openstack")
STATEFUL = {"rabbitmq", "mysqld", "ceph-mon", "influxdb-grafana", "elasticsearch-kibana", "lma-aggregator"}
ON_THE_HOSTS_NETWORK = {
    "nova-compute", "neutron-l2-agent", "neutron-l3-agent", "neutron-dhcp-agent", "neutron-metadata-agent", "ceph-osd",
    "node-exporter", "ceph-mon", "nova-libvirt", "nova-ssh", "openvswitch-db", "openvswitch-vswitchd",
}  # fmt: skip
CONTAINERS = [(process, container) for process in PROCESSES.values() for container in process.containers]


@pytest.mark.parametrize("name", NAMES)
def test_every_living_row_runs_as_something_and_no_retired_one_does(name: str) -> None:
    rows = load_architecture(name).rows
    assert {row.service for row in rows if not row.replaced_by} == PROCESSES.keys() - COMPANIONS.keys()


@pytest.mark.parametrize(("profile", "least"), [("production", 2), ("lab", 1)])
def test_a_process_has_a_worker_per_requested_core_and_a_second_one_in_production(profile: str, least: int) -> None:
    found = wiring(plan(parsed(full_size("100") | {"profile": profile})), "openstack")
    assert found.workers("cinder-api") == least
    assert found.workers("nova-scheduler", least=3) == 3
    assert replace(found, cores={"cinder-api": 4.4}).workers("cinder-api") == 4


def test_a_project_comes_after_the_projects_that_it_needs() -> None:
    """The environment builds them in this order and finds what it depends on already built; a circle cannot pass."""
    names = [project.name for project in PROJECTS]
    assert len(set(names)) == len(names)
    for place, project in enumerate(PROJECTS):
        assert set(project.needs) <= set(names[:place]), project.name


def test_a_process_comes_after_the_one_that_answers_its_start() -> None:
    """A project builds its processes in this order and finds the other one already built."""
    for project in PROJECTS:
        names = [process.name for process in project.processes]
        for place, process in enumerate(project.processes):
            assert process.after is None or process.after in names[:place], process.name


def test_a_process_belongs_to_one_project() -> None:
    for project in PROJECTS:
        assert {process.project for process in project.processes} <= {project.name}
    assert len(PROCESSES) == sum(len(project.processes) for project in PROJECTS)


@pytest.mark.parametrize("name", NAMES)
def test_kinds_are_those_of_the_rows(name: str) -> None:
    for row in load_architecture(name).rows:
        if not row.replaced_by:
            kind = "DaemonSet" if row.everywhere else "StatefulSet" if row.service in STATEFUL else "Deployment"
            assert PROCESSES[row.service].kind == kind, row.service


@pytest.mark.parametrize("name", NAMES)
def test_what_needs_a_load_balancer_has_a_port_to_balance(name: str) -> None:
    for row in load_architecture(name).rows:
        if row.load_balancer and not row.replaced_by:
            entrance = "proxysql" if row.load_balancer_kind == "proxysql" else row.service
            assert PROCESSES[entrance].exposed, row.service


def test_clients_reach_the_database_through_proxysql() -> None:
    """004, 5.3.16: 'this service might require specialized load balancer (proxysql)'."""
    assert PROCESSES["proxysql"].exposed == {"proxysql": 3306}
    assert PROCESSES["mysqld"].exposed == {}


@pytest.mark.parametrize("companion", COMPANIONS)
def test_a_companion_keeps_no_data(companion: str) -> None:
    assert PROCESSES[companion].claim is None


@pytest.mark.parametrize("companion", COMPANIONS)
def test_a_companion_that_is_a_daemon_set_runs_on_every_node_of_the_stack_or_of_its_row(companion: str) -> None:
    daemons = is_agent(companion, RECORDS) or PROCESSES[COMPANIONS[companion]].kind == "DaemonSet"
    assert (PROCESSES[companion].kind == "DaemonSet") == daemons


@pytest.mark.parametrize(
    ("program", "agent"),
    [
        ("openvswitch-db", "neutron-l2-agent"),
        ("openvswitch-vswitchd", "neutron-l2-agent"),
        ("nova-libvirt", "nova-compute"),
    ],
)
def test_what_carries_packets_and_guests_has_no_file_of_its_agent(program: str, agent: str) -> None:
    """004, 5.2.1: an option of Neutron or Nova changes no pod of the switch or of libvirtd."""
    (container,) = PROCESSES[program].containers
    files = {file.name for file in container.files}
    read = {file.name for container in PROCESSES[agent].containers for file in container.files}
    options = read & set(OPTION_FILES[PROCESSES[agent].project])
    assert options
    assert not options & files


@pytest.mark.parametrize(
    ("companion", "service"),
    [
        ("proxysql", "mysqld"),
        ("mysqld-exporter", "mysqld"),
        ("grafana", "influxdb-grafana"),
        ("opensearch-dashboards", "elasticsearch-kibana"),
    ],
)
def test_a_companion_that_the_table_names_is_not_in_the_pods_of_its_row(companion: str, service: str) -> None:
    beside, own = PROCESSES[companion], PROCESSES[service]
    assert (beside.project, beside.kind) == (own.project, "Deployment")
    assert beside.exposed, "clients reach it through its Service"
    assert {container.name for container in own.containers}.isdisjoint(each.name for each in beside.containers)


def test_only_agents_and_monitors_are_on_the_hosts_network() -> None:
    assert {process.name for process in PROCESSES.values() if process.host_network} == ON_THE_HOSTS_NETWORK


def test_only_what_is_on_the_hosts_network_is_privileged() -> None:
    privileged = {process.name for process, container in CONTAINERS if container.privileged}
    assert privileged == ON_THE_HOSTS_NETWORK - {"node-exporter", "ceph-mon", "openvswitch-db", "nova-ssh"}


def test_no_two_pods_of_one_node_want_the_same_port_of_the_host() -> None:
    agents = [process for process in PROCESSES.values() if process.host_network]
    ports = [port.number for process in agents for container in process.containers for port in container.ports]
    assert len(ports) == len(set(ports))


def test_only_privileged_containers_share_mounts_with_the_host() -> None:
    """The API server refuses any other."""
    sharing = [(process.name, each.name) for process, each in CONTAINERS if any(p.shared for p in each.host_paths)]
    privileged = [(process.name, each.name) for process, each in CONTAINERS if each.privileged]
    assert set(sharing) <= set(privileged)


@pytest.mark.parametrize("process", PROCESSES.values(), ids=lambda process: process.name)
def test_a_process_fits_together(process: ProcessDefinition) -> None:
    ports = {port.name for container in process.containers for port in container.ports}
    numbers = [(port.number, port.protocol) for container in process.containers for port in container.ports]
    assert all(re.fullmatch(r"[a-z0-9-]{1,15}", port) for port in ports)
    assert len(numbers) == len(set(numbers)) == len(ports), "a pod's containers share its network"
    assert process.exposed.keys() <= ports
    assert len({container.name for container in process.containers}) == len(process.containers)
    # These keep no data, but clients choose an instance of memcached, and Designate a BIND, by its name.
    named = {"memcached", "designate-mdns"}
    assert (process.claim is not None) == (process.kind == "StatefulSet" and process.name not in named)
    assert any(container.data for container in process.containers) == (process.claim is not None)
    paths = {(path.name, path.path) for container in process.containers for path in container.host_paths}
    assert len({name for name, _ in paths}) == len(paths), "one name, one directory"


@pytest.mark.parametrize(("process", "container"), CONTAINERS, ids=lambda each: getattr(each, "name", ""))
def test_probes_ask_what_is_there(process: ProcessDefinition, container: Container) -> None:
    ports = {port.name for port in container.ports}
    for probe in (container.ready, container.alive):
        match probe:
            case Http(port, path):
                assert port in ports
                assert path.startswith("/")
            case Tcp(port):
                assert port in ports
            case Exec(command):
                assert command
            case Connection(_, port):
                assert port in (AMQP, MYSQL)
            case None:
                assert not ports or container.name == "ceph-mgr", "a port can be probed, if it is not of a module"


def test_a_lost_message_queue_restarts_no_agent() -> None:
    """All of them would start again at once, when the queue is weakest."""
    for _, container in CONTAINERS:
        assert not isinstance(container.alive, Connection), container.name


def test_images_are_kollas_by_release_and_distribution() -> None:
    found = {
        container.image: images.reference(container, SETTINGS, Override(), main=True) for _, container in CONTAINERS
    }
    assert found["keystone"] == "quay.io/openstack.kolla/keystone:2026.1-debian-trixie"
    assert found["ceph"] == "quay.io/ceph/ceph:v20.2.5"
    kolla = {image: reference for image, reference in found.items() if image != "ceph"}
    assert all(ref == f"quay.io/openstack.kolla/{image}:2026.1-debian-trixie" for image, ref in kolla.items())


@pytest.mark.parametrize(
    ("release", "distro", "tag"),
    [
        ("2025.1", "rocky", "2025.1-rocky-9"),
        ("2025.2", "debian", "2025.2-debian-bookworm"),
        ("2026.1", "ubuntu", "2026.1-ubuntu-noble"),
        ("2026.1", "centos", "2026.1-centos-stream10"),
        ("2026.2", "debian", "2026.2-debian-trixie"),
    ],
)
def test_tags_are_those_that_kolla_publishes(release: str, distro: str, tag: str) -> None:
    assert (
        reference("keystone", release=release, images={"distro": distro}) == f"quay.io/openstack.kolla/keystone:{tag}"
    )


def test_a_digest_pins_an_image_wherever_it_comes_from() -> None:
    digest = f"sha256:{'0' * 64}"
    mirror = {"registry": "mirror:5000", "namespace": "kolla", "digests": {"keystone": digest, "ceph": digest}}
    assert reference("keystone", images=mirror) == f"mirror:5000/kolla/keystone@{digest}"
    assert reference("ceph-mon", images=mirror) == f"mirror:5000/ceph/ceph@{digest}"


def test_an_image_of_ones_own_is_the_first_containers_and_not_the_others() -> None:
    server, rpc, _ = PROCESSES["neutron-server"].containers
    own = Override(image=f"mine/neutron@sha256:{'1' * 64}")
    assert images.reference(server, SETTINGS, own, main=True) == f"mine/neutron@sha256:{'1' * 64}"
    assert images.reference(rpc, SETTINGS, own, main=False).startswith("quay.io/openstack.kolla/neutron-server:")


def reference(service: str, **stack: Any) -> str:
    settings: Settings = parsed(full_size("100", **stack))
    assert isinstance(settings.images, Images)
    return images.reference(PROCESSES[service].containers[0], settings, Override(), main=True)


def config_map(process: ProcessDefinition, given: dict[str, str]) -> dict[str, str]:
    wanted = {file.name for container in process.containers for file in container.files}
    project = next(project for project in PROJECTS if process in project.processes)
    written = (file for file in project.configure(WIRING, process.name) if file.name in wanted)
    return kolla.data(process, kolla.FileSet(tuple(written), given))


def test_every_kolla_container_has_its_config_json() -> None:
    found = config_map(PROCESSES["neutron-server"], {})
    assert {name for name in found if name.endswith("config.json")} == {
        "config.json",
        "neutron-rpc-server.config.json",
        "neutron-periodic-worker.config.json",
    }
    assert json.loads(found["config.json"])["command"] == "uwsgi /etc/neutron/neutron-server-uwsgi.ini"


def test_a_given_file_goes_where_its_processes_look_for_it() -> None:
    found = config_map(PROCESSES["neutron-server"], {"ml2_conf.ini": "[ml2]\n"})
    place = {
        "source": "/var/lib/kolla/config_files/ml2_conf.ini",
        "dest": "/etc/neutron/plugins/ml2/ml2_conf.ini",
        "owner": "neutron",
        "perm": "0600",
    }
    assert found["ml2_conf.ini"] == "[ml2]\n"
    for key in ("config.json", "neutron-rpc-server.config.json", "neutron-periodic-worker.config.json"):
        assert place in json.loads(found[key])["config_files"]


def test_a_file_without_a_known_destination_goes_to_the_first_container() -> None:
    found = config_map(PROCESSES["neutron-server"], {"policy.yaml": ""})
    assert "/etc/neutron/policy.yaml" in [file["dest"] for file in json.loads(found["config.json"])["config_files"]]
    others = json.loads(found["neutron-rpc-server.config.json"])["config_files"]
    assert "/etc/neutron/policy.yaml" not in [file["dest"] for file in others]


def test_no_file_is_promised_that_is_not_there() -> None:
    """Kolla's start script refuses to start over one."""
    for process in PROCESSES.values():
        found = config_map(process, {})
        for key in (key for key in found if key.endswith("config.json")):
            files = json.loads(found[key])["config_files"]
            promised = {file["source"].rpartition("/")[2] for file in files if kolla.DIRECTORY in file["source"]}
            assert promised <= found.keys()


def test_rabbitmq_keeps_its_majority_whoever_configures_it() -> None:
    found = config_map(PROCESSES["rabbitmq"], {})
    assert "cluster_partition_handling = pause_minority" in found["rabbitmq.conf"]
    assert "default_queue_type = quorum" in found["rabbitmq.conf"]
    own = config_map(PROCESSES["rabbitmq"], {"rabbitmq.conf": "log.console = true\n"})
    assert own["rabbitmq.conf"] == "log.console = true\n"


def test_galera_forms_one_cluster() -> None:
    found = config_map(PROCESSES["mysqld"], {})["my.cnf"].splitlines()
    assert "wsrep_on = ON" in found
    members = ",".join(f"mysqld-{ordinal}.mysqld-members.openstack.svc" for ordinal in range(3))
    assert f"wsrep_cluster_address = gcomm://{members}" in found


def test_a_new_member_restarts_no_other() -> None:
    """The names of the first members do not follow the size."""
    for project, name, file in (("mariadb", "mysqld", "my.cnf"), ("rabbitmq", "rabbitmq", "rabbitmq.conf")):
        definition = next(each for each in PROJECTS if each.name == project)
        texts = {
            kolla.FileSet(definition.configure(replace(WIRING, instances={name: size}), name)).public[file]
            for size in (3, 5)
        }
        assert len(texts) == 1, name


def test_the_package_of_the_start_is_complete() -> None:
    """Kolla puts each module where `python3 -m galera` finds it."""
    found = config_map(PROCESSES["mysqld"], {})
    placed = {file["dest"] for file in json.loads(found["config.json"])["config_files"]}
    modules = {path.name for path in (ROOT / "openstack/scripts/galera").glob("*.py")}
    assert {f"/etc/mysql/galera/{module}" for module in modules} <= placed
    assert "__main__.py" in modules


def test_services_own_their_data_and_logs() -> None:
    permissions = json.loads(config_map(PROCESSES["rabbitmq"], {})["config.json"])["permissions"]
    assert permissions == [
        {"path": "/var/log/kolla", "owner": "rabbitmq:kolla", "recurse": True},
        {"path": "/var/lib/rabbitmq", "owner": "rabbitmq:kolla", "recurse": True},
    ]


def test_ceph_has_no_kolla_configuration() -> None:
    assert config_map(PROCESSES["ceph-mon"], {}).keys() == {"ceph.conf", "monitors", "ceph_state.py"}
    assert config_map(PROCESSES["ceph-mon"], {"ceph.conf": "[global]\n"})["ceph.conf"] == "[global]\n"


@settings(deadline=None)
@given(st.integers(1, 10**6), st.lists(st.integers(1, 9), min_size=1, max_size=5))
def test_parts_of_a_pod_are_the_pod(total: int, shares: list[int]) -> None:
    parts = divide(total, shares)
    assert sum(parts) == total
    assert all(part >= 0 for part in parts)


def test_every_container_gets_something_of_every_size() -> None:
    for service, process in PROCESSES.items():
        for profile, resources in load_sizing(RECORDS)[service].items():
            shares = [container.share for container in process.containers]
            for total in (resources.cpu_m, resources.memory_mi, resources.limit_memory_mi):
                assert min(divide(total, shares)) >= 30, (service, profile)
            requests, limits = divide(resources.memory_mi, shares), divide(resources.limit_memory_mi, shares)
            assert all(request <= limit for request, limit in zip(requests, limits, strict=True)), (service, profile)


DYNAMIC_SECTIONS = {"ceph"}
"""Sections with a name of Quorate's choice, whose options the backend's driver defines."""


@pytest.mark.parametrize("release", DISTRO_VERSIONS)
@pytest.mark.parametrize("project", PROJECTS, ids=lambda project: project.name)
def test_every_option_is_one_of_the_release(project: ProjectDefinition, release: str) -> None:
    """By the release's own oslo-config-generator: not unknown, not deprecated."""
    for process in project.processes:
        for file in project.configure(replace(WIRING, release=release), process.name):
            if isinstance(file, ConfigFile) and file.name in OPTION_FILES.get(project.name, ()):
                known = options.listed(release, file.name)
                for section, settings in file.document().items():
                    if section not in DYNAMIC_SECTIONS:
                        own = known.get(options.as_listed(section), {})
                        unknown = settings.keys() - own.keys()
                        renamed = [name for name in settings.keys() - unknown if own[name].renamed]
                        assert (unknown, renamed) == (set(), []), (file.name, section)


def test_ports_and_databases_are_those_of_the_projects() -> None:
    assert (WIRING.url("nova-api"), WIRING.url("keystone")) == (
        "http://nova-api.openstack.svc:8774",
        "http://keystone.openstack.svc:5000",
    )
    jobs = {project.name: [job.name for job in project.jobs(WIRING)] for project in PROJECTS}
    assert {name for name, named in jobs.items() if f"{name}-databases" in named} == DATABASES.keys()


@pytest.mark.parametrize("project", PROJECTS, ids=lambda project: project.name)
def test_jobs_copy_only_files_that_there_are(project: ProjectDefinition) -> None:
    for job in project.jobs(WIRING):
        written = {file.name for file in (*job.written, *project.configure(WIRING, job.name))}
        assert {file.name for file in job.files} <= written, job.name
        assert not set("|&;<>") & set(job.command), "Kolla's start script splits words, and calls no shell"


@pytest.mark.parametrize("project", PROJECTS, ids=lambda project: project.name)
def test_streams_have_a_prefetch_count(project: ProjectDefinition) -> None:
    """oslo.messaging refuses to listen to a stream without one (seen: nova-compute and neutron-rpc-server stopped)."""
    for process in project.processes:
        for file in project.configure(WIRING, process.name):
            if isinstance(file, ConfigFile) and "oslo_messaging_rabbit" in file.document():
                rabbit = file.document()["oslo_messaging_rabbit"]
                assert "rabbit_stream_fanout" not in rabbit or rabbit["rabbit_qos_prefetch_count"].value == 10


@pytest.mark.parametrize("agent", ["neutron-dhcp-agent", "neutron-l3-agent", "neutron-metadata-agent"])
def test_agents_of_a_node_share_the_directory_of_the_metadata_socket(agent: str) -> None:
    # Routers' proxies in other containers connect to the socket: in the default directory they would not find it.
    (neutron,) = (each for each in PROJECTS if each.name == "neutron")
    (neutron_conf,) = (each for each in neutron.configure(WIRING, agent) if each.name == "neutron.conf")
    assert isinstance(neutron_conf, ConfigFile)
    socket = str(neutron_conf.document()["DEFAULT"]["metadata_proxy_socket"].value)
    (container,) = PROCESSES[agent].containers
    shared = {path.mount: path.path for path in container.host_paths}
    assert shared[socket.rpartition("/")[0]] == "neutron"
