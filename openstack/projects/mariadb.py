"""Configuration of Galera, ProxySQL and their exporter, and the actions that back up and restore a database."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta

from blueprint.openstack.projects.process_definition import ConfigurationFile
from blueprint.openstack.projects.records import own_records
from blueprint.stackfile.backup_settings import BackupCopies
from openstack import backup_store, scripts
from openstack.config.layers import ConfigFile, Layer, Origin, Secret, TextFile, WrittenFile
from openstack.config.wiring import GALERA, Wiring, beside_galera
from openstack.definition import ActionDefinition, ClaimMount, JobDefinition
from openstack.projects import proxysql

FIRST_MEMBERS = 3
"""Number of Galera members in the configured list, for which a new cluster waits. The list does not grow with the
cluster, so that adding a member does not restart the others. The start script finds further members by the headless
Service."""

_MYSQLD, _EXPORTER = own_records()["mariadb"].processes[0], "mysqld-exporter"
_MODULES = scripts.modules("galera")
_BACKUP_MODULES = scripts.modules("galera_backup")
_COPY = "galera_copies.py"
KEPT = 7
"""Number of complete database backups that are kept, one a day, so that an error noticed within a week can be undone.
Project figure; mariadb-operator keeps 30 days."""
PERIOD, COPY_PERIOD = timedelta(days=1), timedelta(hours=1)
"""Time between the beginnings of two scheduled backups of a cluster, and of two runs that copy what is new."""


TEST_AFTER = 7
"""Hours from the beginning of a backup to its test: after the time that it may take, so that no two use the volume."""


def schedule(number: int, after: int = 0) -> str:
    """Returns the schedule of a cluster's backups: once a day, at 02:17 UTC for the first cluster.

    At night, and not on the hour, when other schedules begin. Each further cluster has the next hour, because members
    of several clusters may share a node and its disk. Project figure. `number`: the cluster's place in the list.
    `after`: hours by which it is later.
    """
    return f"17 {(2 + number + after) % 24} * * *"


_BACKUP_DEADLINE = 6 * 3600
"""Seconds that a backup or a restoration may take: 200 GiB, the size of a production volume, at 10 MB/s."""
_RUN = "env PYTHONPATH=/etc/mysql python3 -m galera"
_MANUAL = "https://mariadb.com/docs/galera-cluster/galera-management/configuration/configuring-mariadb-galera-cluster"
_PARAMETERS = "https://galeracluster.com/library/documentation/galera-parameters.html"
_SST = (
    "https://mariadb.com/docs/galera-cluster/high-availability/state-snapshot-transfers-ssts-in-galera-cluster/"
    "mariadb-backup-sst-method"
)


def configure(wiring: Wiring, name: str) -> tuple[WrittenFile, ...]:
    for galera in wiring.galeras:
        if name == galera:
            return _member(wiring, galera)
        if name == beside_galera("proxysql", galera):
            return proxysql.files(wiring, name, galera)
        if name == beside_galera(_EXPORTER, galera):
            account = Secret(_metrics_account(galera), "[client]\nuser = metrics\npassword = {}\n")
            return (TextFile("mysqld-exporter.cnf", (account,)),)
    return ()


def _member(wiring: Wiring, galera: str) -> tuple[WrittenFile, ...]:
    """Returns the configuration files of the members of a Galera cluster."""
    # Executed once, by the member that bootstraps: creates the account of the jobs that create all other accounts, and
    # the accounts with which ProxySQL and mysqld-exporter monitor members. These two need no privilege.
    root = Secret(f"{galera}/root", "CREATE USER root@'%' IDENTIFIED BY '{}';\n")
    rights = "GRANT ALL PRIVILEGES ON *.* TO root@'%' WITH GRANT OPTION;\n"
    monitor = Secret(proxysql.monitor_account(galera), "CREATE USER monitor@'%' IDENTIFIED BY '{}';\n")
    metrics = Secret(_metrics_account(galera), "CREATE USER metrics@'%' IDENTIFIED BY '{}';\n")
    # The account and privileges that mariadb-backup needs (MariaDB's manual, mariadb-backup overview, authentication
    # and privileges).
    backup = Secret(_backup_account(galera), "CREATE USER backup@'%' IDENTIFIED BY '{}';\n")
    reads = "GRANT RELOAD, PROCESS, LOCK TABLES, BINLOG MONITOR ON *.* TO backup@'%';\n"
    return (
        ConfigFile("my.cnf", "ini", tuple(_layers(wiring, galera))),
        *(TextFile(f"galera-{module}", (text,)) for module, text in _MODULES.items()),
        TextFile("initial.sql", (root, rights, monitor, metrics, backup, reads)),
    )


def _metrics_account(galera: str) -> str:
    return f"{beside_galera(_EXPORTER, galera)}/database"


def _backup_account(galera: str) -> str:
    return f"{galera}/backup"


def _layers(wiring: Wiring, galera: str) -> Iterator[Layer]:
    first = wiring.members(galera)[:FIRST_MEMBERS]
    # Mandatory for Galera. By default wsrep_on is OFF, and each member would be a separate database.
    yield _layer(
        _MANUAL,
        binlog_format="ROW",
        default_storage_engine="InnoDB",
        innodb_autoinc_lock_mode=2,
        wsrep_on="ON",
        # A member does not get into a cluster of another name.
        wsrep_cluster_name="openstack" if galera == GALERA.definition else galera,
        # The address must not be gcomm:// alone: a member that starts with it bootstraps a new cluster.
        wsrep_cluster_address=f"gcomm://{','.join(first)}",
    )
    # The directory of Debian's package galera-4, which Kolla's image contains.
    yield _layer(
        "https://packages.debian.org/trixie/amd64/galera-4/filelist", wsrep_provider="/usr/lib/galera/libgalera_smm.so"
    )
    # Only a majority of the members serves (004, 2.2.5): Galera's defaults, set explicitly. Without pc.recovery, the
    # start script alone decides which member bootstraps. With a cache of 256 MiB of transactions, a restarted member
    # rarely needs a full state transfer (project figure, not measured; default: 128 MiB).
    yield _layer(
        _PARAMETERS,
        wsrep_provider_options="gcache.size=256M;pc.ignore_quorum=false;pc.ignore_sb=false;pc.recovery=false",
    )
    # A commit is acknowledged when it is on the disk, and a page that was half written is restored: MariaDB's defaults,
    # set explicitly. With 0 or 2, the power cut of all servers loses the last second of acknowledged transactions
    # (docs/durability.md). sync_binlog counts where a stack file turns the binary log on; its default is 0.
    yield _layer(
        "https://mariadb.com/docs/server/server-usage/storage-engines/innodb/innodb-system-variables",
        innodb_flush_log_at_trx_commit=1,
        innodb_doublewrite="ON",
        sync_binlog=1,
    )
    # By default, from 11.6 on, a transaction that locks a row which another one has changed fails with error 1020, and
    # Nova does not always repeat it: an instance that was being deleted became ERROR in the lab.
    yield _layer("https://bugs.launchpad.net/nova/+bug/2116186", innodb_snapshot_isolation="OFF")
    # The operating system's user needs no password, so that the process list shows no secret.
    yield _layer(_SST, wsrep_sst_method="mariabackup", wsrep_sst_auth="mysql:")
    # Records the last primary component, which is needed to start after a full stop.
    yield _layer("scripts/galera/", wsrep_notify_cmd=f"{_RUN} view")
    # Outside the data directory, which a state transfer empties.
    yield _layer("scripts/galera/", socket="/tmp/mysqld.sock", pid_file="/tmp/mysqld.pid")  # noqa: S108
    # Half of the container's memory limit: connections, write sets and state transfers need memory too (project
    # figure, not measured; the manual recommends up to 80 % on a dedicated server).
    yield _layer(
        "https://mariadb.com/docs/server/server-usage/storage-engines/innodb/innodb-buffer-pool",
        innodb_buffer_pool_size=f"{wiring.memory[galera] // 2}M",
    )
    # A member must not wait for DNS when a client connects.
    yield _layer(
        "https://mariadb.com/docs/server/server-management/variables-and-modes/server-system-variables",
        skip_name_resolve="ON",
    )
    # Kolla's default.
    yield _layer("kolla-ansible, ansible/roles/mariadb/templates/galera.cnf.j2", max_connections=10000)


def _layer(source: str, **options: str | int) -> Layer:
    return Layer(Origin.PROJECT, source, {"mysqld": options})


def actions(wiring: Wiring) -> tuple[ActionDefinition, ...]:
    found = [action for number in range(len(wiring.galeras)) for action in _backups(wiring, number)]
    if wiring.copies:
        found += [_copies(galera, wiring.copies, number) for number, galera in enumerate(wiring.galeras)]
    return tuple(found)


def age_limit(action: ActionDefinition) -> timedelta:
    """Returns the age from which the last success of a scheduled action is late: its period, and what it may take."""
    return (COPY_PERIOD if action.copies else PERIOD) + timedelta(seconds=action.deadline)


def saved_member(wiring: Wiring, galera: str) -> str:
    """Returns the DNS name of the member whose data is backed up, and which a restoration replaces.

    It has a high ordinal, because ProxySQL sends writes to the member with the lowest.
    """
    return wiring.members(galera)[:FIRST_MEMBERS][-1]


def _backups(wiring: Wiring, number: int) -> tuple[ActionDefinition, ...]:
    galera = wiring.galeras[number]
    # The scheduler places the backup's pod on the node of this member's volume.
    member = saved_member(wiring, galera)
    name, _, domain = member.partition(".")
    document = {"member": member, "domain": domain, "members": len(wiring.members(galera)), "keep": KEPT}
    data = ClaimMount(name="data", claim=f"data-{name}", path="/var/lib/mysql")
    backups = _backup_claim(galera)
    account = ("[client]\nuser = backup\npassword = ", Secret(_backup_account(galera)), "\n")
    settings = TextFile("backup.json", (json.dumps(document) + "\n",))
    return (
        ActionDefinition(
            job=_backup_job(galera, "backup", (settings, TextFile("backup.cnf", account))),
            beside=galera,
            purpose=f"Back up the database from {name}, prepare the backup and check that it can be opened",
            requires="whole",
            schedule=schedule(number),
            mounts=(replace(data, read_only=True), backups),
            attempts=3,
            deadline=_BACKUP_DEADLINE,
        ),
        ActionDefinition(
            job=_backup_job(galera, "backup-test", (settings,)),
            beside=galera,
            purpose="Restore the newest backup into a scratch copy, start mariadbd on it and compare its content",
            schedule=schedule(number, TEST_AFTER),
            tests=f"{galera}-backup",
            mounts=(backups,),
            deadline=_BACKUP_DEADLINE,
        ),
        ActionDefinition(
            job=_backup_job(galera, "restore", (settings,)),
            beside=galera,
            purpose=f"Replace the data of {name} by a backup; the other members take it from there",
            requires="stopped",
            mounts=(data, backups),
            deadline=_BACKUP_DEADLINE,
        ),
    )


def _backup_claim(galera: str) -> ClaimMount:
    """Returns the mount of the volume with a cluster's backups."""
    claim = replace(_MYSQLD, name=galera).backup_claim_name
    return ClaimMount(name="backups", claim=claim, path="/var/lib/mysql-backup")


