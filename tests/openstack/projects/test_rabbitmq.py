"""Notifications on a vhost of their own, and further clusters of RabbitMQ: where they run and who uses them."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from blueprint.plan import assignment
from blueprint.plan.plan import Plan
from blueprint.plan.planner import plan
from blueprint.stackfile import further_clusters
from components.previous import quorum_state
from openstack import configuration
from openstack.accounts import UNREAD
from openstack.config.formats import public_text, secret_text
from openstack.config.layers import TextFile
from openstack.config.wiring import wiring
from openstack.definition import JobDefinition
from openstack.projects.rabbitmq import least_space
from tests.components.test_cloud import cloud
from tests.projects import PROCESSES, PROJECTS, RECORDS
from tests.recording import Recorded
from tests.stacks import full_size, parsed, two_brokers

NEUTRON, EVENTS = "neutron-rabbitmq", "events-rabbitmq"


@pytest.fixture(scope="module")
def shared() -> Plan:
    return plan(parsed(full_size("100", **two_brokers())))


@pytest.fixture(scope="module")
def plain() -> list[Recorded]:
    return cloud(plan(parsed(full_size("100"))))


@pytest.fixture(scope="module")
def further(shared: Plan) -> list[Recorded]:
    return cloud(shared)


def nodes_of(made: Plan, service: str) -> set[str]:
    return {each.node for each in made.assignment if each.service == service}


def url(made: Plan, service: str, file: str, section: str) -> str:
    """A transport URL of a service, with the name of its secret in place of the secret."""
    (written,) = [each for each in configuration.of_service(made, service) if each.name == file]
    text = secret_text(written, lambda name: f"<{name}>") or ""
    lines = text[text.index(f"[{section}]") :].splitlines()
    return next(line.partition(" = ")[2] for line in lines if line.startswith("transport_url"))


def members(broker: str, account: str, secret: str) -> str:
    names = (f"{broker}-{number}.{broker}-members.openstack.svc" for number in range(3))
    return "rabbit://" + ",".join(f"{account}:<{secret}>@{name}:5672" for name in names)


def jobs(made: Plan, project: str) -> dict[str, JobDefinition]:
    (found,) = [each for each in PROJECTS if each.name == project]
    return {job.name: job for job in found.jobs(wiring(made, "openstack"))}


def account(job: JobDefinition) -> dict[str, Any]:
    (file,) = [each for each in job.written if each.name == "account.json"]
    assert isinstance(file, TextFile)
    return json.loads(public_text(file) or "")


def test_the_projects_that_send_messages_are_those_that_need_rabbitmq() -> None:
    assert set(further_clusters.RABBITMQ.projects(RECORDS)) == {
        project.name for project in PROJECTS if "rabbitmq" in project.needs
    }


@pytest.mark.parametrize(
    ("service", "file"),
    [("nova-compute", "nova.conf"), ("neutron-server", "neutron.conf"), ("cinder-volume", "cinder.conf"),
     ("heat-engine", "heat.conf")],
)  # fmt: skip
def test_notifications_are_durable_on_a_vhost_and_an_account_of_their_own(service: str, file: str) -> None:
    made = plan(parsed(full_size("100")))
    project = file.removesuffix(".conf")
    own = f"{project}-notifications"
    expected = members("rabbitmq", own, f"{project}/notifications") + "/notifications"
    assert url(made, service, file, "oslo_messaging_notifications") == expected
    assert url(made, service, file, "DEFAULT") == members("rabbitmq", project, f"{project}/messaging") + f"/{project}"
    (written,) = [each for each in configuration.of_service(made, service) if each.name == file]
    public = public_text(written) or ""
    assert "[oslo_messaging_notifications]\ndriver = messagingv2\n" in public
    assert "rabbit_quorum_queue = true" in public
    job = jobs(made, project)[own]
    assert account(job) | {"members": []} == {
        "user": own,
        "vhost": "notifications",
        "members": [],
        "policy": UNREAD,
        "removed": [],
    }
    assert dict(job.secrets)["PASSWORD"].name == f"{project}/notifications"


def test_unread_notifications_fit_a_volume() -> None:
    """Five levels, such as notifications.info; quorum queues keep each message on every member."""
    claim = PROCESSES["rabbitmq"].claim
    assert claim
    definition: Any = UNREAD["definition"]
    assert 5 * definition["max-length-bytes"] <= claim.lab * 1024**3 / 4


def test_a_project_uses_the_broker_that_it_is_mapped_to(shared: Plan) -> None:
    rpc = members(NEUTRON, "neutron", "neutron/messaging")
    assert url(shared, "neutron-l3-agent", "neutron.conf", "DEFAULT") == f"{rpc}/neutron"
    events = members(EVENTS, "neutron-notifications", "neutron/notifications")
    assert url(shared, "neutron-server", "neutron.conf", "oslo_messaging_notifications") == f"{events}/notifications"
    assert url(shared, "nova-api", "nova.conf", "DEFAULT") == members("rabbitmq", "nova", "nova/messaging") + "/nova"
    made = jobs(shared, "neutron")
    for name, broker in (("neutron-messaging", NEUTRON), ("neutron-notifications", EVENTS)):
        assert account(made[name])["members"][0] == f"{broker}-0.{broker}-members.openstack.svc"
        assert dict(made[name].secrets)["ADMIN_PASSWORD"].name == f"{broker}/admin"


def test_each_broker_has_files_and_secrets_of_its_own(shared: Plan) -> None:
    for name in ("rabbitmq", NEUTRON, EVENTS):
        files = {each.name: each for each in configuration.of_service(shared, name)}
        text = public_text(files["rabbitmq.conf"]) or ""
        assert f"nodes.1 = rabbit@{name}-0.{name}-members.openstack.svc" in text
        assert "\ndisk_free_limit.absolute = 10307921510\n" in text
        assert secret_text(files["rabbitmq.conf"], lambda secret: secret) == f"default_pass = {name}/admin\n"
        assert secret_text(files["erlang-cookie"], lambda secret: secret) == f"{name}/cookie"


@pytest.mark.parametrize(
    ("memory", "volume", "expected"),
    [
        (16 * 1024, 50, 10_307_921_510),  # as much as RabbitMQ takes of 16 GiB
        (64 * 1024, 50, 10_737_418_240),  # no more than a fifth of the volume
        (1024, 50, 1_000_000_000),  # two files of the log
        (64 * 1024, 2, 1_000_000_000),
    ],
)
def test_the_alarm_of_the_disk_follows_memory_and_volume(memory: int, volume: int, expected: int) -> None:
    assert least_space(memory, volume) == expected


def test_more_memory_for_a_broker_raises_its_alarm() -> None:
    sized = {"rabbitmq": {"resources": {"limits": {"memory": "4Gi"}}}}
    made = [plan(parsed(full_size("100", profile=profile, services=sized))) for profile in ("lab", "production")]
    limits = [
        next(line for line in text.splitlines() if line.startswith("disk_free_limit"))
        for each in made
        for text in [public_text(configuration.of_service(each, "rabbitmq")[0]) or ""]
    ]
    assert limits == ["disk_free_limit.absolute = 1073741824", "disk_free_limit.absolute = 2576980377"]


def test_a_further_broker_changes_no_object_of_the_first(plain: list[Recorded], further: list[Recorded]) -> None:
    """So that no member of it restarts. Only its NetworkPolicy follows the projects that use it."""
    own = [each for each in plain if each.name.startswith("cloud-openstack-rabbitmq")]
    after = {(each.kind, each.name): each.inputs for each in further}
    changed = {each.kind for each in own if after[each.kind, each.name] != each.inputs}
    assert changed == {"NetworkPolicy", "Project"}


def test_a_further_broker_has_the_objects_of_the_first(further: list[Recorded]) -> None:
    kinds: dict[str, list[str]] = {}
    for name in ("rabbitmq", NEUTRON, EVENTS):
        resource = "cloud-openstack-rabbitmq" + ("" if name == "rabbitmq" else f"-{name}")
        suffixes = {f"{resource}{suffix}" for suffix in ("", "-kolla", "-secrets", "-members")}
        volumes = {each.name for each in further if each.kind == "PersistentVolume" and each.name.startswith(resource)}
        mine = [
            each for each in further if each.name in suffixes | {f"{resource}-ctl{number:02}" for number in (1, 2, 3)}
        ]
        kinds[name] = sorted(each.kind for each in mine if each.kind not in ("Process", "Project"))
        assert len(volumes) >= 3
    assert kinds["rabbitmq"] == kinds[NEUTRON] == kinds[EVENTS]
    assert {"StatefulSet", "PodDisruptionBudget", "NetworkPolicy", "Secret", "Service"} <= set(kinds[NEUTRON])


@pytest.mark.parametrize(("architecture", "controllers", "apart"), [("100", 6, False), ("500", 17, True)])
def test_brokers_share_nodes_where_the_table_lets_their_row(architecture: str, controllers: int, apart: bool) -> None:
    made = plan(parsed(full_size(architecture, controllers=controllers, **two_brokers())))
    places = [nodes_of(made, name) for name in ("rabbitmq", NEUTRON, EVENTS)]
    assert [len(place) for place in places] == [3, 3, 3]
    assert len(places[0] | places[1] | places[2]) == (9 if apart else 3)
    assert made.architecture.row("rabbitmq").shareable is not apart


def test_every_broker_is_a_quorum_that_is_watched(shared: Plan) -> None:
    (file,) = [each for each in configuration.of_service(shared, "influxdb-grafana") if each.name == "alerts.yml"]
    text = public_text(file) or ""
    for name in ("rabbitmq", NEUTRON, EVENTS):
        assert f'up{{job="{name}"}}' in text
        assert f'rabbitmq_unreachable_cluster_peers_count{{job="{name}"}} <= bool 1' in text
    state = quorum_state(shared)["quorums"]
    assert state[NEUTRON]["members"] == 3
    assert state[NEUTRON]["nodes"]["ctl01"]["data"] == [f"/var/lib/quorate/openstack/{NEUTRON}"]


def test_the_assignment_keeps_clusters_apart_whichever_is_placed_first() -> None:
    """Only the later one declares anti-affinity; here it comes first, and leaves the earlier one two of nine nodes."""
    made = plan(parsed(full_size("500", controllers=17, **two_brokers())))
    both = [each for each in made.processes if each.name in ("rabbitmq", NEUTRON)]
    crowded = [replace(each, instances=7) if each.name == NEUTRON else each for each in both]
    _, problems = assignment.find(crowded, made.nodes, made.sizes)
    assert [each.key for each in problems] == ["quorate:services.rabbitmq.replicas"]
