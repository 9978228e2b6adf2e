from policy.rules.anti_affinity import services_apart
from tests.policy.cases import case
from tests.policy.world import (
    HOST,
    REQUIRED,
    UNKNOWN,
    Given,
    apart_term,
    cloud,
    machines,
    workload,
)

apart = services_apart

NODES = [*machines("keystone"), *machines("horizon")]
KEYSTONE = workload("keystone", row="keystone-all", pools=["keystone"])
HORIZON = workload("horizon", row="horizon/apache2", pools=["horizon"])
BOTH = ["keystone", "horizon"]
REFUSES = "spec__template__spec__affinity__podAntiAffinity__" + REQUIRED


def refusing(given: Given, other: str, **more: object) -> Given:
    """Returns the workload with required anti-affinity to another workload's pods."""
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
)
