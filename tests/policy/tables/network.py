from collections.abc import Sequence

from policy.rules.network import autoscaler_keeps_members, network_policy_admits_members, quorum_closed_to_cluster
from tests.policy.cases import case
from tests.policy.world import UNKNOWN, Given, Props, quorum, workload

admits, keeps = network_policy_admits_members, autoscaler_keeps_members
closes = quorum_closed_to_cluster

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


CASES = (
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
