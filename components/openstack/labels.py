"""Labels of Kubernetes objects, by which users, policy rules and proofs find the objects (contract.py)."""

from __future__ import annotations

import contract
from blueprint.openstack.projects.process_definition import ProcessDefinition

PART_OF, MANAGED_BY = "openstack", "quorate"


def of(process: ProcessDefinition) -> dict[str, str]:
    """Returns the labels of all objects of a process."""
    return named(process.name, process.project)


def named(name: str, project: str) -> dict[str, str]:
    """Returns the labels of an object with the given name that belongs to a project, such as a job."""
    return {contract.NAME: name, contract.COMPONENT: project, **common()}


def common() -> dict[str, str]:
    """Returns the labels that all objects of an environment have."""
    return {contract.PART_OF: PART_OF, contract.MANAGED_BY: MANAGED_BY}
