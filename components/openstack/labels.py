"""Labels that users, policies and proofs rely on (contract.py)."""

from __future__ import annotations

import contract
from components.openstack.definition import ProcessDefinition

PART_OF, MANAGED_BY = "openstack", "quorate"


def of(process: ProcessDefinition) -> dict[str, str]:
    """Returns the labels of everything that belongs to the process."""
    return named(process.name, process.project)


def named(name: str, project: str) -> dict[str, str]:
    """Returns the labels of a part of a project."""
    return {contract.NAME: name, contract.COMPONENT: project, **common()}


def common() -> dict[str, str]:
    """Returns the labels of everything that belongs to an environment."""
    return {contract.PART_OF: PART_OF, contract.MANAGED_BY: MANAGED_BY}
