"""Versions of the master tier's software, and the cluster size from which its settings change."""

from __future__ import annotations

from blueprint.plan.plan import Plan

NGINX_IMAGE = "docker.io/library/nginx:1.30.4-alpine"
COREDNS_IMAGE = "registry.k8s.io/coredns/coredns:v1.14.6"
"""The image that kubeadm installs with Kubernetes 1.37."""

LARGE = 1000
"""Number of computes from which the settings of source 004, 5.5.8 'Scaling to 1000 Nodes' apply: the size at which the
source measured them."""


def kubernetes(plan: Plan) -> str:
    """Returns the version of Kubernetes as kubeadm writes it, such as v1.37.2."""
    return f"v{plan.settings.kubernetes}"


def large(plan: Plan) -> bool:
    """Whether the plan's reference architecture is for LARGE computes or more."""
    return plan.architecture.computes >= LARGE
