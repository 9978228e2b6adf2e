from policy.rules.colocation import (
    l2_agent_goes_along,
    network_agents_beside_server,
    radosgw_beside_monitors,
    scheduler_beside_nova,
)
from tests.policy.cases import case
from tests.policy.world import UNKNOWN, Given, cloud, daemons, machine_pool, machines, quorum, workload

nova, network, radosgw = scheduler_beside_nova, network_agents_beside_server, radosgw_beside_monitors
l2 = l2_agent_goes_along

NODES = [*machines("keystone"), *machines("nova-api"), *machines("rabbitmq"), *machines("ceph-mon")]
API = workload("nova-api", row="nova-api", pools=["nova-api"])
SERVER = workload("neutron-server", row="neutron-server", pools=["keystone"])
MON = quorum("ceph-mon", "ceph-mon")


def on(name: str, *pools: str) -> Given:
    return workload(name, row=name, pools=pools)


L2_NODES = [machine_pool("compute"), *machines("keystone")]
AGENT = daemons("neutron-l2-agent", "compute", "keystone", row="neutron-l2-agent")
COMPUTE = daemons("nova-compute", "compute", row="nova-compute")
L3 = workload("neutron-l3-agent", row="neutron-l3-agent", pools=["keystone"])
DHCP = workload("neutron-dhcp-agent", row="neutron-dhcp-agent", pools=["keystone"])


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
        message="can run on keystone-1, keystone-2, keystone-3, none of which can run nova-api or nova-conductor",
    ),
    case(
        nova,
        "nodes of its own, hand-written",
        NODES,
        machines("nova-scheduler"),
        workload("nova-api", pools=["nova-api"]),
        workload("nova-scheduler", pools=["nova-api", "nova-scheduler"]),
        fails="nova-scheduler",
        message="has dedicated nodes nova-scheduler-1, nova-scheduler-2, nova-scheduler-3",
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
        "nodes without a server",
        cloud(),
        NODES,
        SERVER,
        on("neutron-l3-agent", "keystone", "rabbitmq"),
        on("neutron-dhcp-agent", "keystone"),
        on("neutron-metadata-agent", "keystone"),
        passes="neutron-dhcp-agent neutron-metadata-agent",
        fails="neutron-l3-agent",
        message="can run on rabbitmq-1, rabbitmq-2, rabbitmq-3, which can be without neutron-server",
    ),
    case(
        network,
        "three instances of each on five nodes: no instance is certain to be beside another",
        cloud("1000"),
        machines("keystone", 5),
        SERVER,
        *(on(name, "keystone") for name in ("neutron-l3-agent", "neutron-dhcp-agent", "neutron-metadata-agent")),
        fails="neutron-l3-agent neutron-dhcp-agent neutron-metadata-agent",
        message="which can be without neutron-metadata-agent",
    ),
    case(
        network,
        "as many instances as nodes, which may share one",
        cloud(),
        NODES,
        workload("neutron-server", row="neutron-server", pools=["keystone"], apart=()),
        on("neutron-l3-agent", "keystone"),
        fails="neutron-l3-agent",
    ),
    case(
        network,
        "five of each on five nodes, hand-written, one server a node as a daemon",
        machines("keystone", 5),
        daemons("neutron-server", "keystone"),
        workload("neutron-l3-agent", pools=["keystone"], replicas=2),
        passes="neutron-l3-agent",
    ),
    case(
        network,
        "metadata agents where no router is",
        cloud(),
        NODES,
        SERVER,
        on("neutron-l3-agent", "keystone"),
        on("neutron-metadata-agent", "nova-api"),
        fails="neutron-metadata-agent neutron-l3-agent",
        message="can run on nova-api-1, nova-api-2, nova-api-3, which can be without neutron-l3-agent or neutron-dhcp",
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
    case(
        l2,
        "wherever they may run",
        cloud(),
        L2_NODES,
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
        L2_NODES,
        daemons("neutron-l2-agent", "compute", row="neutron-l2-agent"),
        COMPUTE,
        L3,
        DHCP,
        passes="nova-compute",
        fails="neutron-l3-agent neutron-dhcp-agent",
        message="can run on keystone-1, keystone-2, keystone-3, which have no neutron-l2-agent",
    ),
    case(
        l2,
        "one for computes, one for network nodes",
        cloud(),
        L2_NODES,
        daemons("neutron-l2-agent", "compute", row="neutron-l2-agent"),
        daemons("neutron-l2-agent-network", "keystone", row="neutron-l2-agent"),
        COMPUTE,
        L3,
        passes="nova-compute neutron-l3-agent",
    ),
    case(
        l2,
        "ovn-controller in place of it",
        cloud(networks="ovn"),
        L2_NODES,
        daemons("ovn-controller", "compute", row="neutron-l2-agent"),
        daemons("ovn-controller-network", "keystone", row="neutron-l2-agent"),
        COMPUTE,
        passes="nova-compute",
    ),
    case(l2, "no agent at all", cloud(), L2_NODES, COMPUTE, fails="nova-compute"),
    case(
        l2,
        "replicas are not everywhere",
        cloud(),
        L2_NODES,
        COMPUTE,
        workload("neutron-l2-agent", row="neutron-l2-agent", pools=["compute"]),
        fails="nova-compute",
    ),
    case(l2, "no service that needs it", cloud(), L2_NODES, AGENT, workload("glance-api", row="glance-api")),
    case(
        l2,
        "unknown affinity of the agent",
        cloud(),
        L2_NODES,
        COMPUTE,
        AGENT.but(spec__template__spec__affinity=UNKNOWN),
        undecided="nova-compute",
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
        message="can run on keystone-1, keystone-2, keystone-3, which cannot run ceph-mon; expected only monitor nodes",
    ),
    case(radosgw, "an external Ceph", cloud(), NODES, on("radosgw", "keystone")),
    case(radosgw, "no nodes", cloud(), MON, on("radosgw", "ceph-mon"), undecided="radosgw"),
)
