from policy.rules.rollout import rollout_can_finish
from tests.policy.cases import case
from tests.policy.world import UNKNOWN, Given, machines, quorum, workload

rule = rollout_can_finish

THREE = machines("keystone")
FOUR = machines("keystone", 4)
KEYSTONE = workload("keystone", pools=["keystone"])
PORTS = workload("keystone", pools=["keystone"], apart=()).but(
    spec__template__spec__hostNetwork=True,
    spec__template__spec__containers=[{"image": "x", "ports": [{"containerPort": 5000}]}],
)


def rolling(given: Given = KEYSTONE, **limits: object) -> Given:
    return given.but(spec__strategy={"type": "RollingUpdate", "rollingUpdate": limits})


CASES = (
    case(rule, "old ones end first", THREE, KEYSTONE, passes="keystone"),
    case(rule, "a node to spare", FOUR, rolling(maxSurge=1, maxUnavailable=0), passes="keystone"),
    case(
        rule,
        "no node to spare",
        THREE,
        rolling(maxSurge=1, maxUnavailable=0),
        fails="keystone",
        message="3 replicas fill 3 nodes and the rollout adds 1 (maxSurge): it never moves",
    ),
    case(
        rule,
        "new ones wait for old ones",
        THREE,
        rolling(maxSurge=1, maxUnavailable=1),
        fails="keystone",
        message="its new pods wait for old ones to end",
    ),
    case(
        rule,
        "Kubernetes' defaults",
        THREE,
        KEYSTONE.but(spec__strategy=None),
        fails="keystone",
        message="it never moves",
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
)
