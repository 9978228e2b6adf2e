"""ProxySQL's configuration: all members of one Galera, one of which gets all writes and reads.

Members and hostgroups are in a ConfigMap, where the policy pack reads them; accounts are in a Secret object. ProxySQL
reads one file, so scripts/proxysql_start.sh joins the two texts. The syntax is libconfig's; the names are those of
ProxySQL's tables.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from blueprint.openstack.projects.records import own_records
from openstack import scripts
from openstack.config.layers import Secret, TextFile
from openstack.config.ports import MYSQL
from openstack.config.wiring import Wiring, beside_galera

PORT = own_records().port("proxysql", "proxysql")

_WRITERS, _BACKUP_WRITERS, _READERS, _OFFLINE = 10, 20, 30, 9999
"""Numbers of ProxySQL's hostgroups: the writer, members that may become the writer, readers (not used), and members
that are not Synced."""
_CONNECTIONS = 10_000
"""Maximum number of connections to the writer, which is divided among the instances of ProxySQL."""
_BEHIND = 100
"""Number of transactions in a member's receive queue above which the member gets no traffic
(https://proxysql.com/documentation/ galera-configuration). A project figure, not measured; ProxySQL's default 0
disables the check."""


def monitor_account(galera: str) -> str:
    """Returns the secret of the account with which ProxySQL monitors the members of a Galera cluster."""
    return f"{beside_galera('proxysql', galera)}/monitor"


def files(wiring: Wiring, name: str, galera: str) -> tuple[TextFile, ...]:
    """Returns the configuration files and the start script of a ProxySQL instance.

    `name`: the process in the plan. `galera`: the cluster that it leads to.
    """
    return (
        TextFile("proxysql-members.cnf", ("".join(_members(wiring, name, galera)),)),
        TextFile("proxysql-accounts.cnf", tuple(_accounts(wiring, name, galera))),
        TextFile("proxysql-start.sh", (scripts.text("proxysql_start.sh"),)),
    )


def _members(wiring: Wiring, name: str, galera: str) -> Iterator[str]:
    """Yields the configuration of Galera's members and hostgroups.

    One member is the writer, because Galera rejects conflicting writes. Members that are not Synced get no traffic
    (source 004, 5.1.2).
    """
    shared = _CONNECTIONS // max(1, wiring.instances[name])
    servers = [
        # Weights differ, so that all instances choose the same writer.
        f'  {{ address="{member}", port={MYSQL}, hostgroup={_WRITERS}, weight={100 - ordinal}, '
        f"max_connections={shared} }}"
        for ordinal, member in enumerate(wiring.members(galera))
    ]
    yield "mysql_servers =\n(\n" + ",\n".join(servers) + "\n)\n"
    yield (
        f"mysql_galera_hostgroups =\n(\n  {{ writer_hostgroup={_WRITERS}, backup_writer_hostgroup={_BACKUP_WRITERS}, "
        f"reader_hostgroup={_READERS}, offline_hostgroup={_OFFLINE}, active=1, max_writers=1, "
        f"writer_is_also_reader=0, max_transactions_behind={_BEHIND} }}\n)\n"
    )


def _accounts(wiring: Wiring, name: str, galera: str) -> Iterator[str | Secret]:
    yield 'datadir="/var/lib/proxysql"\n'
    # The admin interface listens only on a socket in the container.
    yield Secret(
        f"{name}/admin",
        'admin_variables =\n{\n  admin_credentials="admin:{}"\n  mysql_ifaces="/var/lib/proxysql/admin.sock"\n}\n',
    )
    yield f'mysql_variables =\n{{\n  interfaces="0.0.0.0:{PORT}"\n  threads={wiring.workers(name)}\n'
    yield f"  max_connections={_CONNECTIONS}\n"
    # A restarted member has a new address. By default, ProxySQL would use the old address for up to 5 minutes.
    yield "  monitor_local_dns_cache_refresh_interval=2000\n  monitor_local_dns_cache_ttl=5000\n"
    yield Secret(monitor_account(galera), '  monitor_username="monitor"\n  monitor_password="{}"\n}\n')
    yield "mysql_users =\n(\n"
    yield _user("root", Secret(f"{galera}/root"))
    for user in wiring.users(galera):
        yield ",\n"
        yield _user(wiring.account(user, "database"), Secret(f"{user}/database"))
        if previous := wiring.previous(user, "database"):
            yield ",\n"
            yield _user(wiring.account(user, "database", previous), Secret(f"{user}/database", generation=previous))
    yield "\n)\n"


def _user(name: str, password: Secret) -> Secret:
    return replace(password, text=f'  {{ username="{name}", password="{{}}", default_hostgroup={_WRITERS} }}')
