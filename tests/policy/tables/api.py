from policy.rules.api import (
    api_proxy_knows_all_masters,
    api_proxy_timeout,
    api_requests_in_flight,
    route_reflectors,
)
from tests.policy.cases import case
from tests.policy.world import (
    UNKNOWN,
    Given,
    cloud,
    etcd,
    etcd_machines,
    machine,
    machine_pool,
    master_tier,
    masters,
    stack,
)

known, timeout, requests, reflectors = (
    api_proxy_knows_all_masters,
    api_proxy_timeout,
    api_requests_in_flight,
    route_reflectors,
)

ADDRESSES = ("10.0.0.1", "10.0.0.2", "10.0.0.3")
POD = "kind: Pod\nmetadata: {name: api-proxy, namespace: kube-system}\nspec: {containers: [{image: 'nginx:1'}]}\n"


def nginx(*addresses: str, wait: str = "proxy_timeout 10m;") -> str:
    servers = "\n".join(f"    server {address}:6443 max_fails=2;" for address in addresses)
    return f"stream {{\n  upstream api {{\n{servers}\n  }}\n  server {{\n    proxy_pass api;\n    {wait}\n  }}\n}}\n"


def worker(conf: object, pod: object = POD) -> Given:
    files = {"api-proxy/nginx.conf": conf, "api-proxy/pod.yaml": pod}
    return machine("ctl-1", "rabbitmq", files={path: text for path, text in files.items() if text is not None})


def config_map(text: object) -> Given:
    return Given("kubernetes:core/v1:ConfigMap", "lb", {"metadata": {"name": "lb"}, "data": {"nginx.conf": text}})


def configured(text: object, *more: str) -> Given:
    """The first master, with kubeadm's configuration and more documents."""
    files: dict[str, object] = {"kubeadm.yaml": text}
    files.update({f"more-{number}.yaml": each for number, each in enumerate(more)})
    return machine("master-1", "master", roles=["master"], files=files)


def kubeadm(api: str = "", scheduler: str = "", manager: str = "") -> str:
    return (
        "kind: InitConfiguration\n---\nkind: ClusterConfiguration\n"
        f"apiServer: {{extraArgs: [{api}]}}\nscheduler: {{extraArgs: [{scheduler}]}}\n"
        f"controllerManager: {{extraArgs: [{manager}]}}\n"
    )


MANY = "{name: max-requests-inflight, value: '2000'}"
LARGE = cloud("1000")
MESH = "kind: BGPConfiguration\nspec: {nodeToNodeMeshEnabled: true}\n"
NO_MESH = "kind: BGPConfiguration\nspec: {nodeToNodeMeshEnabled: false}\n"
PEER = "kind: BGPPeer\nspec: {nodeSelector: all()}\n"


def reflector(*names: str) -> str:
    spec = "spec: {bgp: {routeReflectorClusterID: 244.0.0.1}}"
    return "---\n".join(f"kind: Node\nmetadata: {{name: {name}}}\n{spec}\n" for name in names)


