from policy.rules.colocation import network_agents_beside_server, radosgw_beside_monitors, scheduler_beside_nova
from tests.policy.cases import case
from tests.policy.world import UNKNOWN, Given, cloud, machines, quorum, workload

nova, network, radosgw = scheduler_beside_nova, network_agents_beside_server, radosgw_beside_monitors

NODES = [*machines("keystone"), *machines("nova-api"), *machines("rabbitmq"), *machines("ceph-mon")]
API = workload("nova-api", row="nova-api", pools=["nova-api"])
SERVER = workload("neutron-server", row="neutron-server", pools=["keystone"])
MON = quorum("ceph-mon", "ceph-mon")


def on(name: str, *pools: str) -> Given:
    return workload(name, row=name, pools=pools)


CASES = (
    case(
        nova,
        "on nova-api's nodes and others",
        cloud("1000"),
        NODES,
        API,
        on("nova-scheduler", "nova-api", "keystone"),
        passes="nova-scheduler",
    ),
    case(
        nova,
        "nowhere near Nova",
        cloud("1000"),
        NODES,
        API,
        on("nova-scheduler", "keystone"),
        fails="nova-scheduler",
        message="it may run on keystone-1, keystone-2, keystone-3, where no nova-api or nova-conductor may",
    ),
    case(
        nova,
        "nodes of its own, hand-written",
        NODES,
        machines("nova-scheduler"),
        workload("nova-api", pools=["nova-api"]),
        workload("nova-scheduler", pools=["nova-api", "nova-scheduler"]),
        fails="nova-scheduler",
        message="nova-scheduler-1, nova-scheduler-2, nova-scheduler-3 is kept for it alone",
    ),
    case(nova, "no other Nova service", cloud("1000"), NODES, on("nova-scheduler", "keystone")),
    case(
        nova,
        "unknown tolerations",
        cloud("1000"),
        NODES,
        API,
        on("nova-scheduler", "nova-api").but(spec__template__spec__tolerations=UNKNOWN),
        undecided="nova-scheduler",
    ),
    case(
        network,
        "on the server's nodes",
        cloud(),
        NODES,
        SERVER,
        *(on(name, "keystone") for name in ("neutron-l3-agent", "neutron-dhcp-agent", "neutron-metadata-agent")),
        passes="neutron-l3-agent neutron-dhcp-agent neutron-metadata-agent",
    ),
    case(
        network,
        "away from it",
        cloud(),
        NODES,
        SERVER,
        on("neutron-l3-agent", "keystone", "rabbitmq"),
        on("neutron-dhcp-agent", "keystone"),
        on("neutron-metadata-agent", "rabbitmq"),
        passes="neutron-dhcp-agent neutron-metadata-agent",
        fails="neutron-l3-agent",
        message="it may run on rabbitmq-1, rabbitmq-2, rabbitmq-3, where no neutron-server may",
    ),
    case(
        network,
        "a metadata agent with neither server nor routers",
        cloud(),
        NODES,
        SERVER,
        on("neutron-l3-agent", "keystone"),
        on("neutron-metadata-agent", "nova-api"),
        passes="neutron-l3-agent",
        fails="neutron-metadata-agent",
    ),
    case(network, "no server", cloud(), NODES, on("neutron-l3-agent", "keystone"), API),
    case(
        network,
        "unknown affinity of the server",
        cloud(),
        NODES,
        SERVER.but(spec__template__spec__affinity=UNKNOWN),
        on("neutron-dhcp-agent", "keystone"),
        undecided="neutron-dhcp-agent",
    ),
    case(radosgw, "on the monitors' nodes", cloud(), NODES, MON, on("radosgw", "ceph-mon"), passes="radosgw"),
    case(
        radosgw,
        "away from them",
        cloud(),
        NODES,
        MON,
        on("radosgw", "ceph-mon", "keystone"),
        fails="radosgw",
        message="it may run on keystone-1, keystone-2, keystone-3, where no ceph-mon may",
    ),
    case(radosgw, "an external Ceph", cloud(), NODES, on("radosgw", "keystone")),
    case(radosgw, "no nodes", cloud(), MON, on("radosgw", "ceph-mon"), undecided="radosgw"),
)
