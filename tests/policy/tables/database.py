from policy.rules.database import galera_flushes_commits, galera_keeps_quorum, proxysql_single_writer
from tests.policy.cases import case
from tests.policy.world import UNKNOWN, Given, config_map, names, of_cluster, quorum, reading, workload

keeps, flushes, writer = galera_keeps_quorum, galera_flushes_commits, proxysql_single_writer

DATABASE = reading(quorum("mysqld", "mysqld-server"), "db")
GOOD = "!includedir /etc/mysql/conf.d/\n[mysqld]\nskip-name-resolve\nwsrep-on=ON # on\nwsrep_cluster_address = "
MEMBERS = "gcomm://db-0.db,db-1.db,db-2.db"


def configured(text: object, file: str = "galera.cnf") -> Given:
    return config_map("db", {file: text})


def options(provider: str) -> Given:
    return configured(f'{GOOD}{MEMBERS}\nwsrep_provider_options="{provider}"\n')


def running(*arguments: object, **variables: object) -> Given:
    """The database with these arguments and variables, and no file."""
    container = {
        "name": "db",
        "image": "mariadb:11.4",
        "args": list(arguments),
        "env": [{"name": name, "value": value} for name, value in variables.items()],
    }
    return quorum("mysqld", "mysqld-server").but(
        spec__template__spec__containers=[container], spec__template__spec__volumes=None
    )


SERVERS = 'mysql_servers = ( { address="db-0", hostgroup=10 }, # one\n { address="db-1", hostgroup=10 } )\n'
WATCHED = (
    "mysql_galera_hostgroups = ( { writer_hostgroup=10, backup_writer_hostgroup=20, reader_hostgroup=30, "
    "offline_hostgroup=9999%s } )\n"
)
OF_KOLLA = """\
mysql_servers:
  - {address: db-0, hostgroup: 0}
  - {address: db-1, hostgroup: 0}
mysql_galera_hostgroups:
  - {writer_hostgroup: 0, backup_writer_hostgroup: 1, reader_hostgroup: 2, offline_hostgroup: 9, max_writers: 2}
"""


def proxy(text: object, file: str = "proxysql.cnf") -> Given:
    return config_map("proxy", {file: text})


