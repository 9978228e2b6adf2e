"""Load balancing of services, the database and requests from outside the cluster."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from policy.facts.kubernetes.budgets_and_services import Service
from policy.facts.kubernetes.workload import Workload
from policy.facts.programs import QuorumKind
from policy.facts.quorums.quorums import quorum_of
from policy.facts.stack import Facts
from policy.findings import Severity
from policy.properties import Properties
from policy.resource import Resource
from policy.rule import RuleProblem, RuleSource, rule
from policy.wording import join_names


def _balanced(facts: Facts, workload: Workload) -> bool:
    row = facts.row(workload) if workload.is_long_running else None
    return row is not None and row.load_balancer


@rule(
    id="load-balanced-row-has-service",
    title="Services that require a load balancer have a non-headless Service",
    severity=Severity.HIGH,
    rationale="Without a Service, clients use the address of a single instance and fail when it fails; the other "
    "instances receive no requests. A headless Service only resolves names and does not balance connections.",
    sources=(
        RuleSource("004", "5.3.16", 2),
        RuleSource("004", "5.4.16", 2),
        RuleSource("004", "5.4.8", 31),
    ),
    remediation="Add a Service (ClusterIP, not headless) in the workload's namespace whose selector matches its pod "
    "labels.",
    subjects=lambda facts: facts.workloads,
    applies=_balanced,
    not_applicable_reason="no workload of the stack belongs to a row that requires a load balancer",
    needs_architecture=True,
)
def load_balanced_row_has_service(facts: Facts, workload: Workload) -> Iterator[RuleProblem]:
    """Matches Services' selectors with pod labels. A Service may select the workload's proxies instead of its pods."""
    entrances = _entrances(facts, workload)
    leading = [service for service in facts.services if any(service.selects(each) for each in entrances)]
    if not leading:
        yield RuleProblem("no Service selects its pods", "a Service that balances connections")
    elif not any(service.balances for service in leading):
        names = join_names([service.resource.name for service in leading])
        yield RuleProblem(f"only headless Services select its pods ({names})", "a Service that balances connections")


_PROXIES = ("proxysql", "maxscale", "haproxy")


def _entrances(facts: Facts, workload: Workload) -> list[Workload]:
    """Returns the workload, and its companions that are database proxies."""
    return [workload, *(each for each in facts.companions(workload) if any(map(_is_proxy, each.images)))]


def _is_proxy(image: str) -> bool:
    return any(proxy in image for proxy in _PROXIES)


def _leading(facts: Facts, workload: Workload) -> list[Service]:
    return [service for service in facts.services if service.balances and service.selects(workload)]


def _balanced_database(facts: Facts, workload: Workload) -> bool:
    if quorum_of(workload) is not QuorumKind.GALERA or workload.replicas == 1:
        return False
    return any(_leading(facts, each) for each in _entrances(facts, workload))


@rule(
    id="database-behind-proxysql",
    title="Clients reach Galera through a database proxy",
    severity=Severity.HIGH,
    rationale="Galera accepts writes on every member and rejects one of two conflicting transactions. If writes are "
    "spread over all members, OpenStack transactions end in deadlocks. A plain Service does not know the state of a "
    "member.",
    sources=(
        RuleSource("project", "Database", 1),
        RuleSource("004", "5.4.16", 30),
    ),
    remediation="Let the Service select ProxySQL's pods, and configure ProxySQL with the members.",
    subjects=lambda facts: facts.workloads,
    applies=_balanced_database,
    not_applicable_reason="no Service balances connections over a Galera of several members",
    parameters={"proxies": ", ".join(_PROXIES)},
    since="0.2.0",
)
def database_behind_proxysql(facts: Facts, workload: Workload) -> Iterator[RuleProblem]:
    """Checks the Services that select the database's own pods: each must target a port of a proxy in these pods."""
    ports = {port for container in workload.pod.at("containers").items() for port in _proxy_ports(container)}
    for service in _leading(facts, workload):
        direct = [str(port) for port in service.targets if port not in ports]
        if direct:
            yield RuleProblem(
                f"{service.title} targets database port {join_names(direct)}",
                "a port of a proxy container",
            )


def _proxy_ports(container: Properties) -> Iterator[int | str]:
    """Yields the port numbers and names of a container, if the container is a proxy."""
    if _is_proxy(container.at("image").text()):
        for port in container.at("ports").items():
            yield port.at("containerPort").number(0)
            yield port.at("name").text()


_INGRESS = "kubernetes:networking.k8s.io/v1:Ingress"


@dataclass(frozen=True)
class IngressObject:
    """An Ingress, which routes requests from outside the cluster to Services."""

    resource: Resource

    @property
    def title(self) -> str:
        """The Ingress's name in messages."""
        return f"Ingress {self.resource.name}"


@rule(
    id="ingress-uses-tls",
    title="Every host of an Ingress is served with TLS",
    severity=Severity.HIGH,
    rationale="Requests from outside the cluster carry passwords and tokens of the cloud's users. Over plain HTTP, "
    "everyone on the network path can read and use them.",
    sources=(RuleSource("004", "1.6.2", 5),),
    remediation="List the host under `tls` of the Ingress, with the name of a Secret that has its certificate.",
    subjects=lambda facts: [IngressObject(each) for each in facts.resources if each.type == _INGRESS],
    not_applicable_reason="the stack has no Ingress",
    single=(_INGRESS,),
    since="0.2.0",
)
def ingress_uses_tls(_facts: Facts, ingress: IngressObject) -> Iterator[RuleProblem]:
    """Reports hosts without a `tls` entry. An entry without hosts covers all hosts, `*.example.org` a.example.org."""
    spec = ingress.resource.props.at("spec")
    entries = [each.at("hosts").words() for each in spec.at("tls").items()]
    if not all(entries):
        return
    secured = {host for hosts in entries for host in hosts}
    hosts = [each.at("host").text() for each in spec.at("rules").items()]
    if spec.at("defaultBackend").given():
        hosts.append("")
    open_hosts = [host for host in hosts if host not in secured and f"*.{host.partition('.')[2]}" not in secured]
    if open_hosts or not entries:
        names = join_names(list(dict.fromkeys(host or "any host" for host in open_hosts)))
        yield RuleProblem(f"without TLS: {names or 'any host'}", "an entry under tls for each host")
