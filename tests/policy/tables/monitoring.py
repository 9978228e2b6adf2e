from policy.rules.monitoring import monitoring_node_size, monitoring_on_its_nodes
from tests.policy.cases import case
from tests.policy.world import UNKNOWN, Given, cloud, machine, machines, quorum, workload

own, size = monitoring_on_its_nodes, monitoring_node_size

NODES = [*machines("monitoring", roles=["monitoring"]), *machines("keystone")]
LOGS = quorum("elasticsearch-kibana", "Elasticsearch + Kibana", pools=["monitoring"])
KEYSTONE = workload("keystone", row="keystone-all", pools=["keystone"])
NAGIOS = workload("nagios", row="Nagios", pools=["keystone"], replicas=1)


def sized(cpu: object, memory: object, count: int = 3) -> list[Given]:
    return [
        machine(f"m{number}", "monitoring").but(allocatable={"cpu": cpu, "memory": memory}) for number in range(count)
    ]


CASES = (
    case(
        own,
        "stores there, others elsewhere",
        cloud(),
        NODES,
        LOGS,
        KEYSTONE,
        NAGIOS,
        passes="elasticsearch-kibana keystone nagios",
    ),
    case(
        own,
        "nodes dedicated to a store count",
        cloud("1000"),
        NODES,
        machines("influxdb-grafana"),
        quorum("influxdb-grafana", "Influxdb + Grafana"),
        passes="influxdb-grafana",
    ),
    case(
        own,
        "a store elsewhere",
        cloud(),
        NODES,
        quorum("elasticsearch-kibana", "Elasticsearch + Kibana", pools=["monitoring", "keystone"]),
        fails="elasticsearch-kibana",
        message="can run on keystone-1, keystone-2, keystone-3, which are not monitoring nodes",
    ),
    case(
        own,
        "another service there",
        cloud(),
        NODES,
        LOGS,
        workload("website", pools=["monitoring"]),
        passes="elasticsearch-kibana",
        fails="website",
        message="can run on monitoring nodes monitoring-1, monitoring-2, monitoring-3",
    ),
    case(own, "no monitoring nodes", cloud(), machines("keystone"), KEYSTONE, NAGIOS),
    case(
        own,
        "unknown tolerations",
        cloud(),
        NODES,
        LOGS,
        KEYSTONE.but(spec__template__spec__tolerations=UNKNOWN),
        passes="elasticsearch-kibana",
        undecided="keystone",
    ),
    case(size, "four cores and 8 GiB", cloud(), sized(4, 8), LOGS, passes="elasticsearch-kibana"),
    case(
        size,
        "two cores, or 4 GiB",
        cloud(),
        sized(2, 8),
        LOGS,
        workload("nagios", row="Nagios", pools=["monitoring"], replicas=1),
        fails="elasticsearch-kibana nagios",
        message="can run on m0, m1, m2, which have less; expected 4 cores and 8 GiB or more",
    ),
    case(size, "short of memory", cloud(), sized(8, 4), LOGS, fails="elasticsearch-kibana"),
    case(size, "a lab", cloud(profile="lab"), sized(1, 2), LOGS),
    case(size, "nodes that do not say, or no monitoring", cloud(), NODES, LOGS, KEYSTONE),
    case(size, "unknown memory", cloud(), sized(4, UNKNOWN), LOGS, undecided="elasticsearch-kibana"),
)
