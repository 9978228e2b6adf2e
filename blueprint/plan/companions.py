"""Plans companions: processes without a row in the reference architecture, which run in the pools of another row.

The architecture's table has one row for two processes ("Influxdb + Grafana", "Elasticsearch + Kibana"), requires a
special load balancer (mysqld: "might require specialized load balancer (proxysql)", 004, 5.3.16 and 5.4.16), or omits a
process (memcached, Heat, the console proxy, cinder-backup). A row counts only its main process. A companion is a
separate workload in the same pools, so that a change of its image or configuration does not restart a quorum member. It
has as many instances as the row, unless the stack file sets another count. A topology places some companions itself.

Additional clusters of RabbitMQ and Galera that the stack file names are planned like companions, but they are quorums.
An additional Galera has a ProxySQL and an exporter of its own beside it.

Some companions are agents: "smart agent that runs on every node in the OpenStack environment" (004, 5.3.15). Others are
DaemonSets on every node of a row that runs everywhere: Open vSwitch and libvirtd beside the agents that use them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache

from blueprint import replicas
from blueprint.openstack.projects.process_definition import Companion
from blueprint.openstack.projects.records import Records
from blueprint.plan.layout import Layout, ServicePlan, not_retired
from blueprint.plan.nodes import Node
from blueprint.replicas import Reason, Replicas
from blueprint.stackfile import further_clusters, sriov
from blueprint.stackfile.further_clusters import ClusterKind
from blueprint.stackfile.settings import Override, Settings


@cache
def beside_rows(records: Records) -> Mapping[str, Companion]:
    """Returns how each companion is planned, by its name, in their order."""
    found = ((name, process.companion) for name, process in records.processes.items() if process.companion)
    return dict(sorted(found, key=lambda item: item[1].order))


def companions(laid: Layout, settings: Settings) -> tuple[ServicePlan, ...]:
    """Returns the plan of each companion whose service is in the stack, or which the topology places."""
    by_name = {service.name: service for service in not_retired(laid.services)}
    pools = tuple(dict.fromkeys(node.pool for node in laid.nodes))
    found: list[ServicePlan] = []
    for name, beside in beside_rows(settings.records).items():
        if row := laid.companions.get(name, by_name.get(beside.of)):
            count = replicas.of_companion(name, name, settings, nodes=len(laid.nodes), laid=row.instances)
            companion = _beside(row, name, settings, count)
            if file := settings.records.added_file(name):
                companion = replace(companion, source=f"beside {row.row} ({file}, of the stack's own)")
            if replicas.is_agent(name, settings.records):
                companion = _on_every_node(companion, pools)
            elif count.reason is Reason.EVERY_NODE:
                companion = replace(companion, everywhere=True, load_balancer=False)
            if settings.records.processes[name].only_with == "sr-iov":
                companion = _on_nodes_with_devices(companion, laid.nodes, settings)
            found.append(companion)
    for kind in further_clusters.KINDS.values():
        if row := by_name.get(kind.definition):
            found += _clusters(kind, row, laid, settings)
    return tuple(found)


def _clusters(kind: ClusterKind, row: ServicePlan, laid: Layout, settings: Settings) -> Iterator[ServicePlan]:
    """Yields the additional clusters of a kind that the stack file names. Each cluster is a separate quorum.

    Members of two clusters may share a node if the row in the architecture is shareable. A topology may place a cluster
    on other nodes than the row.
    """
    others = [row.name]
    for name in further_clusters.named(settings, kind):
        place = laid.companions.get(name) or row
        cluster = replace(
            _beside(row, name, settings, replicas.of_service(name, settings, laid=row.instances)),
            pools=place.pools,
            shareable=row.shareable,
            load_balancer=row.load_balancer,
            quorum=row.quorum,
            apart_from=tuple(others) if row.dedicated_nodes and not row.shareable else (),
            definition=row.name,
            source=f"quorate:services.{name}, another {row.row} (docs/adr/0017-further-brokers.md)",
        )
        yield cluster
        for process in kind.companions(settings.records):
            own = further_clusters.companion(process, name, kind)
            count = replicas.of_companion(own, process, settings, nodes=len(laid.nodes), laid=cluster.instances)
            companion = _beside(cluster, own, settings, count)
            yield replace(companion, companion_of=row.name, definition=process, source=f"beside {name}")
        others.append(name)


def _beside(service: ServicePlan, name: str, settings: Settings, count: Replicas) -> ServicePlan:
    return replace(
        service,
        name=name,
        companion_of=service.name,
        instances=count.count,
        dedicated_nodes=0,
        shareable=True,
        load_balancer=True,
        everywhere=False,
        quorum=False,
        apart_from=(),
        override=settings.services.get(name, Override()),
        source=f"beside {service.row} (blueprint/plan/companions.py)",
    )


def _on_nodes_with_devices(agent: ServicePlan, nodes: Sequence[Node], settings: Settings) -> ServicePlan:
    names = tuple(each.name for each in nodes if agent.may_use(each) and sriov.devices(settings, each.name))
    return replace(
        agent, instances=len(names), only_nodes=names, source="on computes with devices of SR-IOV (004, 2.5)"
    )


def _on_every_node(agent: ServicePlan, pools: tuple[str, ...]) -> ServicePlan:
    return replace(
        agent,
        pools=pools,
        everywhere=True,
        every_node=True,
        load_balancer=False,
        source="on every node (004, 5.3.15)",
    )
