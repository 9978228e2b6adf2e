"""Bad inputs: further Galera clusters that cannot be built, or that no project uses."""

from __future__ import annotations

from typing import Any

from tests.blueprint.stackfile.bad_inputs.case import Bad, stack


def galera(said: str, name: str = "neutron-mysqld", beside: dict[str, Any] | None = None, **own: Any) -> Bad:
    """A stack with a further Galera, which Neutron uses. `beside`: settings of the cluster's companions."""
    services = {name: {"definition": "mysqld", **own}, **(beside or {})}
    return Bad(stack(services=services, projects={"neutron": {"mapping": {"database": name}}}), said)


def mapping(said: str, to: str, project: str = "neutron") -> Bad:
    """A project that is mapped to a Galera that the stack file does not define."""
    return Bad(stack(projects={project: {"mapping": {"database": to}}}), said)


NEUTRON = "quorate:projects.neutron.mapping.database"
OWN = "quorate:services.neutron-mysqld"
CASES = {
    "a mapping to nothing": mapping(
        f"{NEUTRON}: there is no Galera 'neutron-mysqld' (did you mean 'mysqld'?); write one of: mysqld; "
        f"a further one needs {OWN}.definition",
        "neutron-mysqld",
    ),
    "a mapping to RabbitMQ": mapping(f"{NEUTRON}: there is no Galera 'rabbitmq'", "rabbitmq"),
    "calls mapped to a Galera": Bad(
        stack(
            services={"neutron-mysqld": {"definition": "mysqld"}},
            projects={"neutron": {"mapping": {"rpc": "neutron-mysqld"}}},
        ),
        "quorate:projects.neutron.mapping.rpc: there is no RabbitMQ 'neutron-mysqld'",
    ),
    "one that no project uses": Bad(
        stack(services={"neutron-mysqld": {"definition": "mysqld"}}),
        f"{OWN}: no project uses it; write quorate:projects.neutron.mapping: {{database: neutron-mysqld}}",
    ),
    "the name of a service": galera(
        "quorate:services.nova-api.definition: nova-api is not a name for a further Galera", "nova-api"
    ),
    "a name longer than Galera's": galera(
        f"quorate:services.{'n' * 26}-mysqld.definition: {'n' * 26}-mysqld is not a name for a further Galera; write "
        "up to 25 lower-case letters",
        f"{'n' * 26}-mysqld",
    ),
    "an even number of members": galera(
        f"{OWN}.replicas: 2 is even: it survives the loss of 0, no more than 1 would; write 3 or 5", replicas=2
    ),
    "seven members": galera(f"{OWN}.replicas: 7 members are too many", replicas=7),
    "more members than nodes": galera(
        f"{OWN}.replicas: neutron-mysqld needs 5 instances; pools mysqld have 3 nodes on 3 physical hosts", replicas=5
    ),
    "a companion of a cluster that there is not": Bad(
        stack(services={"glance-proxysql": {"replicas": 2}}),
        "quorate:services.glance-proxysql: no such service",
    ),
    "options of its ProxySQL": galera(
        "quorate:services.neutron-proxysql.options.neutron.conf: has no list of options",
        beside={"neutron-proxysql": {"options": {"neutron.conf": {"DEFAULT": {"debug": True}}}}},
    ),
    "more of its ProxySQL than nodes": galera(
        "quorate:services.neutron-proxysql.replicas: neutron-proxysql needs 4 instances; pools mysqld have 3 nodes",
        beside={"neutron-proxysql": {"replicas": 4}},
    ),
}
