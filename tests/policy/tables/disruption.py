from policy.rules.disruption import (
    budget_guards_one_workload,
    budget_keeps_majority,
    drain_can_finish,
    quorum_has_budget,
)
from tests.policy.cases import case
from tests.policy.world import UNKNOWN, Given, budget, of_cluster, quorum, stack, workload

has, majority, drain, guards = quorum_has_budget, budget_keeps_majority, drain_can_finish, budget_guards_one_workload

RABBIT = quorum()
FIVE = quorum(replicas=5)


TRIO = [of_cluster(quorum(name, replicas=1, labels={"app": "rabbit", "member": name})) for name in ("r1", "r2", "r3")]
"""One StatefulSet for each member."""


def allowing(**limit: int | str) -> Given:
    return budget("rabbitmq", limit=limit)


CASES = (
    case(has, "one", RABBIT, budget("rabbitmq"), passes="rabbitmq"),
    case(has, "none", RABBIT, fails="rabbitmq", message="no PodDisruptionBudget selects its pods"),
    case(has, "for other pods", RABBIT, budget("rabbitmq", {"app": "rabbitmq"}), fails="rabbitmq"),
    case(has, "in another namespace", RABBIT, budget("rabbitmq", namespace="default"), fails="rabbitmq"),
    case(
        has,
        "two",
        RABBIT,
        budget("rabbitmq"),
        budget("all", {}),
        fails="rabbitmq",
        message="2 PodDisruptionBudgets select its pods (all-budget, rabbitmq-budget)",
    ),
    case(has, "no quorum, or a single member", workload("horizon"), quorum(replicas=1)),
    case(has, "unknown selector", RABBIT, budget("rabbitmq", UNKNOWN), undecided="rabbitmq"),
    case(majority, "one of three may go", RABBIT, allowing(maxUnavailable=1), passes="rabbitmq"),
    case(majority, "two of five may go", FIVE, allowing(minAvailable=3), passes="rabbitmq"),
    case(majority, "half, rounded up, of five stays", FIVE, allowing(minAvailable="50%"), passes="rabbitmq"),
    case(
        majority,
        "two of three may go",
        RABBIT,
        allowing(maxUnavailable=2),
        fails="rabbitmq",
        message="PodDisruptionBudget rabbitmq-budget (maxUnavailable 2) leaves 1 of 3 members; expected "
        "at least 2 (majority)",
    ),
    case(majority, "a third of three stays", RABBIT, allowing(minAvailable="33%"), fails="rabbitmq"),
    case(majority, "half of three, rounded up, may go", RABBIT, allowing(maxUnavailable="50%"), fails="rabbitmq"),
    case(majority, "three of five may go", FIVE, allowing(minAvailable=2), fails="rabbitmq"),
    case(
        majority,
        "one of two instances of PostgreSQL, of which one can be promoted",
        workload("pg", "StatefulSet", image="postgres:17", replicas=2),
        budget("pg"),
        passes="pg",
    ),
    case(
        majority,
        "both instances of PostgreSQL",
        workload("pg", "StatefulSet", image="postgres:17", replicas=2),
        budget("pg", limit={"maxUnavailable": 2}),
        fails="pg",
        message="leaves 0 of 2 members; expected at least 1 (to promote)",
    ),
    case(majority, "no budget", RABBIT),
    case(
        majority,
        "unknown limit",
        RABBIT,
        allowing(maxUnavailable=UNKNOWN),
        undecided="rabbitmq",
        message="spec.maxUnavailable of rabbitmq-budget",
    ),
    case(
        majority,
        "a limit that is none",
        RABBIT,
        allowing(maxUnavailable="one"),
        undecided="rabbitmq",
        message="'one' is neither a number nor a percentage",
    ),
    case(drain, "one may go", RABBIT, allowing(minAvailable=2), passes="rabbitmq-budget"),
    case(
        drain,
        "none may go",
        RABBIT,
        allowing(maxUnavailable=0),
        fails="rabbitmq-budget",
        message="maxUnavailable 0 allows no eviction of StatefulSet rabbitmq with 3 replicas",
    ),
    case(drain, "all must stay", RABBIT, allowing(minAvailable=3), fails="rabbitmq-budget"),
    case(drain, "all of them in percent", RABBIT, allowing(minAvailable="100%"), fails="rabbitmq-budget"),
    case(drain, "70 % of three, rounded up, must stay", RABBIT, allowing(minAvailable="70%"), fails="rabbitmq-budget"),
    case(
        drain,
        "no limit is not an eviction",
        RABBIT,
        budget("rabbitmq").but(spec__maxUnavailable=None),
        fails="rabbitmq-budget",
        message="no limit of its own",
    ),
    case(
        drain,
        "a single replica that must stay",
        workload("nagios", replicas=1),
        budget("nagios", limit={"minAvailable": 1}),
        fails="nagios-budget",
    ),
    case(drain, "it guards nothing", stack(), allowing(maxUnavailable=0)),
    case(drain, "unknown replicas", quorum(replicas=UNKNOWN), allowing(minAvailable=2), undecided="rabbitmq-budget"),
    case(
        guards, "its own pods", RABBIT, quorum("mysqld", "mysqld-server"), budget("rabbitmq"), passes="rabbitmq-budget"
    ),
    case(
        guards,
        "nothing",
        RABBIT,
        budget("rabbitmq", {"app": "rabbit"}),
        fails="rabbitmq-budget",
        message="selects no pods of the stack in namespace openstack; expected the pods of one workload",
    ),
    case(guards, "nothing in its namespace", RABBIT, budget("rabbitmq", namespace="default"), fails="rabbitmq-budget"),
    case(
        guards,
        "a job's pods as well",
        RABBIT,
        budget("rabbitmq"),
        workload("rabbitmq-setup", "Job", labels={"app.kubernetes.io/name": "rabbitmq"}),
        fails="rabbitmq-budget",
        message="selects the pods of Job rabbitmq-setup, StatefulSet rabbitmq; expected the pods of one workload",
    ),
    case(guards, "an empty selector selects all", RABBIT, workload("horizon"), budget("all", {}), fails="all-budget"),
    case(
        guards, "no selector selects none", RABBIT, budget("rabbitmq").but(spec__selector=None), fails="rabbitmq-budget"
    ),
    case(guards, "no budget", RABBIT),
    case(
        guards,
        "unknown labels of pods",
        workload("x", labels={"app.kubernetes.io/name": UNKNOWN}),
        budget("rabbitmq"),
        undecided="rabbitmq-budget",
    ),
    case(
        has,
        "one over a quorum of several workloads",
        TRIO,
        budget("rabbit", {"app": "rabbit"}),
        passes="r1",
    ),
    case(
        has,
        "each member of several workloads has its own",
        TRIO,
        *(budget(name, {"member": name}) for name in ("r1", "r2", "r3")),
        fails="r1",
        message="separate PodDisruptionBudgets for its members (r1-budget, r2-budget, r3-budget); "
        "expected one that selects all members",
    ),
    case(
        has,
        "one member of several workloads is left out",
        TRIO[:2],
        TRIO[2].but(spec__template__metadata__labels={"app": "rabbitmq", "member": "r3"}),
        budget("rabbit", {"app": "rabbit"}),
        fails="r1",
        message="no PodDisruptionBudget selects the pods of StatefulSet r3",
    ),
    case(
        majority,
        "one of three workloads may go",
        TRIO,
        budget("rabbit", {"app": "rabbit"}, limit={"minAvailable": 2}),
        passes="r1",
    ),
    case(
        majority,
        "two of three workloads may go",
        TRIO,
        budget("rabbit", {"app": "rabbit"}, limit={"maxUnavailable": 2}),
        fails="r1",
        message="leaves 1 of 3 members",
    ),
    case(
        drain,
        "two of three workloads must stay",
        TRIO,
        budget("rabbit", {"app": "rabbit"}, limit={"minAvailable": 2}),
        passes="rabbit-budget",
    ),
    case(guards, "a quorum of several workloads", TRIO, budget("rabbit", {"app": "rabbit"}), passes="rabbit-budget"),
)
