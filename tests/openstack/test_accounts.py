"""Generations of secrets: which accounts exist, which are removed, and which pods are restarted."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

import pulumi
import pytest

from blueprint.openstack import secret_names
from blueprint.plan.plan import Plan
from blueprint.plan.planner import plan
from components.cloud import Cloud, CloudArgs
from components.secrets import derive
from components.target.render import Render
from openstack import accounts, configuration
from openstack.config.formats import public_text, secret_text
from openstack.config.wiring import Wiring, wiring
from tests.projects import RECORDS
from tests.recording import Recorded, record
from tests.stacks import full_size, parsed

GENERATIONS = "quorate.io/secret-generations"


def planned(**versions: Any) -> Plan:
    secrets = {name.replace("__", "/"): version for name, version in versions.items()}
    return plan(parsed(full_size("100", secrets=secrets)))


def around(**versions: Any) -> Wiring:
    return wiring(planned(**versions), "openstack")


def statements(**versions: Any) -> str:
    job = accounts.databases(around(**versions), "glance")
    file = next(file for file in job.written if file.name == "account.sql")
    return secret_text(file, "<{}>".format) or ""


@cache
def objects(*, replaced: bool) -> dict[str, Recorded]:
    made = planned(glance__database={"generation": 2}) if replaced else planned()

    def build() -> None:
        Cloud("cloud", CloudArgs(made, "test", Render("test"), pulumi.Output.secret("root")))

    return {f"{each.kind} {each.name}": each for each in record(build) if each.type.startswith("kubernetes:")}


def test_a_new_generation_has_an_account_of_its_own_and_the_previous_one_is_not_touched() -> None:
    found = statements(glance__database={"generation": 2})
    assert "ALTER USER 'glance_g2'@'%' IDENTIFIED BY '<glance/database>'" in found
    assert "ON glance.* TO 'glance_g2'@'%'" in found
    assert "'glance'@" not in found


def test_what_is_no_longer_valid_is_removed() -> None:
    assert "DROP" not in statements()
    assert statements(glance__database={"generation": 2, "previous": "removed"}).endswith(
        "DROP USER IF EXISTS 'glance'@'%';\n"
    )
    third = statements(glance__database={"generation": 3})
    assert "DROP USER IF EXISTS 'glance'@'%'" in third
    assert "DROP USER IF EXISTS 'glance_g2'" not in third


def test_services_use_the_account_of_the_current_generation() -> None:
    made = planned(glance__database={"generation": 2}, glance__identity={"generation": 3})
    (file,) = (file for file in configuration.of_service(made, "glance-api") if file.name == "glance-api.conf")
    text = secret_text(file, "<{}>".format) or ""
    assert "mysql+pymysql://glance_g2:<glance/database>@" in text
    assert "username = glance_g3\n" in (public_text(file) or "")
    assert around(nova__messaging={"generation": 2}).messaging("nova").text.startswith("rabbit://nova_g2:{}@")


@pytest.mark.parametrize(("previous", "expected"), [("kept", True), ("removed", False)])
def test_proxysql_knows_both_generations_until_the_previous_one_is_removed(previous: str, expected: bool) -> None:
    made = planned(glance__database={"generation": 2, "previous": previous})
    file = next(each for each in configuration.of_service(made, "proxysql") if each.name == "proxysql-accounts.cnf")
    text = secret_text(file, "<{}>".format) or ""
    assert 'username="glance_g2", password="<glance/database>"' in text
    assert ('username="glance", password="<glance/database:1>"' in text) == expected


def test_only_pods_with_the_secret_are_restarted_and_only_its_jobs_run_again() -> None:
    before, after = objects(replaced=False), objects(replaced=True)
    workloads = ("Deployment", "StatefulSet", "DaemonSet", "Job")
    changed = {key for key, each in after.items() if key.startswith(workloads) and each.inputs != before[key].inputs}
    assert {key.rpartition("cloud-openstack-")[2] for key in changed} == {
        "mariadb-proxysql",
        "glance-databases",
        "glance-db-sync",
        "glance-api",
    }
    annotations = after["Deployment cloud-openstack-glance-api"].inputs["spec"]["template"]["metadata"]["annotations"]
    assert "glance/database=2" in annotations[GENERATIONS].split(",")


def test_both_passwords_are_in_the_secret_of_proxysql_and_nowhere_in_clear() -> None:
    old, new = (derive("root", "openstack", "glance/database", generation) for generation in (1, 2))
    holders = {
        key: (old in text, new in text)
        for key, each in objects(replaced=True).items()
        if (text := json.dumps(each.inputs)) and (old in text or new in text)
    }
    assert all(key.startswith("Secret ") for key in holders)
    assert holders["Secret cloud-openstack-mariadb-proxysql-secrets"] == (True, True)
    assert [key for key, (has_old, _) in holders.items() if has_old] == [
        "Secret cloud-openstack-mariadb-proxysql-secrets"
    ]


def test_every_secret_of_the_cloud_is_listed() -> None:
    used: set[str] = set()
    for each in objects(replaced=False).values():
        template = each.inputs.get("spec", {}).get("template", {})
        pairs = template.get("metadata", {}).get("annotations", {}).get(GENERATIONS, "")
        used |= {pair.partition("=")[0] for pair in pairs.split(",") if pair}
    keys, fixed = secret_names.cache_keys(RECORDS), secret_names.fixed(RECORDS).keys()
    listed = secret_names.accounts(RECORDS) | keys | fixed
    assert used <= listed
    # Jobs alone use the administrators' passwords.
    assert listed - used <= {"keystone/admin", "rabbitmq/admin"}
