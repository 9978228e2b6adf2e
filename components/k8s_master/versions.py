"""Versions of what the master tier runs, and where the size of the cluster changes its settings."""

from __future__ import annotations

from blueprint.plan.planner import Plan

KUBERNETES = "v1.36.3"
NGINX_IMAGE = "docker.io/library/nginx:1.28-alpine"

LARGE = 1000
"""Nodes from which 5.5.8 of source 004, 'Scaling to 1000 Nodes', applies: the size it was measured at."""


def large(plan: Plan) -> bool:
    """Whether the cluster is built for the size that 5.5.8 is about."""
    return plan.architecture.computes >= LARGE
