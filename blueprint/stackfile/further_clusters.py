"""Reads and checks additional clusters of RabbitMQ and Galera in a stack file, and the projects that use them.

As with Fuel-CCP's key `services`, the stack file gives a cluster a name, and maps the calls (rpc), the notifications or
the database of a project to this name. A use without a mapping goes to the stack's own RabbitMQ or Galera.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from blueprint.openstack import options
from blueprint.openstack.projects.records import Records
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
    used_with: Literal["messaging", "databases"]
    """The key that the record of a project has if the project uses the service."""
    without: str
    """What is true of a project that does not use the service."""
    longest: int
    """Maximum length of a name before the ending."""

    def projects(self, records: Records) -> tuple[str, ...]:
        """Returns the OpenStack projects that use the service, sorted."""
        return tuple(sorted(name for name, record in records.by_name.items() if getattr(record, self.used_with)))

    def companions(self, records: Records) -> tuple[str, ...]:
        """Returns the companions of the service that each additional cluster has for itself.

        They are of the service's own project, and know one cluster only.
        """
        own = records.processes[self.definition].project
        beside = (each for each in records[own].processes if each.companion)
        return tuple(each.name for each in beside if each.companion and each.companion.of == self.definition)

    @property
    def name(self) -> re.Pattern[str]:
        """Matches valid names of additional clusters. No other service or job has a name with such an ending."""
        return re.compile(rf"[a-z]([-a-z0-9]{{0,{self.longest - 2}}}[a-z0-9])?-{self.definition}")


RABBITMQ = ClusterKind(
    definition="rabbitmq",
    title="RabbitMQ",
    uses=("rpc", "notifications"),
    used_with="messaging",
    without="sends no messages",
    longest=32,
)
GALERA = ClusterKind(
    definition="mysqld",
    title="Galera",
    uses=("database",),
    used_with="databases",
    without="has no database",
    # The name is Galera's wsrep_cluster_name, which has at most 32 characters.
    longest=25,
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
        for process in kind.companions(settings.records)
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
        for project, override in settings.projects.overrides.items()
        for use, name in override.mapping.items()
    }


def problems(settings: Settings) -> Iterator[Problem]:
    """Yields a problem for each invalid cluster name, mapping to an unknown cluster, and cluster without a project."""
    for (project, use), name in mapping(settings).items():
        if project in options.files_by_project(settings.records):  # checks.py reports an unknown project
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
        elif name in settings.records.processes:
            yield Problem(key, f"{name} is a process of {settings.records.project_of(name)}; write another name")
        elif name not in used:
            advice = f"write quorate:projects.neutron.mapping: {{{kind.uses[0]}: {name}}}, or remove it"
            yield Problem(key, f"no project uses it; {advice}")


def _wrong_mapping(settings: Settings, project: str, use: str, name: str) -> Iterator[Problem]:
    key, kind = f"quorate:projects.{project}.mapping.{use}", _BY_USE[use]
    known = (kind.definition, *named(settings, kind))
    users = kind.projects(settings.records)
    if project not in users:
        advice = f"write mapping for one of: {', '.join(users)}"
        yield Problem(key, f"{project} {kind.without}; remove mapping, or {advice}")
    elif name not in known:
        hint = did_you_mean(name, known)
        advice = f"write one of: {', '.join(known)}; a further one needs quorate:services.{name}.definition"
        yield Problem(key, f"there is no {kind.title} '{name}'{hint}; {advice}")