CASES = (
    case(keeps, "in an option file", DATABASE, configured(f"{GOOD}{MEMBERS}\n"), passes="mysqld"),
    case(
        keeps, "with options that keep the defaults", DATABASE, options("gcache.size=1G; pc.weight=1"), passes="mysqld"
    ),
    case(
        keeps,
        "in arguments",
        running("--wsrep_on=ON", f"--wsrep-cluster-address={MEMBERS}?pc.wait_prim=no"),
        passes="mysqld",
    ),
    case(
        keeps,
        "in a script that bootstraps under a condition",
        running(
            "-c",
            "if first; then mariadbd --wsrep_on=ON --wsrep_cluster_address=gcomm://; "
            f"else mariadbd --wsrep_on=ON --wsrep_cluster_address='{MEMBERS}'; fi",
        ),
        passes="mysqld",
    ),
    case(keeps, "in a variable", running(MARIADB_GALERA_CLUSTER_ADDRESS="gcomm://db.openstack.svc"), passes="mysqld"),
    case(
        keeps,
        "without any configuration, the defaults count",
        running(),
        fails="mysqld",
        message="wsrep_cluster_address is not set (default: empty); expected gcomm:// with the names of members",
    ),
    case(
        keeps,
        "replication is off by default",
        DATABASE,
        configured(f"[mysqld]\nwsrep_cluster_address={MEMBERS}\n"),
        fails="mysqld",
        message="wsrep_on is not set (default: OFF)",
    ),
    case(
        keeps,
        "an address without members",
        DATABASE,
        configured(f"{GOOD}gcomm://\n"),
        fails="mysqld",
        message="wsrep_cluster_address is gcomm:// in galera.cnf of ConfigMap db-config, which starts a new cluster",
    ),
    case(
        keeps,
        "an argument overrides the file",
        reading(running("--wsrep-cluster-address=gcomm://"), "db"),
        configured(f"{GOOD}{MEMBERS}\n"),
        fails="mysqld",
        message="which starts a new cluster",
    ),
    case(
        keeps,
        "every start bootstraps",
        reading(running("--wsrep-new-cluster"), "db"),
        configured(f"{GOOD}{MEMBERS}\n"),
        fails="mysqld",
        message="argument --wsrep-new-cluster starts a new cluster",
    ),
    case(
        keeps,
        "every start bootstraps, by a variable",
        reading(
            running(MARIADB_GALERA_CLUSTER_BOOTSTRAP="yes"),
            "db",
        ),
        configured(f"{GOOD}{MEMBERS}\n"),
        fails="mysqld",
        message="MARIADB_GALERA_CLUSTER_BOOTSTRAP starts a new cluster",
    ),
    case(
        keeps,
        "split brain ignored",
        DATABASE,
        options("gcache.size=1G; pc.ignore_sb = true"),
        fails="mysqld",
        message="pc.ignore_sb is true in galera.cnf of ConfigMap db-config; expected false",
    ),
    case(
        keeps, "quorum ignored", DATABASE, options("pc.ignore_quorum=YES"), fails="mysqld", message="pc.ignore_quorum"
    ),
    case(
        keeps, "bootstrap at every start", DATABASE, options("pc.bootstrap=1"), fails="mysqld", message="pc.bootstrap"
    ),
    case(
        keeps,
        "one member outweighs the others",
        names("mysqld", {"app": "db"}),
        [
            of_cluster(reading(quorum(f"db-{each}", "mysqld-server", replicas=1, labels={"app": "db"}), f"db-{each}"))
            for each in "abc"
        ],
        [
            config_map(f"db-{each}", {"x.cnf": f"{GOOD}{MEMBERS}\nwsrep_provider_options=pc.weight={weight}\n"})
            for each, weight in (("a", 2), ("b", 1), ("c", 1))
        ],
        fails="db-a",
        message="a member has weight 2 of 4 in all; expected less than half (default: 1 each)",
    ),
    case(
        keeps,
        "MySQL's own group replication, one member, or no database",
        reading(workload("db", image="mysql:8.4", replicas=3, labels={"app": "db"}), "group"),
        config_map("group", {"my.cnf": "[mysqld]\ngroup_replication_group_name=aa\n"}),
        quorum("single", "mysqld-server", replicas=1),
        workload("keystone"),
    ),
    case(keeps, "an unknown configuration", DATABASE, configured(UNKNOWN), undecided="mysqld"),
    case(keeps, "a weight that is none", DATABASE, options("pc.weight=heavy"), undecided="mysqld", message="'heavy'"),
    case(flushes, "by default", DATABASE, configured(f"{GOOD}{MEMBERS}\n"), passes="mysqld"),
    case(
        flushes,
        "written out",
        DATABASE,
        configured("[mysqld]\ninnodb-flush-log-at-trx-commit=1\ninnodb_doublewrite = ON\n"),
        passes="mysqld",
    ),
    *(
        case(
            flushes,
            f"flush {value}",
            DATABASE,
            configured(f"[mysqld]\ninnodb_flush_log_at_trx_commit = {value} # faster\n"),
            fails="mysqld",
            message=f"innodb_flush_log_at_trx_commit is {value} in galera.cnf of ConfigMap db-config; expected 1",
        )
        for value in "023"
    ),
    case(
        flushes,
        "an argument",
        running("--innodb-flush-log-at-trx-commit=0"),
        fails="mysqld",
        message="is 0 in the command of container db of StatefulSet mysqld; expected 1",
    ),
    case(
        flushes,
        "no doublewrite",
        DATABASE,
        configured("[mysqld]\ninnodb_doublewrite=off\n"),
        fails="mysqld",
        message="innodb_doublewrite is off in galera.cnf of ConfigMap db-config; expected ON",
    ),
    case(flushes, "one member", quorum("single", "mysqld-server", replicas=1)),
    case(flushes, "an unknown configuration", DATABASE, configured(UNKNOWN), undecided="mysqld"),
    case(writer, "one writer by default", proxy(SERVERS + WATCHED % ""), passes="proxy-config"),
    case(writer, "one writer", proxy(SERVERS + WATCHED % ", max_writers=1"), passes="proxy-config"),
    case(
        writer,
        "three writers",
        proxy(SERVERS + WATCHED % ", max_writers=3"),
        fails="proxy-config",
        message="proxysql.cnf: max_writers is 3; expected 1",
    ),
    case(writer, "in Kolla's form", proxy(OF_KOLLA, "proxysql.yaml"), fails="proxy-config", message="max_writers is 2"),
    case(
        writer,
        "nothing watches the members",
        proxy(SERVERS),
        fails="proxy-config",
        message="proxysql.cnf: hostgroup 10 balances over 2 servers; expected one writer at a time",
    ),
    case(writer, "watched, but not active", proxy(SERVERS + WATCHED % ", active=0"), fails="proxy-config"),
    case(
        writer,
        "no servers, another replication, or no ProxySQL",
        proxy("admin_variables = { }\n"),
        config_map("other", {"proxysql.cnf": SERVERS + "mysql_replication_hostgroups = ( { writer_hostgroup=10 } )"}),
        config_map("nova", {"nova.conf": "mysql_servers"}),
    ),
    case(writer, "an unknown configuration", proxy(UNKNOWN), undecided="proxy-config"),
    case(writer, "not valid YAML", proxy("a: [", "proxysql.yaml"), undecided="proxy-config", message="not valid YAML"),
)
