from policy.rules.failures import quorum_survives_host, quorum_survives_rack, service_survives_host
from tests.policy.cases import case
from tests.policy.world import (
    HOST,
    SERVER,
    UNKNOWN,
    Given,
    cloud,
    daemons,
    etcd,
    etcd_machines,
    machine,
    machines,
    masters,
    names,
    of_cluster,
    quorum,
    workload,
)

host, instances, rack = quorum_survives_host, service_survives_host, quorum_survives_rack


def vm(name: str, server: object, in_rack: object = "", pool: str = "rabbitmq") -> Given:
    return machine(name, pool, server=server, labels={"quorate.io/rack": in_rack} if in_rack else None)


THREE = machines("rabbitmq")
CROWDED = [vm("a", "virt1"), vm("b", "virt1"), vm("c", "virt2"), vm("d", "virt3")]
IN_RACKS = [
    machine(f"master-{number}", "master", roles=["master"], labels={"quorate.io/rack": f"r{number}"})
    for number in (1, 2, 3)
]
RACKS = [vm(f"n{number}", f"s{number}", f"r{number}") for number in (1, 2, 3)]
TWO_RACKS = [vm("n1", "s1", "r1"), vm("n2", "s2", "r1"), vm("n3", "s3", "r2")]
KEYSTONE = workload("keystone", row="keystone-all", pools=["keystone"])
TRIO = [of_cluster(quorum(name, replicas=1, pools=["rabbitmq"], apart=())) for name in ("r1", "r2", "r3")]


def known(name: str, *nodes: Given) -> list[Given]:
    """Further nodes, so that the stack has racks enough."""
    return [*nodes, vm(name, name, name, "compute")]


LOCAL_CLAIM = {"metadata": {"name": "data"}, "spec": {"storageClassName": "local"}}


def local_volume(name: str, node: str) -> Given:
    """A volume on the disk of a node."""
    term = {"matchExpressions": [{"key": HOST, "operator": "In", "values": [node]}]}
    spec = {
        "storageClassName": "local",
        "local": {"path": "/data"},
        "nodeAffinity": {"required": {"nodeSelectorTerms": [term]}},
    }
    return Given("kubernetes:core/v1:PersistentVolume", name, {"metadata": {"name": name}, "spec": spec})


def spread_over(topology: str, when: str = "DoNotSchedule", **more: object) -> Given:
    """RabbitMQ without anti-affinity, spread over a topology."""
    labels = {"matchLabels": {"app.kubernetes.io/name": "rabbitmq"}}
    term = {"topologyKey": topology, "maxSkew": 1, "whenUnsatisfiable": when, "labelSelector": labels, **more}
    return quorum(apart=()).but(spec__template__spec__topologySpreadConstraints=[term])


