"""MariaDB with Galera, and ProxySQL in front of it in the same pod: 'might require specialized load balancer
(proxysql)' (004, 5.3.16). Clients reach ProxySQL; members reach each other by their own names.
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
    exposed=((MYSQL, "proxysql"),),
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
            share=7,
        ),
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
    processes=(MYSQLD,),
)
