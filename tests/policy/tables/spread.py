from policy.rules.spread import one_instance_per_node, replicas_fit_nodes
from tests.policy.cases import case
from tests.policy.world import (
    HOST,
    REQUIRED,
    UNKNOWN,
    Given,
    apart_term,
    cloud,
    daemons,
    machine,
    machines,
    of_cluster,
    quorum,
    stack,
    workload,
)

per_node, fit = one_instance_per_node, replicas_fit_nodes

NODES = machines("rabbitmq")
LABELS = {"app.kubernetes.io/name": "rabbitmq"}
RULES = "spec__template__spec__affinity__podAntiAffinity__" + REQUIRED
NAMESPACE = Given(
    "kubernetes:core/v1:Namespace", "openstack", {"metadata": {"name": "openstack", "labels": {"tier": "control"}}}
)


def apart(*terms: object) -> Given:
    """RabbitMQ with these terms for its anti-affinity."""
    return quorum().but(**{RULES: list(terms)})


CASES = (
    case(
        per_node,
        "required and self-selecting",
        cloud(),
        quorum(),
        workload("horizon", row="horizon/apache2"),
        passes="rabbitmq horizon",
    ),
    case(
        per_node,
        "by expression, namespace list or selector",
        cloud(),
        NAMESPACE,
        apart(
            {
                "topologyKey": HOST,
                "labelSelector": {
                    "matchExpressions": [
                        {"key": "app.kubernetes.io/name", "operator": "In", "values": ["rabbitmq", "mysqld"]}
                    ]
                },
                "namespaces": ["openstack"],
            }
        ),
        passes="rabbitmq",
    ),
    case(
        per_node,
        "by a selector of namespaces",
        cloud(),
        NAMESPACE,
        apart(apart_term(HOST, LABELS, namespaceSelector={"matchLabels": {"tier": "control"}})),
        passes="rabbitmq",
    ),
    case(per_node, "all namespaces", cloud(), apart(apart_term(HOST, LABELS, namespaceSelector={})), passes="rabbitmq"),
    case(
        per_node,
        "a port of the node",
        cloud(),
        workload("horizon", row="horizon/apache2", apart=()).but(
            spec__template__spec__containers=[{"image": "x", "ports": [{"containerPort": 80, "hostPort": 80}]}]
        ),
        passes="horizon",
    ),
    case(
        per_node,
        "no anti-affinity at all",
        cloud(),
        quorum(apart=()),
        fails="rabbitmq",
        message="no required anti-affinity over kubernetes.io/hostname",
    ),
    case(
        per_node,
        "only a preference",
        cloud(),
        quorum(apart=()).but(
            spec__template__spec__affinity__podAntiAffinity={
                "preferredDuringSchedulingIgnoredDuringExecution": [
                    {"weight": 100, "podAffinityTerm": apart_term(HOST, LABELS)}
                ]
            }
        ),
        fails="rabbitmq",
    ),
    case(
        per_node,
        "it selects other pods",
        cloud(),
        apart(apart_term(HOST, {"app.kubernetes.io/name": "mysqld"})),
        fails="rabbitmq",
        message="does not select its own pods",
    ),
    case(
        per_node,
        "in another namespace",
        cloud(),
        apart(apart_term(HOST, LABELS, namespaces=["default"])),
        fails="rabbitmq",
    ),
    case(
        per_node,
        "namespaces that its own is not among",
        cloud(),
        NAMESPACE,
        apart(apart_term(HOST, LABELS, namespaceSelector={"matchLabels": {"tier": "data"}})),
        fails="rabbitmq",
    ),
    case(per_node, "without a selector it selects nothing", cloud(), apart({"topologyKey": HOST}), fails="rabbitmq"),
    case(
        per_node,
        "only within one revision",
        cloud(),
        apart(apart_term(HOST, LABELS, matchLabelKeys=["controller-revision-hash"])),
        fails="rabbitmq",
        message="does not hold between revisions",
    ),
    case(
        per_node,
        "a hand-written database without a Cloud",
        stack(),
        workload("db", "StatefulSet", image="docker.io/bitnami/mariadb-galera:11", labels={"app": "db"}, apart=()),
        fails="db",
    ),
    case(
        per_node,
        "one replica, a DaemonSet, no row",
        cloud(),
        daemons("nova-compute", row="nova-compute"),
        workload("nagios", row="Nagios", replicas=1, apart=()),
        workload("website", apart=()),
    ),
    case(
        per_node,
        "unknown affinity",
        cloud(),
        quorum().but(spec__template__spec__affinity=UNKNOWN),
        undecided="rabbitmq",
        message="spec.template.spec.affinity of rabbitmq",
    ),
    case(
        per_node,
        "an unknown label of its pods that the selector needs",
        cloud(),
        quorum(labels={"app.kubernetes.io/name": UNKNOWN}),
        undecided="rabbitmq",
    ),
    case(fit, "three on three", cloud(), NODES, quorum(), passes="rabbitmq"),
    case(
        fit,
        "four on three",
        cloud(),
        NODES,
        quorum(replicas=4),
        fails="rabbitmq",
        message="3 eligible nodes for 4 replicas; expected at least 4, one per replica",
    ),
    case(
        fit,
        "four on three, which may share",
        cloud(),
        NODES,
        workload("cinder-api", row="cinder-api", pools=["rabbitmq"], replicas=4, apart=()),
        passes="cinder-api",
    ),
    case(
        fit,
        "a pool without nodes",
        cloud(),
        NODES,
        quorum(pools=["messaging"]),
        fails="rabbitmq",
        message="0 eligible nodes (of 3 nodes its node selector and affinity match none) for 3 replicas",
    ),
    case(
        fit,
        "a selector of nodes that none has",
        cloud(),
        NODES,
        quorum().but(spec__template__spec__nodeSelector={"disk": "ssd"}),
        fails="rabbitmq",
    ),
    case(
        fit,
        "a daemon with nowhere to run",
        cloud(),
        NODES,
        daemons("nova-compute", "compute", row="nova-compute"),
        fails="nova-compute",
    ),
    case(fit, "a workload of no row", cloud(), NODES, workload("website", replicas=40)),
    case(
        fit,
        "unknown node affinity",
        cloud(),
        NODES,
        quorum().but(spec__template__spec__affinity__nodeAffinity=UNKNOWN),
        undecided="rabbitmq",
    ),
    case(
        per_node,
        "a StatefulSet for each member, apart from each other",
        cloud(),
        *(of_cluster(quorum(name, replicas=1, labels={"app": "rabbit"})) for name in ("r1", "r2", "r3")),
        passes="r1 r2 r3",
    ),
    case(
        per_node,
        "a StatefulSet for each member, which may meet",
        cloud(),
        *(of_cluster(quorum(name, replicas=1)) for name in ("r1", "r2", "r3")),
        fails="r1 r2 r3",
        message="can share a node with StatefulSet r2, StatefulSet r3, members of the same quorum; "
        "expected a required anti-affinity over kubernetes.io/hostname that also selects their "
        "pods",
    ),
    case(
        per_node,
        "apart over racks that every node names",
        [machine(f"n{each}", "rabbitmq", labels={"quorate.io/rack": f"r{each}"}) for each in (1, 2, 3)],
        apart(apart_term("quorate.io/rack", LABELS)),
        passes="rabbitmq",
    ),
    case(
        per_node,
        "apart over a label that no node has",
        NODES,
        apart(apart_term("example.com/row", LABELS)),
        fails="rabbitmq",
    ),
    case(
        per_node,
        "bound to a node by name",
        NODES,
        quorum().but(spec__template__spec__nodeName="rabbitmq-1"),
        fails="rabbitmq",
        message="spec.nodeName binds all its pods to rabbitmq-1, past the scheduler",
    ),
    case(
        fit,
        "three replicas, apart over two racks",
        [machine(f"n{each}", "rabbitmq", labels={"quorate.io/rack": f"r{each % 2}"}) for each in (1, 2, 3)],
        apart(apart_term("quorate.io/rack", LABELS)),
        fails="rabbitmq",
        message="3 eligible nodes in 2 domains of quorate.io/rack for 3 replicas",
    ),
    case(
        per_node,
        "a hand-written Deployment of a database",
        stack(),
        workload("db", image="postgres:17", labels={"app": "db"}, replicas=2, apart=()),
        fails="db",
    ),
)
