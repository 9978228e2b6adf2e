"""Jobs that create a project's databases, RabbitMQ vhosts and Keystone user, with the accounts for them.

Each job is idempotent: it creates missing accounts and sets the current password. The generation of a secret counts its
replacements, and each generation has an account of its own. The job leaves the previous generation's account unchanged
until the stack file says that the account is no longer valid.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from blueprint.openstack.projects.process_definition import ConfigurationFile
from blueprint.stackfile.ceph_settings import ObjectStore
from openstack import ceph_client
from openstack.config.layers import Secret, TextFile
from openstack.config.ports import MYSQL
from openstack.config.wiring import NOTIFICATIONS, Wiring
from openstack.definition import JobDefinition

_SCRIPTS = Path(__file__).parent / "scripts"
ADMINISTRATOR = "admin"
GATEWAY = "radosgw"
"""The project of Ceph's object gateway, and its user in Keystone, with which it checks tokens."""
UNREAD: Mapping[str, object] = {
    "name": "unread",
    "pattern": f"^{NOTIFICATIONS}\\.",
    "apply-to": "queues",
    "definition": {"max-length-bytes": 256 * 1024 * 1024, "overflow": "drop-head"},
}
"""RabbitMQ policy that limits each queue of notifications, in bytes: the oldest messages are dropped first. Quorate
runs no program that reads notifications, and an unread queue would fill the members' disks, which blocks all publishers
of the cluster (https://www.rabbitmq.com/docs/maxlength). Project figure: the queues of 5 notification levels take at
most a quarter of a lab's volume."""
_CEPH_ADMINISTRATOR = ceph_client.keyring("client.admin")


@dataclass(frozen=True)
class Domain:
    """A domain of Keystone, and the account that administers the domain."""

    name: str
    administrator: str
    password: Secret
    roles: tuple[str, ...]
    """Roles that the domain's users may get; the job creates missing roles."""


def databases(wiring: Wiring, user: str) -> JobDefinition:
    """Returns the job that creates a project's databases and its current account, and removes accounts no longer valid.

    `user`: the project.
    """
    name = wiring.account(user, "database")
    statements = "".join(
        f"CREATE DATABASE IF NOT EXISTS {database} CHARACTER SET utf8mb4;\n"
        f"GRANT ALL PRIVILEGES ON {database}.* TO '{name}'@'%';\n"
        for database in wiring.records[user].databases
    )
    removed = "".join(f"DROP USER IF EXISTS '{old}'@'%';\n" for old in wiring.removed(user, "database"))
    account = Secret(
        f"{user}/database",
        f"CREATE USER IF NOT EXISTS '{name}'@'%';\nALTER USER '{name}'@'%' IDENTIFIED BY '{{}}';\n",
    )
    client = ("[client]\nuser = root\nhost = ", wiring.proxy(user), f"\nport = {MYSQL}\npassword = ")
    return JobDefinition(
        name=f"{user}-databases",
        image="mariadb-server",
        user="mysql",
        quorums=(wiring.galera(user),),
        command="bash /usr/local/bin/databases.sh",
        written=(
            TextFile("databases.sh", ("exec mariadb --defaults-file=/etc/mysql/client.cnf </etc/mysql/account.sql\n",)),
            TextFile("account.sql", (account, statements, removed)),
            TextFile("client.cnf", (*client, Secret(f"{wiring.galera(user)}/root"), "\n")),
        ),
        files=(
            ConfigurationFile("databases.sh", "/usr/local/bin/databases.sh"),
            ConfigurationFile("account.sql", "/etc/mysql/account.sql"),
            ConfigurationFile("client.cnf", "/etc/mysql/client.cnf"),
        ),
    )


def messaging(wiring: Wiring, user: str) -> tuple[JobDefinition, JobDefinition]:
    """Returns the two jobs that create a project's accounts in RabbitMQ, through RabbitMQ's management API.

    The first account is for the project's own vhost, the second for the vhost that all projects use for notifications.
    """
    rpc, events = wiring.broker(user, "rpc"), wiring.broker(user, "notifications")
    own = {
        "user": wiring.account(user, "messaging"),
        "vhost": user,
        "members": wiring.members(rpc),
        "removed": wiring.removed(user, "messaging"),
    }
    shared = {
        "user": wiring.account(user, "notifications"),
        "vhost": NOTIFICATIONS,
        "members": wiring.members(events),
        "removed": wiring.removed(user, "notifications"),
        "policy": UNREAD,
    }
    return (
        _vhost(f"{user}-messaging", own, rpc, Secret(f"{user}/messaging")),
        _vhost(f"{user}-notifications", shared, events, Secret(f"{user}/notifications")),
    )


def _vhost(name: str, document: Mapping[str, object], broker: str, password: Secret) -> JobDefinition:
    return JobDefinition(
        name=name,
        image="keystone",
        user="keystone",
        quorums=(broker,),
        command="python3 /usr/local/bin/messaging_account.py /etc/quorate/account.json",
        written=(
            TextFile("messaging_account.py", (_script("messaging_account.py"),)),
            TextFile("account.json", (_json(document),)),
        ),
        files=(
            ConfigurationFile("messaging_account.py", "/usr/local/bin/messaging_account.py"),
            ConfigurationFile("account.json", "/etc/quorate/account.json"),
        ),
        secrets=(("ADMIN_PASSWORD", Secret(f"{broker}/admin")), ("PASSWORD", password)),
    )


