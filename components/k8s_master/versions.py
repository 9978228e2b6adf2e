"""The version of Kubernetes, and the cluster size from which the master tier's settings change."""

from __future__ import annotations

from blueprint.plan.plan import Plan

LARGE = 1000
"""Number of computes from which the settings of source 004, 5.5.8 'Scaling to 1000 Nodes' apply: the size at which the
source measured them."""


def kubernetes(plan: Plan) -> str:
    """Returns the version of Kubernetes as kubeadm writes it, such as v1.37.2."""
    return f"v{plan.settings.kubernetes}"


def large(plan: Plan) -> bool:
    """Whether the plan's reference architecture is for LARGE computes or more."""
    return plan.architecture.computes >= LARGE
