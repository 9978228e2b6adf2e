"""Keystone starts from rendered configuration: rendered jobs on a real MariaDB, then the rendered process."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from tests.services.processes import Base, Loopback
from tests.services.rendered import Started, started
from tests.services.stack import documents
from toolchain import debian_root, openstack_programs
from toolchain.progress import Reporter, UserError

pytestmark = pytest.mark.heavy

LIMIT = 180
"""Seconds to wait for a service: importing Keystone alone takes ten on a busy machine."""
_DATABASE = """\
set -e
mkdir -p /run/mysqld
mariadb-install-db --user=root --datadir=/var/lib/mysql --skip-test-db >/dev/null
exec mariadbd --user=root --datadir=/var/lib/mysql --skip-name-resolve --init-file=/etc/accounts.sql
"""


@pytest.fixture(scope="module")
def containers() -> Mapping[str, Started]:
    return started(documents("dev"))


@pytest.fixture(scope="module")
def openstack() -> Base:
    return Base(Path("/"), openstack_programs.ensure(openstack_programs.NEWEST, Reporter()))


@pytest.fixture
def loopback(tmp_path: Path, containers: Mapping[str, Started]) -> Iterator[tuple[Loopback, Base]]:
    """A MariaDB of one member at the address of ProxySQL, and the root that has its programs."""
    if os.geteuid() != 0:
        pytest.skip("namespaces need root")
    try:
        debian = Base(debian_root.ensure(Reporter()))
    except UserError as reason:
        pytest.skip(str(reason))
    with Loopback(tmp_path, containers.values()) as made:
        made.start(database(containers["keystone-databases/keystone-databases"]), debian)
        wait_for(made, ["bash", "-c", "</dev/tcp/127.0.0.1/3306"])
        yield made, debian


def database(job: Started) -> Started:
    """A server whose root has the password that the rendered job uses."""
    (line,) = [line for line in job.files["/etc/mysql/client.cnf"].splitlines() if line.startswith("password")]
    account = f"'root'@'%' IDENTIFIED BY '{line.partition('=')[2].strip()}'"
    accounts = f"CREATE USER {account};\nGRANT ALL PRIVILEGES ON *.* TO 'root'@'%' WITH GRANT OPTION;\n"
    files = {"/etc/accounts.sql": accounts, "/usr/local/bin/database.sh": _DATABASE}
    return Started("database", "mariadb", "bash /usr/local/bin/database.sh", files, ("/var/lib/mysql",), {})


def wait_for(loopback: Loopback, command: list[str]) -> None:
    end = time.monotonic() + LIMIT
    while loopback.ask(command).returncode:
        assert time.monotonic() < end, f"{' '.join(command)} fails after {LIMIT} s"
        time.sleep(1)


def test_the_administrator_and_a_service_log_in(
    loopback: tuple[Loopback, Base], containers: Mapping[str, Started], openstack: Base
) -> None:
    machine, debian = loopback
    machine.run(containers["keystone-databases/keystone-databases"], debian)
    for job in ("keystone-db-sync", "keystone-bootstrap"):
        machine.run(containers[f"{job}/{job}"], openstack)
    machine.start(containers["keystone/keystone"], openstack)
    wait_for(machine, ["curl", "--fail", "--silent", "http://127.0.0.1:5000/healthcheck"])
    for again in range(2):
        said = machine.run(containers["placement-identity/placement-identity"], openstack)
        assert "user placement and 1 services are in Keystone" in said, again
    for user, password in (
        ("admin", containers["keystone-bootstrap/keystone-bootstrap"].variables["OS_BOOTSTRAP_PASSWORD"]),
        ("placement", containers["placement-identity/placement-identity"].variables["PASSWORD"]),
    ):
        token = issued(machine, openstack, user, password)
        assert token["user_id"]
        assert token["id"].startswith("gAAAA")


def issued(machine: Loopback, openstack: Base, user: str, password: str) -> dict[str, str]:
    """A token by the real client."""
    project = "admin" if user == "admin" else "service"
    variables = {
        "OS_AUTH_URL": "http://127.0.0.1:5000/v3",
        "OS_USERNAME": user,
        "OS_PASSWORD": password,
        "OS_PROJECT_NAME": project,
        "OS_USER_DOMAIN_NAME": "Default",
        "OS_PROJECT_DOMAIN_NAME": "Default",
    }
    command = Started(f"client-{user}", "openstack", "openstack token issue --format json", {}, (), variables)
    said = machine.run(command, openstack)
    return json.loads(said[said.index("{") :])
