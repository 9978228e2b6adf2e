"""Further clusters of Galera: where they run, who uses them, and what each has for itself."""

from __future__ import annotations

import re
from typing import Any

import pytest

from blueprint.plan.plan import Plan
from blueprint.plan.planner import plan
from blueprint.stackfile import further_clusters
from components.previous import quorum_state
from openstack import configuration
from openstack.config.formats import public_text, secret_names, secret_text
from openstack.config.layers import WrittenFile
from openstack.config.wiring import wiring
from operations import actions
from tests.components.test_cloud import cloud
from tests.projects import DATABASES, PROJECTS, RECORDS
from tests.recording import Recorded
from tests.stacks import full_size, own_galera, parsed, two_galeras

OWN = "neutron-mysqld"
OF_IT = {OWN: "mysqld", "neutron-proxysql": "proxysql", "neutron-mysqld-exporter": "mysqld-exporter"}
"""The cluster of Neutron and its companions, with those of the stack's own cluster."""


@pytest.fixture(scope="module")
def shared() -> Plan:
    return plan(parsed(full_size("100", **own_galera())))


@pytest.fixture(scope="module")
def plain() -> list[Recorded]:
    return cloud(plan(parsed(full_size("100"))))


@pytest.fixture(scope="module")
def further(shared: Plan) -> list[Recorded]:
    return cloud(shared)


def nodes_of(made: Plan, service: str) -> set[str]:
    return {each.node for each in made.assignment if each.service == service}


def file_of(made: Plan, service: str, name: str) -> WrittenFile:
    (found,) = [each for each in configuration.of_service(made, service) if each.name == name]
    return found


def revealed(file: WrittenFile) -> str:
    """The secret text of a file, with the name of each secret in its place."""
    return secret_text(file, lambda name: f"<{name}>") or ""


def named(resources: list[Recorded], name: str, kind: str) -> dict[str, Any]:
    """The inputs of the object with this name in Kubernetes."""
    found = [each for each in resources if each.kind == kind or each.inputs.get("kind") == kind]
    (inputs,) = [each.inputs for each in found if each.inputs["metadata"]["name"] == name]
    return inputs


def jobs_text(made: Plan, project: str, job: str) -> str:
    """The text of the files that a job has for itself."""
    (definition,) = [each for each in PROJECTS if each.name == project]
    (found,) = [each for each in definition.jobs(wiring(made, "openstack")) if each.name == job]
    return "\n".join((public_text(file) or "") + revealed(file) for file in found.written)


def test_the_projects_with_databases_are_those_that_need_mariadb() -> None:
    needing = {project.name for project in PROJECTS if "mariadb" in project.needs}
    assert set(further_clusters.GALERA.projects(RECORDS)) == set(DATABASES) == needing


def test_a_project_uses_the_database_that_it_is_mapped_to(shared: Plan) -> None:
    text = revealed(file_of(shared, "neutron-server", "neutron.conf"))
    assert "mysql+pymysql://neutron:<neutron/database>@neutron-proxysql.openstack.svc:3306/neutron" in text
    text = revealed(file_of(shared, "nova-api", "nova.conf"))
    assert "mysql+pymysql://nova:<nova/database>@proxysql.openstack.svc:3306/nova" in text


def test_the_jobs_of_a_project_make_its_databases_there(shared: Plan) -> None:
    for project, cluster, proxy in (("heat", OWN, "neutron-proxysql"), ("nova", "mysqld", "proxysql")):
        text = jobs_text(shared, project, f"{project}-databases")
        assert f"host = {proxy}.openstack.svc\n" in text
        assert f"password = <{cluster}/root>" in text
    assert '"host": "neutron-proxysql.openstack.svc"' in jobs_text(shared, "heat", "heat-db-sync")


