from policy.rules.privileges import host_access_where_needed
from tests.policy.cases import case
from tests.policy.tables.control_plane import static_pod
from tests.policy.world import UNKNOWN, Given, cloud, daemons, workload

access = host_access_where_needed


def privileged(given: Given, flag: object = True, **security: object) -> Given:
    container = {"name": "main", "image": "app:1", "securityContext": {"privileged": flag, **security}}
    return given.but(spec__template__spec__containers=[container])


def on_host(given: Given, path: str) -> Given:
    """Returns the workload with a mounted directory of its node."""
    return given.but(spec__template__spec__volumes=[{"name": "data", "hostPath": {"path": path}}])


def exporting(*, read_only: bool, name: str = "node-exporter") -> Given:
    """An exporter of the node's metrics with all files of the host."""
    mount = {"name": "root", "mountPath": "/host", "readOnly": read_only}
    container = {"name": "main", "image": f"{name}:1", "volumeMounts": [mount]}
    volume = {"name": "root", "hostPath": {"path": "/"}}
    return daemons(name).but(
        spec__template__spec__containers=[container],
        spec__template__spec__volumes=[volume],
        spec__template__spec__hostPID=True,
    )


CASES = (
    case(access, "an exporter that reads the host", exporting(read_only=True), passes="node-exporter"),
    case(
        access,
        "an exporter that can write to the host",
        exporting(read_only=False),
        fails="node-exporter",
        message="uses privileged (the host's directory /)",
    ),
    case(access, "another program that reads the host", exporting(read_only=True, name="tool"), fails="tool"),
    case(
        access,
        "an agent of the host",
        privileged(daemons("neutron-l2-agent")).but(spec__template__spec__hostNetwork=True),
        passes="neutron-l2-agent",
    ),
    case(
        access,
        "an agent that takes more than it needs",
        privileged(daemons("neutron-l2-agent")).but(spec__template__spec__hostPID=True),
        fails="neutron-l2-agent",
        message="uses hostPID (the pod); expected only the host access listed for this service",
    ),
    case(
        access,
        "an agent of monitoring, with the directories that it reads",
        on_host(daemons("node-exporter"), "/var/lib/quorate").but(spec__template__spec__hostNetwork=True),
        passes="node-exporter",
    ),
    case(
        access,
        "an agent of monitoring with the whole host",
        on_host(daemons("node-exporter"), "/"),
        fails="node-exporter",
        message="uses privileged (the host's directory /)",
    ),
    case(
        access,
        "any other",
        privileged(workload("keystone")),
        fails="keystone",
        message="uses privileged (container main); expected only the host access listed for this service",
    ),
    case(
        access,
        "by its row",
        cloud("300"),
        privileged(daemons("mine", "compute", row="nova-compute")),
        passes="mine",
    ),
    case(
        access,
        "the host's network",
        workload("web").but(spec__template__spec__hostNetwork=True),
        fails="web",
        message="hostNetwork",
    ),
    case(
        access,
        "the host's files",
        workload("db").but(spec__template__spec__volumes=[{"name": "d", "hostPath": {"path": "/var/lib/mysql"}}]),
        fails="db",
        message="hostPath (/var/lib/mysql)",
    ),
    case(
        access,
        "a DaemonSet's members with their data in a directory of the node",
        on_host(daemons("queues", image="rabbitmq:4"), "/var/lib/rabbitmq"),
    ),
    case(
        access,
        "a member with other pods' files",
        on_host(daemons("queues", image="rabbitmq:4"), "/var/lib/kubelet/pods"),
        fails="queues",
        message="hostPath (/var/lib/kubelet/pods)",
    ),
    case(
        access,
        "the whole host, for a service that may use some of its files",
        on_host(daemons("etcd"), "/etc/../"),
        fails="etcd",
        message="uses privileged (the host's directory /etc/../)",
    ),
    case(access, "an unknown directory", on_host(daemons("queues", image="rabbitmq:4"), UNKNOWN), undecided="queues"),
    case(
        access,
        "a capability that is as good as all",
        privileged(workload("web"), None, capabilities={"add": ["CAP_SYS_ADMIN"]}),
        fails="web",
    ),
    case(
        access,
        "a harmless capability",
        privileged(workload("web"), None, capabilities={"add": ["NET_BIND_SERVICE"]}),
    ),
    case(access, "the proxy on every worker", static_pod(), passes="ctl-1"),
    case(access, "pods without any", workload("web"), cloud()),
    case(access, "an unknown switch", privileged(workload("web"), UNKNOWN), undecided="web"),
)
