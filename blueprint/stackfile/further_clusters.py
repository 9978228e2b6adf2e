"""Reads and checks additional clusters of RabbitMQ and Galera in a stack file, and the projects that use them.

As with Fuel-CCP's key `services`, the stack file gives a cluster a name, and maps the calls (rpc), the notifications or
the database of a project to this name. A use without a mapping goes to the stack's own RabbitMQ or Galera.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from blueprint.openstack import options
from blueprint.openstack.projects.records import processes, records
from blueprint.problems import Problem
from blueprint.stackfile.settings import Override, Settings
from text.suggestion import did_you_mean


@dataclass(frozen=True, kw_only=True)
class ClusterKind:
    """A service of which a stack may have several clusters."""

    definition: str
    """The service of the architecture's row, such as mysqld. Names of additional clusters end in it."""
    title: str
    uses: tuple[str, ...]
    """What a project may map to a cluster of this kind."""
    projects: tuple[str, ...]
    """The OpenStack projects that use the service."""
    without: str
    """What is true of a project that does not use the service."""
    longest: int
    """Maximum length of a name before the ending."""
    companions: tuple[str, ...] = ()
    """Companions of the service that each additional cluster has for itself, because they know one cluster only."""

    @property
    def name(self) -> re.Pattern[str]:
        """Matches valid names of additional clusters. No other service or job has a name with such an ending."""
        return re.compile(rf"[a-z]([-a-z0-9]{{0,{self.longest - 2}}}[a-z0-9])?-{self.definition}")


RABBITMQ = ClusterKind(
    definition="rabbitmq",
    title="RabbitMQ",
    uses=("rpc", "notifications"),
    projects=tuple(sorted(name for name, record in records().items() if record.messaging)),
    without="sends no messages",
    longest=32,
)
GALERA = ClusterKind(
    definition="mysqld",
    title="Galera",
    uses=("database",),
    projects=tuple(sorted(name for name, record in records().items() if record.databases)),
    without="has no database",
    # The name is Galera's wsrep_cluster_name, which has at most 32 characters.
    longest=25,
    companions=tuple(
        name for name, process in processes().items() if process.companion and process.companion.of == "mysqld"
    ),
)
KINDS: Mapping[str, ClusterKind] = {kind.definition: kind for kind in (RABBITMQ, GALERA)}
"""The services of which a stack may have several clusters, by the name of the service."""
_BY_USE = {use: kind for kind in KINDS.values() for use in kind.uses}


def named(settings: Settings, kind: ClusterKind) -> Mapping[str, Override]:
    """Returns the settings of the additional clusters of a kind in a stack file, by the cluster's name."""
    return {name: override for name, override in settings.services.items() if override.definition == kind.definition}


def all_named(settings: Settings) -> Mapping[str, ClusterKind]:
    """Returns the kinds of all additional clusters in a stack file, by the cluster's name."""
    return {name: KINDS[each.definition] for name, each in settings.services.items() if each.definition}


def companion(process: str, cluster: str, kind: ClusterKind) -> str:
    """Returns the name of a cluster's companion: proxysql for mysqld, neutron-proxysql for neutron-mysqld.

    `process`: the companion of the stack's own cluster.
    """
    return f"{cluster.removesuffix(kind.definition)}{process}"


def companions(settings: Settings) -> Mapping[str, str]:
    """Returns the companions of all additional clusters in a stack file, each with the process that it runs."""
    return {
        companion(process, name, kind): process
        for name, kind in all_named(settings).items()
        for process in kind.companions
    }


def process(settings: Settings, name: str) -> str:
    """Returns the process that the service `name` of a stack file runs: another one only for additional clusters."""
    override = settings.services.get(name)
    return (override and override.definition) or companions(settings).get(name, name)


def mapping(settings: Settings) -> Mapping[tuple[str, str], str]:
    """Returns the cluster that each project uses, by project and use (rpc, notifications or database).

    Only the mappings in the stack file are included.
    """
    return {
        (project, use): name
        for project, override in settings.projects.items()
        for use, name in override.mapping.items()
    }


def problems(settings: Settings) -> Iterator[Problem]:
    """Yields a problem for each invalid cluster name, mapping to an unknown cluster, and cluster without a project."""
    for (project, use), name in mapping(settings).items():
        if project in options.FILES:  # checks.py reports an unknown project
            yield from _wrong_mapping(settings, project, use, name)
    used = set(mapping(settings).values())
    for name, kind in all_named(settings).items():
        key = f"quorate:services.{name}"
        if not kind.name.fullmatch(name):
            advice = (
                f"write up to {kind.longest} lower-case letters, digits and '-', then -{kind.definition}, such as "
                f"neutron-{kind.definition}"
            )
            yield Problem(f"{key}.definition", f"{name} is not a name for a further {kind.title}; {advice}")
        elif name not in used:
            advice = f"write quorate:projects.neutron.mapping: {{{kind.uses[0]}: {name}}}, or remove it"
            yield Problem(key, f"no project uses it; {advice}")


def _wrong_mapping(settings: Settings, project: str, use: str, name: str) -> Iterator[Problem]:
    key, kind = f"quorate:projects.{project}.mapping.{use}", _BY_USE[use]
    known = (kind.definition, *named(settings, kind))
    if project not in kind.projects:
        advice = f"write mapping for one of: {', '.join(kind.projects)}"
        yield Problem(key, f"{project} {kind.without}; remove mapping, or {advice}")
    elif name not in known:
        hint = did_you_mean(name, known)
        advice = f"write one of: {', '.join(known)}; a further one needs quorate:services.{name}.definition"
        yield Problem(key, f"there is no {kind.title} '{name}'{hint}; {advice}")
