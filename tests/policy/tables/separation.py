from policy.rules.anti_affinity import l2_agent_goes_along, nothing_beside_osd, services_apart
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

apart, l2, osd = services_apart, l2_agent_goes_along, nothing_beside_osd

NODES = [*machines("keystone"), *machines("horizon")]
KEYSTONE = workload("keystone", row="keystone-all", pools=["keystone"])
HORIZON = workload("horizon", row="horizon/apache2", pools=["horizon"])
BOTH = ["keystone", "horizon"]
REFUSES = "spec__template__spec__affinity__podAntiAffinity__" + REQUIRED

NETWORK = [machine_pool("compute"), *machines("keystone")]
AGENT = daemons("neutron-l2-agent", "compute", "keystone", row="neutron-l2-agent")
COMPUTE = daemons("nova-compute", "compute", row="nova-compute")
L3 = workload("neutron-l3-agent", row="neutron-l3-agent", pools=["keystone"])
DHCP = workload("neutron-dhcp-agent", row="neutron-dhcp-agent", pools=["keystone"])

STORAGE = [machine_pool("storage"), *machines("keystone")]
OSD = daemons("ceph-osd", "storage", row="ceph-osd")
AGENT_OF_NODES = daemons("calico-node", namespace="kube-system").but(
    spec__template__spec__tolerations=[{"operator": "Exists"}]
)


def refusing(given: Given, other: str, **more: object) -> Given:
    """The same, and never on a node with the other's pods."""
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
    case(
        l2,
        "wherever they may run",
        cloud(),
        NETWORK,
        AGENT,
        COMPUTE,
        L3,
        DHCP,
        passes="nova-compute neutron-l3-agent neutron-dhcp-agent",
    ),
    case(
        l2,
        "on computes alone",
        cloud(),
        NETWORK,
        daemons("neutron-l2-agent", "compute", row="neutron-l2-agent"),
        COMPUTE,
        L3,
        DHCP,
        passes="nova-compute",
        fails="neutron-l3-agent neutron-dhcp-agent",
        message="it may run on keystone-1, keystone-2, keystone-3, where no neutron-l2-agent runs",
    ),
    case(l2, "no agent at all", cloud(), NETWORK, COMPUTE, fails="nova-compute"),
    case(
        l2,
        "replicas are not everywhere",
        cloud(),
        NETWORK,
        COMPUTE,
        workload("neutron-l2-agent", row="neutron-l2-agent", pools=["compute"]),
        fails="nova-compute",
    ),
    case(l2, "no service that needs it", cloud(), NETWORK, AGENT, workload("glance-api", row="glance-api")),
    case(
        l2,
        "unknown affinity of the agent",
        cloud(),
        NETWORK,
        COMPUTE,
        AGENT.but(spec__template__spec__affinity=UNKNOWN),
        undecided="nova-compute",
    ),
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
        message="may run on storage-1, storage-2, storage-3, which carry OSDs",
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
