from collections.abc import Sequence

from policy.rules.network import (
    autoscaler_keeps_members,
    network_policy_admits_members,
    network_policy_admits_tunnels,
    quorum_closed_to_cluster,
)
from tests.policy.cases import case
from tests.policy.world import UNKNOWN, Given, Props, machine, quorum, workload

admits, keeps = network_policy_admits_members, autoscaler_keeps_members
closes, tunnels = quorum_closed_to_cluster, network_policy_admits_tunnels

SELF = {"podSelector": {"matchLabels": {"app.kubernetes.io/name": "rabbitmq"}}}
SENTINELS = {"podSelector": {"matchLabels": {"app.kubernetes.io/name": "api"}}}
ANYTHING: list[Props] = [{}]
PORTS = [{"port": 4369}, {"port": 25672}]


def policy(name: str = "policy", selects: object = None, namespace: str = "openstack", **spec: object) -> Given:
    """A NetworkPolicy, by default for all pods."""
    pods = {} if selects is None else {"matchLabels": selects}
    props: Props = {"metadata": {"name": name, "namespace": namespace}, "spec": {"podSelector": pods, **spec}}
    return Given("kubernetes:networking.k8s.io/v1:NetworkPolicy", name, props)


def ingress(*peers: Props, ports: Sequence[Props] = ()) -> list[Props]:
    return [{"from": list(peers), **({"ports": list(ports)} if ports else {})}]


def autoscaler(name: str = "rabbitmq", least: object = 3, most: object = 3, kind: str = "StatefulSet") -> Given:
    spec = {"scaleTargetRef": {"kind": kind, "name": name}, "minReplicas": least, "maxReplicas": most}
    props: Props = {"metadata": {"name": "scaler", "namespace": "openstack"}, "spec": spec}
    return Given("kubernetes:autoscaling/v2:HorizontalPodAutoscaler", "scaler", props)


def scaled_object(name: str, **spec: object) -> Given:
    reference = {"scaleTargetRef": {"kind": "StatefulSet", "name": name}}
    props: Props = {"metadata": {"name": "scaler", "namespace": "openstack"}, "spec": {**reference, **spec}}
    return Given("kubernetes:keda.sh/v1alpha1:ScaledObject", "scaler", props)


def pool(**spec: object) -> Given:
    props: Props = {"metadata": {"name": "pods"}, "spec": {"cidr": "172.16.0.0/13", **spec}}
    return Given("kubernetes:crd.projectcalico.org/v1:IPPool", "pool", props)


def master(text: object) -> Given:
    """The first master, with Calico's pools."""
    given = machine("master-1", "master", roles=["master"], files={"network.yaml": text})
    return Given(given.type, given.name, {**given.props, "address": "10.20.0.21"})


def blocks(*networks: str) -> list[Props]:
    return ingress(*({"ipBlock": {"cidr": each}} for each in networks))


def calico_node(**variables: str) -> Given:
    env = [{"name": name, "value": value} for name, value in variables.items()]
    container = {"name": "calico-node", "image": "calico/node", "env": env}
    pod = {"spec": {"containers": [container]}}
    props: Props = {"metadata": {"name": "calico-node", "namespace": "kube-system"}, "spec": {"template": pod}}
    return Given("kubernetes:apps/v1:DaemonSet", "calico-node", props)


DIRECT = "kind: IPPool\nspec: {cidr: 172.16.0.0/13, ipipMode: Never, vxlanMode: Never}\n"
APART = (
    "kind: IPPool\nspec: {cidr: 172.16.0.0/13, ipipMode: Always, allowedUses: [Workload]}\n---\n"
    "kind: IPPool\nspec: {cidr: 10.30.0.0/20, ipipMode: Always, allowedUses: [Tunnel]}\n"
)
NODES = policy(ingress=blocks("10.20.0.0/16"))

