from policy.rules.ceph_copies import ceph_acknowledges_two_copies, ceph_copies_on_servers
from tests.policy.cases import case
from tests.policy.world import UNKNOWN, Given, Props, cloud, config_map, daemons, machine, machines

copies, servers = ceph_acknowledges_two_copies, ceph_copies_on_servers


def configured(text: object) -> Given:
    return config_map("ceph", {"ceph.conf": text})


CONFIGURED = "kubernetes:ceph.rook.io/v1:CephCluster"


def pool(kind: str = "CephBlockPool", **spec: object) -> Given:
    """A custom resource of Rook with pools."""
    return Given(f"kubernetes:ceph.rook.io/v1:{kind}", "pool", {"metadata": {"name": "pool"}, "spec": spec})


def cluster(*names: str, **options: object) -> Given:
    """A CephCluster with OSDs on these nodes, and these options in section global."""
    spec: Props = {"mon": {"count": 3}, "storage": {"nodes": [{"name": name} for name in names]}}
    spec |= {"cephConfig": {"global": options}} if options else {}
    return Given(CONFIGURED, "ceph", {"metadata": {"name": "ceph"}, "spec": spec})


ONE = "osd_pool_default_size = 1\nosd_pool_default_min_size = 1\n"

POOLS = (
    case(copies, "a pool of three", pool(replicated={"size": 3}), passes="pool"),
    case(copies, "a pool of two", pool(replicated={"size": 2}), passes="pool"),
    case(
        copies,
        "a pool of one",
        pool(replicated={"size": 1, "requireSafeReplicaSize": False}),
        fails="pool",
        message="CephBlockPool pool: replicated.size is 1; expected 3 copies",
    ),
    case(copies, "a pool of one in a lab", cloud(profile="lab"), pool(replicated={"size": 1})),
    case(
        copies,
        "a pool that goes on with one of three",
        pool(replicated={"size": 3}, parameters={"min_size": "1"}),
        fails="pool",
        message="parameters.min_size is 1; expected 2 or more",
    ),
    case(
        copies,
        "the second data pool of a file system",
        pool(
            "CephFilesystem",
            metadataPool={"replicated": {"size": 3}},
            dataPools=[{"replicated": {"size": 3}}, {"replicated": {"size": 1}}],
        ),
        fails="pool",
        message="dataPools[1] of CephFilesystem pool: replicated.size is 1",
        passes="pool",
    ),
    case(
        copies,
        "an object store with one coding chunk",
        pool("CephObjectStore", dataPool={"erasureCoded": {"dataChunks": 4, "codingChunks": 1}}),
        fails="pool",
        message="dataPool of CephObjectStore pool: codingChunks is 1; expected 2 or more",
    ),
    case(copies, "two coding chunks", pool(erasureCoded={"dataChunks": 4, "codingChunks": 2}), passes="pool"),
    case(copies, "the copies of a pool are unknown", pool(replicated=UNKNOWN), undecided="pool"),
    case(copies, "no copies of its own", pool(replicated=None)),
    case(
        copies,
        "one copy by the cluster's options",
        cluster(osd_pool_default_size="1", mon_allow_pool_size_one="true"),
        fails="ceph",
        message="osd_pool_default_size is 1",
    ),
    case(
        copies,
        "in Rook's ConfigMap",
        config_map("rook-config-override", {"config": "[global]\nosd_pool_default_min_size = 1\n"}),
        fails="rook-config-override-config",
    ),
    case(servers, "a pool whose copies are on hosts", pool(replicated={"size": 3}), passes="pool"),
    case(
        servers,
        "a pool whose copies are on disks",
        pool(failureDomain="osd", replicated={"size": 3}),
        fails="pool",
        message="failureDomain is osd: all copies can be on one server; expected host, rack or zone",
    ),
    case(servers, "an unknown failure domain", pool(failureDomain=UNKNOWN), undecided="pool"),
    case(servers, "copies on disks, by the cluster's options", cluster(osd_crush_chooseleaf_type=0), fails="ceph"),
    case(
        servers,
        "copies on hosts",
        configured("[osd]\nosd_crush_chooseleaf_type = 1\n"),
        passes="ceph-config",
    ),
    case(servers, "OSDs on three nodes", cluster("a", "b", "c"), passes="ceph"),
    case(
        servers,
        "OSDs on three nodes of two servers",
        machine("a", "storage", server="s1"),
        machine("b", "storage", server="s1"),
        cluster("a", "b", "c"),
        fails="ceph",
        message="OSDs can run on 2 servers: c, s1; expected 3, one for each copy",
    ),
)
OSDS = daemons("ceph-osd", "storage", row="ceph-osd")


CASES = (
    *POOLS,
    case(servers, "three servers", cloud(), machines("storage"), OSDS, passes="ceph-osd"),
    case(
        servers,
        "two servers and Ceph's default",
        cloud(),
        machines("storage", 2),
        OSDS,
        fails="ceph-osd",
        message="OSDs can run on 2 servers: storage-1, storage-2; expected 3, one for each copy",
    ),
    case(
        servers,
        "three nodes of two servers",
        cloud(),
        machines("storage", 2),
        machine("storage-3", "storage", server="storage-2"),
        OSDS,
        fails="ceph-osd",
    ),
    case(
        servers,
        "two copies on two servers",
        cloud(),
        machines("storage", 2),
        OSDS,
        configured("[global]\nosd_pool_default_size = 2\n"),
        passes="ceph-osd",
    ),
    case(servers, "no OSDs", cloud(), machines("storage", 2)),
    case(
        servers,
        "unknown copies",
        cloud(),
        machines("storage"),
        OSDS,
        configured(UNKNOWN),
        undecided="ceph-osd ceph-config",
    ),
    case(
        copies,
        "two of three",
        configured("[mon]\nosd_pool_default_size = 3\nosd_pool_default_min_size = 2\n"),
        passes="ceph-config",
    ),
    case(
        copies,
        "the default is more than half",
        configured("[global]\nosd pool default size = 3\n"),
        passes="ceph-config",
    ),
    case(
        copies,
        "one of three",
        configured("[global]\nosd pool default min size = 1\n"),
        fails="ceph-config",
        message="osd_pool_default_min_size is 1; expected 2 or more",
    ),
    case(
        copies,
        "a lab of one copy",
        cloud(profile="lab"),
        configured("[mon]\nosd_pool_default_size = 1\nosd_pool_default_min_size = 1\n"),
    ),
    case(copies, "no pools", configured("[global]\nfsid = a\n"), config_map("other", {"nova.conf": "[DEFAULT]\n"})),
    case(copies, "unknown", configured(UNKNOWN), undecided="ceph-config"),
    case(
        copies,
        "no number",
        configured("[mon]\nosd_pool_default_size = many\n"),
        undecided="ceph-config",
        message="'many'",
    ),
)
