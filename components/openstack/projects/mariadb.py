"""MariaDB with Galera, and ProxySQL in front: 'might require specialized load balancer (proxysql)' (004, 5.3.16).

Clients connect to the Service `proxysql`, members to each other by their own names. ProxySQL is a workload of its own:
changing its configuration restarts no member of the database.
"""

from components.openstack.config.layers import ConfigFile, Layer, Level
from components.openstack.config.ports import MYSQL
from components.openstack.definition import (
    Claim,
    Container,
    Exec,
    File,
    Port,
    ProcessDefinition,
    ProjectDefinition,
    Tcp,
)

HEALTHCHECK = "/etc/mysql/healthcheck.cnf"

_MANUAL = "https://mariadb.com/docs/galera-cluster/galera-management/configuration/configuring-mariadb-galera-cluster"
_FIRST_MEMBERS = ",".join(f"mysqld-{ordinal}.mysqld-members" for ordinal in range(3))
"""Later members join through one of them. The list does not follow the size, so that a new member restarts no other."""

CONFIGURATION = ConfigFile(
    "my.cnf",
    "ini",
    (
        # Mandatory for Galera. By default wsrep_on is OFF, and each member would be a database by itself.
        Layer(
            Level.PROJECT,
            _MANUAL,
            {
                "mysqld": {
                    "binlog_format": "ROW",
                    "default_storage_engine": "InnoDB",
                    "innodb_autoinc_lock_mode": 2,
                    "wsrep_on": "ON",
                    "wsrep_cluster_name": "openstack",
                    # Never gcomm:// alone: a member that starts with it begins a cluster of its own.
                    "wsrep_cluster_address": f"gcomm://{_FIRST_MEMBERS}",
                }
            },
        ),
        # The directory of Debian's package galera-4, which Kolla's image contains.
        Layer(
            Level.PROJECT,
            "https://packages.debian.org/trixie/amd64/galera-4/filelist",
            {"mysqld": {"wsrep_provider": "/usr/lib/galera/libgalera_smm.so"}},
        ),
        # Only a majority of the members serves (004, 2.2.5). These are Galera's defaults, written to be seen.
        Layer(
            Level.PROJECT,
            "https://galeracluster.com/library/documentation/galera-parameters.html",
            {"mysqld": {"wsrep_provider_options": "pc.ignore_quorum=false;pc.ignore_sb=false"}},
        ),
    ),
)

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
            command="/usr/bin/mariadbd-safe",
            ports=(Port("mysql", MYSQL), Port("wsrep", 4567), Port("ist", 4568), Port("sst", 4444)),
            ready=Exec(("/usr/bin/healthcheck.sh", "--defaults-file", HEALTHCHECK, "--connect", "--galera_online")),
            alive=Tcp("mysql"),
            files=(File("my.cnf", "/etc/mysql/my.cnf"), File("healthcheck.cnf", HEALTHCHECK)),
            data="/var/lib/mysql",
            patience=60,
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
            command="/usr/bin/proxysql -f --initial -D /var/lib/proxysql -c /etc/proxysql.cnf",
            ports=(Port("proxysql", 6033), Port("admin", 6032)),
            ready=Tcp("proxysql"),
            alive=Tcp("admin"),
            files=(File("proxysql.yaml", "/etc/proxysql/proxysql.yaml"),),
        ),
    ),
)

PROJECT = ProjectDefinition(
    name="mariadb",
    processes=(MYSQLD, PROXYSQL),
    configure=lambda _wiring, _process: (CONFIGURATION,),
)
