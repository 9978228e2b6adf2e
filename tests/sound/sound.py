"""The class Sound: hand-written resources that no rule may report. Also has builders for such resources."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tests.policy.world import REQUIRED, Given, Props, apart_term

HOST, SERVER, RACK = "kubernetes.io/hostname", "quorate.io/server", "quorate.io/rack"
NAMESPACE = "openstack"


@dataclass(frozen=True)
class Sound:
    """A production stack without any fault."""

    name: str
    given: Sequence[Given]
    notes: frozenset[str] = frozenset()
    """Advisory rules that report it without stopping an update."""


def node(name: str, server: str = "", rack: str = "", **labels: str) -> Given:
    """A Kubernetes node, by default on a physical host of its own."""
    own = {SERVER: server or name, **({RACK: rack} if rack else {}), **labels}
    return Given("kubernetes:core/v1:Node", name, {"metadata": {"name": name, "labels": own}})


def nodes(count: int, racks: int = 0) -> list[Given]:
    """Nodes n1, n2, … each on a host of its own, in so many racks in turn."""
    return [node(f"n{each}", rack=f"r{each % racks}" if racks else "") for each in range(1, count + 1)]


def member(
    name: str,
    program: str,
    *,
    replicas: int = 3,
    apart: Sequence[str] = (HOST, SERVER),
    labels: Mapping[str, object] | None = None,
    spread: Sequence[Props] = (),
    pod: Props | None = None,
) -> Given:
    """A StatefulSet of members with claims of their own. `spread`: topology spread constraints."""
    own = dict(labels or {"app": name})
    container = {
        "name": program,
        "image": f"registry.example/{program}:1.2.3@sha256:{'0' * 64}",
        "resources": {"requests": {"cpu": "1", "memory": "1Gi"}, "limits": {"memory": "1Gi"}},
    }
    inside: Props = {"containers": [container], **(pod or {})}
    if apart:
        inside["affinity"] = {"podAntiAffinity": {REQUIRED: [apart_term(key, own) for key in apart]}}
    if spread:
        inside["topologySpreadConstraints"] = list(spread)
    spec: Props = {
        "replicas": replicas,
        "serviceName": f"{name}-members",
        "selector": {"matchLabels": own},
        "template": {"metadata": {"labels": own}, "spec": inside},
        "volumeClaimTemplates": [{"metadata": {"name": "data"}, "spec": {"accessModes": ["ReadWriteOnce"]}}],
    }
    props: Props = {"apiVersion": "apps/v1", "kind": "StatefulSet", "spec": spec}
    return Given("kubernetes:apps/v1:StatefulSet", name, {**props, "metadata": _metadata(name)})


def around(name: str, labels: Mapping[str, object] | None = None) -> list[Given]:
    """The headless Service and the disruption budget of a quorum."""
    own = dict(labels or {"app": name})
    names: Props = {"clusterIP": "None", "selector": own, "ports": [{"port": 1}], "publishNotReadyAddresses": True}
    limit: Props = {"maxUnavailable": 1, "selector": {"matchLabels": own}}
    service: Props = {"metadata": _metadata(f"{name}-members"), "spec": names}
    budget: Props = {"metadata": _metadata(name), "spec": limit}
    return [
        Given("kubernetes:core/v1:Service", f"{name}-members", service),
        Given("kubernetes:policy/v1:PodDisruptionBudget", f"{name}-budget", budget),
    ]


def quorum(name: str, program: str, *more: Given, **parts: object) -> list[Given]:
    """A complete quorum in one StatefulSet, with its Service and its disruption budget."""
    return [member(name, program, **parts), *around(name), *more]  # pyright: ignore[reportArgumentType]


def spread(topology: str, name: str, **more: object) -> Props:
    """A required topology spread constraint over the pods of a workload."""
    selector = {"matchLabels": {"app": name}}
    return {
        "topologyKey": topology,
        "maxSkew": 1,
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": selector,
        **more,
    }


def _metadata(name: str) -> Props:
    return {"name": name, "namespace": NAMESPACE}
