"""Broken stacks with unsafe quorums: their sizes, the placement of members, disruption budgets and rollouts."""

from collections.abc import Callable

from tests.broken.broken import Broken, Props, apart_terms, on_server, pod, replicas


def _may_share_a_server(props: Props) -> None:
    terms = apart_terms(props)
    terms[:] = [term for term in terms if term["topologyKey"] != "quorate.io/server"]


def _spread_with_skew(skew: int) -> Callable[[Props], None]:
    """A required spread over physical hosts in place of anti-affinity."""

    def break_(props: Props) -> None:
        labels = props["spec"]["selector"]
        apart_terms(props).clear()
        pod(props)["topologySpreadConstraints"] = [
            {
                "topologyKey": "quorate.io/server",
                "maxSkew": skew,
                "whenUnsatisfiable": "DoNotSchedule",
                "labelSelector": labels,
            }
        ]

    return break_


def _bound_to(node: str) -> Callable[[Props], None]:
    def break_(props: Props) -> None:
        pod(props)["nodeName"] = node

    return break_


def _one_claim(props: Props) -> None:
    (template,) = props["spec"].pop("volumeClaimTemplates")
    claim = {"name": template["metadata"]["name"], "persistentVolumeClaim": {"claimName": "queues"}}
    pod(props)["volumes"] = [*pod(props).get("volumes", []), claim]


def _no_row(props: Props) -> None:
    for holder in (props, props["spec"]["template"]):
        holder["metadata"]["annotations"]["quorate.io/row"] = "none"


def _on_disk_of(node: str) -> Callable[[Props], None]:
    def break_(props: Props) -> None:
        for term in props["spec"]["nodeAffinity"]["required"]["nodeSelectorTerms"]:
            for expression in term["matchExpressions"]:
                expression["values"] = [node]

    return break_


def _other_pods(props: Props) -> None:
    props["spec"]["selector"]["matchLabels"] = {"app": "nothing-has-this"}


def _budget(field: str, value: int) -> Callable[[Props], None]:
    def break_(props: Props) -> None:
        for key in ("minAvailable", "maxUnavailable"):
            props["spec"].pop(key, None)
        props["spec"][field] = value

    return break_


def _other_names(props: Props) -> None:
    props["spec"]["selector"] = {"app": "nothing-has-this"}


def _without_claims(props: Props) -> None:
    del props["spec"]["volumeClaimTemplates"]


def _claims_end(props: Props) -> None:
    props["spec"]["persistentVolumeClaimRetentionPolicy"] = {"whenScaled": "Delete", "whenDeleted": "Retain"}


def _configured(text: str, file: str = "rabbitmq.conf") -> Callable[[Props], None]:
    def break_(props: Props) -> None:
        props["data"][file] = text

    return break_


def _without_files(props: Props) -> None:
    pod(props)["volumes"] = [each for each in pod(props)["volumes"] if "configMap" not in each]
    for container in pod(props)["containers"]:
        container["volumeMounts"] = [each for each in container["volumeMounts"] if "kolla" not in each["name"]]


def _alive_by(*command: str) -> Callable[[Props], None]:
    def break_(props: Props) -> None:
        pod(props)["containers"][0]["livenessProbe"] = {"exec": {"command": list(command)}}

    return break_


def _without_requests(props: Props) -> None:
    del pod(props)["containers"][0]["resources"]


SPLIT_BRAIN = """\
[mysqld]
wsrep_on = ON
wsrep_cluster_address = gcomm://mysqld-0.mysqld-members,mysqld-1.mysqld-members,mysqld-2.mysqld-members
wsrep_provider_options = "gcache.size=1G;pc.ignore_sb=true"
"""
UNFLUSHED = """\
[mysqld]
wsrep_on = ON
wsrep_cluster_address = gcomm://mysqld-0.mysqld-members,mysqld-1.mysqld-members,mysqld-2.mysqld-members
innodb_flush_log_at_trx_commit = 2
"""
UNSYNCED = "[{ra, [{wal_sync_method, none}]}]."
ONE_COPY = "[mon]\nosd_pool_default_size = 3\nosd_pool_default_min_size = 1\n"
WRITERS = """\
mysql_galera_hostgroups =
(
  { writer_hostgroup=10, backup_writer_hostgroup=20, reader_hostgroup=30, offline_hostgroup=40, max_writers=3 }
)
"""


