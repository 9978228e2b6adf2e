from policy.rules.sriov import sriov_devices_have_agents
from tests.policy.cases import case
from tests.policy.world import UNKNOWN, Given, cloud, companion, config_map, daemons, machine_pool, machines, reading
from tests.policy.world import workload as made

cards = sriov_devices_have_agents
NODES = [machine_pool("compute"), *machines("keystone")]
SPEC = '[pci]\ndevice_spec = {"devname": "ens2f1", "physical_network": "physnet1"}\n'
MAPPED = "[sriov_nic]\nphysical_device_mappings = physnet1:ens2f1\n"
ML2 = "[ml2]\nmechanism_drivers = openvswitch,sriovnicswitch\nproject_network_types = vlan,vxlan\n"
FILTERS = "[filter_scheduler]\nenabled_filters = ComputeFilter,PciPassthroughFilter\n"


def compute(**nodes: object) -> list[Given]:
    """nova-compute with these files of single nodes; compute_1 for compute-1."""
    files = {f"{name.replace('_', '-')}.conf": text for name, text in nodes.items()}
    given = reading(daemons("nova-compute", "compute", row="nova-compute"), "compute", "compute-nodes")
    return [given, config_map("compute", {"nova.conf": "[DEFAULT]\n"}), config_map("compute-nodes", files)]


def agent(kind: str = "DaemonSet", **nodes: object) -> list[Given]:
    """Neutron's agent of SR-IOV with these files of single nodes."""
    files = {f"{name.replace('_', '-')}.conf": text for name, text in nodes.items()}
    daemon = companion("neutron-sriov-nic-agent", "nova-compute", pools=["compute"], kind=kind, apart=())
    return [reading(daemon, "agent-nodes"), config_map("agent-nodes", files)]


def servers(ml2: object = ML2, nova: object = FILTERS) -> list[Given]:
    server = reading(made("neutron-server", row="neutron-server", pools=["keystone"]), "server")
    scheduler = reading(made("nova-scheduler", row="nova-scheduler", pools=["keystone"]), "scheduler")
    files = [config_map("server", {"ml2_conf.ini": ml2}), config_map("scheduler", {"nova.conf": nova})]
    return [server, scheduler, *files]


CASES = (
    case(
        cards,
        "an agent where Nova has a card",
        cloud(),
        NODES,
        *servers(),
        *compute(compute_1=SPEC),
        *agent(compute_1=MAPPED),
        passes="nova-compute",
    ),
    case(
        cards,
        "cards and agents of all nodes, by their common files",
        cloud(),
        NODES,
        *servers(),
        reading(daemons("nova-compute", "compute", row="nova-compute"), "compute"),
        config_map("compute", {"nova.conf": SPEC}),
        reading(companion("agent", "nova-compute", pools=["compute"], kind="DaemonSet", apart=()), "agent"),
        config_map("agent", {"sriov_agent.ini": MAPPED}),
        passes="nova-compute",
    ),
    case(cards, "no card", cloud(), NODES, *servers(), *compute(compute_1="[DEFAULT]\n")),
    case(
        cards,
        "a device for flavors, which is not a port",
        cloud(),
        NODES,
        *servers(),
        *compute(compute_1='[pci]\ndevice_spec = {"address": "0000:3b:00.0"}\n'),
    ),
    case(
        cards,
        "no agent on one of two nodes",
        cloud(),
        NODES,
        *servers(),
        *compute(compute_1=SPEC, compute_3=SPEC),
        *agent(compute_1=MAPPED, compute_3="[sriov_nic]\nexclude_devices =\n"),
        fails="nova-compute",
        message="no agent with physical_device_mappings on compute-3; expected one on every node",
    ),
    case(
        cards,
        "a Deployment is not on every node",
        cloud(),
        NODES,
        *servers(),
        *compute(compute_1=SPEC),
        *agent(kind="Deployment", compute_1=MAPPED),
        fails="nova-compute",
        message="no agent with physical_device_mappings on compute-1",
    ),
    case(
        cards,
        "a server without the driver",
        cloud(),
        NODES,
        *servers(ML2.replace(",sriovnicswitch", "")),
        *compute(compute_1=SPEC),
        *agent(compute_1=MAPPED),
        fails="nova-compute",
        message="the mechanism drivers are openvswitch; expected sriovnicswitch among them",
    ),
    case(
        cards,
        "tunnels only",
        cloud(),
        NODES,
        *servers(ML2.replace("vlan,", "")),
        *compute(compute_1=SPEC),
        *agent(compute_1=MAPPED),
        fails="nova-compute",
        message="networks of projects are vxlan only; expected vlan or flat among their types",
    ),
    case(
        cards,
        "a scheduler without the filter",
        cloud(),
        NODES,
        *servers(nova="[DEFAULT]\n"),
        *compute(compute_1=SPEC),
        *agent(compute_1=MAPPED),
        fails="nova-compute",
        message="the scheduler's filters are those by default; expected PciPassthroughFilter among them",
    ),
    case(
        cards,
        "an unknown file of a node",
        cloud(),
        NODES,
        *servers(),
        *compute(compute_1=UNKNOWN),
        *agent(compute_1=MAPPED),
        undecided="nova-compute",
    ),
)
