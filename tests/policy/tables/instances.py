from policy.rules.instances import (
    every_row_has_workload,
    everywhere_rows_are_daemons,
    instances_match_row,
    scheduler_workers,
)
from tests.policy.cases import case
from tests.policy.world import (
    UNKNOWN,
    Given,
    cloud,
    config_map,
    daemons,
    machine_pool,
    reading,
    stack,
    whole_stack,
    workload,
)

CONDUCTOR = workload("nova-conductor", row="nova-conductor")
API = workload("nova-api", row="nova-api")
SCHEDULER = workload("nova-scheduler", row="nova-scheduler", replicas=8)

match, everywhere, there = instances_match_row, everywhere_rows_are_daemons, every_row_has_workload
COMPUTES = machine_pool("compute")
SMALL_SCHEDULER = reading(SCHEDULER, "nova")


def workers(said: object) -> Given:
    return config_map("nova", {"nova.conf": f"[DEFAULT]\nworkers = 1\n[scheduler]\nworkers = {said}\n"})


CASES = (
    case(
        match,
        "the row's own count",
        cloud("1000"),
        CONDUCTOR,
        API,
        SCHEDULER,
        passes="nova-conductor nova-api nova-scheduler",
    ),
    case(
        match,
        "fewer than the row",
        cloud("1000"),
        CONDUCTOR.but(spec__replicas=2),
        API.but(spec__replicas=1),
        fails="nova-conductor nova-api",
        message="2 instances; expected 3 (row nova-conductor, architecture 1000)",
    ),
    case(
        match,
        "more than a row that says so many",
        cloud("1000"),
        CONDUCTOR.but(spec__replicas=5),
        fails="nova-conductor",
    ),
    case(match, "more than a row that says at least", cloud("1000"), API.but(spec__replicas=5), passes="nova-api"),
    case(
        match,
        "replicas left out are one",
        cloud("1000"),
        CONDUCTOR.but(spec__replicas=None),
        fails="nova-conductor",
        message="1 instance;",
    ),
    case(
        match,
        "a DaemonSet for a counted row",
        cloud("1000"),
        daemons("nova-conductor", row="nova-conductor"),
        fails="nova-conductor",
        message="a DaemonSet",
    ),
    case(
        match,
        "known by the name of its pods alone",
        cloud("1000"),
        workload("nova-conductor", replicas=2),
        fails="nova-conductor",
    ),
    case(match, "a hand-written workload of no row", cloud("1000"), workload("website", replicas=1)),
    case(match, "no architecture is named", stack(), CONDUCTOR.but(spec__replicas=1)),
    case(match, "a job of the service is no instance", cloud("1000"), workload("nova-conductor", "Job")),
    case(
        match,
        "unknown replicas",
        cloud("1000"),
        CONDUCTOR.but(spec__replicas=UNKNOWN),
        API,
        passes="nova-api",
        undecided="nova-conductor",
        message="spec.replicas of nova-conductor cannot be known",
    ),
    case(match, "an unknown row", cloud("1000"), workload("x", row=UNKNOWN), undecided="x"),
    case(match, "an unknown architecture", cloud(UNKNOWN), API, undecided="nova-api"),
    case(
        everywhere,
        "on all computes",
        cloud(),
        COMPUTES,
        daemons("nova-compute", "compute", row="nova-compute"),
        passes="nova-compute",
    ),
    case(
        everywhere,
        "replicas instead",
        cloud(),
        COMPUTES,
        workload("nova-compute", row="nova-compute", pools=["compute"]),
        fails="nova-compute",
        message="it is a Deployment",
    ),
    case(
        everywhere,
        "some nodes are left out by a selector",
        cloud(),
        COMPUTES,
        daemons("nova-compute", "compute", row="nova-compute").but(
            spec__template__spec__nodeSelector={"kubernetes.io/hostname": "compute-1"}
        ),
        fails="nova-compute",
        message="may not run on compute-2, compute-3",
    ),
    case(
        everywhere,
        "the taint is not tolerated",
        cloud(),
        COMPUTES,
        daemons("nova-compute", "compute", row="nova-compute").but(spec__template__spec__tolerations=None),
        fails="nova-compute",
    ),
    case(everywhere, "a service with a count", cloud(), COMPUTES, API),
    case(
        everywhere,
        "labels of the pool are unknown",
        cloud(),
        machine_pool("compute", labels=UNKNOWN),
        daemons("nova-compute", "compute", row="nova-compute"),
        undecided="nova-compute",
    ),
    case(
        everywhere,
        "the stack has no nodes",
        cloud(),
        daemons("nova-compute", "compute", row="nova-compute"),
        undecided="nova-compute",
        message="describes no node",
    ),
    case(there, "every row", whole_stack("300"), passes="cloud"),
    case(
        there,
        "glance-api was left out",
        [each for each in whole_stack("300") if each.name != "glance-api"],
        fails="cloud",
        message="row glance-api has no workload",
    ),
    case(
        there,
        "its job alone does not count",
        [each for each in whole_stack("300") if each.name != "glance-api"],
        workload("glance-api", "Job"),
        fails="cloud",
    ),
    case(there, "no architecture is named", stack(), API),
    case(
        there,
        "a workload does not say yet which row it is",
        whole_stack(),
        workload("x", row=UNKNOWN),
        undecided="cloud",
    ),
    case(
        match,
        "a workload for each instance",
        cloud("1000"),
        *(workload(f"conductor-{number}", row="nova-conductor", replicas=1) for number in (1, 2, 3)),
        passes="conductor-1 conductor-2 conductor-3",
    ),
    case(scheduler_workers, "as many as the row says", cloud(), SMALL_SCHEDULER, workers(3), passes="nova-scheduler"),
    case(
        scheduler_workers,
        "fewer",
        cloud(),
        SMALL_SCHEDULER,
        workers(2),
        fails="nova-scheduler",
        message="workers = 2 in section [scheduler]; expected at least 3",
    ),
    case(
        scheduler_workers,
        "one for each core, since nothing is said",
        cloud(),
        SMALL_SCHEDULER,
        config_map("nova", {"nova.conf": "[DEFAULT]\nworkers = 1\n"}),
    ),
    case(scheduler_workers, "a row without such a word", cloud("1000"), SMALL_SCHEDULER, workers(1)),
    case(
        scheduler_workers,
        "unknown configuration",
        cloud(),
        SMALL_SCHEDULER,
        config_map("nova", {"nova.conf": UNKNOWN}),
        undecided="nova-scheduler",
    ),
    case(
        scheduler_workers,
        "no number",
        cloud(),
        SMALL_SCHEDULER,
        workers("many"),
        undecided="nova-scheduler",
        message="workers in section [scheduler] is 'many', not a whole number",
    ),
)
