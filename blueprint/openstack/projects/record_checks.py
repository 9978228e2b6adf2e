"""Checks the records of projects beyond their form: each by itself, and all of them together."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from graphlib import CycleError, TopologicalSorter

from blueprint.openstack.projects.process_definition import Container, Http, Port, ProcessDefinition, Tcp
from blueprint.openstack.projects.project_record import ProjectRecord
from text.suggestion import did_you_mean

Fault = tuple[str, str]
"""A key of a record, and what is wrong with it."""
FIRST_ORDER = 1000
"""The first position of a stack's own projects and companions. Those before are Quorate's, so that none of a later
version of Quorate has the position of a stack's own."""
_RESERVED = {
    "admin": "Keystone's and RabbitMQ's administrator has this name",
    "notifications": "the vhost of all projects' notifications has this name",
    "records": "it is the key of quorate:projects for the folder of records",
    "root": "Galera's administrator has this name",
}
"""Names that no project can have, because its accounts have them too, each with the reason."""
_NEEDS = {"databases": "mariadb", "messaging": "rabbitmq", "endpoints": "keystone"}
"""Keys of a record, each with the project that a project with this key must need."""


def faults(record: ProjectRecord) -> Iterator[Fault]:
    """Yields the faults of one record."""
    for file, namespaces in record.options.items():
        if not namespaces:
            yield f"options.{file}", "has no namespace; write that of the project, such as nova.conf"
    for key, files in _lab_options(record):
        yield from (
            (f"{key}.{file}", _unknown(file, record.options, "file of options"))
            for file in files
            if file not in record.options
        )
    for key, needed in _NEEDS.items():
        if getattr(record, key) and needed not in record.needs:
            yield "needs", f"{needed} is missing, and the record has {key}; add it"
    names = [each.name for each in record.processes]
    for number, endpoint in enumerate(record.endpoints):
        if endpoint.process not in names:
            yield f"endpoints.{number}.process", _unknown(endpoint.process, names, "process of the project")
    for number, process in enumerate(record.processes):
        key = f"processes.{number}"
        yield from ((f"{key}.{inner}", text) for inner, text in _process_faults(process))
        if process.after and process.after not in names:
            yield f"{key}.after", _unknown(process.after, names, "process of the project")
    after = {process.name: process.after for process in record.processes}
    for number, name in enumerate(names):
        if name in _chain(name, after):
            yield f"processes.{number}.after", f"{name} waits for itself in the end; remove it from one of them"


def _lab_options(record: ProjectRecord) -> Iterator[tuple[str, Iterable[str]]]:
    """Yields the keys with options of a lab, each with the files that it names."""
    yield "lab_options", record.lab_options
    yield from ((f"lab_options_with.{backend}", files) for backend, files in record.lab_options_with.items())


def _chain(name: str, after: Mapping[str, str | None]) -> list[str]:
    """Returns the processes that must be ready before one, from the next to the first, each once."""
    found: list[str] = []
    while (before := after.get(name)) and before not in found:
        found.append(before)
        name = before
    return found


def stack_faults(record: ProjectRecord, own: Mapping[str, ProjectRecord]) -> Iterator[Fault]:
    """Yields the faults of a record that is beside a stack file. `own`: Quorate's records."""
    if record.name in own:
        yield "name", f"{record.name} is a project of Quorate; write another name, which is also that of the file"
    elif record.name in _RESERVED:
        yield "name", f"{record.name} is taken: {_RESERVED[record.name]}; write another name, also for the file"
    for key in ("lab_options", "lab_options_with"):
        if getattr(record, key):
            yield key, "are for projects of Quorate, which have lists of their options; remove it"
    orders = {"order": record.order} | {
        f"processes.{number}.companion.order": process.companion.order
        for number, process in enumerate(record.processes)
        if process.companion
    }
    for key, order in orders.items():
        if order < FIRST_ORDER:
            yield key, f"{order} is for projects of Quorate, to which others are added; write {FIRST_ORDER} or more"


