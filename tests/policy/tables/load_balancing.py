from policy.rules.load_balancing import load_balanced_row_has_service
from tests.policy.cases import case
from tests.policy.world import UNKNOWN, cloud, quorum, service, stack, workload

KEYSTONE = workload("keystone", row="keystone-all")
rule = load_balanced_row_has_service

CASES = (
    case(rule, "a Service in front", cloud(), KEYSTONE, service("keystone"), passes="keystone"),
    case(
        rule,
        "a headless one for names beside it",
        cloud(),
        quorum("mysqld", "mysqld-server"),
        service("mysqld"),
        service("mysqld", clusterIP="None"),
        passes="mysqld",
    ),
    case(rule, "none at all", cloud(), KEYSTONE, fails="keystone", message="no Service selects its pods"),
    case(rule, "it selects other pods", cloud(), KEYSTONE, service("keystone", {"app": "keystone"}), fails="keystone"),
    case(rule, "in another namespace", cloud(), KEYSTONE, service("keystone", namespace="default"), fails="keystone"),
    case(
        rule,
        "only a headless one",
        cloud(),
        KEYSTONE,
        service("keystone", clusterIP="None"),
        fails="keystone",
        message="only headless Services select its pods (keystone-service)",
    ),
    case(rule, "an alias for a name", cloud(), KEYSTONE, service("keystone", type="ExternalName"), fails="keystone"),
    case(rule, "without a selector", cloud(), KEYSTONE, service("keystone", {}), fails="keystone"),
    case(rule, "a row that needs none", cloud(), workload("nova-conductor", row="nova-conductor")),
    case(rule, "no architecture is named", stack(), KEYSTONE),
    case(
        rule,
        "an address that may be none",
        cloud(),
        KEYSTONE,
        service("keystone", clusterIP=UNKNOWN),
        undecided="keystone",
    ),
    case(
        rule,
        "unknown selector",
        cloud(),
        KEYSTONE,
        service("keystone", UNKNOWN),
        undecided="keystone",
        message="spec.selector of keystone-service",
    ),
)
