"""Labels that users, policies and proofs rely on (contract.py)."""

from __future__ import annotations

import contract
from components.openstack.definition import ProcessDefinition

PART_OF, MANAGED_BY = "openstack", "quorate"


def of(process: ProcessDefinition) -> dict[str, str]:
    """Returns the labels of everything that belongs to the process."""
    return {contract.NAME: process.name, contract.COMPONENT: process.project, **common()}


def common() -> dict[str, str]:
    """Returns the labels of everything that belongs to an environment."""
    return {contract.PART_OF: PART_OF, contract.MANAGED_BY: MANAGED_BY}
