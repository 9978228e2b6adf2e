"""Backups of the database."""

from __future__ import annotations

from dataclasses import replace

from policy.rules.backups import backup_ends, backup_is_restored, database_is_backed_up
from tests.policy.cases import case
from tests.policy.world import UNKNOWN, cloud, companion, config_map, quorum, reading, restoring, scheduled, service

DATABASE = quorum("mysqld", "mysqld-server")


BY_FILE = scheduled("python3 /run/save.py").but(
    spec__jobTemplate__spec__template__spec__volumes=[{"name": "files", "configMap": {"name": "save"}}]
)

OWN = companion("own-db", "mysqld-server", kind="StatefulSet", image="registry/mariadb-server:1")
GALERAS = (DATABASE, OWN)
CLAIM = {"name": "data", "persistentVolumeClaim": {"claimName": "data-own-db-2"}}
PROXY = (
    reading(companion("own-proxysql", "mysqld-server"), "proxies"),
    service("own-proxysql"),
    config_map("proxies", {"proxysql.cnf": 'mysql_servers = ( { address="own-db-0.own-db-members" } )'}),
)

CASES = (
    case(database_is_backed_up, "a CronJob", cloud(), DATABASE, scheduled(), passes="mysqld"),
    case(database_is_backed_up, "a dump", cloud(), DATABASE, scheduled("mysqldump -A > /backup/all"), passes="mysqld"),
    case(
        database_is_backed_up,
        "a CronJob whose program is in a file",
        cloud(),
        DATABASE,
        BY_FILE,
        config_map("save", {"save.py": "run('mariadb-backup', '--backup')"}),
        passes="mysqld",
    ),
    case(
        database_is_backed_up,
        "none",
        cloud(),
        DATABASE,
        fails="mysqld",
        message="no CronJob that is not suspended backs up the database; expected one that runs mariadb-backup",
    ),
    case(database_is_backed_up, "a suspended one", cloud(), DATABASE, scheduled(suspend=True), fails="mysqld"),
    case(database_is_backed_up, "one elsewhere", cloud(), DATABASE, scheduled(namespace="other"), fails="mysqld"),
    case(database_is_backed_up, "one of something else", cloud(), DATABASE, scheduled("tar c /etc"), fails="mysqld"),
    case(
        database_is_backed_up,
        "two Galeras, and a backup of one by a member's name",
        cloud(),
        *GALERAS,
        scheduled("mariadb-backup --host mysqld-2.mysqld-members.openstack.svc"),
        passes="mysqld",
        fails="own-db",
        message="no CronJob that is not suspended backs up the database",
    ),
    case(
        database_is_backed_up,
        "two Galeras, and a backup of one by its claim",
        cloud(),
        *GALERAS,
        scheduled().but(spec__jobTemplate__spec__template__spec__volumes=[CLAIM]),
        passes="own-db",
        fails="mysqld",
    ),
    case(
        database_is_backed_up,
        "two Galeras, and a dump of one through its proxy",
        cloud(),
        *GALERAS,
        *PROXY,
        scheduled("mariadb-dump --all-databases --host own-proxysql"),
        passes="own-db",
        fails="mysqld",
    ),
    case(
        database_is_backed_up,
        "two Galeras, and a backup of each",
        cloud(),
        *GALERAS,
        scheduled("mariadb-backup --host mysqld-2"),
        replace(scheduled("mariadb-backup --host own-db-2").but(metadata__name="own"), name="own"),
        passes="mysqld own-db",
    ),
    case(
        database_is_backed_up,
        "two Galeras, and a backup that does not show of which",
        cloud(),
        *GALERAS,
        scheduled(),
        passes="mysqld own-db",
    ),
    case(
        database_is_backed_up,
        "a Galera in another namespace",
        cloud(),
        DATABASE,
        OWN.but(metadata__namespace="other"),
        scheduled("mariadb-backup --host own-db-2"),
        passes="mysqld",
        fails="own-db",
    ),
    case(database_is_backed_up, "a lab", cloud(profile="lab"), DATABASE),
    case(database_is_backed_up, "somebody else's database", DATABASE),
    case(database_is_backed_up, "no database", cloud(), quorum()),
    case(database_is_backed_up, "an unknown command", cloud(), DATABASE, scheduled(UNKNOWN), undecided="mysqld"),
    case(backup_ends, "with a deadline", scheduled(), passes="backup"),
    case(backup_ends, "replaced by the next one", scheduled(concurrencyPolicy="Replace"), passes="backup"),
    case(
        backup_ends,
        "without a deadline",
        scheduled().but(spec__jobTemplate__spec__activeDeadlineSeconds=None),
        fails="backup",
        message="activeDeadlineSeconds is not set (default: none); expected a number of seconds",
    ),
    case(
        backup_ends,
        "with runs that overlap",
        scheduled().but(spec__concurrencyPolicy=None),
        fails="backup",
        message="concurrencyPolicy is Allow (the default); expected Forbid or Replace",
    ),
    case(backup_ends, "a suspended one", scheduled(suspend=True)),
    case(backup_ends, "other CronJobs", scheduled("tar c /etc")),
    case(backup_ends, "an unknown policy", scheduled(concurrencyPolicy=UNKNOWN), undecided="backup"),
    case(database_is_backed_up, "only a test of backups", cloud(), DATABASE, restoring(), fails="mysqld"),
    case(backup_is_restored, "with a test", cloud(), scheduled(), restoring(), passes="backup"),
    case(
        backup_is_restored,
        "without a test",
        cloud(),
        scheduled(),
        fails="backup",
        message="no CronJob that is not suspended restores its backups; expected one that compares them",
    ),
    case(
        backup_is_restored,
        "a test that is suspended",
        cloud(),
        scheduled(),
        restoring().but(spec__suspend=True),
        fails="backup",
    ),
    case(backup_is_restored, "a test of other backups", cloud(), scheduled(), restoring("other"), fails="backup"),
    case(
        backup_is_restored,
        "a test in another namespace",
        cloud(),
        scheduled(),
        restoring().but(metadata__namespace="other"),
        fails="backup",
    ),
    case(backup_is_restored, "no backups", cloud(), restoring()),
    case(backup_is_restored, "a lab", cloud(profile="lab"), scheduled()),
    case(backup_is_restored, "somebody else's database", scheduled()),
    case(
        backup_is_restored,
        "a test whose backups are not known",
        cloud(),
        scheduled(),
        restoring(UNKNOWN),
        undecided="cloud",
    ),
)
