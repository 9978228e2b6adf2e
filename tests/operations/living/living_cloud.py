"""A living cloud of a plan, as tests need one: every member counts, on the node that the plan assigns to it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import contract
from blueprint.plan.plan import Plan
from operations.living.cloud import ETCD, LivingCloud, members_of, quorums_of
from operations.living.quorum import LivingMember, LivingQuorum


def ready_node(name: str) -> dict[str, Any]:
    return {"metadata": {"name": name}, "status": {"conditions": [{"type": "Ready", "status": "True"}]}}


def pod(name: str, workload: str, node: str, *, ready: bool = True) -> dict[str, Any]:
    conditions = [{"type": "Ready", "status": str(ready)}]
    metadata = {"name": name, "labels": {contract.NAME: workload}}
    return {"metadata": metadata, "spec": {"nodeName": node}, "status": {"phase": "Running", "conditions": conditions}}


def budget(workload: str, allowed: int) -> dict[str, Any]:
    selector = {"matchLabels": {contract.NAME: workload}}
    status = {"disruptionsAllowed": allowed}
    return {"metadata": {"name": workload}, "spec": {"selector": selector}, "status": status}


DATA = {"mysqld": 2**30}
"""Bytes of a member, by its quorum."""


def living(plan: Plan, lost: Mapping[str, str] | None = None, **other: Any) -> LivingCloud:
    """A cloud whose members all count but those of `lost`, with the reason of each; `other`: fields of LivingCloud."""
    lost = lost or {}
    assigned: dict[str, list[str]] = {}
    for each in plan.assignment:
        assigned.setdefault(each.service, []).append(each.node)
    members = {ETCD: {node.name: node.name for node in plan.members}} | {
        service.name: dict(zip(members_of(service), assigned[service.name], strict=True))
        for service in quorums_of(plan)
    }
    quorums = tuple(
        LivingQuorum(name, name, tuple(_member(each, lost) for each in nodes), serves=True, size=DATA.get(name))
        for name, nodes in members.items()
    )
    return replace(
        LivingCloud(
            plan,
            quorums,
            {(name, member): node for name, nodes in members.items() for member, node in nodes.items()},
            nodes=[ready_node(node.name) for node in plan.nodes],
        ),
        **other,
    )


def _member(name: str, lost: Mapping[str, str]) -> LivingMember:
    return LivingMember(name, counts=name not in lost, says=lost.get(name, "runs"))
