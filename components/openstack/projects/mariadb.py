"""MariaDB with Galera, and ProxySQL in front: 'might require specialized load balancer (proxysql)' (004, 5.3.16).

Clients connect to the Service `proxysql`, members to each other by their own names. ProxySQL is a workload of its own:
changing its configuration restarts no member of the database.
"""

from components.openstack.definition import (
    MYSQL,
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
)
