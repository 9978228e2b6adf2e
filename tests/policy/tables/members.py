from policy.rules.members import members_agree_on_size, members_request_resources, members_shut_down_in_time
from tests.policy.cases import case
from tests.policy.world import UNKNOWN, Given, Props, config_map, machine, names, quorum, reading, stack, workload

request, stops, agree = members_request_resources, members_shut_down_in_time, members_agree_on_size

ENOUGH: Props = {"requests": {"cpu": "1", "memory": "1Gi"}}


def members(*containers: Props, image: str = "mariadb:11.4", **pod: object) -> Given:
    """A Galera whose pods have these containers."""
    named = [{"name": f"c{number}", "image": image, **each} for number, each in enumerate(containers)]
    changed = {f"spec__template__spec__{key}": value for key, value in pod.items()}
    return quorum("db", "mysqld-server").but(spec__template__spec__containers=named, **changed)


def limit_range(kind: str, **defaults: object) -> Given:
    limits = [{"type": kind, "defaultRequest": defaults}]
    props: Props = {"metadata": {"name": "l", "namespace": "openstack"}, "spec": {"limits": limits}}
    return Given("kubernetes:core/v1:LimitRange", "limits", props)


def static_etcd(**container: object) -> Given:
    pod = {
        "kind": "Pod",
        "metadata": {"name": "etcd", "namespace": "kube-system"},
        "spec": {"containers": [{"name": "etcd", "image": "etcd:3.6", **container}]},
    }
    return machine("master-1", "master", files={"/etc/kubernetes/manifests/etcd.yaml": str(pod)})


def etcd(*peers: str, **variables: object) -> list[Given]:
    """An etcd of three in pods, with this list of members."""
    command = ["etcd", f"--initial-cluster={','.join(peers)}"] if peers else ["etcd"]
    env = [{"name": name, "value": value} for name, value in variables.items()]
    container = {"name": "etcd", "image": "etcd:3.6", "command": command, "env": env}
    return [quorum("etcd", "etcd").but(spec__template__spec__containers=[container]), names("etcd")]


def running(image: str, *arguments: object, **variables: object) -> Given:
    """A quorum of three that runs a program."""
    env = [{"name": name, "value": value} for name, value in variables.items()]
    container = {"name": "main", "image": image, "args": list(arguments), "env": env}
    return quorum("own", None).but(spec__template__spec__containers=[container])


def watching(votes: int) -> list[Given]:
    """Three sentinels, so many of which decide on a failover."""
    text = f"sentinel monitor primary valkey-0 6379 {votes}\n"
    return [reading(running("valkey:8"), "conf"), config_map("conf", {"sentinel.conf": text})]


PEERS = [f"etcd-{number}=http://etcd-{number}.etcd-members:2380" for number in range(5)]
ZOO = [f"server.{number}=zk-{number}:2888:3888;2181" for number in range(5)]

CASES = (
    case(request, "requests", members({"resources": ENOUGH}), passes="db"),
    case(request, "limits are requests", members({"resources": {"limits": {"cpu": 1, "memory": 1}}}), passes="db"),
    case(request, "requests of the whole pod", members({}, resources=ENOUGH), passes="db"),
    case(request, "a LimitRange", members({}), limit_range("Container", cpu="1", memory="1Gi"), passes="db"),
    case(request, "a static pod", static_etcd(resources=ENOUGH), passes="master-1"),
    case(
        request,
        "none",
        members({}),
        fails="db",
        message="container c0 requests no cpu and no memory; expected resources.requests of cpu and memory",
    ),
    case(request, "no memory", members({"resources": {"requests": {"cpu": 1}}}), fails="db", message="no memory"),
    case(request, "a second container", members({"resources": ENOUGH}, {}), fails="db", message="container c1"),
    case(
        request,
        "a sidecar among the init containers",
        members({"resources": ENOUGH}, initContainers=[{"name": "s", "image": "x", "restartPolicy": "Always"}]),
        fails="db",
        message="container s",
    ),
    case(
        request,
        "an init container",
        members({"resources": ENOUGH}, initContainers=[{"name": "i", "image": "x"}]),
        passes="db",
    ),
    case(request, "a LimitRange of pods", members({}), limit_range("Pod", cpu="1", memory="1Gi"), fails="db"),
    case(request, "a static pod without", static_etcd(), fails="master-1"),
    case(request, "a single member, or no quorum", quorum("db", replicas=1), workload("keystone")),
    case(request, "an unknown request", members({"resources": {"requests": {"cpu": UNKNOWN}}}), undecided="db"),
    case(stops, "the default, and a minute", quorum("a"), members({}, terminationGracePeriodSeconds=60), passes="a db"),
    case(
        stops,
        "at once",
        members({}, terminationGracePeriodSeconds=0),
        fails="db",
        message="terminationGracePeriodSeconds is 0; expected 1 or more (default: 30)",
    ),
    case(stops, "no quorum", workload("keystone").but(spec__template__spec__terminationGracePeriodSeconds=0)),
    case(stops, "unknown", members({}, terminationGracePeriodSeconds=UNKNOWN), undecided="db"),
    case(agree, "a list of three", etcd(*PEERS[:3]), passes="etcd"),
    case(
        agree,
        "no list, and one that a shell writes",
        etcd(),
        running("etcd:3", "--initial-cluster=$P"),
        passes="etcd own",
    ),
    case(
        agree,
        "a list of five",
        etcd(*PEERS),
        fails="etcd",
        message="initial-cluster has 5 members of 3; expected the 3 members",
    ),
    case(agree, "a list of two in a variable", etcd(ETCD_INITIAL_CLUSTER=",".join(PEERS[:2])), fails="etcd"),
    case(
        agree,
        "one address for two",
        etcd("etcd-0=http://a:2380", "etcd-1=http://a:2380", "etcd-2=http://c:2380"),
        fails="etcd",
        message="initial-cluster has two members with one URL; expected a URL for each member",
    ),
    case(agree, "three ZooKeepers", running("zookeeper:3", ZOO_SERVERS=" ".join(ZOO[:3])), passes="own"),
    case(
        agree,
        "five ZooKeepers",
        running("zookeeper:3", ZOO_SERVERS=" ".join(ZOO)),
        fails="own",
        message="has 5 members",
    ),
    case(agree, "an observer", running("zookeeper:3", ZOO_SERVERS=f"{' '.join(ZOO[:3])}:observer"), passes="own"),
    case(agree, "Consul", running("consul:1", "agent", "-bootstrap-expect=3"), passes="own"),
    case(
        agree,
        "a Consul for each member",
        running("consul:1", "agent", "-bootstrap-expect=1"),
        fails="own",
        message="bootstrap_expect is 1 of 3 members; expected 2 to 3",
    ),
    case(agree, "two sentinels decide", watching(2), passes="own"),
    case(agree, "one sentinel decides", watching(1), fails="own", message="the quorum of sentinel monitor is 1 of 3"),
    case(agree, "no quorum of pods", stack(), workload("keystone")),
    case(agree, "an unknown list", etcd(ETCD_INITIAL_CLUSTER=UNKNOWN), undecided="etcd"),
)
