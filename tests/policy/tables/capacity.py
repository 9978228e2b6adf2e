from collections.abc import Sequence
from typing import Any

from policy.rules.capacity import (
    architecture_fits_computes,
    pod_fits_node,
    requests_fit_after_loss,
    room_in_any_order,
)
from tests.policy.cases import case
from tests.policy.world import (
    UNKNOWN,
    Given,
    cloud,
    daemons,
    machine,
    machine_pool,
    machines,
    quorum,
    requesting,
    stack,
    workload,
)

fits, loss, order, outgrown = pod_fits_node, requests_fit_after_loss, room_in_any_order, architecture_fits_computes


def sized(pool: str = "x", count: int = 3, cpu: object = 8, memory: object = 16) -> list[Given]:
    return [each.but(allocatable={"cpu": cpu, "memory": memory}) for each in machines(pool, count)]


def asking(name: str, cpu: object, memory: object, pools: Sequence[str] = ("x",), **more: Any) -> Given:
    return requesting(workload(name, pools=pools, **more), cpu, memory)


def node(name: str, **status: object) -> Given:
    props = {"metadata": {"name": name, "labels": {"quorate.io/server": name}}, "status": status}
    return Given("kubernetes:core/v1:Node", name, props)


AGENT = requesting(daemons("agent", "x"), "1", "1Gi")

