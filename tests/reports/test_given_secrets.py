"""Reports about passwords of other systems: of an LDAP server, a registry, a storage array."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pulumi
import pytest

from blueprint.openstack.given_secret import GivenSecret
from blueprint.plan.plan import Plan
from blueprint.problems import InvalidStackError
from blueprint.stackfile import given_secrets
from blueprint.stackfile.loader import from_pulumi
from components.cloud import Cloud, CloudArgs
from components.target.render import Render
from openstack import configuration
from openstack.config.formats import public_text, secret_text
from tests.recording import Recorded, record
from tests.reports.stacks import named, planned

PASSWORD = "correct$horse"  # noqa: S105
ENVIRONMENT: dict[str, str] = {"environment": "LDAP_PASSWORD"}
ON_NODE = {"nova.conf": {"neutron": {"password": ENVIRONMENT}}}


def ldap(password: object) -> dict[str, Any]:
    options = {"url": "ldaps://ad.example.org", "user": "cn=svc", "password": password}
    return {"keystone": {"options": {"keystone.conf": {"ldap": options}}}}


def built(made: Plan, values: dict[str, str]) -> list[Recorded]:
    def build() -> None:
        given = pulumi.Output.secret(values)
        Cloud("cloud", CloudArgs(made, "test", Render("test"), pulumi.Output.secret("root"), given))

    return record(build)


def test_a_password_of_another_system_is_in_the_secret_of_its_processes_and_nowhere_else() -> None:
    made = planned(projects=ldap(ENVIRONMENT))
    values, problems = given_secrets.read(given_secrets.used(made.settings), {"LDAP_PASSWORD": PASSWORD})
    assert problems == []
    found = built(made, values)
    holders = {each.name for each in found if "correct" in json.dumps(each.inputs)}
    assert {each.kind for each in found if each.name in holders} == {"Secret"}
    assert "cloud-openstack-keystone-secrets" in holders
    secret = next(each.inputs for each in found if each.name == "cloud-openstack-keystone-secrets")
    assert "password = correct$$horse\n" in json.dumps(secret).replace("\\n", "\n")
    assert "ldaps://ad.example.org" in json.dumps(named(found, "ConfigMap", "keystone-kolla"))


@pytest.mark.parametrize("place", ["environment", "file", "secure"])
def test_a_secret_is_given_in_three_ways(place: str, tmp_path: Path) -> None:
    (tmp_path / "ldap").write_text(f"{PASSWORD}\n", encoding="utf-8")
    given = {"environment": "LDAP_PASSWORD", "file": str(tmp_path / "ldap"), "secure": "v1:abc:def"}[place]
    made = planned(projects=ldap({place: given}))
    wanted = given_secrets.used(made.settings)
    assert list(wanted) == ["quorate:projects.keystone.options.keystone.conf.ldap.password"]
    values, problems = given_secrets.read(wanted, {"LDAP_PASSWORD": PASSWORD})
    assert (list(values.values()), problems) == ([] if place == "secure" else [PASSWORD], [])


def test_an_encrypted_secret_that_is_written_anew_restarts_its_pods() -> None:
    def pods(secure: str) -> dict[str, str]:
        made = planned(projects=ldap({"secure": secure}))
        found = named(built(made, {}), "Deployment", "keystone")
        return found["spec"]["template"]["metadata"]["annotations"]

    assert pods("v1:abc:def") == pods("v1:abc:def") != pods("v1:new:def")


def test_a_secret_that_is_not_there_is_named_with_its_option_and_its_place(tmp_path: Path) -> None:
    many = tmp_path / "many"
    many.write_text("correct\nhorse\n", encoding="utf-8")
    missing = {
        "is the variable LDAP_PASSWORD, which is not set": GivenSecret(environment="LDAP_PASSWORD"),
        "is empty or has several lines": GivenSecret(file=str(many)),
        "cannot be read (No such file or directory)": GivenSecret(file="/nowhere"),
    }
    for said, secret in missing.items():
        _, problems = given_secrets.read({"quorate:projects.keystone.options.x": secret}, {})
        assert said in str(problems[0])
        assert str(problems[0]).startswith("quorate:projects.keystone.options.x: ")
        assert "correct" not in str(problems[0])


def test_a_file_without_a_fragment_for_secrets_is_secret_as_a_whole() -> None:
    options = {"ml2_conf.ini": {"ml2": {"extension_drivers": ENVIRONMENT}}}
    made = planned(services={"neutron-server": {"options": options}})
    file = next(each for each in configuration.of_service(made, "neutron-server") if each.name == "ml2_conf.ini")
    assert public_text(file) is None
    text = secret_text(file, "<{}>".format) or ""
    assert "extension_drivers = <given/LDAP_PASSWORD>\n" in text
    assert "[ml2_type_vlan]" in text


def test_a_secret_in_clear_text_is_refused_with_the_ways_to_give_it() -> None:
    with pytest.raises(InvalidStackError, match=r"if another system gave it, write \{environment: NAME\}") as refused:
        planned(projects=ldap("change-me-now"))
    assert "change-me-now" not in str(refused.value)
    assert "rootSecret" not in str(refused.value)


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        (
            {
                "nodes": {
                    "host1": {"services": {"nova-compute": {"options": {"nova.conf": {"vnc": {"a": ENVIRONMENT}}}}}}
                }
            },
            "is a secret, which all nodes share; write it for the project or the service",
        ),
        (
            {"projects": {"mariadb": {"options": {"my.cnf": {"mysqld": {"a": ENVIRONMENT}}}}}},
            "is a secret, which only files of OpenStack's programs can have",
        ),
    ],
)
def test_places_that_cannot_keep_a_secret_are_refused(keys: dict[str, Any], said: str) -> None:
    with pytest.raises(InvalidStackError, match=said):
        planned(**keys)


def test_pulumi_without_the_copy_is_told_of_it_and_no_value_is_shown() -> None:
    """The engine passes on a key of a stack file as a whole: decrypted, if one option in it is encrypted."""
    config = {"quorate:profile": "lab", "quorate:projects": json.dumps(ldap("change-me-now"))}
    with pytest.raises(InvalidStackError, match="only the stack's copy passes on") as refused:
        from_pulumi(config, ["quorate:projects"])
    assert "change-me-now" not in str(refused.value)


def test_a_variable_and_a_file_of_one_name_are_two_secrets() -> None:
    variable, file = GivenSecret(environment="LDAP"), GivenSecret(file="LDAP")
    assert variable.key != file.key
