"""Reads autoscalers, which change the number of a workload's pods: HorizontalPodAutoscaler and KEDA's ScaledObject.

A VerticalPodAutoscaler is not read, because it changes only the requests of pods.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from policy.facts.product_defaults import AUTOSCALER_LEAST, KEDA_LEAST, KEDA_MOST
from policy.properties import Malformed, NotKnown
from policy.resource import Resource

HORIZONTAL = tuple(
    f"kubernetes:autoscaling/{version}:HorizontalPodAutoscaler" for version in ("v1", "v2", "v2beta1", "v2beta2")
)
KEDA = "kubernetes:keda.sh/v1alpha1:ScaledObject"

Target = tuple[str, str, str]
"""Namespace, kind and name of a workload."""


@dataclass(frozen=True)
class Autoscaler:
    """A HorizontalPodAutoscaler, or KEDA's ScaledObject."""

    resource: Resource

    @property
    def title(self) -> str:
        """The autoscaler's name in messages."""
        return f"{self.resource.type.rpartition(':')[2]} {self.resource.name}"

    @property
    def target(self) -> Target:
        """Namespace, kind and name of the workload that the autoscaler scales. The kind is Deployment if not set."""
        namespace = self.resource.props.at("metadata", "namespace").text("default")
        reference = self.resource.props.at("spec", "scaleTargetRef")
        return namespace, reference.at("kind").text("Deployment"), reference.at("name").text()

    @property
    def least(self) -> int:
        """The minimum number of pods that the autoscaler sets."""
        default = KEDA_LEAST if self._is_keda else AUTOSCALER_LEAST
        return self.resource.props.at("spec", default.setting).number(int(default.value))

    @property
    def most(self) -> int:
        """The maximum number of pods that the autoscaler sets."""
        spec = self.resource.props.at("spec")
        if self._is_keda:
            return spec.at(KEDA_MOST.setting).number(int(KEDA_MOST.value))
        return spec.at("maxReplicas").number(self.least)

    @property
    def _is_keda(self) -> bool:
        return self.resource.type == KEDA


Scaled = Mapping[Target, Autoscaler]
"""Autoscalers of a stack, by namespace, kind and name of the workload that each scales."""


def autoscalers(resources: Iterable[Resource]) -> tuple[Autoscaler, ...]:
    """Every autoscaler among these resources."""
    return tuple(Autoscaler(each) for each in resources if each.type in (*HORIZONTAL, KEDA))


def by_target(known: Iterable[Autoscaler]) -> Scaled:
    """Returns the autoscalers by the workload that each scales.

    An autoscaler whose workload is not known is omitted here; a policy rule reports it.
    """
    found: dict[Target, Autoscaler] = {}
    for each in known:
        try:
            found[each.target] = each
        except (NotKnown, Malformed):
            continue
    return found