def test_each_galera_has_a_name_members_and_secrets_of_its_own(shared: Plan) -> None:
    text = public_text(file_of(shared, OWN, "my.cnf")) or ""
    own = [f"{OWN}-{number}.{OWN}-members.openstack.svc" for number in range(3)]
    assert f"wsrep_cluster_name = {OWN}\n" in text
    assert f"wsrep_cluster_address = gcomm://{','.join(own)}\n" in text
    first = public_text(file_of(shared, "mysqld", "my.cnf")) or ""
    assert "wsrep_cluster_name = openstack\n" in first
    assert OWN not in first
    secrets = {
        name: {each for file in configuration.of_service(shared, name) for each in secret_names(file)}
        for name in (*OF_IT, *OF_IT.values())
    }
    for name, other in OF_IT.items():
        assert not secrets[name] & secrets[other]
    assert secrets[OWN] == {
        f"{OWN}/root",
        f"{OWN}/backup",
        "neutron-proxysql/monitor",
        "neutron-mysqld-exporter/database",
    }


def test_each_proxysql_leads_to_its_cluster_with_the_accounts_of_its_projects(shared: Plan) -> None:
    for proxy, galera, users in (
        ("neutron-proxysql", OWN, {"root", "neutron", "heat"}),
        ("proxysql", "mysqld", {"root", *DATABASES} - {"neutron", "heat"}),
    ):
        members = public_text(file_of(shared, proxy, "proxysql-members.cnf")) or ""
        assert re.findall(r'address="([^"]+)"', members) == [
            f"{galera}-{number}.{galera}-members.openstack.svc" for number in range(3)
        ]
        accounts = revealed(file_of(shared, proxy, "proxysql-accounts.cnf"))
        assert set(re.findall(r'{ username="([^"]+)"', accounts)) == users
        assert f'username="root", password="<{galera}/root>"' in accounts


def test_a_replaced_password_concerns_the_proxysql_of_the_project_only() -> None:
    secrets = {"neutron/database": {"generation": 2}}
    made = plan(parsed(full_size("100", secrets=secrets, **own_galera())))
    texts = {name: revealed(file_of(made, name, "proxysql-accounts.cnf")) for name in ("proxysql", "neutron-proxysql")}
    assert "neutron_g2" in texts["neutron-proxysql"]
    assert "neutron" not in texts["proxysql"]


def test_a_further_galera_changes_no_member_of_the_first(plain: list[Recorded], further: list[Recorded]) -> None:
    """Only the first ProxySQL changes, which no longer has the accounts of the projects that use another cluster."""
    own = [each for each in plain if each.name.startswith("cloud-openstack-mariadb")]
    after = {(each.kind, each.name): each.inputs for each in further}
    changed = {each.name for each in own if each.kind != "Project" and after[each.kind, each.name] != each.inputs}
    assert changed == {"cloud-openstack-mariadb-proxysql", "cloud-openstack-mariadb-proxysql-secrets"}


def test_a_further_galera_has_the_objects_of_the_first(further: list[Recorded]) -> None:
    """With each name in place of that of the first cluster, and nothing else of it."""

    def objects(names: dict[str, str]) -> set[tuple[str, str]]:
        found: set[tuple[str, str]] = set()
        for each in further:
            name = each.name.removeprefix("cloud-openstack-mariadb-")
            for own, generic in names.items():
                if re.match(rf"{own}(?!-exporter)(-|$)", name):
                    found.add((each.kind, name.replace(own, generic, 1)))
        return found

    own = objects(OF_IT)
    assert own == objects({name: name for name in OF_IT.values()})
    kinds = {kind for kind, _ in own}
    assert {"StatefulSet", "PodDisruptionBudget", "NetworkPolicy", "Secret", "CronJob", "PersistentVolume"} <= kinds


