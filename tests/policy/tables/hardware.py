from policy.rules.hardware import masters_fit_cluster
from tests.policy.cases import case
from tests.policy.world import UNKNOWN, Given, cloud, machine, machine_pool, workload

fits = masters_fit_cluster


def master(cpu: object, memory: object) -> Given:
    return machine("m1", "master", roles=["master"]).but(cpu=cpu, memory=memory)


CASES = (
    case(fits, "a small cluster", cloud(), master(2, 8), machine_pool("compute", 49), passes="m1"),
    case(fits, "a large cluster", cloud(), master(8, 32), machine_pool("compute", 300), passes="m1"),
    case(
        fits,
        "two cores for 300 nodes",
        cloud(),
        master(2, 8),
        machine_pool("compute", 299),
        fails="m1",
        message="2 cores and 8 GiB for 300 nodes; expected 8 cores and 32 GiB or more",
    ),
    case(
        fits,
        "more nodes than etcd has an example for",
        cloud(),
        master(8, 32),
        machine_pool("compute", 3000),
        fails="m1",
        message="for 3001 nodes; expected 16 cores and 64 GiB or more",
    ),
    case(fits, "little memory", cloud(), master(24, 4), fails="m1", message="24 cores and 4 GiB for 1 node"),
    case(fits, "no master", cloud(), workload("a")),
    case(fits, "a lab", cloud(profile="lab"), master(1, 2)),
    case(fits, "an unknown size", cloud(), master(UNKNOWN, 8), undecided="m1"),
)
