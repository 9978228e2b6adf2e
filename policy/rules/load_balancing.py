"""Services that need a load balancer have one in front."""

from __future__ import annotations

from collections.abc import Iterator

from policy.facts import Facts
from policy.findings import Severity
from policy.kubernetes.workload import Workload
from policy.rule import Problem, Source, rule
from policy.wording import listing


def _balanced(facts: Facts, workload: Workload) -> bool:
    row = facts.row(workload) if workload.lasting else None
    return row is not None and row.load_balancer


@rule(
    id="load-balanced-row-has-service",
    title="A service that requires a load balancer has a Service in front of its pods",
    severity=Severity.HIGH,
    rationale="Without one, clients hold the address of a single instance and fail with it; the other instances carry "
    "nothing. A headless Service only names pods, it balances nothing.",
    sources=(
        Source("004", "5.3.16", "column Requires a Load Balancer"),
        Source("004", "5.4.16", "column Requires a Load Balancer"),
        Source("004", "5.4.8", "a load balancer should be placed in front of the Neutron Server"),
    ),
    remediation="Add a Service (ClusterIP, not headless) in the workload's namespace whose selector matches its pod "
    "labels.",
    subjects=lambda facts: facts.workloads,
    applies=_balanced,
    otherwise="no workload of the stack belongs to a row that requires a load balancer",
)
def load_balanced_row_has_service(facts: Facts, workload: Workload) -> Iterator[Problem]:
    """The selector is compared with the labels of the pods, not with names."""
    leading = [service for service in facts.services if service.selects(workload)]
    if not leading:
        yield Problem("no Service selects its pods", "a Service that balances connections over them")
    elif not any(service.balances for service in leading):
        names = listing([service.resource.name for service in leading])
        yield Problem(f"only headless Services select its pods ({names})", "one that balances connections over them")
