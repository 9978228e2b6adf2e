"""Attempts to bypass the gate: the fault exists, and other text in the stack denies it."""

from tests.attacks.attack import (
    PAUSE,
    Attack,
    changed,
    container,
    given,
    mounting,
    rabbit,
    single,
    with_container,
    without,
)
from tests.policy.world import REQUIRED, UNKNOWN, Given, apart_term, service
from tests.sound.sound import HOST, SERVER, around, member, node, nodes, quorum, spread


def noted(**annotations: str) -> list[Given]:
    """A Galera of two members with annotations or labels."""
    own = {f"quorate.io/{key.replace('_', '-')}": value for key, value in annotations.items()}
    made = quorum("db", "mariadb", replicas=2)
    return [*nodes(3), *changed(made, "db", metadata__annotations=own, spec__template__metadata__annotations=own)]


def disguised(image: str, program: str, **more: object) -> list[Given]:
    """A Galera of two under another name."""
    arguments = ["--wsrep-on=ON", "--wsrep-cluster-address=gcomm://cache-0.cache,cache-1.cache"]
    pod = with_container(program, image=image, command=["mariadbd"], args=arguments, **more)
    return [*nodes(3), *quorum("cache", program, replicas=2, pod=pod)]


def never_apart(**more: object) -> list[Given]:
    """An etcd whose anti-affinity has a term that makes it ineffective."""
    terms = [apart_term(HOST, {"app": "etcd"}, **more), apart_term(SERVER, {"app": "etcd"}, **more)]
    made = quorum("etcd", "etcd", apart=())
    return [*nodes(3), *changed(made, "etcd", spec__template__spec__affinity={"podAntiAffinity": {REQUIRED: terms}})]


NO_PROBE = {"exec": {"command": ["true"]}}
UNKNOWN_REPLICAS = changed(quorum("etcd", "etcd"), "etcd", spec__replicas=UNKNOWN)
UNKNOWN_AFFINITY = changed(quorum("etcd", "etcd"), "etcd", spec__template__spec__affinity=UNKNOWN)
PEERS = "a=http://10.0.0.1:2380,b=http://10.0.0.1:2480,c=http://10.0.0.1:2580"


def host_networked(name: str, port: int) -> Given:
    """A member of etcd that finds the others by address alone."""
    command = ["etcd", f"--name={name}", f"--initial-cluster={PEERS}", f"--listen-peer-urls=http://10.0.0.1:{port}"]
    spec = {
        "replicas": 1,
        "selector": {"matchLabels": {"app": name}},
        "strategy": {"type": "Recreate"},
        "template": {
            "metadata": {"labels": {"app": name}},
            "spec": {"hostNetwork": True, "nodeName": "n1", "containers": [container("etcd", command=command)]},
        },
    }
    return given("apps/v1:Deployment", name, spec)


