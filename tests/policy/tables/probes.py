from policy.rules.probes import liveness_asks_the_member, liveness_is_patient, readiness_can_fail
from tests.policy.cases import case
from tests.policy.tables.members import members, static_etcd
from tests.policy.world import UNKNOWN, Given, config_map, quorum, reading, workload

alive, ready, patient = liveness_asks_the_member, readiness_can_fail, liveness_is_patient


def asking(*command: object, image: str = "mariadb:11.4") -> Given:
    return members({"livenessProbe": {"exec": {"command": list(command)}}}, image=image)


def getting(path: object, image: str = "etcd:3.6") -> Given:
    return quorum("etcd", "etcd").but(
        spec__template__spec__containers=[
            {"name": "etcd", "image": image, "livenessProbe": {"httpGet": {"path": path, "port": 2381}}}
        ]
    )


def ask_ready(*command: object) -> Given:
    return members({"readinessProbe": {"exec": {"command": list(command)}}})


def checked(**limits: object) -> Given:
    """A member whose liveness is checked in these intervals."""
    return members({"livenessProbe": {"tcpSocket": {"port": 3306}, **limits}})


CASES = (
    case(alive, "a connection", members({"livenessProbe": {"tcpSocket": {"port": 3306}}}), passes="db"),
    case(alive, "the member itself", asking("mariadb", "-e", "SELECT 1"), passes="db"),
    case(alive, "a ping", asking("rabbitmq-diagnostics", "-q", "ping", image="rabbitmq:4"), passes="db"),
    case(alive, "the monitor's socket", asking("ceph", "daemon", "mon.a", "mon_status"), passes="db"),
    case(alive, "etcd itself", getting("/livez"), passes="etcd"),
    case(alive, "etcd's own store", getting("/health?exclude=NOSPACE&serializable=true"), passes="etcd"),
    case(
        alive,
        "the state of Galera",
        asking("sh", "-c", "mariadb -e \"SHOW STATUS LIKE 'wsrep_cluster_status'\" | grep Primary"),
        fails="db",
        message="livenessProbe of container c0 runs `wsrep_cluster_status`: Galera changes this variable",
    ),
    case(alive, "Galera's own script", asking("healthcheck.sh", "--connect", "--galera_online"), fails="db"),
    case(
        alive,
        "a script of a ConfigMap",
        reading(asking("/scripts/alive.sh"), "scripts"),
        config_map("scripts", {"alive.sh": "mysql -e 'SELECT wsrep_ready'", "ready.sh": "wsrep_cluster_size"}),
        fails="db",
        message="wsrep_ready",
    ),
    case(
        alive,
        "only the script for readiness asks",
        reading(asking("/scripts/alive.sh"), "scripts"),
        config_map("scripts", {"alive.sh": "mysql -e 'SELECT 1'", "ready.sh": "wsrep_cluster_size"}),
        passes="db",
    ),
    case(
        alive,
        "the cluster of RabbitMQ",
        asking("rabbitmq-diagnostics", "-q", "cluster_status", image="rabbitmq:4"),
        fails="db",
        message="it asks other members of RabbitMQ; expected a check of the member itself",
    ),
    case(alive, "a paused RabbitMQ", asking("rabbitmq-diagnostics", "check_running", image="rabbitmq:4"), fails="db"),
    case(alive, "etcd's quorum", asking("etcdctl", "endpoint", "health", "--cluster", image="etcd:3.6"), fails="db"),
    case(alive, "a read of etcd", asking("etcdctl get --prefix /"), fails="db"),
    case(alive, "a read of one member", asking("etcdctl --consistency=s get --prefix /"), passes="db"),
    case(alive, "the monitors", asking("ceph", "quorum_status"), fails="db"),
    case(alive, "a read through the quorum", getting("/health"), fails="etcd", message="runs `/health`"),
    case(
        alive,
        "a static pod",
        static_etcd(livenessProbe={"httpGet": {"path": "/readyz", "port": 2381}}),
        fails="master-1",
    ),
    case(
        alive,
        "no probe, or only of readiness, or no quorum",
        members({"readinessProbe": {"exec": {"command": ["clustercheck"]}}}),
        workload("keystone"),
    ),
    case(alive, "an unknown command", asking(UNKNOWN), undecided="db"),
    case(
        alive,
        "a startup probe that asks the cluster",
        members({"startupProbe": {"exec": {"command": ["rabbitmqctl", "cluster_status"]}}}, image="rabbitmq:4"),
        fails="db",
        message="startupProbe of container c0 runs `rabbitmqctl cluster_status`",
    ),
    case(ready, "it asks", ask_ready("mariadb", "-e", "SELECT 1"), passes="db"),
    case(
        ready,
        "a connection to a database",
        members({"readinessProbe": {"tcpSocket": {"port": 3306}}}, image="mariadb:11.4"),
        fails="db",
        message="readinessProbe of container c0 only opens a connection, which a database accepts before it has joined",
    ),
    case(
        ready,
        "a connection to a broker",
        members({"readinessProbe": {"tcpSocket": {"port": 5672}}}, image="rabbitmq:4"),
        passes="db",
    ),
    case(
        ready,
        "true",
        ask_ready("true"),
        fails="db",
        message="readinessProbe of container c0 always succeeds; expected a check of the member",
    ),
    case(ready, "a failure that is ignored", ask_ready("sh", "-c", "clustercheck || true"), fails="db"),
    case(ready, "an exit", ask_ready("/bin/sh", "-c", "exit 0"), fails="db"),
    case(ready, "no probe, or no quorum", members({}), workload("keystone")),
    case(ready, "an unknown command", ask_ready(UNKNOWN), undecided="db"),
    case(patient, "the defaults", checked(), passes="db"),
    case(patient, "five failures in 15 s", checked(failureThreshold=5, periodSeconds=3), passes="db"),
    case(
        patient,
        "a failure in a second",
        checked(failureThreshold=1, periodSeconds=1),
        fails="db",
        message="livenessProbe of container c0 restarts it after 1 seconds of failing checks; expected at least 3 "
        "failures and 15 seconds",
    ),
    case(patient, "two failures, though a minute apart", checked(failureThreshold=2, periodSeconds=60), fails="db"),
    case(patient, "three failures in 3 s", checked(periodSeconds=1), fails="db"),
    case(patient, "no liveness probe, or no quorum", members({}), workload("keystone")),
    case(patient, "an unknown period", checked(periodSeconds=UNKNOWN), undecided="db"),
)
