from policy.rules.osd_nodes import nothing_beside_osd
from tests.policy.cases import case
from tests.policy.world import UNKNOWN, cloud, daemons, machine, machine_pool, machines, workload

osd = nothing_beside_osd

KEYSTONE = workload("keystone", row="keystone-all", pools=["keystone"])
STORAGE = [machine_pool("storage"), *machines("keystone")]
OSD = daemons("ceph-osd", "storage", row="ceph-osd")
AGENT_OF_NODES = daemons("calico-node", namespace="kube-system").but(
    spec__template__spec__tolerations=[{"operator": "Exists"}]
)


CASES = (
    case(osd, "storage nodes of its own", cloud(), STORAGE, OSD, KEYSTONE, AGENT_OF_NODES, passes="keystone"),
    case(
        osd,
        "a guest on storage nodes",
        cloud(),
        STORAGE,
        OSD,
        KEYSTONE,
        workload("radosgw", row="radosgw", pools=["storage"]),
        passes="keystone",
        fails="radosgw",
        message="can run on OSD nodes storage-1, storage-2, storage-3",
    ),
    case(
        osd,
        "storage nodes without a taint",
        cloud(),
        machine_pool("storage", taints=[]),
        OSD,
        workload("website"),
        workload("backup", "Job"),
        fails="website backup",
    ),
    case(osd, "no storage", cloud(), machines("keystone"), KEYSTONE),
    case(
        osd,
        "an unknown taint of the storage nodes",
        cloud(),
        machine("storage-1", "storage", taints=UNKNOWN),
        OSD,
        workload("website"),
        undecided="website",
    ),
)
