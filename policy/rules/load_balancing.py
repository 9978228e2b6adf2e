"""Services that need a load balancer have one in front."""

from __future__ import annotations

from collections.abc import Iterator

from policy.facts.kubernetes.budgets_and_services import Service
from policy.facts.kubernetes.workload import Workload
from policy.facts.properties import Properties
from policy.facts.quorums import Quorum, quorum_of
from policy.facts.stack import Facts
from policy.findings import Severity
from policy.rule import Problem, Source, rule
from policy.wording import join_names


def _balanced(facts: Facts, workload: Workload) -> bool:
    row = facts.row(workload) if workload.is_long_running else None
    return row is not None and row.load_balancer


@rule(
    id="load-balanced-row-has-service",
    title="A service that requires a load balancer has a Service in front of its pods",
    severity=Severity.HIGH,
    rationale="Without one, clients hold the address of a single instance and fail with it; the other instances carry "
    "nothing. A headless Service only names pods, it balances nothing.",
    sources=(
        Source("004", "5.3.16", "table: Requires a Load Balancer"),
        Source("004", "5.4.16", "table: Requires a Load Balancer"),
        Source("004", "5.4.8", "load balancer should be placed in front of the Neutron Server"),
    ),
    remediation="Add a Service (ClusterIP, not headless) in the workload's namespace whose selector matches its pod "
    "labels.",
    subjects=lambda facts: facts.workloads,
    applies=_balanced,
    not_applicable_reason="no workload of the stack belongs to a row that requires a load balancer",
)
def load_balanced_row_has_service(facts: Facts, workload: Workload) -> Iterator[Problem]:
    """The selector is compared with the labels of the pods, not with names."""
    leading = [service for service in facts.services if service.selects(workload)]
    if not leading:
        yield Problem("no Service selects its pods", "a Service that balances connections over them")
    elif not any(service.balances for service in leading):
        names = join_names([service.resource.name for service in leading])
        yield Problem(f"only headless Services select its pods ({names})", "one that balances connections over them")


_PROXIES = ("proxysql", "maxscale", "haproxy")


def _leading(facts: Facts, workload: Workload) -> list[Service]:
    return [service for service in facts.services if service.balances and service.selects(workload)]


def _balanced_database(facts: Facts, workload: Workload) -> bool:
    if quorum_of(workload) is not Quorum.GALERA or workload.replicas == 1:
        return False
    return bool(_leading(facts, workload))


@rule(
    id="database-behind-proxysql",
    title="Clients reach Galera through a proxy that sends writes to one member",
    severity=Severity.HIGH,
    rationale="Galera takes writes on every member and rejects one of two that meet: spread over all members, "
    "transactions of OpenStack end in deadlocks. A plain Service also knows nothing of a member's state.",
    sources=(
        Source("project", "Database", "clients reach Galera through a proxy instead of a member"),
        Source("004", "5.4.16", "this service might require specialized load balancer (proxysql)"),
    ),
    remediation="Let the Service's targetPort be that of a ProxySQL container, and have ProxySQL know the members.",
    subjects=lambda facts: facts.workloads,
    applies=_balanced_database,
    not_applicable_reason="no Service balances connections over a Galera of several members",
    parameters={"proxies": ", ".join(_PROXIES)},
    since="0.2.0",
)
def database_behind_proxysql(facts: Facts, workload: Workload) -> Iterator[Problem]:
    """Where the Service's ports lead in the pod: to the proxy beside the database, or to the database itself."""
    ports = {port for container in workload.pod.at("containers").items() for port in _proxy_ports(container)}
    for service in _leading(facts, workload):
        direct = [str(port) for port in service.targets if port not in ports]
        if direct:
            yield Problem(
                f"{service.title} leads port {join_names(direct)} of its pods to the database itself",
                "a port of ProxySQL",
            )


def _proxy_ports(container: Properties) -> Iterator[int | str]:
    """Numbers and names of the ports of a container that is a proxy."""
    if any(proxy in container.at("image").text() for proxy in _PROXIES):
        for port in container.at("ports").items():
            yield port.at("containerPort").number(0)
            yield port.at("name").text()
