from policy.rules.stateful import members_find_each_other, stateful_keeps_data
from tests.policy.cases import case
from tests.policy.world import (
    UNKNOWN,
    Given,
    Props,
    config_map,
    daemons,
    machines,
    names,
    of_cluster,
    quorum,
    reading,
    service,
    workload,
)

data, find = stateful_keeps_data, members_find_each_other

HAND_WRITTEN = workload("db", image="mariadb:11", labels={"app": "db"}, replicas=2)

DIRECTORY = {"name": "data", "hostPath": {"path": "/var/lib/mysql"}}
SHARED = {"name": "data", "persistentVolumeClaim": {"claimName": "shared"}}

CLAIM = {"metadata": {"name": "data"}, "spec": {"storageClassName": "local"}}


def keeping(*command: str, **env: object) -> Given:
    """A quorum with a claim at /data and an emptyDir at /wal."""
    mounts = [{"name": "data", "mountPath": "/data"}, {"name": "wal", "mountPath": "/wal"}]
    variables = [{"name": name, "value": value} for name, value in env.items()]
    container = {"name": "x", "image": "etcd:3", "command": list(command), "env": variables, "volumeMounts": mounts}
    pod = {"spec__template__spec__containers": [container]}
    volumes: list[Props] = [{"name": "wal", "emptyDir": {}}]
    return quorum().but(spec__volumeClaimTemplates=[CLAIM], spec__template__spec__volumes=volumes, **pod)


