from policy.rules.pinning import quorum_nodes_pinned
from tests.policy.cases import case
from tests.policy.world import UNKNOWN, Given, cloud, machine, machines, quorum, workload

pinned = quorum_nodes_pinned


def nodes(*told: object) -> list[Given]:
    """Nodes of RabbitMQ's pool that tell whether their pool is written down."""
    return [machine(f"rabbitmq-{n}", "rabbitmq").but(pinned=each) for n, each in enumerate(told, start=1)]


CASES = (
    case(pinned, "all written", cloud(), quorum(), nodes(True, True, True), passes="rabbitmq"),
    case(
        pinned,
        "two chosen",
        cloud(),
        quorum(),
        nodes(True, False, False),
        fails="rabbitmq",
        message="the planner chose the pool of rabbitmq-2, rabbitmq-3",
    ),
    case(
        pinned,
        "chosen nodes of another pool",
        cloud(),
        quorum(),
        nodes(True, True, True),
        machine("keystone-1", "keystone").but(pinned=False),
        passes="rabbitmq",
    ),
    case(pinned, "a lab", cloud(profile="lab"), quorum(), nodes(False, False, False)),
    case(pinned, "no quorum", cloud(), workload("keystone", "keystone"), nodes(False)),
    case(pinned, "machines that do not tell", cloud(), quorum(), machines("rabbitmq")),
    case(pinned, "no machine at all", cloud(), quorum()),
    case(pinned, "unknown", cloud(), quorum(), nodes(True, UNKNOWN, True), undecided="rabbitmq"),
    case(pinned, "unknown profile", cloud(profile=UNKNOWN), quorum(), nodes(True), undecided="rabbitmq"),
)
