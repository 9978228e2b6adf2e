"""Attacks on a valid cloud: a change in one place, or machines whose facts are false."""

from tests.attacks.attack import Attack, changed, given, pinned, with_container, without
from tests.policy.world import Given, daemons, machine_pool, whole_stack, workload
from tests.sound.sound import node, nodes, quorum

SMALL, LARGE = whole_stack("100"), whole_stack("1000")
HEAVY = {
    "containers": [
        {**with_container("spark")["containers"][0], "resources": {"requests": {"cpu": "20", "memory": "200Gi"}}}
    ]
}


def domain(name: str, provider: str, **more: object) -> Given:
    """A libvirt domain of four cores."""
    return Given(
        "libvirt:index/domain:Domain", name, {"name": name, "memory": 8192, "vcpu": 4, **more}, provider=provider
    )


def on_pools(stack: list[Given], name: str, *pools: str) -> list[Given]:
    """Returns the cloud with a workload on other pools."""
    (old,) = (each for each in stack if each.name == name)
    term = {"matchExpressions": [{"key": "quorate.io/pool", "operator": "In", "values": list(pools)}]}
    affinity = {
        **old.props["spec"]["template"]["spec"]["affinity"],
        "nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}},
    }
    tolerations = [
        {"key": "quorate.io/dedicated", "operator": "Equal", "value": each, "effect": "NoSchedule"} for each in pools
    ]
    return changed(stack, name, spec__template__spec__affinity=affinity, spec__template__spec__tolerations=tolerations)


ROWS = {each.name for each in LARGE}
CASES = [
    Attack(
        "two databases on one server",
        changed(
            SMALL, "mysqld-2", server="mysqld-1", labels={"quorate.io/pool": "mysqld", "quorate.io/server": "mysqld-1"}
        ),
        caught_by="one-member-per-server",
    ),
    Attack("two masters", without(SMALL, "master-3"), caught_by="three-masters"),
    Attack("one keystone", changed(SMALL, "keystone", spec__replicas=1), caught_by="instances-match-row"),
    Attack("horizon on keystone's nodes", on_pools(LARGE, "horizon", "keystone"), caught_by="services-apart"),
    Attack(
        "neutron-server beside the conductor",
        on_pools(LARGE, "neutron-server", "nova-conductor"),
        caught_by="dedicated-nodes-admit-guests",
    ),
    Attack("glance on storage nodes", on_pools(LARGE, "glance-api", "storage"), caught_by="nothing-beside-osd"),
    Attack(
        "RabbitMQ and Galera on the same nodes of 1000",
        on_pools(LARGE, "rabbitmq", "mysqld"),
        caught_by="dedicated-nodes-admit-guests",
    ),
    Attack(
        "radosgw away from the monitors", on_pools(LARGE, "radosgw", "horizon"), caught_by="radosgw-beside-monitors"
    ),
    Attack("no balancer for glance", without(LARGE, "glance-api-service"), caught_by="load-balanced-row-has-service"),
    Attack(
        "five schedulers at 1000", changed(LARGE, "nova-scheduler", spec__replicas=5), caught_by="instances-match-row"
    ),
    Attack(
        "a foreign daemon on each node that asks for much",
        [
            *SMALL,
            daemons("spark").but(
                spec__template__spec__tolerations=[{"operator": "Exists"}],
                spec__template__spec__containers=HEAVY["containers"],
            ),
        ],
        caught_by="dedicated-nodes-admit-guests",
    ),
    Attack(
        "a foreign daemon that asks for much and claims to belong to the nodes",
        [
            *(pinned(each) for each in LARGE),
            daemons("spark").but(
                spec__template__spec__tolerations=[{"operator": "Exists"}],
                spec__template__spec__priorityClassName="system-node-critical",
                spec__template__spec__containers=HEAVY["containers"],
            ),
        ],
        caught_by="dedicated-nodes-admit-guests",
    ),
    Attack(
        "a foreign workload that tolerates everything",
        [
            *LARGE,
            workload("spark", apart=()).but(
                spec__template__spec__tolerations=[{"operator": "Exists"}],
                spec__template__spec__containers=HEAVY["containers"],
            ),
        ],
        caught_by="dedicated-nodes-admit-guests",
    ),
    Attack(
        "a foreign workload on the conductor's nodes",
        [
            *LARGE,
            workload("spark", apart=()).but(
                spec__template__spec__tolerations=[{"key": "quorate.io/dedicated", "operator": "Exists"}],
                spec__template__spec__nodeSelector={"quorate.io/pool": "nova-conductor"},
            ),
        ],
        caught_by="dedicated-nodes-admit-guests",
    ),
    Attack(
        "three masters as domains of one hypervisor",
        [
            *(domain(f"master-{each}", "qemu+ssh://host1/system") for each in (1, 2, 3)),
            *without(SMALL, "cloud"),
        ],
        caught_by="server-label-is-true",
    ),
    Attack(
        "nodes that say three servers, domains that say one",
        [
            *(node(f"n{each}", f"s{each}") for each in (1, 2, 3)),
            *(domain(f"n{each}", "qemu+ssh://host1/system") for each in (1, 2, 3)),
            *quorum("etcd", "etcd"),
        ],
        caught_by="server-label-is-true",
    ),
    Attack(
        "emulated masters",
        [
            *(domain(f"n{each}", f"qemu+ssh://h{each}/system", type="qemu") for each in (1, 2, 3)),
            *(node(f"n{each}", f"h{each}") for each in (1, 2, 3)),
            *quorum("etcd", "etcd"),
        ],
        caught_by="hypervisor-known",
    ),
    Attack(
        "kubelet labels that disagree with the machine",
        changed(
            SMALL,
            "mysqld-2",
            files={"/etc/default/kubelet": "KUBELET_EXTRA_ARGS=--node-labels=quorate.io/server=mysqld-1\n"},
        ),
        caught_by="machine-facts-match-files",
    ),
    Attack(
        "a compute pool that is a controller",
        [*without(SMALL, "computes"), machine_pool("compute", 5, roles=["compute", "controller"])],
        caught_by="one-role-per-machine",
    ),
    Attack(
        "CoreDNS of one",
        [
            *nodes(3),
            given(
                "apps/v1:Deployment",
                "coredns",
                {
                    "replicas": 1,
                    "selector": {"matchLabels": {"k8s-app": "kube-dns"}},
                    "template": {"metadata": {"labels": {"k8s-app": "kube-dns"}}, "spec": with_container("coredns")},
                },
                "kube-system",
            ),
        ],
        caught_by="dns-scale",
    ),
    Attack(
        "one keystone in three namespaces of its own",
        [
            *without(SMALL, "keystone"),
            *(each.but(spec__replicas=1).but(metadata__namespace="other") for each in SMALL if each.name == "keystone"),
        ],
        caught_by="instances-match-row",
    ),
]
