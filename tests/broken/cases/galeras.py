"""A further Galera beside the stack's own: rules evaluate it as a quorum of its own."""

from __future__ import annotations

from tests.broken.broken import Broken, Props, apart_terms, replicas

NEUTRON = "cloud-openstack-mariadb-neutron-mysqld"
PROXYSQL = "cloud-openstack-mariadb-neutron-proxysql"


def _anywhere(props: Props) -> None:
    apart_terms(props).clear()


def _of_its_own(props: Props) -> None:
    props["data"]["my.cnf"] = "[mysqld]\nwsrep_cluster_name = neutron-mysqld\n"


def _suspended(props: Props) -> None:
    props["spec"]["suspend"] = True


def _several_writers(props: Props) -> None:
    data = props["data"]
    data["proxysql-members.cnf"] = data["proxysql-members.cnf"].replace("max_writers=1", "max_writers=3")


CASES = [
    Broken(
        "a further Galera of two",
        (("StatefulSet", NEUTRON, replicas(2)),),
        {"galera-size": {NEUTRON}, "budget-keeps-majority": {NEUTRON}},
        stack="galeras",
    ),
    Broken(
        "a further Galera whose members may share a node",
        (("StatefulSet", NEUTRON, _anywhere),),
        {"one-instance-per-node": {NEUTRON}, "one-member-per-server": {NEUTRON}, "quorum-survives-host": {NEUTRON}},
        stack="galeras",
    ),
    Broken(
        "a further Galera whose members are separate databases",
        (("ConfigMap", f"{NEUTRON}-kolla", _of_its_own),),
        {"galera-keeps-quorum": {NEUTRON}},
        stack="galeras",
    ),
    Broken(
        "a further Galera without a backup",
        (("CronJob", f"{NEUTRON}-backup", _suspended),),
        {"database-is-backed-up": {NEUTRON}},
        stack="galeras",
    ),
    Broken(
        "a further Galera with three writers",
        (("ConfigMap", f"{PROXYSQL}-kolla", _several_writers),),
        {"proxysql-single-writer": {f"{PROXYSQL}-kolla"}},
        stack="galeras",
    ),
]