def identity(
    wiring: Wiring,
    user: str,
    roles: Sequence[str] = ("admin", "service"),
    domain: Domain | None = None,
) -> JobDefinition:
    """Returns the job that creates a project's Keystone user with roles, its endpoints in the catalog, and `domain`."""
    document: Mapping[str, object] = {
        "url": wiring.url("keystone", "/v3"),
        "region": wiring.region,
        "user": wiring.account(user, "identity"),
        "removed": wiring.removed(user, "identity"),
        "roles": roles,
        "services": [
            {
                "type": each.type,
                "name": each.name,
                "internal": wiring.url(each.process, each.path),
                "public": wiring.public_url(each.process, each.path),
            }
            for each in wiring.records[user].endpoints
        ],
    }
    secrets = [("PASSWORD", Secret(f"{user}/identity"))]
    if domain:
        own = {"name": domain.name, "administrator": domain.administrator, "roles": domain.roles}
        document = {**document, "domain": own}
        secrets.append(("DOMAIN_PASSWORD", domain.password))
    return _in_keystone(wiring, f"{user}-identity", document, secrets)


def object_store(wiring: Wiring, store: ObjectStore) -> JobDefinition:
    """Returns the job that adds the object gateway of an external Ceph to the catalog, with the user of the gateway."""
    document: Mapping[str, object] = {
        "url": wiring.url("keystone", "/v3"),
        "region": wiring.region,
        "user": GATEWAY,
        "removed": (),
        "roles": ("admin", "service"),
        "services": [
            {"type": each.type, "name": each.name, "internal": store.internal, "public": store.public or store.internal}
            for each in wiring.records[GATEWAY].endpoints
        ],
    }
    return _in_keystone(wiring, "bootstrap-object-store", document, [("PASSWORD", Secret(store.password.key))])


def _in_keystone(
    wiring: Wiring, name: str, document: Mapping[str, object], secrets: Sequence[tuple[str, Secret]]
) -> JobDefinition:
    """Returns a job that makes the user, the services and the domain of a document in Keystone."""
    return JobDefinition(
        name=name,
        image="keystone",
        user="keystone",
        # The job calls Keystone's API.
        quorums=(wiring.galera("keystone"),),
        command="python3 /usr/local/bin/service_account.py /etc/quorate/account.json",
        written=(
            TextFile("service_account.py", (_script("service_account.py"),)),
            TextFile("account.json", (_json(document),)),
        ),
        files=(
            ConfigurationFile("service_account.py", "/usr/local/bin/service_account.py"),
            ConfigurationFile("account.json", "/etc/quorate/account.json"),
        ),
        environment=(("OS_USERNAME", ADMINISTRATOR),),
        secrets=(("OS_PASSWORD", Secret("keystone/admin")), *secrets),
    )


def storage(
    wiring: Wiring, project: str, entries: Sequence[Secret], pools: Sequence[str] = ()
) -> tuple[JobDefinition, ...]:
    """Returns the job that creates a project's accounts and pools in Ceph; () in a stack without a Ceph of its own.

    `entries`: the accounts as keyring entries.
    """
    if not wiring.monitors or wiring.external_ceph:
        return ()
    job = JobDefinition(
        name=f"{project}-storage",
        # Kolla's images of Cinder contain Ceph's command line.
        image="cinder-volume",
        user="cinder",
        quorums=("ceph-mon",),
        command=" ".join(["sh", "/usr/local/bin/ceph_account.sh", *pools]),
        written=(
            ceph_client.configuration(wiring),
            TextFile(_CEPH_ADMINISTRATOR.name, (ceph_client.ADMINISTRATOR,)),
            TextFile("ceph_account.sh", (_script("ceph_account.sh"),)),
            TextFile("account.keyring", tuple(entries)),
        ),
        files=(
            ceph_client.CONFIGURATION,
            _CEPH_ADMINISTRATOR,
            ConfigurationFile("ceph_account.sh", "/usr/local/bin/ceph_account.sh"),
            ConfigurationFile("account.keyring", "/etc/ceph/account.keyring"),
        ),
    )
    return (job,)


def manage(project: str, image: str, name: str, command: str, files: Sequence[ConfigurationFile]) -> JobDefinition:
    """Returns a job that runs a project's own management tool, such as nova-manage, with the project's files."""
    return JobDefinition(
        name=f"{project}-{name}",
        image=image,
        user=project,
        command=command,
        files=tuple(files),
        long_statements=True,
    )


def migration(
    wiring: Wiring, project: str, image: str, command: str, files: Sequence[ConfigurationFile]
) -> JobDefinition:
    """Returns the job that creates or upgrades the schemas of a project's databases with the project's `command`.

    The job repeats a first migration that was interrupted.
    """
    document: Mapping[str, object] = {
        "host": wiring.proxy(project),
        "port": MYSQL,
        "user": wiring.account(project, "database"),
        "databases": wiring.records[project].databases,
    }
    words = "python3 /usr/local/bin/migration.py /etc/quorate/migration.json"
    own = (
        ConfigurationFile("migration.py", "/usr/local/bin/migration.py"),
        ConfigurationFile("migration.json", "/etc/quorate/migration.json"),
    )
    return replace(
        manage(project, image, "db-sync", f"{words} {command}", (*files, *own)),
        written=(TextFile("migration.py", (_script("migration.py"),)), TextFile("migration.json", (_json(document),))),
        secrets=(("PASSWORD", Secret(f"{project}/database")),),
        quorums=(wiring.galera(project),),
    )


def _script(name: str) -> str:
    return (_SCRIPTS / name).read_text(encoding="utf-8")


def _json(document: Mapping[str, object]) -> str:
    return json.dumps(document, indent=2) + "\n"
