from dataclasses import replace

from policy.rules.rollout import (
    members_rollout_is_awaited,
    quorum_workloads_roll_in_turn,
    rollout_can_finish,
    rollout_keeps_service,
    rollout_reaches_all,
)
from tests.policy.cases import case
from tests.policy.world import UNKNOWN, Given, cloud, daemons, machine_pool, machines, of_cluster, quorum, workload

rule, keeps, reaches, awaited = (
    rollout_can_finish,
    rollout_keeps_service,
    rollout_reaches_all,
    members_rollout_is_awaited,
)

THREE = machines("keystone")
FOUR = machines("keystone", 4)
KEYSTONE = workload("keystone", pools=["keystone"])
PORTS = workload("keystone", pools=["keystone"], apart=()).but(
    spec__template__spec__hostNetwork=True,
    spec__template__spec__containers=[{"image": "x", "ports": [{"containerPort": 5000}]}],
)

API = KEYSTONE.but(metadata__annotations={"quorate.io/row": "keystone-all"})
AGENT = daemons("neutron-l2-agent", "compute", row="neutron-l2-agent")


def rolling(given: Given = KEYSTONE, **limits: object) -> Given:
    return given.but(spec__strategy={"type": "RollingUpdate", "rollingUpdate": limits})


ONE, TWO, LAST = (of_cluster(quorum(name, replicas=1)) for name in ("r1", "r2", "r3"))
CHAIN = (ONE, replace(TWO, after=("r1",)), replace(LAST, after=("r2",)))
turn = quorum_workloads_roll_in_turn

