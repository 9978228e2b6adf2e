from policy.rules.anti_affinity import nothing_beside_osd, services_apart
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
    machine_pool,
    machines,
    workload,
)

apart, osd = services_apart, nothing_beside_osd

NODES = [*machines("keystone"), *machines("horizon")]
KEYSTONE = workload("keystone", row="keystone-all", pools=["keystone"])
HORIZON = workload("horizon", row="horizon/apache2", pools=["horizon"])
BOTH = ["keystone", "horizon"]
REFUSES = "spec__template__spec__affinity__podAntiAffinity__" + REQUIRED

STORAGE = [machine_pool("storage"), *machines("keystone")]
OSD = daemons("ceph-osd", "storage", row="ceph-osd")
AGENT_OF_NODES = daemons("calico-node", namespace="kube-system").but(
    spec__template__spec__tolerations=[{"operator": "Exists"}]
)


def refusing(given: Given, other: str, **more: object) -> Given:
    """Returns the workload with required anti-affinity to another workload's pods."""
    return given.but(**{REFUSES: [apart_term(HOST, {"app.kubernetes.io/name": other}, **more)]})


def anywhere(name: str, row: str) -> Given:
    return workload(name, row=row, pools=BOTH)


CASES = (
    case(apart, "pools of their own", cloud(), NODES, KEYSTONE, HORIZON, passes="keystone horizon"),
    case(
        apart,
        "one refuses the other",
        cloud(),
        NODES,
        refusing(anywhere("keystone", "keystone-all"), "horizon"),
        anywhere("horizon", "horizon/apache2"),
        passes="keystone horizon",
    ),
    case(
        apart,
        "they may meet",
        cloud(),
        NODES,
        KEYSTONE,
        anywhere("horizon", "horizon/apache2"),
        fails="keystone horizon",
        message="may share keystone-1, keystone-2, keystone-3 with Deployment horizon",
    ),
    case(
        apart,
        "a refusal over racks is none over nodes' own pods in another namespace",
        cloud(),
        NODES,
        refusing(anywhere("keystone", "keystone-all"), "horizon", namespaces=["default"]),
        anywhere("horizon", "horizon/apache2"),
        fails="keystone horizon",
    ),
    case(
        apart,
        "hand-written, without an architecture",
        NODES,
        workload("keystone", pools=BOTH),
        workload("horizon", pools=BOTH),
        fails="keystone horizon",
    ),
    case(apart, "services that may meet", cloud(), NODES, workload("glance-api", row="glance-api", pools=BOTH)),
    case(
        apart,
        "unknown tolerations of one",
        cloud(),
        NODES,
        KEYSTONE,
        HORIZON.but(spec__template__spec__tolerations=UNKNOWN),
        undecided="keystone horizon",
    ),
    case(apart, "the stack has no nodes", cloud(), KEYSTONE, HORIZON, undecided="keystone horizon"),
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
    case(osd, "no storage", cloud(), NODES, KEYSTONE),
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