CASES = (
    case(known, "all three", master_tier(), masters(), worker(nginx(*ADDRESSES)), passes="ctl-1"),
    case(
        known,
        "one is missing, an old one is left",
        master_tier(),
        masters(),
        worker(nginx("10.0.0.1", "10.0.0.2", "10.0.0.9")),
        fails="ctl-1",
        message="proxy does not list 10.0.0.3; expected every master",
    ),
    case(
        known,
        "one is left that is not a master any more",
        master_tier(),
        worker(nginx(*ADDRESSES, "10.0.0.9")),
        fails="ctl-1",
        message="proxy lists 10.0.0.9, which belong to no master; expected masters only",
    ),
    case(
        known,
        "a pool without any",
        master_tier(),
        machine_pool("compute", files={"kubelet.yaml": "kind: KubeletConfiguration"}),
        fails="computes",
        message="no proxy to the API servers; expected one that lists 10.0.0.1, 10.0.0.2, 10.0.0.3",
    ),
    case(
        known,
        "a configuration that nothing runs",
        master_tier(),
        worker(nginx(*ADDRESSES), None),
        fails="ctl-1",
        message="no static pod runs the proxy; expected a manifest of a pod with nginx",
    ),
    case(known, "masters alone", master_tier(), masters(files={"kubeadm.yaml": kubeadm()})),
    case(known, "no masters", worker(nginx())),
    case(known, "machines of etcd, which are not nodes", master_tier(), etcd("etcd-1"), etcd_machines("etcd-1")),
    case(known, "an unknown configuration", master_tier(), worker(UNKNOWN), undecided="ctl-1", message="nginx.conf"),
    case(timeout, "10 minutes", worker(nginx("a")), passes="ctl-1"),
    case(timeout, "an hour", worker(nginx("a", wait="proxy_timeout 1h;")), passes="ctl-1"),
    case(
        timeout,
        "3 seconds, as in the source",
        worker(nginx("a", wait="proxy_timeout 3s;")),
        fails="ctl-1",
        message="proxy_timeout is 3 seconds; expected 10m or more",
    ),
    case(timeout, "a bare number is seconds", worker(nginx("a", wait="proxy_timeout 600;")), passes="ctl-1"),
    case(
        timeout,
        "not written",
        worker(nginx("a", wait="")),
        fails="ctl-1",
        message="proxy_timeout is not set; expected 10m or more",
    ),
    case(
        timeout,
        "a proxy in pods, by hand",
        stack(),
        config_map(nginx("a", wait="proxy_timeout 1m30s;")),
        fails="lb",
        message="proxy_timeout is 90 seconds; expected 10m or more",
    ),
    case(timeout, "an nginx in front of something else", stack(), config_map("server 10.0.0.1:80;")),
    case(timeout, "no proxy", machine("ctl-1", "rabbitmq")),
    case(timeout, "no time at all", worker(nginx("a", wait="proxy_timeout soon;")), undecided="ctl-1"),
    case(timeout, "an unknown configuration", stack(), worker(UNKNOWN), undecided="quorate-test"),
    case(requests, "2000 of them", LARGE, configured(kubeadm(MANY)), passes="master-1"),
    case(
        requests,
        "the default",
        LARGE,
        configured(kubeadm()),
        fails="master-1",
        message="max-requests-inflight is not set (default: 400); expected 2000 or more",
    ),
    case(
        requests,
        "as a mapping, of kubeadm's older form",
        LARGE,
        configured("kind: ClusterConfiguration\napiServer: {extraArgs: {max-requests-inflight: '800'}}\n"),
        fails="master-1",
        message="is 800",
    ),
    case(requests, "500 nodes", cloud("500"), configured(kubeadm())),
    case(
        requests,
        "1000 nodes without an architecture",
        configured(kubeadm()),
        machine_pool("compute", 1000),
        fails="master-1",
    ),
    case(requests, "unknown configuration", LARGE, configured(UNKNOWN), stack(), undecided="quorate-test"),
    case(
        reflectors,
        "three of them",
        LARGE,
        configured(NO_MESH, PEER, reflector("master-1", "master-2", "master-3")),
        masters()[1:],
        passes="master-1",
    ),
    case(
        reflectors,
        "a full mesh",
        LARGE,
        configured(MESH),
        fails="master-1",
        message="the full node-to-node mesh is enabled; expected nodeToNodeMeshEnabled: false",
    ),
    case(
        reflectors,
        "one of them is not a node",
        LARGE,
        configured(NO_MESH, PEER, reflector("master-1", "master-2", "gone")),
        masters()[1:],
        fails="master-1",
        message="2 route reflectors; expected at least 3",
    ),
    case(
        reflectors,
        "no node peers with them",
        LARGE,
        configured(NO_MESH, reflector("master-1", "master-2", "master-3")),
        masters()[1:],
        fails="master-1",
        message="no BGPPeer",
    ),
    case(reflectors, "a small cluster", cloud("500"), configured(MESH)),
    case(reflectors, "no Calico", LARGE, masters()),
    case(reflectors, "unknown resources", LARGE, stack(), configured(UNKNOWN), undecided="quorate-test"),
)
