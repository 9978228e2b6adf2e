"""Reads and checks additional clusters of RabbitMQ in a stack file, and the OpenStack projects that use them.

As with Fuel-CCP's key `services`, the stack file gives a cluster a name, and maps the calls (rpc) or notifications of a
project to this name. Calls and notifications without a mapping use the stack's RabbitMQ service.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from blueprint.openstack import options
from blueprint.problems import Problem
from blueprint.stackfile.settings import Override, Settings
from suggestion import did_you_mean

DEFINITION = "rabbitmq"
PROJECTS = ("cinder", "heat", "neutron", "nova")
"""The OpenStack projects that use RabbitMQ."""
_NAME = re.compile(rf"[a-z]([-a-z0-9]{{0,30}}[a-z0-9])?-{DEFINITION}")
"""Matches valid names of additional clusters. No other service or job has a name with the ending -rabbitmq."""


def named(settings: Settings) -> Mapping[str, Override]:
    """Returns the settings of the additional RabbitMQ clusters in a stack file, by the cluster's name."""
    return {name: override for name, override in settings.services.items() if override.definition == DEFINITION}


def mapping(settings: Settings) -> Mapping[tuple[str, str], str]:
    """Returns the RabbitMQ cluster that each project uses, by project and use (rpc or notifications).

    Only the mappings in the stack file are included.
    """
    return {
        (project, use): name
        for project, override in settings.projects.items()
        for use, name in override.mapping.items()
    }


def problems(settings: Settings) -> Iterator[Problem]:
    """Yields a problem for each invalid cluster name, mapping to an unknown cluster, and cluster without a project."""
    known = (DEFINITION, *named(settings))
    for (project, use), name in mapping(settings).items():
        key = f"quorate:projects.{project}.mapping.{use}"
        if project not in options.FILES:
            continue  # checks.py reports the unknown project
        if project not in PROJECTS:
            advice = f"write mapping for one of: {', '.join(PROJECTS)}"
            yield Problem(key, f"{project} sends no messages; remove mapping, or {advice}")
        elif name not in known:
            hint = did_you_mean(name, known)
            advice = f"write one of: {', '.join(known)}; a further one needs quorate:services.{name}.definition"
            yield Problem(key, f"there is no RabbitMQ '{name}'{hint}; {advice}")
    used = set(mapping(settings).values())
    for name in named(settings):
        key = f"quorate:services.{name}"
        if not _NAME.fullmatch(name):
            advice = (
                f"write up to 32 lower-case letters, digits and '-', then -{DEFINITION}, such as neutron-{DEFINITION}"
            )
            yield Problem(f"{key}.definition", f"{name} is not a name for a further RabbitMQ; {advice}")
        elif name not in used:
            advice = f"write quorate:projects.neutron.mapping: {{rpc: {name}}}, or remove it"
            yield Problem(key, f"no project uses it; {advice}")
