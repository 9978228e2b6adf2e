"""Labels and annotations that users, policies and proofs rely on (design.md, Components)."""

from __future__ import annotations

from components.openstack.workload import Workload

NAME = "app.kubernetes.io/name"
ROW = "quorate.io/row"
"""Annotation: the table's name of the row, as it stands there."""
REPLACES = "quorate.io/replaces"
"""Annotation: retired rows whose work this one does."""
CONFIG = "quorate.io/config"
"""Annotation of pods: a digest of their configuration, so that a change of it rolls them."""


def of(workload: Workload) -> dict[str, str]:
    """Labels of everything that belongs to the service."""
    return {
        NAME: workload.service,
        "app.kubernetes.io/component": workload.component,
        "app.kubernetes.io/part-of": "openstack",
        "app.kubernetes.io/managed-by": "quorate",
    }