CASES = [
    Attack("a Galera of two that claims no row", noted(row="none"), caught_by="galera-size"),
    Attack("a Galera of two that claims to be horizon", noted(row="horizon/apache2"), caught_by="galera-size"),
    Attack("a Galera of two that claims to be the API", noted(row="nova-api"), caught_by="galera-size"),
    Attack(
        "a Galera of two that claims to accompany horizon",
        noted(companion_of="horizon/apache2"),
        caught_by="galera-size",
    ),
    Attack(
        "a Galera of two in an image called memcached",
        disguised(f"registry.example/memcached:1@sha256:{'0' * 64}", "memcached"),
        caught_by="galera-size",
    ),
    Attack(
        "a Galera of two in an image called prometheus",
        disguised(f"registry.example/prometheus:1@sha256:{'0' * 64}", "prometheus"),
        caught_by="galera-size",
    ),
    Attack(
        "an etcd in an image called nginx",
        [
            *nodes(3),
            *quorum(
                "web",
                "nginx",
                replicas=2,
                pod=with_container(
                    "nginx",
                    command=[
                        "etcd",
                        "--initial-cluster=web-0=http://web-0.web-members:2380,web-1=http://web-1.web-members:2380",
                    ],
                ),
            ),
        ],
        caught_by="etcd-size",
    ),
    Attack(
        "etcd behind a first container without votes",
        [*nodes(3), *quorum("etcd", "etcd", replicas=2, pod={"containers": [container("nginx"), container("etcd")]})],
        caught_by="etcd-size",
    ),
    Attack(
        "etcd in three workloads that know addresses only",
        [*nodes(3), host_networked("a", 2380), host_networked("b", 2480), host_networked("c", 2580)],
        caught_by="quorum-survives-host",
    ),
    Attack(
        "three workloads of one Service that claim three clusters",
        [
            *nodes(1),
            *(
                single(
                    f"zk-{each}",
                    "zookeeper",
                    "zk",
                    containers=[container("zookeeper", env=[{"name": "CLUSTER_NAME", "value": f"cluster-{each}"}])],
                )
                for each in (1, 2, 3)
            ),
            service("zk", {"cluster": "zk"}, clusterIP="None"),
        ],
        caught_by="quorum-survives-host",
    ),
    Attack(
        "a quorum with zero replicas and an autoscaler",
        [
            *nodes(3),
            *changed(quorum("db", "mariadb"), "db", spec__replicas=0),
            given(
                "autoscaling/v2:HorizontalPodAutoscaler",
                "db",
                {
                    "minReplicas": 2,
                    "maxReplicas": 2,
                    "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "db"},
                },
            ),
        ],
        caught_by="galera-size",
    ),
    Attack(
        "a quorum of zero",
        [*nodes(3), *changed(quorum("db", "mariadb"), "db", spec__replicas=0)],
        caught_by="galera-size",
    ),
    Attack(
        "replicas that are not written",
        [*nodes(3), *changed(quorum("db", "mariadb"), "db", spec__replicas=None)],
        caught_by="galera-size",
    ),
    Attack("replicas that are not known", [*nodes(3), *UNKNOWN_REPLICAS], caught_by="one-instance-per-node"),
    Attack("an affinity that is not known", [*nodes(3), *UNKNOWN_AFFINITY], caught_by="one-instance-per-node"),
    Attack(
        "terms that match only the pod itself",
        never_apart(matchLabelKeys=["statefulset.kubernetes.io/pod-name"]),
        caught_by="one-instance-per-node",
    ),
    Attack(
        "terms that match every other pod name",
        never_apart(mismatchLabelKeys=["app"]),
        caught_by="one-instance-per-node",
    ),
    Attack(
        "terms in namespaces that do not exist",
        never_apart(namespaceSelector={"matchLabels": {"no": "such"}}),
        caught_by="one-instance-per-node",
    ),
    Attack(
        "a spread that counts each pod alone",
        [
            *nodes(3),
            *quorum(
                "etcd",
                "etcd",
                apart=(),
                spread=[spread(HOST, "etcd", matchLabelKeys=["statefulset.kubernetes.io/pod-name"])],
            ),
        ],
        caught_by="one-instance-per-node",
    ),
    Attack(
        "a spread with a skew of three",
        [*nodes(3), *quorum("etcd", "etcd", apart=(), spread=[spread(HOST, "etcd", maxSkew=3)])],
        caught_by="one-instance-per-node",
    ),
    Attack(
        "terms that exclude their own pods",
        [
            *nodes(3),
            *changed(
                quorum("etcd", "etcd", apart=()),
                "etcd",
                spec__template__spec__affinity={
                    "podAntiAffinity": {
                        REQUIRED: [
                            {
                                "topologyKey": HOST,
                                "labelSelector": {
                                    "matchExpressions": [{"key": "app", "operator": "NotIn", "values": ["etcd"]}]
                                },
                            }
                        ]
                    }
                },
            ),
        ],
        caught_by="one-instance-per-node",
    ),
    Attack(
        "another scheduler",
        [*nodes(3), *quorum("etcd", "etcd", pod={"schedulerName": "random"})],
        caught_by="one-instance-per-node",
    ),
    Attack(
        "two Nodes for one machine",
        [
            *(node(f"n{each}", f"s{each}").but(spec__providerID="metal://one") for each in (1, 2, 3)),
            *quorum("etcd", "etcd"),
        ],
        caught_by="server-label-is-true",
    ),
    Attack(
        "a budget that selects by exclusion",
        [
            *nodes(3),
            *without(quorum("etcd", "etcd"), "etcd-budget"),
            given(
                "policy/v1:PodDisruptionBudget",
                "etcd-budget",
                {
                    "maxUnavailable": 1,
                    "selector": {"matchExpressions": [{"key": "app", "operator": "NotIn", "values": ["etcd"]}]},
                },
            ),
        ],
        caught_by="quorum-has-budget",
    ),
    Attack(
        "a budget of zero percent",
        [
            *nodes(3),
            *without(quorum("etcd", "etcd"), "etcd-budget"),
            given(
                "policy/v1:PodDisruptionBudget",
                "etcd-budget",
                {"minAvailable": "0%", "selector": {"matchLabels": {"app": "etcd"}}},
            ),
        ],
        caught_by="budget-keeps-majority",
    ),
    Attack(
        "a readiness probe that always succeeds",
        [*nodes(3), *quorum("db", "etcd", pod=with_container("etcd", readinessProbe=NO_PROBE))],
        caught_by="readiness-can-fail",
    ),
    Attack(
        "an image with a name like ours",
        rabbit(
            PAUSE,
            {
                **mounting("rabbitmq", "rabbit-config", "/etc/rabbitmq"),
                "containers": [container("rabbitmq", image="registry.example.evil.test/rabbitmq:1.2.3")],
            },
        ),
        caught_by="images-pinned",
    ),
    Attack(
        "two StatefulSets of one name in two resources",
        [
            *nodes(3),
            *quorum("etcd", "etcd"),
            *(
                each.but(metadata__name="etcd")
                for each in [member("etcd-again", "etcd", replicas=2, labels={"app": "etcd"})]
            ),
            *around("etcd-again", {"app": "etcd"}),
        ],
        caught_by="one-member-per-server",
    ),
    Attack(
        "a quorum with its kind miswritten",
        [*nodes(3), *changed(quorum("etcd", "etcd", replicas=2), "etcd", kind="DaemonSet")],
        caught_by="etcd-size",
    ),
    Attack(
        "a component type of the project on foreign facts",
        [
            Given(
                "quorate:k8s:Etcd",
                "etcd",
                {"members": [{"node": f"m{each}", "server": f"s{each}", "address": "10.0.0.1"} for each in (1, 2, 3)]},
            )
        ],
        caught_by="masters-apart",
    ),
]
