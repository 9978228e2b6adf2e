"""The running cluster of a stack with the target `live`, as commands and operations use it."""

from __future__ import annotations

from dataclasses import dataclass

from blueprint.plan.plan import Plan
from cluster.api import Api
from cluster.objects import Object


@dataclass(frozen=True)
class LiveCluster:
    """A running cluster whose API server has answered, with its nodes and the plan of the stack."""

    api: Api
    plan: Plan
    context: str
    nodes: tuple[Object, ...]
