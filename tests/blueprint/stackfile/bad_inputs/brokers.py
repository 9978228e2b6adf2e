"""Bad inputs: further RabbitMQ clusters that cannot be built, or that no project uses."""

from __future__ import annotations

from typing import Any

from tests.blueprint.stackfile.bad_inputs.case import Bad, stack


def broker(said: str, name: str = "neutron-rabbitmq", **own: Any) -> Bad:
    """A stack with a further RabbitMQ, which Neutron uses."""
    services = {name: {"definition": "rabbitmq", **own}}
    return Bad(stack(services=services, projects={"neutron": {"mapping": {"rpc": name}}}), said)


def mapping(said: str, to: str, project: str = "neutron") -> Bad:
    """A project that is mapped to a RabbitMQ that the stack file does not define."""
    return Bad(stack(projects={project: {"mapping": {"rpc": to}}}), said)


NEUTRON = "quorate:projects.neutron.mapping"
OWN = "quorate:services.neutron-rabbitmq"
CASES = {
    "a mapping to nothing": mapping(
        f"{NEUTRON}.rpc: there is no RabbitMQ 'neutron-rabbitmq' (did you mean 'rabbitmq'?); write one of: rabbitmq; "
        f"a further one needs {OWN}.definition",
        "neutron-rabbitmq",
    ),
    "a mapping with a typing error": mapping(
        f"{NEUTRON}.rpc: there is no RabbitMQ 'rabitmq' (did you mean 'rabbitmq'?)", "rabitmq"
    ),
    "a mapping to another service": mapping(f"{NEUTRON}.rpc: there is no RabbitMQ 'mysqld'", "mysqld"),
    "a project without messages": mapping(
        "quorate:projects.glance.mapping.rpc: glance sends no messages; remove mapping", "rabbitmq", "glance"
    ),
    "a project that there is not": mapping("quorate:projects.neutrn: is not a project", "rabbitmq", "neutrn"),
    "another use": Bad(
        stack(projects={"neutron": {"mapping": {"queue": "rabbitmq"}}}),
        f"{NEUTRON}.queue: 'queue' is not known; write one of: rpc, notifications, database",
    ),
    "another definition": Bad(
        stack(services={"own-galera": {"definition": "galera"}}),
        "quorate:services.own-galera.definition: 'galera' is not known; write one of: rabbitmq, mysqld",
    ),
    "options of one": broker(
        f"{OWN}.options.neutron.conf: is not a file of rabbitmq; write one of: rabbitmq.conf",
        options={"neutron.conf": {"DEFAULT": {"debug": True}}},
    ),
    "one that no project uses": Bad(
        stack(services={"neutron-rabbitmq": {"definition": "rabbitmq"}}),
        f"{OWN}: no project uses it; write quorate:projects.neutron.mapping: {{rpc: neutron-rabbitmq}}",
    ),
    "the name of a service": broker(
        "quorate:services.nova-api.definition: nova-api is not a name for a further RabbitMQ", "nova-api"
    ),
    "the name of the stack's own": broker(
        "quorate:services.rabbitmq.definition: rabbitmq is not a name for a further RabbitMQ", "rabbitmq"
    ),
    "capitals in its name": broker(
        "quorate:services.Own-rabbitmq.definition: Own-rabbitmq is not a name", "Own-rabbitmq"
    ),
    "a name too long": broker(
        f"quorate:services.{'n' * 33}-rabbitmq.definition: {'n' * 33}-rabbitmq is not a name", f"{'n' * 33}-rabbitmq"
    ),
    "an even number of members": broker(
        f"{OWN}.replicas: 2 is even: it survives the loss of 0, no more than 1 would; write 3 or more", replicas=2
    ),
    "more members than nodes": broker(
        f"{OWN}.replicas: neutron-rabbitmq needs 5 instances; pools rabbitmq have 3 nodes on 3 physical hosts",
        replicas=5,
    ),
}  # fmt: skip