def _in_rack(rack: str) -> Callable[[Props], None]:
    def break_(props: Props) -> None:
        props["rack"] = rack
        props["labels"] |= {"quorate.io/rack": rack, "topology.kubernetes.io/zone": rack}

    return break_


def _partition(props: Props) -> None:
    props["spec"]["updateStrategy"]["rollingUpdate"] = {"partition": 2}


def _all_at_once(props: Props) -> None:
    props["spec"]["strategy"] = {"type": "Recreate"}


def _surge(props: Props) -> None:
    props["spec"]["strategy"]["rollingUpdate"] = {"maxSurge": 1, "maxUnavailable": 0}


CASES = [
    Broken(
        "Galera of two",
        (("StatefulSet", "cloud-openstack-mariadb-mysqld", replicas(2)),),
        {
            "instances-match-row": {"cloud-openstack-mariadb-mysqld"},
            "galera-size": {"cloud-openstack-mariadb-mysqld"},
            "budget-keeps-majority": {"cloud-openstack-mariadb-mysqld"},
        },
    ),
    Broken(
        "RabbitMQ of four",
        (("StatefulSet", "cloud-openstack-rabbitmq", replicas(4)),),
        {
            "quorum-larger-than-row": {"cloud-openstack-rabbitmq"},
            "rabbitmq-size": {"cloud-openstack-rabbitmq"},
            "replicas-fit-nodes": {"cloud-openstack-rabbitmq"},
            "one-member-per-server": {"cloud-openstack-rabbitmq"},
        },
    ),
    Broken(
        "a spread that allows two members on one server",
        (("StatefulSet", "cloud-openstack-mariadb-mysqld", _spread_with_skew(2)),),
        {
            "one-instance-per-node": {"cloud-openstack-mariadb-mysqld"},
            "one-member-per-server": {"cloud-openstack-mariadb-mysqld"},
            "quorum-survives-host": {"cloud-openstack-mariadb-mysqld"},
            "quorum-survives-rack": {"cloud-openstack-mariadb-mysqld"},
            "room-in-any-order": {"cloud-ctl04"},
        },
    ),
    Broken(
        "members bound to one node past the scheduler",
        (("StatefulSet", "cloud-openstack-rabbitmq", _bound_to("ctl01")),),
        {
            "one-instance-per-node": {"cloud-openstack-rabbitmq"},
            "one-member-per-server": {"cloud-openstack-rabbitmq"},
            "quorum-survives-host": {"cloud-openstack-rabbitmq"},
            "quorum-survives-rack": {"cloud-openstack-rabbitmq"},
        },
    ),
    Broken(
        "one claim for three members",
        (("StatefulSet", "cloud-openstack-rabbitmq", _one_claim),),
        {"stateful-keeps-data": {"cloud-openstack-rabbitmq"}},
    ),
    Broken(
        "a Galera of two whose annotation names no row",
        (
            ("StatefulSet", "cloud-openstack-mariadb-mysqld", replicas(2)),
            ("StatefulSet", "cloud-openstack-mariadb-mysqld", _no_row),
        ),
        {
            "galera-size": {"cloud-openstack-mariadb-mysqld"},
            "budget-keeps-majority": {"cloud-openstack-mariadb-mysqld"},
            "every-row-has-workload": {"cloud"},
        },
    ),
    Broken(
        "volumes that are all on one node",
        (
            ("PersistentVolume", "cloud-openstack-mariadb-mysqld-ctl05", _on_disk_of("ctl04")),
            ("PersistentVolume", "cloud-openstack-mariadb-mysqld-ctl06", _on_disk_of("ctl04")),
        ),
        {
            "replicas-fit-nodes": {"cloud-openstack-mariadb-mysqld"},
            "one-member-per-server": {"cloud-openstack-mariadb-mysqld"},
        },
    ),
    Broken(
        "a budget that selects nothing",
        (("PodDisruptionBudget", "cloud-openstack-rabbitmq", _other_pods),),
        {"quorum-has-budget": {"cloud-openstack-rabbitmq"}, "budget-guards-one-workload": {"cloud-openstack-rabbitmq"}},
    ),
    Broken(
        "a budget that gives the majority away",
        (("PodDisruptionBudget", "cloud-openstack-mariadb-mysqld", _budget("maxUnavailable", 2)),),
        {"budget-keeps-majority": {"cloud-openstack-mariadb-mysqld"}},
    ),
    Broken(
        "a budget that no drain can pass",
        (("PodDisruptionBudget", "cloud-openstack-ceph-mon", _budget("minAvailable", 3)),),
        {"drain-can-finish": {"cloud-openstack-ceph-mon"}},
    ),
    Broken(
        "a surge into a full pool",
        (("Deployment", "cloud-openstack-keystone", _surge),),
        {"rollout-can-finish": {"cloud-openstack-keystone"}},
    ),
    Broken(
        "partitions that heal themselves",
        (
            (
                "ConfigMap",
                "cloud-openstack-rabbitmq-kolla",
                _configured("cluster_partition_handling = autoheal\ndefault_queue_type = quorum\n"),
            ),
        ),
        {"rabbitmq-pauses-minority": {"cloud-openstack-rabbitmq"}},
    ),
    Broken(
        "several managers of a volume",
        (
            (
                "ConfigMap",
                "cloud-openstack-cinder-volume-kolla",
                _configured('{"command": "cinder-volume --config-file /etc/cinder/cinder.conf"}', "config.json"),
            ),
        ),
        {"one-manager-per-volume": {"cloud-openstack-cinder-volume"}},
    ),
    Broken(
        "classic queues",
        (
            (
                "ConfigMap",
                "cloud-openstack-rabbitmq-kolla",
                _configured("cluster_partition_handling = pause_minority\n"),
            ),
        ),
        {"rabbitmq-quorum-queues": {"cloud-openstack-rabbitmq"}},
    ),
    Broken(
        "RabbitMQ without a configuration",
        (("StatefulSet", "cloud-openstack-rabbitmq", _without_files),),
        {
            "rabbitmq-pauses-minority": {"cloud-openstack-rabbitmq"},
            "rabbitmq-quorum-queues": {"cloud-openstack-rabbitmq"},
        },
    ),
    Broken(
        "a database that ignores split brain",
        (("ConfigMap", "cloud-openstack-mariadb-mysqld-kolla", _configured(SPLIT_BRAIN, "my.cnf")),),
        {"galera-keeps-quorum": {"cloud-openstack-mariadb-mysqld"}},
    ),
    Broken(
        "a database that acknowledges commits before they are on the disk",
        (("ConfigMap", "cloud-openstack-mariadb-mysqld-kolla", _configured(UNFLUSHED, "my.cnf")),),
        {"galera-flushes-commits": {"cloud-openstack-mariadb-mysqld"}},
    ),
    Broken(
        "queues whose log is not synced",
        (("ConfigMap", "cloud-openstack-rabbitmq-kolla", _configured(UNSYNCED, "advanced.config")),),
        {"rabbitmq-syncs-log": {"cloud-openstack-rabbitmq"}},
    ),
    Broken(
        "Ceph that acknowledges one copy",
        (("ConfigMap", "cloud-openstack-ceph-mon-config", _configured(ONE_COPY, "ceph.conf")),),
        {"ceph-acknowledges-two-copies": {"cloud-openstack-ceph-mon-config"}},
    ),
    Broken(
        "writes on every member of the database",
        (("ConfigMap", "cloud-openstack-mariadb-proxysql-kolla", _configured(WRITERS, "proxysql.cnf")),),
        {"proxysql-single-writer": {"cloud-openstack-mariadb-proxysql-kolla"}},
    ),
    Broken(
        "a minority that is restarted again and again",
        (("StatefulSet", "cloud-openstack-rabbitmq", _alive_by("rabbitmq-diagnostics", "-q", "check_running")),),
        {"liveness-asks-the-member": {"cloud-openstack-rabbitmq"}},
    ),
    Broken(
        "a member without requests",
        (("StatefulSet", "cloud-openstack-mariadb-mysqld", _without_requests),),
        {"members-request-resources": {"cloud-openstack-mariadb-mysqld"}},
    ),
    Broken(
        "a database that forgets",
        (("StatefulSet", "cloud-openstack-mariadb-mysqld", _without_claims),),
        {"stateful-keeps-data": {"cloud-openstack-mariadb-mysqld"}},
    ),
    Broken(
        "claims of Galera that end with the replica",
        (("StatefulSet", "cloud-openstack-mariadb-mysqld", _claims_end),),
        {"stateful-keeps-data": {"cloud-openstack-mariadb-mysqld"}},
    ),
    Broken(
        "members whose names are unknown",
        (("Service", "cloud-openstack-rabbitmq-members", _other_names),),
        {"members-find-each-other": {"cloud-openstack-rabbitmq"}},
    ),
    Broken(
        "half of a quorum on one server",
        (
            ("Machine", "cloud-ctl05", on_server("ctl04")),
            ("StatefulSet", "cloud-openstack-mariadb-mysqld", _may_share_a_server),
        ),
        {
            "one-member-per-server": {"cloud-openstack-mariadb-mysqld", "cloud-openstack-ceph-mon"},
            "replicas-fit-nodes": {"cloud-openstack-ceph-mon"},
            "quorum-survives-host": {"cloud-openstack-mariadb-mysqld"},
        },
    ),
    Broken(
        "all of keystone's nodes on one server",
        (
            ("Machine", "cloud-ctl08", on_server("ctl07")),
            ("Machine", "cloud-ctl09", on_server("ctl07")),
        ),
        {
            "service-survives-host": {
                "cloud-openstack-keystone",
                "cloud-openstack-neutron-server",
                "cloud-openstack-neutron-dhcp-agent",
                "cloud-openstack-neutron-l3-agent",
                "cloud-openstack-neutron-metadata-agent",
                # These may run elsewhere too, and nothing makes them.
                "cloud-openstack-nova-api",
                "cloud-openstack-nova-scheduler",
                "cloud-openstack-nova-conductor",
                "cloud-openstack-glance-api",
                "cloud-openstack-cinder-api",
                "cloud-openstack-cinder-scheduler",
                "cloud-openstack-cinder-volume",
                "cloud-openstack-placement-api",
                "cloud-openstack-prometheus-influxdb-grafana",
            },
        },
    ),
    Broken(
        "half of a quorum in one rack",
        (("Machine", "cloud-ctl05", _in_rack("r4")),),
        {
            "machine-facts-match-files": {"cloud-ctl05"},
            "quorum-survives-rack": {
                "cloud-openstack-mariadb-mysqld",
                "cloud-openstack-ceph-mon",
                "cloud-openstack-opensearch-elasticsearch-kibana",
            },
        },
    ),
    Broken(
        "an update that leaves members behind",
        (("StatefulSet", "cloud-openstack-mariadb-mysqld", _partition),),
        {"rollout-reaches-all": {"cloud-openstack-mariadb-mysqld"}},
    ),
    Broken(
        "an update that ends all instances",
        (("Deployment", "cloud-openstack-keystone", _all_at_once),),
        {"rollout-keeps-service": {"cloud-openstack-keystone"}},
    ),
]