def _copies(galera: str, copies: BackupCopies, number: int) -> ActionDefinition:
    """Returns the action that puts a cluster's backups into an object store, at most an hour after they are complete.

    It is not part of the backup's Job, so that a copy that fails is not a backup that fails.
    """
    directory = "/etc/mysql/backup-store"
    programs = (_COPY, "backup_store.sh")
    stored = {f"backup-store-{name}": (name, parts) for name, parts in backup_store.parts(copies).items()}
    job = JobDefinition(
        name=f"{galera}-backup-copy",
        image="mariadb-server",
        user="mysql",
        quorums=(galera,),
        command=f"env STORE={directory} python3 {directory}/{_COPY} {galera}",
        written=(
            *(TextFile(program, (scripts.text(program),)) for program in programs),
            *(TextFile(file, parts) for file, (_, parts) in stored.items()),
        ),
        files=(
            *(ConfigurationFile(program, f"{directory}/{program}") for program in programs),
            *(ConfigurationFile(file, f"{directory}/{name}") for file, (name, _) in stored.items()),
        ),
    )
    return ActionDefinition(
        job=job,
        beside=galera,
        purpose="Encrypt new backups of the database and put them into the object store",
        schedule=f"{(47 + number) % 60} * * * *",
        copies=f"{galera}-backup",
        mounts=(_backup_claim(galera),),
        deadline=_BACKUP_DEADLINE,
    )


def _backup_job(galera: str, name: str, files: tuple[TextFile, ...]) -> JobDefinition:
    modules = {f"galera-backup-{module}": module for module in _BACKUP_MODULES}
    return JobDefinition(
        name=f"{galera}-{name}",
        image="mariadb-server",
        user="mysql",
        quorums=(galera,),
        command=f"env PYTHONPATH=/etc/mysql python3 -m galera_backup {name.removeprefix('backup-')}",
        written=(*(TextFile(file, (_BACKUP_MODULES[module],)) for file, module in modules.items()), *files),
        files=(
            *(ConfigurationFile(file, f"/etc/mysql/galera_backup/{module}") for file, module in modules.items()),
            *(ConfigurationFile(file.name, f"/etc/mysql/{file.name}") for file in files),
        ),
    )
