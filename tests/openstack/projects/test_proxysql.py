"""ProxySQL's configuration as the project writes it."""

from __future__ import annotations

import pytest

from blueprint.plan.plan import Plan
from blueprint.plan.planner import plan
from openstack import configuration
from openstack.config import formats
from tests.projects import DATABASES
from tests.stacks import full_size, parsed


@pytest.fixture(scope="module")
def large() -> Plan:
    return plan(parsed(full_size("1000", computes=4)))


@pytest.fixture(scope="module")
def files(large: Plan) -> dict[str, tuple[str | None, str | None]]:
    """What a ConfigMap and a Secret object hold of each file."""
    written = configuration.of_service(large, "proxysql")
    return {file.name: (formats.public_text(file), formats.secret_text(file, "<{}>".format)) for file in written}


def test_the_members_are_public_and_the_accounts_secret(files: dict[str, tuple[str | None, str | None]]) -> None:
    public, secret = files["proxysql-members.cnf"]
    assert (public is None, secret is None) == (False, True)
    public, secret = files["proxysql-accounts.cnf"]
    assert (public is None, secret is None) == (True, False)


def test_every_member_is_a_server_of_the_writers_hostgroup(
    files: dict[str, tuple[str | None, str | None]], large: Plan
) -> None:
    text = files["proxysql-members.cnf"][0] or ""
    assert text.count("hostgroup=10, weight=") == next(
        each.instances for each in large.services if each.name == "mysqld"
    )
    assert 'address="mysqld-0.mysqld-members.openstack.svc", port=3306' in text
    assert "max_writers=1" in text
    weights = [part.split(",")[0] for part in text.split("weight=")[1:]]
    assert len(set(weights)) == len(weights), "with equal weights, two instances might choose two writers"


def test_every_owner_of_a_database_has_an_account_of_its_own(files: dict[str, tuple[str | None, str | None]]) -> None:
    text = files["proxysql-accounts.cnf"][1] or ""
    for user in DATABASES:
        assert f'username="{user}", password="<{user}/database>", default_hostgroup=10' in text
    assert 'monitor_password="<proxysql/monitor>"' in text
    assert "6032" not in text


def test_the_member_that_bootstraps_makes_the_account_that_monitors(large: Plan) -> None:
    initial = next(file for file in configuration.of_service(large, "mysqld") if file.name == "initial.sql")
    assert "CREATE USER monitor@'%' IDENTIFIED BY '<proxysql/monitor>'" in (
        formats.secret_text(initial, "<{}>".format) or ""
    )