CASES = (
    case(tunnels, "no tunnels", master(DIRECT), NODES),
    case(tunnels, "no policy admits nodes", master(APART), policy(ingress=ANYTHING)),
    case(
        tunnels,
        "tunnels with addresses of their own",
        master(APART),
        policy(ingress=blocks("10.20.0.0/16", "10.30.0.0/20")),
        passes="policy",
    ),
    case(tunnels, "the nodes alone", master(APART), NODES, fails="policy", message="10.30.0.0/20"),
    case(
        tunnels,
        "one of two rules",
        master(APART),
        policy(ingress=[*blocks("10.20.0.0/16", "10.30.0.0/20"), *blocks("10.20.0.0/16")]),
        fails="policy",
    ),
    case(
        tunnels,
        "tunnels with addresses of pods, as a resource",
        master(DIRECT),
        pool(vxlanMode="CrossSubnet"),
        NODES,
        fails="policy",
        message="172.16.0.0/13",
    ),
    case(
        tunnels,
        "Calico's manifest as it is",
        master(""),
        calico_node(CALICO_IPV4POOL_IPIP="Always"),
        NODES,
        fails="policy",
        message="192.168.0.0/16",
    ),
    case(
        tunnels,
        "Calico's manifest without a pool of its own",
        master(""),
        calico_node(CALICO_IPV4POOL_IPIP="Always", NO_DEFAULT_POOLS="true"),
        NODES,
    ),
    case(tunnels, "unknown pools", master(UNKNOWN), NODES, undecided="policy"),
    case(tunnels, "an unknown mode", master(""), pool(ipipMode=UNKNOWN), NODES, undecided="policy"),
    case(
        admits,
        "the members' own pods, on their ports",
        quorum(),
        policy(ingress=ingress(SELF, ports=PORTS)),
        passes="rabbitmq",
    ),
    case(
        admits, "every pod of the namespace", quorum(), policy(ingress=ingress({"podSelector": {}})), passes="rabbitmq"
    ),
    case(admits, "everything", quorum(), policy(ingress=ANYTHING), passes="rabbitmq"),
    case(
        admits,
        "every address",
        quorum(),
        policy(ingress=ingress({"ipBlock": {"cidr": "0.0.0.0/0"}})),
        passes="rabbitmq",
    ),
    case(
        admits,
        "ports in a range",
        quorum(),
        policy(ingress=ingress(SELF, ports=[{"port": 4000, "endPort": 30000}])),
        passes="rabbitmq",
    ),
    case(
        admits,
        "two policies, a port each",
        quorum(),
        policy("a", ingress=ingress(SELF, ports=PORTS[:1])),
        policy("b", ingress=ingress(SELF, ports=PORTS[1:])),
        passes="rabbitmq",
    ),
    case(
        admits,
        "the namespace by its name",
        quorum(),
        policy(ingress=ingress({"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "openstack"}}})),
        passes="rabbitmq",
    ),
    case(
        admits,
        "nothing at all",
        quorum(),
        policy(policyTypes=["Ingress"]),
        fails="rabbitmq",
        message="NetworkPolicy policy (ingress) admits no connections between members on port 25672, 4369; "
        "expected a rule that admits the members' pods",
    ),
    case(admits, "clients only", quorum(), policy(ingress=ingress(SENTINELS)), fails="rabbitmq"),
    case(
        admits,
        "the members on the clients' port only",
        quorum(),
        policy(ingress=ingress(SELF, ports=[{"port": 5672}])),
        fails="rabbitmq",
    ),
    case(
        admits,
        "datagrams only",
        quorum(),
        policy(ingress=ingress(SELF, ports=[{**each, "protocol": "UDP"} for each in PORTS])),
        fails="rabbitmq",
    ),
    case(
        admits,
        "nothing out",
        quorum(),
        policy(policyTypes=["Egress"]),
        fails="rabbitmq",
        message="(egress)",
    ),
    case(
        admits,
        "another namespace's pods",
        quorum(),
        policy(ingress=ingress({"namespaceSelector": {"matchLabels": {"team": "x"}}})),
        fails="rabbitmq",
    ),
    case(
        admits,
        "a range of addresses outside the cluster",
        quorum(),
        policy(ingress=ingress({"ipBlock": {"cidr": "10.0.0.0/8"}})),
        fails="rabbitmq",
    ),
    case(admits, "of another namespace", quorum(), policy(namespace="web", policyTypes=["Ingress"])),
    case(admits, "for other pods", quorum(), policy(selects={"app": "web"}, policyTypes=["Ingress"])),
    case(admits, "members on the node's network", quorum().but(spec__template__spec__hostNetwork=True), policy()),
    case(admits, "a single pod", quorum(replicas=1), policy(policyTypes=["Ingress"])),
    case(admits, "no policy", quorum()),
    case(
        admits, "an unknown label", quorum(), policy(selects={"app.kubernetes.io/name": UNKNOWN}), undecided="rabbitmq"
    ),
    case(
        closes, "members and clients by labels", quorum(), policy(ingress=ingress(SELF, SENTINELS)), passes="rabbitmq"
    ),
    case(closes, "nothing is admitted", quorum(), policy(policyTypes=["Ingress"]), passes="rabbitmq"),
    case(
        closes, "every pod of its namespace", quorum(), policy(ingress=ingress({"podSelector": {}})), passes="rabbitmq"
    ),
    case(
        closes,
        "clients of another namespace",
        quorum(),
        policy(ingress=ingress({**SENTINELS, "namespaceSelector": {}})),
        passes="rabbitmq",
    ),
    case(
        closes,
        "addresses of nodes",
        quorum(),
        policy(ingress=ingress({"ipBlock": {"cidr": "10.20.0.0/16"}})),
        passes="rabbitmq",
    ),
    case(closes, "no policy", quorum()),
    case(closes, "a policy for other pods", quorum(), policy(selects={"app": "web"})),
    case(closes, "a policy of another namespace", quorum(), policy(namespace="web")),
    case(closes, "a policy for egress only", quorum(), policy(policyTypes=["Egress"])),
    case(
        closes,
        "everything on the clients' port",
        quorum(),
        policy(ingress=[*ingress(SELF), {"ports": [{"port": 5672}]}]),
        passes="rabbitmq",
    ),
    case(
        closes,
        "everything on a port between members",
        quorum(),
        policy(ingress=[{"ports": [{"port": 25672}]}]),
        fails="rabbitmq",
        message="NetworkPolicy policy admits every pod of the cluster on port 25672; expected a rule that admits the "
        "members' pods",
    ),
    case(
        closes,
        "every namespace, beside members",
        quorum(),
        policy(ingress=ingress(SELF, {"namespaceSelector": {}})),
        fails="rabbitmq",
    ),
    case(
        closes,
        "every pod of every namespace",
        quorum(),
        policy(ingress=ingress({"namespaceSelector": {}, "podSelector": {}})),
        fails="rabbitmq",
    ),
    case(
        closes,
        "every address",
        quorum(),
        policy(ingress=ingress({"ipBlock": {"cidr": "0.0.0.0/0"}})),
        fails="rabbitmq",
    ),
    case(
        closes,
        "one policy closed, one open",
        quorum(),
        policy("a", ingress=ingress(SELF)),
        policy("b", ingress=ANYTHING),
        fails="rabbitmq",
        message="NetworkPolicy b admits",
    ),
    case(closes, "members on the node's network", quorum().but(spec__template__spec__hostNetwork=True)),
    case(closes, "a service that does not vote", workload("api")),
    case(closes, "a single pod", quorum(replicas=1)),
    case(closes, "an unknown peer", quorum(), policy(ingress=UNKNOWN), undecided="rabbitmq"),
    case(keeps, "minimum and maximum are equal", quorum(), autoscaler(), passes="scaler"),
    case(
        keeps,
        "three to seven",
        quorum(),
        autoscaler(most=7),
        fails="scaler",
        message="scales StatefulSet rabbitmq between 3 and 7 members; expected a fixed number of members",
    ),
    case(keeps, "KEDA's defaults", quorum(), scaled_object("rabbitmq"), fails="scaler", message="between 0 and 100"),
    case(keeps, "of a service that does not vote", workload("api"), autoscaler("api", most=9, kind="Deployment")),
    case(keeps, "no autoscaler", quorum()),
    case(keeps, "unknown target", quorum(), autoscaler(UNKNOWN), undecided="scaler"),
)