CASES = (
    case(host, "a host for each member", THREE, quorum(apart=(HOST,)), passes="rabbitmq"),
    case(host, "kept apart on crowded hosts", CROWDED, quorum(), passes="rabbitmq"),
    case(
        host,
        "two nodes of one host and no rule over hosts",
        CROWDED,
        quorum(apart=(HOST,)),
        fails="rabbitmq",
        message="losing physical host virt1 can take 2 of 3 members; expected at least 2 left (majority)",
    ),
    case(
        host,
        "five members of which two may go",
        CROWDED,
        vm("e", "virt4"),
        quorum(replicas=5, apart=(HOST,)),
        passes="rabbitmq",
    ),
    case(
        host,
        "no rule at all",
        THREE,
        quorum(apart=()),
        fails="rabbitmq",
        message="losing any one physical host of rabbitmq-1, rabbitmq-2, rabbitmq-3 can take 3 of 3 "
        "members; expected at least 2 left (majority)",
    ),
    case(
        host,
        "nodes that do not say where they are",
        *(each.but(labels={"quorate.io/pool": "rabbitmq"}) for each in THREE),
        quorum(),
        fails="rabbitmq",
        message="physical host (no label)",
    ),
    case(
        host,
        "a Deployment of a database on one server",
        vm("a", "virt1", pool="x"),
        vm("b", "virt1", pool="x"),
        workload("db", image="mysql:8", labels={"app": "db"}, replicas=2, pools=["x"]),
        fails="db",
        message="losing physical host virt1 can take 2 of 2 members; expected at least 2 left (majority)",
    ),
    case(
        host,
        "a StatefulSet for each member, which may meet",
        THREE,
        *TRIO,
        fails="r1",
        message="losing any one physical host of rabbitmq-1, rabbitmq-2, rabbitmq-3 can take 3 of 3 "
        "members; expected at least 2 left (majority)",
    ),
    case(
        host,
        "a StatefulSet for each member, apart over hosts",
        CROWDED,
        *(of_cluster(quorum(name, replicas=1, pools=["rabbitmq"], labels={"app": "r"})) for name in ("r1", "r2", "r3")),
        passes="r1",
    ),
    case(
        host,
        "a StatefulSet for each member, apart over nodes",
        CROWDED,
        *(
            of_cluster(quorum(name, replicas=1, pools=["rabbitmq"], labels={"app": "r"}, apart=(HOST,)))
            for name in ("r1", "r2", "r3")
        ),
        fails="r1",
        message="losing physical host virt1 can take 2 of 3 members; expected at least 2 left (majority)",
    ),
    case(
        host,
        "Prometheus does not vote",
        cloud(),
        CROWDED,
        quorum("influxdb-grafana", "Influxdb + Grafana", image="prometheus-server", pools=["rabbitmq"], apart=(HOST,)),
    ),
    case(
        host,
        "clustered InfluxDB in the same row votes",
        cloud(),
        CROWDED,
        quorum("influxdb-grafana", "Influxdb + Grafana", image="influxdb:1.12", pools=["rabbitmq"], apart=(HOST,)),
        fails="influxdb-grafana",
    ),
    case(host, "etcd on masters of their own", masters(), etcd(), passes="etcd"),
    case(
        host,
        "two members of etcd on one server, by their machines",
        machine("master-1", "master", server="virt1"),
        machine("master-2", "master", server="virt1"),
        machine("master-3", "master", server="virt2"),
        etcd(),
        fails="etcd",
        message="losing physical host virt1 can take 2 of 3 members; expected at least 2 left (majority)",
    ),
    case(host, "etcd on machines of its own", etcd("a", "b", "c"), etcd_machines("a", "b", "c"), passes="etcd"),
    case(
        host,
        "two machines of etcd on one server, though the component says otherwise",
        etcd("a", "b", "c"),
        etcd_machines("a", "b", server="virt1"),
        etcd_machines("c"),
        fails="etcd",
        message="losing physical host virt1 can take 2 of 3 members; expected at least 2 left (majority)",
    ),
    case(
        host,
        "daemons, two of three on a host",
        CROWDED[:3],
        daemons("ceph-mon", "rabbitmq", row="ceph-mon"),
        fails="ceph-mon",
    ),
    case(host, "no quorum, or one member", THREE, KEYSTONE, quorum(replicas=1), names("rabbitmq")),
    case(host, "an unknown server", vm("a", UNKNOWN), CROWDED[1:], quorum(apart=(HOST,)), undecided="rabbitmq"),
    case(instances, "hosts enough", cloud(), machines("keystone"), KEYSTONE, passes="keystone"),
    case(
        instances,
        "all nodes are virtual machines of one host",
        cloud(),
        machines("keystone", server="virt1"),
        KEYSTONE,
        fails="keystone",
        message="losing physical host virt1 can take 3 of 3 instances; expected at least one on another host",
    ),
    case(
        instances,
        "five nodes, three of them on one host",
        cloud(),
        *(vm(name, "virt1", pool="keystone") for name in "abc"),
        *(vm(name, "virt2", pool="keystone") for name in "de"),
        KEYSTONE,
        workload("glance-api", row="glance-api", pools=["keystone"], apart=(HOST, SERVER), replicas=2),
        fails="keystone",
        passes="glance-api",
    ),
    case(
        instances,
        "one instance, no row, a quorum, or one that may share a node",
        cloud(),
        machines("keystone", server="virt1"),
        workload("nagios", row="Nagios", pools=["keystone"], replicas=1),
        workload("website", pools=["keystone"]),
        quorum(pools=["keystone"]),
        workload("horizon", row="horizon/apache2", pools=["keystone"], apart=()),
    ),
    case(
        instances,
        "unknown replicas",
        cloud(),
        machines("keystone"),
        workload("keystone", row="keystone-all", replicas=UNKNOWN),
        undecided="keystone",
    ),
    case(rack, "a rack for each", RACKS, quorum(), passes="rabbitmq"),
    case(
        rack,
        "two of three in one rack",
        known("r3", *TWO_RACKS),
        quorum(),
        fails="rabbitmq",
        message="losing rack r1 can take 2 of 3 members; expected at least 2 left (majority)",
    ),
    case(
        rack,
        "apart over racks",
        known("r3", *TWO_RACKS),
        quorum(apart=(HOST, SERVER, "quorate.io/rack")),
        passes="rabbitmq",
    ),
    case(rack, "etcd in a rack for each member", IN_RACKS, etcd(), passes="etcd"),
    case(
        rack,
        "two members of etcd in one rack",
        IN_RACKS[0],
        machine("master-2", "master", roles=["master"], labels={"quorate.io/rack": "r1"}),
        IN_RACKS[2],
        vm("c", "c", "r2", "compute"),
        etcd(),
        fails="etcd",
        message="losing rack r1 can take 2 of 3 members",
    ),
    case(
        rack,
        "two machines of etcd in one rack",
        [each.but(rack="r1") for each in etcd_machines("a", "b")],
        [each.but(rack="r2") for each in etcd_machines("c")],
        etcd("a", "b", "c"),
        fails="etcd",
        message="losing rack r1 can take 2 of 3 members",
    ),
    case(
        host,
        "apart over racks, hosts within them",
        RACKS,
        quorum(apart=("quorate.io/rack",)),
        passes="rabbitmq",
    ),
    case(
        host,
        "apart over a label that one node lacks",
        RACKS,
        vm("n4", "s3"),
        vm("n5", "s3"),
        quorum(apart=("quorate.io/rack",)),
        fails="rabbitmq",
        message="losing physical host s3 can take 3 of 3 members",
    ),
    case(host, "a required spread over hosts", THREE, spread_over(SERVER), passes="rabbitmq"),
    case(host, "a spread that only advises", THREE, spread_over(SERVER, "ScheduleAnyway"), fails="rabbitmq"),
    case(
        host,
        "a required spread that allows a skew of two",
        THREE,
        spread_over(SERVER, maxSkew=2),
        fails="rabbitmq",
        message="can take 2 of 3 members",
    ),
    case(
        host,
        "volumes that are all on one node",
        THREE,
        quorum(apart=()).but(spec__volumeClaimTemplates=[LOCAL_CLAIM]),
        *(local_volume(f"pv{number}", "rabbitmq-1") for number in (1, 2, 3)),
        fails="rabbitmq",
        message="losing physical host rabbitmq-1 can take 3 of 3 members",
    ),
    case(
        host,
        "bound to one node past the scheduler",
        THREE,
        quorum().but(spec__template__spec__nodeName="rabbitmq-1"),
        fails="rabbitmq",
        message="losing physical host rabbitmq-1 can take 3 of 3 members",
    ),
    case(
        host,
        "two queues that do not find each other are not one of three",
        CROWDED,
        quorum("one", replicas=1, pools=["rabbitmq"]),
        quorum("two", replicas=2, pools=["rabbitmq"]),
        passes="two",
    ),
    case(
        host,
        "a row that is none hides nothing",
        CROWDED[:2],
        workload(
            "db", "StatefulSet", row="none", image="mariadb:11", labels={"app": "db"}, replicas=2, pools=["rabbitmq"]
        ),
        fails="db",
        message="can take 2 of 2 members",
    ),
    case(
        host,
        "a quorum by its structure alone",
        CROWDED,
        workload("ledger", "StatefulSet", pools=["rabbitmq"]),
        fails="ledger",
    ),
    case(
        rack,
        "two racks in all",
        TWO_RACKS,
        quorum(),
        fails="rabbitmq",
        message="losing rack r1 can take 2 of 3 members; expected at least 2 left (majority), which takes a third rack",
    ),
    case(
        rack,
        "one rack, or no quorum",
        [vm(f"n{number}", f"s{number}", "r1") for number in (1, 2, 3)],
        quorum(),
        KEYSTONE,
    ),
    case(rack, "a node whose rack is not known", RACKS, vm("n4", "s4"), quorum()),
    case(rack, "an unknown rack", RACKS, vm("n4", "s4", UNKNOWN), quorum(), undecided="rabbitmq"),
)