CASES = (
    case(fits, "room on each", sized(), asking("web", "500m", "1Gi"), AGENT, passes="web agent"),
    case(
        fits,
        "more memory than any node has",
        sized(),
        asking("web", "1", "32Gi"),
        fails="web",
        message="a pod requests 1 cores and 32 GiB, more than x-1, x-2, x-3 have free after DaemonSets; "
        "expected at least 3 nodes with that much free",
    ),
    case(fits, "more than daemons leave", sized(), AGENT, asking("web", "7500m", "1Gi"), passes="agent", fails="web"),
    case(
        fits,
        "one large node for two instances that may not share it",
        sized(count=1, cpu=64),
        machine("small", "x").but(allocatable={"cpu": 1, "memory": 16}),
        asking("web", 4, "1Gi", replicas=2),
        fails="web",
        message="a pod requests 4 cores and 1 GiB, more than small have free after DaemonSets; expected "
        "at least 2 nodes with that much free",
    ),
    case(
        fits,
        "one large node for instances that may share it",
        sized(count=1, cpu=64),
        machine("small", "x").but(allocatable={"cpu": 1, "memory": 16}),
        asking("web", 4, "1Gi", replicas=2, apart=()),
        passes="web",
    ),
    case(
        fits,
        "a daemon without room on one node",
        sized(count=1),
        machine("small", "x").but(allocatable={"cpu": 1, "memory": 1}),
        requesting(daemons("agent", "x"), "2", "1Gi"),
        fails="agent",
    ),
    case(
        fits,
        "a limit without a request, an init container, hand-written nodes",
        node("n1", allocatable={"cpu": "3500m", "memory": "7Gi"}),
        workload("large").but(
            spec__template__spec__containers=[{"image": "x", "resources": {"limits": {"memory": "8G"}}}]
        ),
        workload("small").but(
            spec__template__spec__containers=[{"image": "x", "resources": {"requests": {"cpu": 1}}}],
            spec__template__spec__initContainers=[{"image": "x", "resources": {"requests": {"cpu": "4"}}}],
        ),
        fails="large small",
    ),
    case(
        fits,
        "nothing requested, or nodes that do not say",
        machines("x"),
        workload("idle", pools=["x"]),
        asking("web", 1, 1),
    ),
    case(fits, "an unknown request", sized(), asking("web", UNKNOWN, "1Gi"), undecided="web"),
    case(
        fits,
        "a request that is none",
        sized(),
        asking("web", "one", "1Gi"),
        undecided="web",
        message="'one' is not a valid quantity",
    ),
    case(loss, "room on what is left", sized(), asking("web", 2, "4Gi"), asking("api", 4, "4Gi"), AGENT, passes="api"),
    case(
        loss,
        "together too much for two nodes",
        sized(),
        asking("web", 4, "8Gi", apart=()),
        asking("api", 4, "4Gi"),
        fails="web",
        message="after losing x-1 or any of 2 others, pods request 20 cores and 32 GiB, but 16 cores "
        "and 32 GiB is free; expected room for all replicas that can still run",
    ),
    case(
        loss,
        "instances that cannot run then are not counted",
        sized(),
        asking("web", 4, "8Gi"),
        asking("api", 4, "8Gi"),
        requesting(quorum("db", "mysqld-server", pools=["x"]), "0", "0"),
        passes="web",
    ),
    case(
        loss,
        "a larger set of nodes counts what has no other",
        sized(),
        sized("y"),
        asking("web", 6, "1Gi", pools=["x", "y"], replicas=6, apart=()),
        asking("api", 6, "1Gi", replicas=2),
        fails="web",
        passes="api",
    ),
    case(
        loss,
        "a pod that fits nowhere is for another rule",
        sized(),
        asking("web", 1, "1Gi"),
        asking("huge", 64, "1Gi"),
        passes="web",
    ),
    case(
        loss,
        "one host, or nodes that do not say",
        sized(count=1),
        asking("web", 4, "1Gi"),
        machines("y"),
        workload("b", pools=["y"]),
    ),
    case(
        loss,
        "an unknown replica count",
        stack(),
        sized(),
        asking("web", 4, "1Gi", replicas=UNKNOWN),
        undecided="quorate-test",
    ),
    case(order, "everything fits everywhere", sized(), asking("web", 4, "8Gi"), asking("api", 4, "8Gi"), passes="x-1"),
    case(
        order,
        "an unlucky order leaves one out",
        sized(),
        asking("web", 4, "8Gi"),
        asking("api", 5, "4Gi"),
        fails="x-1",
        message="pods that can share a node of x-1, x-2, x-3 request 9 cores and 12 GiB, but 8 cores and "
        "16 GiB is free after DaemonSets, so Deployment api, Deployment web can stay Pending; "
        "expected room for all of them, or enough other nodes with room",
    ),
    case(
        order,
        "instances that may share a node may all come to one",
        sized(),
        asking("web", 3, "1Gi", apart=()),
        fails="x-1",
    ),
    case(
        order,
        "one node, and another that may be lost",
        sized(count=1),
        sized("y", 1),
        asking("web", 4, "8Gi", pools=["x", "y"], replicas=2),
        asking("api", 5, "4Gi", replicas=1),
        fails="x-1",
        passes="y-1",
        message="node x-1: pods that can share a node of x-1 request 9 cores and 12 GiB",
    ),
    case(
        order,
        "enough other nodes, even after a loss",
        sized(),
        sized("y", 4),
        asking("web", 4, "8Gi", pools=["x", "y"]),
        asking("api", 5, "4Gi", apart=(), replicas=1),
        AGENT,
        fails="x-1",
        passes="y-1",
        message="pods that can share a node of x-1, x-2, x-3 request 9 cores and 12 GiB, but 7 cores and "
        "15 GiB is free after DaemonSets, so Deployment api can stay Pending; expected room for "
        "all of them, or enough other nodes with room",
    ),
    case(
        order,
        "other nodes enough until one of their hosts is lost",
        sized(),
        sized("y"),
        asking("web", 4, "8Gi", pools=["x", "y"]),
        asking("api", 5, "4Gi"),
        fails="x-1",
        passes="y-1",
        message="pods that can share a node of x-1, x-2, x-3 request 9 cores and 12 GiB, but 8 cores and "
        "16 GiB is free after DaemonSets, so Deployment api, Deployment web can stay Pending; "
        "expected room for all of them, or enough other nodes with room",
    ),
    case(
        order,
        "a pod that fits nowhere is for another rule",
        sized(),
        asking("web", 4, "8Gi"),
        asking("huge", 64, "1Gi"),
        passes="x-1",
    ),
    case(order, "no nodes", stack(), asking("web", 4, "8Gi"), AGENT),
    case(loss, "no nodes", stack(), asking("web", 4, "8Gi"), AGENT),
    case(fits, "no nodes", stack(), asking("web", 4, "8Gi"), AGENT),
    case(order, "nodes that do not say", machines("x"), asking("web", 4, "8Gi")),
    case(order, "an unknown request", stack(), sized(), asking("web", UNKNOWN, "1Gi"), undecided="quorate-test"),
    case(outgrown, "as large", cloud(), machine_pool("compute", 5), passes="cloud"),
    case(
        outgrown,
        "too many computes",
        cloud(),
        machine_pool("compute", 101),
        fails="cloud",
        message="101 computes; expected at most 100 (architecture 100)",
    ),
    case(
        outgrown,
        "computes with other roles count too",
        cloud(),
        machine_pool("compute", 60),
        machine_pool(
            "controller-compute",
            41,
            labels={"quorate.io/pool": "controller-compute", "openstack-compute-node": "enabled"},
        ),
        machine_pool("controller", 30),
        fails="cloud",
        message="101 computes; expected at most 100 (architecture 100)",
    ),
    case(
        outgrown,
        "a label of which the value is not known yet",
        cloud(),
        machine_pool("x", 3, labels={"quorate.io/pool": "x", "openstack-compute-node": UNKNOWN}),
        undecided="cloud",
    ),
    case(outgrown, "no Cloud", stack(), machine_pool("compute", 5)),
    case(outgrown, "an unknown architecture", cloud("42"), machine_pool("compute", 5), undecided="cloud"),
)