CASES = (
    case(data, "data in the claim", keeping("etcd", "--data-dir=/data/etcd", "--wal-dir", "/data"), passes="rabbitmq"),
    case(data, "a file of settings in the image", keeping("etcd", "--config-file=/etc/etcd.yaml"), passes="rabbitmq"),
    case(
        data,
        "a log beside the claim",
        keeping("etcd", "--data-dir=/data/etcd", "--wal-dir=/wal"),
        fails="rabbitmq",
        message="wal-dir is /wal, which is lost with the pod: its volumes are at /data; expected a directory",
    ),
    case(data, "data in the container", keeping(RABBITMQ_MNESIA_BASE="/srv/mnesia"), fails="rabbitmq"),
    case(
        data,
        "a redo log elsewhere, in a file",
        reading(keeping("mariadbd"), "conf").but(
            spec__template__spec__containers=[
                {"name": "x", "image": "x", "volumeMounts": [{"name": "data", "mountPath": "/var/lib/mysql"}]}
            ]
        ),
        config_map("conf", {"my.cnf": "[mysqld]\ndatadir = /var/lib/mysql\ninnodb_log_group_home_dir=/redo\n"}),
        fails="rabbitmq",
        message="innodb_log_group_home_dir is /redo",
    ),
    case(data, "an unknown directory", keeping(PGDATA=UNKNOWN), undecided="rabbitmq"),
    case(data, "a claim for each member", quorum(), passes="rabbitmq"),
    case(
        data,
        "a directory of whatever node it runs on",
        HAND_WRITTEN.but(spec__template__spec__volumes=[DIRECTORY]),
        fails="db",
        message="its data is in a hostPath, and its pods can change nodes; expected a volumeClaimTemplate",
    ),
    case(
        data,
        "a directory of the node that a daemon stays on",
        daemons("rabbitmq", "rabbitmq", row="rabbitmq-server").but(spec__template__spec__volumes=[DIRECTORY]),
        machines("rabbitmq"),
        passes="rabbitmq",
    ),
    case(
        data,
        "a directory of the only node that the member may run on",
        machines("rabbitmq", 1),
        quorum(replicas=1).but(spec__volumeClaimTemplates=[], spec__template__spec__volumes=[DIRECTORY]),
        passes="rabbitmq",
    ),
    case(
        data,
        "a volume that ends with the pod",
        HAND_WRITTEN.but(spec__template__spec__volumes=[{"name": "data", "emptyDir": {"sizeLimit": "1Gi"}}]),
        quorum().but(spec__volumeClaimTemplates=[]),
        fails="db rabbitmq",
        message="no volume outlives the pod; expected a volumeClaimTemplate, a claim or, of a DaemonSet, a hostPath",
    ),
    case(
        data,
        "one claim for three members",
        quorum().but(spec__volumeClaimTemplates=[], spec__template__spec__volumes=[SHARED]),
        fails="rabbitmq",
        message="all its pods mount the same claim shared; expected a volumeClaimTemplate",
    ),
    case(
        data,
        "one claim for the members of several workloads",
        *(
            of_cluster(quorum(name, replicas=1)).but(
                spec__volumeClaimTemplates=[], spec__template__spec__volumes=[SHARED]
            )
            for name in ("r1", "r2")
        ),
        fails="r1 r2",
        message="shares claim shared with StatefulSet r2; expected a claim for each member",
    ),
    case(
        data,
        "claims that outlive the replica, and claims that do not",
        quorum().but(spec__persistentVolumeClaimRetentionPolicy={"whenScaled": "Retain"}),
        quorum("mysqld", "mysqld-server").but(spec__persistentVolumeClaimRetentionPolicy={"whenScaled": "Delete"}),
        passes="rabbitmq",
        fails="mysqld",
        message="persistentVolumeClaimRetentionPolicy.whenScaled is Delete; expected Retain (the default)",
    ),
    case(
        data,
        "claims of which this is not known",
        quorum().but(spec__persistentVolumeClaimRetentionPolicy={"whenDeleted": UNKNOWN}),
        undecided="rabbitmq",
    ),
    case(data, "nothing of state", workload("keystone"), workload("rabbitmq-setup", "Job")),
    case(data, "unknown claims", quorum().but(spec__volumeClaimTemplates=UNKNOWN), undecided="rabbitmq"),
    case(find, "a headless Service of its own", quorum(), names("rabbitmq"), passes="rabbitmq"),
    case(
        find,
        "a Deployment's pods have no names",
        HAND_WRITTEN,
        service("db", {"app": "db"}),
        fails="db",
        message="pods of a Deployment have no stable names; expected a StatefulSet",
    ),
    case(
        find,
        "no such Service",
        quorum(),
        fails="rabbitmq",
        message="serviceName rabbitmq-members is not a headless Service that selects its pods; expected "
        "a headless Service that selects its pods",
    ),
    case(
        find,
        "it asks the node's DNS servers",
        quorum().but(spec__template__spec__dnsPolicy="Default"),
        names("rabbitmq"),
        fails="rabbitmq",
        message="dnsPolicy Default resolves no names of the cluster; expected ClusterFirst",
    ),
    case(
        find,
        "on the host's network, without the cluster's DNS",
        quorum().but(spec__template__spec__hostNetwork=True),
        names("rabbitmq"),
        fails="rabbitmq",
        message="dnsPolicy ClusterFirst with hostNetwork resolves no names of the cluster",
    ),
    case(
        find,
        "on the host's network, with the cluster's DNS",
        quorum().but(spec__template__spec__hostNetwork=True, spec__template__spec__dnsPolicy="ClusterFirstWithHostNet"),
        names("rabbitmq"),
        passes="rabbitmq",
    ),
    case(find, "no serviceName", quorum().but(spec__serviceName=None), names("rabbitmq"), fails="rabbitmq"),
    case(find, "it names other pods", quorum(), names("rabbitmq", {"app": "x"}), fails="rabbitmq"),
    case(
        find,
        "it balances",
        quorum(),
        service("rabbitmq-members", {"app.kubernetes.io/name": "rabbitmq"}),
        fails="rabbitmq",
    ),
    case(
        find,
        "one member, daemons, no quorum",
        machines("etcd"),
        quorum(replicas=1),
        daemons("etcd", "etcd", row="ceph-mon"),
        workload("keystone"),
    ),
    case(
        find,
        "names of members that are not ready are not resolved",
        quorum(),
        names("rabbitmq").but(spec__publishNotReadyAddresses=None),
        fails="rabbitmq",
        message="Service rabbitmq-members-service publishes no addresses of pods that are not ready, and after a "
        "failure of all members none is; expected publishNotReadyAddresses: true in its spec",
    ),
    case(
        find,
        "it is not known whether they are",
        quorum(),
        names("rabbitmq").but(spec__publishNotReadyAddresses=UNKNOWN),
        undecided="rabbitmq",
    ),
    case(find, "unknown selector", quorum(), names("rabbitmq", UNKNOWN), undecided="rabbitmq"),
)
