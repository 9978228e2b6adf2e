from policy.rules.distributed_routers import distributed_routers_on_computes
from tests.policy.cases import case
from tests.policy.world import UNKNOWN, Given, cloud, companion, config_map, daemons, machine_pool, machines, reading
from tests.policy.world import workload as made

dvr = distributed_routers_on_computes
NODES = [machine_pool("compute"), *machines("keystone")]
SERVER = reading(made("neutron-server", row="neutron-server", pools=["keystone"]), "server")
NETWORK = reading(made("neutron-l3-agent", row="neutron-l3-agent", pools=["keystone"]), "network")
COMPUTE = daemons("nova-compute", "compute", row="nova-compute")
SNAT = config_map("network", {"l3_agent.ini": "[DEFAULT]\nagent_mode = dvr_snat\n"})
BOTH = {"l3_agent.ini": "[DEFAULT]\nagent_mode = dvr\n", "metadata_agent.ini": "[DEFAULT]\n"}


def server(text: object = "[DEFAULT]\nrouter_distributed = True\n") -> list[Given]:
    """Neutron's server with its file, and an L3 agent of the network nodes."""
    return [SERVER, config_map("server", {"neutron.conf": text}), NETWORK, SNAT]


def agents(*pools: str, kind: str = "DaemonSet", **files: str) -> list[Given]:
    """The agents of the computes, with these files in place of both agents' own."""
    read = {name.replace("_ini", ".ini"): text for name, text in files.items()} or BOTH
    daemon = companion("neutron-l3-agent-compute", "nova-compute", pools=pools or ["compute"], kind=kind, apart=())
    return [reading(daemon, "agents"), config_map("agents", read)]


CASES = (
    case(dvr, "one of each on every compute", cloud(), NODES, *server(), COMPUTE, *agents(), passes="nova-compute"),
    case(
        dvr,
        "routers of network nodes only",
        cloud(),
        NODES,
        *server("[DEFAULT]\nrouter_distributed = False\n"),
        COMPUTE,
    ),
    case(
        dvr,
        "no agents on computes",
        cloud(),
        NODES,
        *server(),
        COMPUTE,
        fails="nova-compute",
        message="no L3 agent with agent_mode dvr on compute-1, compute-2, compute-3; expected one on every node",
    ),
    case(
        dvr,
        "a Deployment is not on every compute",
        cloud(),
        NODES,
        *server(),
        COMPUTE,
        *agents(kind="Deployment"),
        fails="nova-compute",
        message="no L3 agent with agent_mode dvr on compute-1",
    ),
    case(
        dvr,
        "an agent in another mode",
        cloud(),
        NODES,
        *server(),
        COMPUTE,
        *agents(l3_agent_ini="[DEFAULT]\nagent_mode = legacy\n", metadata_agent_ini="[DEFAULT]\n"),
        fails="nova-compute",
        message="no L3 agent with agent_mode dvr on compute-1",
    ),
    case(
        dvr,
        "no metadata agent beside it",
        cloud(),
        NODES,
        *server(),
        COMPUTE,
        *agents(l3_agent_ini=BOTH["l3_agent.ini"]),
        fails="nova-compute",
        message="no metadata agent on compute-1, compute-2, compute-3; expected one on every node",
    ),
    case(
        dvr,
        "computes that are network nodes too",
        cloud(),
        NODES,
        *server(),
        daemons("nova-compute", "compute", "keystone", row="nova-compute"),
        *agents("compute", "keystone"),
        fails="nova-compute",
        message="several L3 agents (DaemonSet neutron-l3-agent-compute, Deployment neutron-l3-agent) can run on "
        "keystone-1, keystone-2, keystone-3; expected one of them on each node",
    ),
    case(dvr, "an unknown option", cloud(), NODES, *server(UNKNOWN), COMPUTE, *agents(), undecided="nova-compute"),
)
