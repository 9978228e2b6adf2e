"""The options that a stack file gives to a service: of its project, its own, and those of it on single nodes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from typing import NamedTuple

from blueprint.patterns import expand
from blueprint.stackfile.settings import Options, Settings


class ListOption(NamedTuple):
    """An option whose value is a list."""

    project: str
    service: str
    file: str
    section: str
    name: str


MECHANISM_DRIVERS = ListOption("neutron", "neutron-server", "ml2_conf.ini", "ml2", "mechanism_drivers")
SCHEDULER_FILTERS = ListOption("nova", "nova-scheduler", "nova.conf", "filter_scheduler", "enabled_filters")


def lacking(settings: Settings, needed: Mapping[ListOption, str]) -> Iterator[str]:
    """Yields each needed value that the stack file takes away, by a list without it: what to do, as the end of a text.

    `needed`: the value by option.
    """
    for option, value in needed.items():
        found = listed(settings, option)
        if found is not None and value not in found:
            where = f"{option.name} ({option.file}, {option.section})"
            yield f"{value} among {where}; add it, or remove {option.name}"


def listed(settings: Settings, option: ListOption) -> tuple[str, ...] | None:
    """Returns the values of an option that is a list; None if the stack file does not set it."""
    value: object = None
    for files in service_options(settings, option.project, option.service):
        value = files.get(option.file, {}).get(option.section, {}).get(option.name, value)
    if value is None:
        return None
    return tuple(map(str, value)) if isinstance(value, tuple) else tuple(map(str.strip, str(value).split(",")))


def service_options(settings: Settings, project: str, service: str, node: str | None = None) -> Iterator[Options]:
    """Yields the options of a service, each of which overrides those before.

    `node`: None for what all nodes have. Patterns of node names apply in lexicographic order (source 004, 1.3).
    """
    holders = (settings.projects.overrides.get(project), settings.services.get(service))
    yield from (holder.options for holder in holders if holder)
    for pattern, values in sorted(settings.nodes.items()) if node else ():
        if service in values.services and node in node_names(pattern):
            yield values.services[service].options


@cache
def node_names(pattern: str) -> frozenset[str]:
    """Returns the names that a pattern of node names stands for."""
    return frozenset(expand(pattern))