def _process_faults(process: ProcessDefinition) -> Iterator[Fault]:
    if not process.containers:
        yield "containers", "is empty; write at least the container that runs the process"
    ports = {port.name for port in process.ports if port.last is None}
    yield from (
        ("containers", f"port {port.name} ends with {port.last}; write a number above {port.number}, or no last")
        for port in process.ports
        if port.last is not None and port.last <= port.number
    )
    yield from (
        ("containers", f"port {port.name} is a range, and none of the node's address; remove on_node or last")
        for port in process.ports
        if port.last is not None and port.on_node
    )
    listening = list(_listening(process.ports))
    yield from (
        ("containers", f"port {each} is that of two ports of the pod; write another") for each in _twice(listening)
    )
    names = [port.name for port in process.ports]
    yield from (("containers", f"{each} is the name of two ports of the pod; write another") for each in _twice(names))
    protocols = {port.name: port.protocol for port in process.ports}
    services = [f"{number}/{protocols[name]}" for name, number in process.exposed.items() if name in protocols]
    yield from (("exposed", f"{each} is that of two ports; write another") for each in _twice(services))
    for target in process.exposed:
        if target not in ports:
            yield f"exposed.{target}", _unknown(target, ports, "port of its containers")
    if process.subdomain and not process.exposed:
        yield "subdomain", "needs a port in exposed, to which it leads; add it, or remove subdomain"
    if bool(process.claim) != any(container.data for container in process.containers):
        yield "claim", "belongs together with data of a container, where the volume is mounted; write both or none"
    if process.companion and process.companion.every_node and process.kind != "DaemonSet":
        yield "kind", f"{process.kind} does not run on every node, as companion.every_node says; write DaemonSet"
    for number, container in enumerate(process.containers):
        yield from ((f"containers.{number}{inner}", text) for inner, text in _container_faults(container))


def _container_faults(container: Container) -> Iterator[Fault]:
    if bool(container.command) == bool(container.script):
        yield "", "needs either command or script; write one of them"
    if container.script and container.kolla:
        yield ".script", "runs only in images without Kolla's start script; write command, or kolla: false"
    ports = {port.name for port in container.ports if port.last is None}
    for key, probe in (("ready", container.ready), ("alive", container.alive)):
        if isinstance(probe, Http | Tcp) and probe.port not in ports:
            yield f".{key}.port", _unknown(probe.port, ports, "port of the container")


def shared_faults(found: Mapping[str, ProjectRecord]) -> Iterator[tuple[str, str, str]]:
    """Yields the faults of records that the others show: the project, the key and what is wrong.

    `found`: all records, in their order.
    """
    yield from claimed_twice(found)
    processes: dict[str, ProcessDefinition] = {}
    for record in found.values():
        for each in record.processes:
            processes.setdefault(each.name, each)  # a second one of the name has its fault already
    for name, record in found.items():
        for needed in record.needs:
            if needed not in found:
                yield name, "needs", _unknown(needed, found, "project")
        for number, process in enumerate(record.processes):
            key = f"processes.{number}"
            for other in process.configured_with:
                if other not in processes:
                    yield name, f"{key}.configured_with", _unknown(other, processes, "process")
            if process.follows and process.follows not in processes:
                yield name, f"{key}.follows", _unknown(process.follows, processes, "process")
            if process.companion:
                row = processes.get(process.companion.of)
                if row is None or row.companion:
                    rows = [each for each, other in processes.items() if not other.companion]
                    yield name, f"{key}.companion.of", _unknown(process.companion.of, rows, "process with a row")
    try:
        TopologicalSorter({name: record.needs for name, record in found.items()}).prepare()
    except CycleError as error:
        circle = error.args[1]
        yield circle[0], "needs", f"form a circle ({' needs '.join(reversed(circle))}); remove one"


def claimed_twice(found: Mapping[str, ProjectRecord]) -> Iterator[tuple[str, str, str]]:
    """Yields a fault for each position, process, subdomain, database, secret and port of nodes that two records claim.

    `found`: as for `shared_faults`; a fault is that of the later record.
    """
    owners: dict[tuple[str, object], str] = {}
    for name, record in found.items():
        claims: list[tuple[str, object]] = [
            ("order", record.order),
            *(("database", database) for database in record.databases),
            *(("process", each.name) for each in record.processes),
            *(("companion.order", each.companion.order) for each in record.processes if each.companion),
            *(("subdomain", each.subdomain) for each in record.processes if each.subdomain),
            *(("port of the host's network", port) for each in record.processes for port in _host_ports(each)),
            *(("secret", secret) for secret in record.fixed_secrets),
            *(("service of CCP", service) for service in record.ccp),
        ]
        for kind, value in claims:
            if other := owners.get((kind, value)):
                yield name, "", f"{kind} {value} is that of {other} already; write another"
            owners.setdefault((kind, value), name)


def _host_ports(process: ProcessDefinition) -> tuple[str, ...]:
    """Returns the ports on which a process listens on its node, where all processes of the host's network meet."""
    return tuple(_listening([each for each in process.ports if each.on_node or process.host_network]))


def _listening(ports: Sequence[Port]) -> Iterator[str]:
    """Yields each number of some ports with its protocol, such as 5672/TCP."""
    for port in ports:
        yield from (f"{number}/{port.protocol}" for number in port.numbers)


def _twice(values: Sequence[str]) -> list[str]:
    return [value for value, count in Counter(values).items() if count > 1]


def _unknown(name: str, known: Collection[str], kind: str) -> str:
    listed = f"write one of: {', '.join(sorted(known))}" if known else "there is none"
    return f"'{name}' is not a {kind}{did_you_mean(name, known)}; {listed}"
