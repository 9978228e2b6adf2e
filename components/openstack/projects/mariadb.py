"""MariaDB with Galera, and ProxySQL in front: 'might require specialized load balancer (proxysql)' (004, 5.3.16).

Clients connect to the Service `proxysql`, members to each other by their own names. ProxySQL is a workload of its own:
changing its configuration restarts no member of the database. scripts/galera/ decides which member bootstraps.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from components.openstack import scripts
from components.openstack.config.layers import ConfigFile, Layer, Level, Secret, TextFile, WrittenFile
from components.openstack.config.ports import MYSQL
from components.openstack.config.wiring import Wiring
from components.openstack.definition import (
    Claim,
    Container,
    File,
    Http,
    Port,
    ProcessDefinition,
    ProjectDefinition,
    Tcp,
)
from components.openstack.projects import proxysql

FIRST_MEMBERS = 3
"""Members that a new cluster waits for. The list does not grow with the size, so that a new member restarts no other;
the start script finds later members by the headless Service."""

_MODULES = scripts.modules("galera")
_INITIAL = File("initial.sql", "/etc/mysql/initial.sql")
_RUN = "env PYTHONPATH=/etc/mysql python3 -m galera"
_MANUAL = "https://mariadb.com/docs/galera-cluster/galera-management/configuration/configuring-mariadb-galera-cluster"
_PARAMETERS = "https://galeracluster.com/library/documentation/galera-parameters.html"
_SST = (
    "https://mariadb.com/docs/galera-cluster/high-availability/state-snapshot-transfers-ssts-in-galera-cluster/"
    "mariadb-backup-sst-method"
)


def _configure(wiring: Wiring, name: str) -> tuple[WrittenFile, ...]:
    if name == PROXYSQL.name:
        return proxysql.files(wiring)
    if name != MYSQLD.name:
        return ()
    # Executed once, by the member that bootstraps: the account of the jobs that make all others, and the one with which
    # ProxySQL asks for a member's state.
    root = Secret("mysqld/root", "CREATE USER root@'%' IDENTIFIED BY '{}';\n")
    rights = "GRANT ALL PRIVILEGES ON *.* TO root@'%' WITH GRANT OPTION;\n"
    monitor = Secret(proxysql.MONITOR.name, "CREATE USER monitor@'%' IDENTIFIED BY '{}';\n")
    return (
        ConfigFile("my.cnf", "ini", tuple(_layers(wiring.members(name)[:FIRST_MEMBERS], wiring.memory[name]))),
        *(TextFile(f"galera-{module}", (text,)) for module, text in _MODULES.items()),
        TextFile(_INITIAL.name, (root, rights, monitor)),
    )


def _layers(first: Sequence[str], memory: int) -> Iterator[Layer]:
    # Mandatory for Galera. By default wsrep_on is OFF, and each member would be a database by itself.
    yield _layer(
        _MANUAL,
        binlog_format="ROW",
        default_storage_engine="InnoDB",
        innodb_autoinc_lock_mode=2,
        wsrep_on="ON",
        wsrep_cluster_name="openstack",
        # Never gcomm:// alone: a member that starts with it begins a cluster of its own.
        wsrep_cluster_address=f"gcomm://{','.join(first)}",
    )
    # The directory of Debian's package galera-4, which Kolla's image contains.
    yield _layer(
        "https://packages.debian.org/trixie/amd64/galera-4/filelist", wsrep_provider="/usr/lib/galera/libgalera_smm.so"
    )
    # Only a majority of the members serves (004, 2.2.5): Galera's defaults, written to be seen. Without pc.recovery
    # the start script alone decides who bootstraps. 256 MiB of transactions spare a member that restarts the transfer
    # of everything (project figure, unmeasured; default: 128 MiB).
    yield _layer(
        _PARAMETERS,
        wsrep_provider_options="gcache.size=256M;pc.ignore_quorum=false;pc.ignore_sb=false;pc.recovery=false",
    )
    # The user of the operating system needs no password: there is no secret to give away in a list of processes.
    yield _layer(_SST, wsrep_sst_method="mariabackup", wsrep_sst_auth="mysql:")
    # The record of the last primary component, which a start after a full stop depends on.
    yield _layer("scripts/galera/", wsrep_notify_cmd=f"{_RUN} view")
    # Files of the container, not of the data: a state transfer empties the data directory.
    yield _layer("scripts/galera/", socket="/tmp/mysqld.sock", pid_file="/tmp/mysqld.pid")  # noqa: S108
    # Half of what the container may use: connections, write sets and a state transfer need memory as well (project
    # figure, unmeasured; the manual goes up to 80 % on a server of its own).
    yield _layer(
        "https://mariadb.com/docs/server/server-usage/storage-engines/innodb/innodb-buffer-pool",
        innodb_buffer_pool_size=f"{memory // 2}M",
    )
    # A member must not wait for the DNS at every connection. The number of connections is Kolla's own.
    yield _layer(
        "https://mariadb.com/docs/server/server-management/variables-and-modes/server-system-variables",
        skip_name_resolve="ON",
    )
    yield _layer("kolla-ansible, ansible/roles/mariadb/templates/galera.cnf.j2", max_connections=10000)


def _layer(source: str, **options: str | int) -> Layer:
    return Layer(Level.PROJECT, source, {"mysqld": options})


MYSQLD = ProcessDefinition(
    name="mysqld",
    project="mariadb",
    kind="StatefulSet",
    uid=42434,
    claim=Claim(production=200, lab=10),
    grace=300,
    containers=(
        Container(
            name="mariadb",
            image="mariadb-server",
            user="mysql",
            command=_RUN,
            ports=(
                Port("mysql", MYSQL),
                Port("wsrep", 4567),
                Port("ist", 4568),
                Port("sst", 4444),
                Port("status", 9200),
            ),
            ready=Http("status", "/ready"),
            alive=Http("status", "/alive"),
            files=(
                File("my.cnf", "/etc/mysql/my.cnf"),
                _INITIAL,
                *(File(f"galera-{module}", f"/etc/mysql/galera/{module}") for module in _MODULES),
            ),
            data="/var/lib/mysql",
        ),
    ),
)

PROXYSQL = ProcessDefinition(
    name="proxysql",
    project="mariadb",
    kind="Deployment",
    uid=42487,
    exposed=((MYSQL, "proxysql"),),
    containers=(
        Container(
            name="proxysql",
            image="proxysql",
            user="proxysql",
            command=f"sh {proxysql.START.path}",
            ports=(Port("proxysql", proxysql.PORT),),
            ready=Tcp("proxysql"),
            alive=Tcp("proxysql"),
            files=(proxysql.MEMBERS, proxysql.ACCOUNTS, proxysql.START),
            owns=("/var/lib/proxysql",),
            # Kolla's own script would write another configuration.
            environment=(("KOLLA_SKIP_EXTEND_START", "1"),),
        ),
    ),
)

PROJECT = ProjectDefinition(
    name="mariadb",
    processes=(MYSQLD, PROXYSQL),
    configure=_configure,
)
