"""Members kept apart by other means than the usual anti-affinity over nodes and physical hosts, or by stricter ones."""

from dataclasses import replace

from tests.policy.world import Given, machine, whole_stack, with_files
from tests.sound.sound import HOST, RACK, SERVER, Sound, around, member, node, nodes, quorum, spread

SHARED_HOSTS = [node("n1", "s1"), node("n2", "s1"), node("n3", "s2"), node("n4", "s2"), node("n5", "s3")]


def local_volumes(claim: str, *on: str) -> list[Given]:
    """Volumes on the disks of nodes, of the class local."""
    found: list[Given] = []
    for each in on:
        term = {"matchExpressions": [{"key": HOST, "operator": "In", "values": [each]}]}
        spec = {
            "storageClassName": "local",
            "local": {"path": f"/data/{claim}"},
            "nodeAffinity": {"required": {"nodeSelectorTerms": [term]}},
        }
        name = f"{claim}-{each}"
        found.append(Given("kubernetes:core/v1:PersistentVolume", name, {"metadata": {"name": name}, "spec": spec}))
    return found


LOCAL = {"metadata": {"name": "data"}, "spec": {"accessModes": ["ReadWriteOnce"], "storageClassName": "local"}}

CASES = [
    Sound(
        "a Galera of five over the table's three",
        [
            each.but(spec__replicas=5) if each.name == "mysqld" else each
            for each in (*whole_stack("100"), *(with_files(machine(f"mysqld-{each}", "mysqld")) for each in (4, 5)))
        ],
        notes=frozenset({"quorum-larger-than-row"}),
    ),
    Sound("ZooKeeper, a rack for each member", [*nodes(6, 3), *quorum("zk", "zookeeper", apart=(RACK,))]),
    Sound(
        "Consul in zones by the well-known label",
        [
            *(node(f"n{each}", **{"topology.kubernetes.io/zone": f"z{each}"}) for each in (1, 2, 3)),
            *quorum("consul", "consul", apart=("topology.kubernetes.io/zone",)),
        ],
    ),
    Sound(
        "MongoDB spread over hosts, as many as members",
        [*SHARED_HOSTS, *quorum("mongo", "mongo", apart=(), spread=[spread(SERVER, "mongo")])],
    ),
    Sound(
        "Vault spread over racks with minDomains",
        [*nodes(3, 3), *quorum("vault", "vault", apart=(), spread=[spread(RACK, "vault", minDomains=4)])],
    ),
    Sound(
        "OVN databases apart over hosts alone, with more nodes than hosts",
        [*SHARED_HOSTS, *quorum("ovn-nb", "ovn-nb-db-server", apart=(SERVER,))],
    ),
    Sound(
        "an own program apart over nodes, each node a server",
        [*nodes(4), *quorum("ledger", "ledger", apart=(HOST,))],
    ),
    Sound(
        "ports of the node keep members apart",
        [
            *nodes(3),
            *quorum(
                "etcd",
                "etcd",
                apart=(),
                pod={
                    "containers": [
                        {
                            "name": "etcd",
                            "image": f"registry.example/etcd:3.6.5@sha256:{'0' * 64}",
                            "ports": [{"containerPort": 2380, "hostPort": 2380}],
                            "resources": {"requests": {"cpu": "1", "memory": "1Gi"}, "limits": {"memory": "1Gi"}},
                        }
                    ]
                },
            ),
        ],
    ),
    Sound(
        "ZooKeeper in three StatefulSets behind one Service, apart over hosts",
        [
            *SHARED_HOSTS,
            *(
                replace(
                    member(f"zk-{each}", "zookeeper", replicas=1, labels={"app": "zk"}).but(
                        spec__serviceName="zk-members"
                    ),
                    after=tuple(f"zk-{number}" for number in range(1, each)),
                )
                for each in (1, 2, 3)
            ),
            *around("zk"),
        ],
    ),
    Sound(
        "volumes on the disks of the members' nodes",
        [
            *nodes(5),
            *local_volumes("ledger", "n1", "n2", "n3"),
            *(
                each.but(spec__volumeClaimTemplates=[LOCAL]) if each.name == "ledger" else each
                for each in quorum("ledger", "ledger")
            ),
        ],
    ),
    Sound(
        "two clusters of one program beside each other",
        [*nodes(6), *quorum("zk-blue", "zookeeper"), *quorum("zk-green", "zookeeper")],
    ),
    Sound(
        "replicas without votes: caches and web servers",
        [*nodes(3), *quorum("cache", "memcached", replicas=2, apart=())],
    ),
    Sound(
        "an unrelated small virtual machine",
        [
            *nodes(3),
            *quorum("zk", "zookeeper"),
            Given("libvirt:index/domain:Domain", "jump", {"name": "jump", "memory": 1024, "vcpu": 1}),
        ],
    ),
    Sound(
        "three masters on three hypervisors, which start with their hosts",
        [
            replace(
                Given("libvirt:index/domain:Domain", name, {"name": name, "memory": 16384, "autostart": True}, True),
                provider=f"qemu+ssh://root@h{name[-1]}/system",
            )
            for name in ("master-1", "master-2", "master-3")
        ],
    ),
]
