"""Checks `quorate:nodes`, the options of services on single nodes: the nodes must exist and must run the services."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from blueprint.openstack import options
from blueprint.openstack.projects.records import Records
from blueprint.patterns import expand
from blueprint.plan.layout import ServicePlan
from blueprint.plan.nodes import Node
from blueprint.problems import Problem, quoted
from blueprint.stackfile.checks import CONFIG_LIMIT
from blueprint.stackfile.inventory import NAMED
from blueprint.stackfile.settings import Settings
from text.quoting import first_of
from text.suggestion import did_you_mean


def problems(settings: Settings, running: Sequence[ServicePlan], nodes: Sequence[Node]) -> Iterator[Problem]:
    """Yields the problems of `quorate:nodes`: unknown nodes, services that do not run there, and too large options.

    blueprint/stackfile/checks.py checks the options themselves. `running`: the services of the stack.
    """
    known = {node.name: node for node in nodes}
    records = settings.records
    services = {each.name: each for each in running if each.everywhere and _has_values(each.process, records)}
    sizes = dict.fromkeys(services, 0)
    computes = {pool for each in running if each.name == "nova-compute" for pool in each.pools}
    for pattern, values in settings.nodes.items():
        names = expand(pattern)
        key = f"quorate:nodes.{pattern}"
        if unknown := [name for name in names if name not in known]:
            hint = did_you_mean(unknown[0], known)
            yield Problem(key, f"{quoted(unknown[0])} is not a node of this stack{hint}; write names of its nodes")
            continue
        if not values.services and not values.interfaces and not values.sriov:
            yield Problem(key, "sets nothing; write services, interfaces or sriov, or remove it")
        if values.sriov and (others := [name for name in names if known[name].pool not in computes]):
            yield Problem(f"{key}.sriov", f"{first_of(others, NAMED)} cannot run nova-compute; write computes")
        for name, override in values.services.items():
            if name not in services:
                yield Problem(f"{key}.services.{name}", _refusal(name, services))
            elif elsewhere := [each for each in names if known[each].pool not in services[name].pools]:
                pools = ", ".join(services[name].pools)
                message = f"does not run on {quoted(elsewhere[0])}; write nodes of the pools it runs on: {pools}"
                yield Problem(f"{key}.services.{name}", message)
            else:
                # The length of the options as text is an estimate of the file's size, exact enough for the limit.
                sizes[name] += len(names) * len(str(override.options))
    for name, size in sizes.items():
        if size > CONFIG_LIMIT:
            advice = f"write {CONFIG_LIMIT} or less, and what all nodes share under quorate:services.{name}.options"
            yield Problem("quorate:nodes", f"the values of {name} have {size} bytes on all nodes together; {advice}")


def _has_values(process: str, records: Records) -> bool:
    """Whether the process reads options with the values of its node."""
    files = options.files_by_project(records).get(records.project_of(process), ())
    reading = (each for each in records.processes[process].containers if each.node_values)
    return any(file.name in files for each in reading for file in each.files)


def _refusal(name: str, services: dict[str, ServicePlan]) -> str:
    known = ", ".join(sorted(services))
    return (
        f"takes no values of single nodes, which only services with options on every node of their pools do"
        f"{did_you_mean(name, services)}; write one of: {known}"
    )
