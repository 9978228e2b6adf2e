"""Backups of the database."""

from __future__ import annotations

from policy.rules.backups import backup_ends, database_is_backed_up
from tests.policy.cases import case
from tests.policy.world import UNKNOWN, cloud, config_map, quorum, scheduled

DATABASE = quorum("mysqld", "mysqld-server")


BY_FILE = scheduled("python3 /run/save.py").but(
    spec__jobTemplate__spec__template__spec__volumes=[{"name": "files", "configMap": {"name": "save"}}]
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
)
