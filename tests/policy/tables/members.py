from policy.rules.members import liveness_asks_the_member, members_request_resources
from tests.policy.cases import case
from tests.policy.world import UNKNOWN, Given, Props, config_map, machine, quorum, reading, workload

request, alive = members_request_resources, liveness_asks_the_member

ENOUGH: Props = {"requests": {"cpu": "1", "memory": "1Gi"}}


def members(*containers: Props, image: str = "mariadb:11.4", **pod: object) -> Given:
    """A Galera whose pods have these containers."""
    named = [{"name": f"c{number}", "image": image, **each} for number, each in enumerate(containers)]
    changed = {f"spec__template__spec__{key}": value for key, value in pod.items()}
    return quorum("db", "mysqld-server").but(spec__template__spec__containers=named, **changed)


def asking(*command: object, image: str = "mariadb:11.4") -> Given:
    return members({"livenessProbe": {"exec": {"command": list(command)}}}, image=image)


def getting(path: object, image: str = "etcd:3.6") -> Given:
    return quorum("etcd", "etcd").but(
        spec__template__spec__containers=[
            {"name": "etcd", "image": image, "livenessProbe": {"httpGet": {"path": path, "port": 2381}}}
        ]
    )


def limit_range(kind: str, **defaults: object) -> Given:
    limits = [{"type": kind, "defaultRequest": defaults}]
    props: Props = {"metadata": {"name": "l", "namespace": "openstack"}, "spec": {"limits": limits}}
    return Given("kubernetes:core/v1:LimitRange", "limits", props)


def static_etcd(**container: object) -> Given:
    pod = {
        "kind": "Pod",
        "metadata": {"name": "etcd", "namespace": "kube-system"},
        "spec": {"containers": [{"name": "etcd", "image": "etcd:3.6", **container}]},
    }
    return machine("master-1", "master", files={"/etc/kubernetes/manifests/etcd.yaml": str(pod)})


CASES = (
    case(request, "requests", members({"resources": ENOUGH}), passes="db"),
    case(request, "limits are requests", members({"resources": {"limits": {"cpu": 1, "memory": 1}}}), passes="db"),
    case(request, "requests of the whole pod", members({}, resources=ENOUGH), passes="db"),
    case(request, "a LimitRange", members({}), limit_range("Container", cpu="1", memory="1Gi"), passes="db"),
    case(request, "a static pod", static_etcd(resources=ENOUGH), passes="master-1"),
    case(
        request,
        "none",
        members({}),
        fails="db",
        message="container c0 requests no cpu and no memory; expected resources.requests of cpu and memory",
    ),
    case(request, "no memory", members({"resources": {"requests": {"cpu": 1}}}), fails="db", message="no memory"),
    case(request, "a second container", members({"resources": ENOUGH}, {}), fails="db", message="container c1"),
    case(
        request,
        "a sidecar among the init containers",
        members({"resources": ENOUGH}, initContainers=[{"name": "s", "image": "x", "restartPolicy": "Always"}]),
        fails="db",
        message="container s",
    ),
    case(
        request,
        "an init container",
        members({"resources": ENOUGH}, initContainers=[{"name": "i", "image": "x"}]),
        passes="db",
    ),
    case(request, "a LimitRange of pods", members({}), limit_range("Pod", cpu="1", memory="1Gi"), fails="db"),
    case(request, "a static pod without", static_etcd(), fails="master-1"),
    case(request, "a single member, or no quorum", quorum("db", replicas=1), workload("keystone")),
    case(request, "an unknown request", members({"resources": {"requests": {"cpu": UNKNOWN}}}), undecided="db"),
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
        message="liveness probe of container c0 runs `wsrep_cluster_status`: Galera changes this variable",
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
)
