"""Labels and annotations that users, policies and proofs rely on (design.md, Components)."""

from __future__ import annotations

import contract
from components.openstack.workload import Workload
from contract import NAME


def of(workload: Workload) -> dict[str, str]:
    """Labels of everything that belongs to the service."""
    return {
        NAME: workload.service,
        contract.COMPONENT: workload.component,
        contract.PART_OF: "openstack",
        contract.MANAGED_BY: "quorate",
    }