def test_each_galera_is_backed_up_from_its_own_member_at_its_own_hour(further: list[Recorded]) -> None:
    schedules: set[str] = set()
    for galera in ("mysqld", OWN):
        for action in ("backup", "restore"):
            job = named(further, f"{galera}-{action}", "CronJob")
            schedules.add(job["spec"]["schedule"] if action == "backup" else "")
            volumes = job["spec"]["jobTemplate"]["spec"]["template"]["spec"]["volumes"]
            claims = [each["persistentVolumeClaim"]["claimName"] for each in volumes if "persistentVolumeClaim" in each]
            assert claims == [f"data-{galera}-2", f"{galera}-backup"]
            settings = named(further, f"{galera}-{action}-kolla", "ConfigMap")["data"]["backup.json"]
            assert f'"member": "{galera}-2.{galera}-members.openstack.svc"' in settings
            assert f'"domain": "{galera}-members.openstack.svc"' in settings
    assert len(schedules) == 3


def test_an_action_needs_the_members_of_the_clusters_that_it_uses(shared: Plan) -> None:
    known = {each.name: each for each in actions.of_plan(shared)}
    assert known[f"{OWN}-backup"].quorums == known["neutron-db-sync"].quorums == (OWN,)
    assert known["mysqld-backup"].quorums == known["nova-online-data-migrations"].quorums == ("mysqld",)
    assert known["neutron-identity"].quorums == ("mysqld",), "Keystone's"
    assert known["neutron-messaging"].quorums == ("rabbitmq",)
    assert known["nova-storage"].quorums == ("ceph-mon",)
    assert all(each.quorums for each in known.values())


def test_every_galera_is_a_quorum_that_is_watched(shared: Plan) -> None:
    files = {each.name: public_text(each) or "" for each in configuration.of_service(shared, "influxdb-grafana")}
    for job, members, exporter in (
        ("galera", "mysqld", "mysqld-exporter"),
        (OWN, OWN, "neutron-mysqld-exporter"),
    ):
        assert f'mysql_global_status_wsrep_cluster_status{{job="{job}"}}' in files["alerts.yml"]
        assert f'mysql_global_status_wsrep_local_state{{job="{job}"}} != 4' in files["alerts.yml"]
        scrape = files["prometheus.yml"].split("job_name: ")
        (text,) = [each for each in scrape if each.startswith(f"{job}\n")]
        assert f"{members}-2.{members}-members.openstack.svc:3306" in text
        assert f"replacement: {exporter}.openstack.svc:9104" in text
    state = quorum_state(shared)["quorums"]
    assert state[OWN]["members"] == 3
    assert state[OWN]["nodes"]["ctl04"]["data"] == [f"/var/lib/quorate/openstack/{OWN}"]


@pytest.mark.parametrize(("architecture", "controllers", "clusters", "apart"), [
    ("100", 6, own_galera(), False), ("1000", 36, two_galeras(), True)
])  # fmt: skip
def test_galeras_share_nodes_where_the_table_lets_their_row(
    architecture: str, controllers: int, clusters: dict[str, Any], apart: bool
) -> None:
    made = plan(parsed(full_size(architecture, controllers=controllers, **clusters)))
    names = ["mysqld", *clusters["services"]]
    places = [nodes_of(made, name) for name in names]
    assert [len(place) for place in places] == [3] * len(names)
    assert len(set[str]().union(*places)) == (3 * len(names) if apart else 3)
    assert made.architecture.row("mysqld").shareable is not apart
    assert {each.companion_of for each in made.companions if each.definition} == {"mysqld"}


def test_companions_of_a_further_galera_have_settings_of_their_own() -> None:
    more = own_galera()
    more["services"]["neutron-proxysql"] = {"replicas": 2, "config": {"proxysql-members.cnf": "mine\n"}}
    made = cloud(plan(parsed(full_size("100", **more))))
    assert named(made, "neutron-proxysql", "Deployment")["spec"]["replicas"] == 2
    assert named(made, "proxysql", "Deployment")["spec"]["replicas"] == 3
    assert named(made, "neutron-proxysql-kolla", "ConfigMap")["data"]["proxysql-members.cnf"] == "mine\n"
