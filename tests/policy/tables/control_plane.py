from policy.rules.control_plane import (
    certificates_read_only,
    cluster_has_etcd,
    control_plane_namespace,
    etcd_is_backed_up,
)
from tests.policy.cases import case
from tests.policy.world import UNKNOWN, Given, cloud, etcd, machine, master_tier, masters, quorum, stack, workload

namespace, read_only, has_etcd, backed_up = (
    control_plane_namespace,
    certificates_read_only,
    cluster_has_etcd,
    etcd_is_backed_up,
)


def static_pod(where: str = "kube-system", read_only: str = "true", path: str = "/etc/kubernetes/api-proxy") -> Given:
    """A machine with the manifest of a pod."""
    text = (
        f"kind: Pod\nmetadata: {{name: api-proxy, namespace: {where}}}\nspec:\n"
        f"  containers: [{{name: nginx, image: 'nginx:1', volumeMounts: [{{name: v, readOnly: {read_only}}}]}}]\n"
        f"  volumes: [{{name: v, hostPath: {{path: {path}}}}}]\n"
    )
    return machine("ctl-1", "rabbitmq", files={"pod.yaml": text})


def mounting(path: object, read_only: object = None) -> Given:
    """A DaemonSet that sees a directory of its host."""
    mount = {"name": "v", "mountPath": "/v", **({} if read_only is None else {"readOnly": read_only})}
    return workload("agent", "DaemonSet").but(
        spec__template__spec__containers=[{"name": "main", "image": "agent:1", "volumeMounts": [mount]}],
        spec__template__spec__volumes=[{"name": "v", "hostPath": {"path": path}}],
    )


SAVE = "ExecStart=/usr/bin/etcdctl snapshot save /var/lib/etcd-backup/1.db\n"
TIMER = "[Timer]\nOnCalendar=hourly\n"


def member(name: str, unit: object = SAVE, timer: str | None = TIMER) -> Given:
    files: dict[str, object] = {"etcd.service": "ExecStart=/usr/bin/etcd\n", "etcd-backup.service": unit}
    if timer:
        files["etcd-backup.timer"] = timer
    return machine(name, "master", roles=["master"], files=files)


def cron_job() -> Given:
    pod = {"containers": [{"name": "save", "image": "etcd:3", "command": ["etcdctl", "snapshot", "save", "/x"]}]}
    spec = {"jobTemplate": {"spec": {"template": {"spec": pod}}}}
    return Given("kubernetes:batch/v1:CronJob", "backup", {"metadata": {"name": "backup"}, "spec": spec})


API_SERVER = "registry.k8s.io/kube-apiserver:v1.37.2"

CASES = (
    case(namespace, "a static pod at its place", stack(), static_pod(), passes="ctl-1"),
    case(
        namespace,
        "a static pod elsewhere",
        static_pod("default"),
        fails="ctl-1",
        message="namespace is default; expected kube-system",
    ),
    case(namespace, "an API server by hand", workload("api", image=API_SERVER), fails="api"),
    case(namespace, "one at its place", workload("api", image=API_SERVER, namespace="kube-system"), passes="api"),
    case(namespace, "other pods", workload("web"), masters()),
    case(namespace, "an unknown image", workload("api", image=UNKNOWN), undecided="api"),
    case(read_only, "read-only, in a static pod", static_pod(), passes="ctl-1"),
    case(
        read_only,
        "writable, in a static pod",
        static_pod(read_only="false"),
        fails="ctl-1",
        message="container nginx mounts /etc/kubernetes/api-proxy of the host writable; expected readOnly: true",
    ),
    case(read_only, "a mount without a word", mounting("/etc/kubernetes/pki/"), fails="agent"),
    case(read_only, "read-only", mounting("/etc/ssl/certs", True), passes="agent"),
    case(read_only, "a directory of a like name", mounting("/etc/ssl-of-mine")),
    case(read_only, "other directories", mounting("/var/lib/nova"), static_pod(path="/var/log")),
    case(read_only, "an unknown path", mounting(UNKNOWN), undecided="agent"),
    case(has_etcd, "on machines", master_tier(), etcd(), passes="masters"),
    case(has_etcd, "in pods", master_tier(), quorum("etcd", image="quay.io/coreos/etcd:v3.6.0"), passes="masters"),
    case(
        has_etcd,
        "none",
        master_tier(),
        workload("web"),
        fails="masters",
        message="no etcd members in the stack; expected members on machines, or a workload that runs etcd",
    ),
    case(
        has_etcd,
        "an exporter is none",
        master_tier(),
        workload("watch", image="x/etcd-exporter:1"),
        fails="masters",
    ),
    case(has_etcd, "no masters", cloud()),
    case(
        has_etcd,
        "unknown members",
        master_tier(),
        Given("quorate:k8s:Etcd", "etcd", {"members": UNKNOWN}),
        undecided="masters",
    ),
    case(
        backed_up,
        "a timer on each",
        etcd(),
        [member(f"master-{number}") for number in (1, 2, 3)],
        passes="etcd",
    ),
    case(
        backed_up,
        "one without a timer",
        etcd(),
        member("master-1"),
        member("master-2"),
        member("master-3", timer=None),
        fails="etcd",
        message="no snapshot timer on master-3; expected a service with a timer on every member, or a CronJob",
    ),
    case(
        backed_up,
        "a timer of something else",
        etcd("master-1"),
        member("master-1", "ExecStart=/bin/true\n"),
        fails="etcd",
    ),
    case(
        backed_up,
        "a job in the cluster",
        etcd("master-1"),
        member("master-1", timer=None),
        cron_job(),
        passes="etcd",
    ),
    case(backed_up, "machines whose files are not here", etcd(), masters()),
    case(
        backed_up,
        "an unknown unit",
        etcd("master-1"),
        member("master-1", UNKNOWN),
        undecided="etcd",
        message="etcd-backup.service of master-1",
    ),
)