CASES = (
    case(turn, "a chain", *CHAIN, passes="r1"),
    case(
        turn,
        "no order",
        ONE,
        TWO,
        LAST,
        fails="r1",
        message="StatefulSet r1, StatefulSet r2, StatefulSet r3 are rolled at the same time; expected depends_on",
    ),
    case(
        turn,
        "two after the first",
        ONE,
        replace(TWO, after=("r1",)),
        replace(LAST, after=("r1",)),
        fails="r1",
        message="StatefulSet r2, StatefulSet r3 are rolled at the same time",
    ),
    case(turn, "files are written", cloud(isLive=False), ONE, TWO),
    case(turn, "one workload", quorum()),
    case(turn, "unknown members", ONE, TWO.but(spec__replicas=UNKNOWN), undecided="r1"),
    case(
        awaited,
        "another condition is awaited",
        quorum().but(metadata__annotations={"pulumi.com/waitFor": "jsonpath={.metadata.name}"}),
        fails="rabbitmq",
        message="annotation pulumi.com/waitFor replaces the wait until all its pods are ready; expected none",
    ),
    case(rule, "old ones end first", THREE, KEYSTONE, passes="keystone"),
    case(rule, "a node to spare", FOUR, rolling(maxSurge=1, maxUnavailable=0), passes="keystone"),
    case(
        rule,
        "no node to spare",
        THREE,
        rolling(maxSurge=1, maxUnavailable=0),
        fails="keystone",
        message="3 replicas, 3 eligible nodes and maxSurge 1: the rollout stalls; expected maxSurge 0, "
        "or at least 4 nodes",
    ),
    case(
        rule,
        "new ones wait for old ones",
        THREE,
        rolling(maxSurge=1, maxUnavailable=1),
        fails="keystone",
        message="3 replicas, 3 eligible nodes and maxSurge 1: surge pods stay Pending until old pods "
        "stop; expected maxSurge 0, or at least 4 nodes",
    ),
    case(
        rule,
        "Kubernetes' defaults",
        THREE,
        KEYSTONE.but(spec__strategy=None),
        fails="keystone",
        message="3 replicas, 3 eligible nodes and maxSurge 1: the rollout stalls; expected maxSurge 0, "
        "or at least 4 nodes",
    ),
    case(
        rule,
        "a percentage that rounds up to one",
        THREE,
        rolling(maxSurge="1%", maxUnavailable="50%"),
        fails="keystone",
    ),
    case(rule, "ports of the node keep them apart too", THREE, rolling(PORTS, maxSurge=1), fails="keystone"),
    case(
        rule,
        "instances that may share, another kind, all at once",
        THREE,
        rolling(workload("a", pools=["keystone"], apart=()), maxSurge=1),
        quorum(),
        KEYSTONE.but(spec__strategy={"type": "Recreate"}),
    ),
    case(
        rule,
        "unknown surge",
        THREE,
        rolling(maxSurge=UNKNOWN),
        undecided="keystone",
        message="spec.strategy.rollingUpdate.maxSurge of keystone",
    ),
    case(rule, "a surge that is none", THREE, rolling(maxSurge="some"), undecided="keystone"),
    case(keeps, "one after another", cloud(), THREE, API, passes="keystone"),
    case(
        keeps,
        "all at once",
        cloud(),
        THREE,
        API.but(spec__strategy={"type": "Recreate"}),
        fails="keystone",
        message="strategy Recreate stops all instances at once; expected RollingUpdate",
    ),
    case(
        keeps,
        "all by permission",
        cloud(),
        THREE,
        rolling(API, maxSurge=0, maxUnavailable="100%"),
        fails="keystone",
        message="maxUnavailable 100% lets 3 of 3 pods be down at once; expected at least 1 running",
    ),
    case(
        keeps,
        "the majority of a hand-written database",
        rolling(workload("db", image="mariadb:11", labels={"app": "db"}), maxUnavailable=2),
        fails="db",
        message="maxUnavailable 2 lets 2 of 3 pods be down at once; expected at least 2 running",
    ),
    case(
        keeps,
        "agents, a tenth at a time and all together",
        cloud(),
        machine_pool("compute", 5),
        AGENT.but(spec__updateStrategy={"rollingUpdate": {"maxUnavailable": "10%"}}),
        daemons("nova-compute", "compute", row="nova-compute").but(
            spec__updateStrategy={"rollingUpdate": {"maxUnavailable": "100%"}}
        ),
        passes="neutron-l2-agent",
        fails="nova-compute",
    ),
    case(
        keeps,
        "members one by one, or two of three at once",
        quorum(),
        quorum("mysqld", "mysqld-server").but(spec__updateStrategy={"rollingUpdate": {"maxUnavailable": "50%"}}),
        passes="rabbitmq",
        fails="mysqld",
        message="maxUnavailable 50% lets 2 of 3 pods be down at once; expected at least 2 running",
    ),
    case(
        keeps,
        "one instance, or no row",
        cloud(),
        API.but(spec__replicas=1),
        workload("website").but(spec__strategy={"type": "Recreate"}),
    ),
    case(keeps, "unknown strategy", cloud(), API.but(spec__strategy=UNKNOWN), undecided="keystone"),
    case(reaches, "nothing holds it back", cloud(), API, AGENT, quorum(), passes="keystone neutron-l2-agent rabbitmq"),
    case(
        reaches,
        "paused, partitioned, left to people",
        cloud(),
        API.but(spec__paused=True),
        quorum().but(spec__updateStrategy={"rollingUpdate": {"partition": 2}}),
        AGENT.but(spec__updateStrategy={"type": "OnDelete"}),
        fails="keystone rabbitmq neutron-l2-agent",
        message="rollouts are paused; expected paused: false",
    ),
    case(reaches, "no row and no quorum", cloud(), workload("website").but(spec__paused=True)),
    case(reaches, "unknown partition", cloud(), quorum().but(spec__updateStrategy=UNKNOWN), undecided="rabbitmq"),
    case(awaited, "awaited", quorum(), workload("keystone"), passes="rabbitmq"),
    case(
        awaited,
        "not awaited, on a running cluster",
        cloud(target="live"),
        quorum().but(metadata__annotations={"pulumi.com/skipAwait": "true"}),
        fails="rabbitmq",
        message="annotation pulumi.com/skipAwait is true; expected none",
    ),
    case(awaited, "not a member", workload("keystone").but(metadata__annotations={"pulumi.com/skipAwait": "true"})),
    case(awaited, "files only", cloud(target="render"), quorum()),
    case(
        awaited,
        "an unknown annotation",
        quorum().but(metadata__annotations={"pulumi.com/skipAwait": UNKNOWN}),
        undecided="rabbitmq",
    ),
)
