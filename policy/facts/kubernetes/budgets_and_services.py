"""Reads Kubernetes objects that select pods: PodDisruptionBudgets and Services."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

from policy.facts.kubernetes.selectors import Selector, label_map, label_selector
from policy.facts.kubernetes.workload import Workload, kubernetes_kind
from policy.properties import Malformed, Properties
from policy.resource import Resource


@dataclass(frozen=True)
class Budget:
    """A PodDisruptionBudget."""

    resource: Resource

    @property
    def title(self) -> str:
        return f"PodDisruptionBudget {self.resource.name}"

    @property
    def _spec(self) -> Properties:
        return self.resource.props.at("spec")

    @cached_property
    def namespace(self) -> str:
        return self.resource.props.at("metadata", "namespace").text("default")

    @cached_property
    def selector(self) -> Selector | None:
        return label_selector(self._spec.at("selector"))

    def selects(self, workload: Workload) -> bool:
        """Whether the budget's selector and namespace match the workload's pods."""
        return _selects(self.selector, self.namespace, workload)

    def allowed(self, members: int) -> int:
        """Returns how many of `members` pods the budget allows to be evicted while all of them are healthy."""
        most = self._spec.at("maxUnavailable").quantity()
        if most is not None:
            return max(0, min(members, share(most, members)))
        least = self._spec.at("minAvailable").quantity()
        # For a budget without either limit, the disruption controller allows no eviction.
        return 0 if least is None else max(0, members - share(least, members))

    @property
    def written(self) -> str:
        """The budget's limit as the manifest sets it, for messages, such as "maxUnavailable 1"."""
        for key in ("maxUnavailable", "minAvailable"):
            value = self._spec.at(key).quantity()
            if value is not None:
                return f"{key} {value}"
        return "no limit of its own"


@dataclass(frozen=True)
class Service:
    """A Kubernetes Service."""

    resource: Resource

    @property
    def title(self) -> str:
        return f"Service {self.resource.name}"

    @property
    def _spec(self) -> Properties:
        return self.resource.props.at("spec")

    @cached_property
    def namespace(self) -> str:
        return self.resource.props.at("metadata", "namespace").text("default")

    @property
    def balances(self) -> bool:
        """Whether the Service distributes connections over pods. A headless Service only gives pods DNS names."""
        kind = self._spec.at("type").text("ClusterIP")
        if kind == "ExternalName":
            return False
        return self._spec.at("clusterIP").text() != "None"

    @property
    def targets(self) -> tuple[int | str, ...]:
        """Numbers or names of the container ports that the Service forwards to."""
        ports = self._spec.at("ports").items()
        return tuple(each.at("targetPort").quantity() or each.at("port").number(0) for each in ports)

    @property
    def name(self) -> str:
        """The Service's metadata.name, which StatefulSets refer to as `serviceName`."""
        return self.resource.props.at("metadata", "name").text()

    @property
    def headless(self) -> bool:
        """Whether the Service is headless, so that DNS resolves each of its pods by name."""
        return self._spec.at("clusterIP").text() == "None"

    @property
    def publishes_starting_pods(self) -> bool:
        """Whether DNS resolves pods that are not ready."""
        return self._spec.at("publishNotReadyAddresses").flag()

    def selects(self, workload: Workload) -> bool:
        """Whether the Service selects the workload's pods. A Service without a selector selects no pods."""
        selector = label_map(self._spec.at("selector"))
        return bool(selector.requirements) and _selects(selector, self.namespace, workload)


def share(quantity: int | str, of: int) -> int:
    """Converts an IntOrString to a number. A percentage of `of` is rounded up, as Kubernetes does for budgets.

    Raises Malformed if the text is neither a number nor a percentage.
    """
    if isinstance(quantity, int):
        return quantity
    digits = quantity.removesuffix("%")
    if not digits.isdecimal():
        raise Malformed(f"'{quantity}' is neither a number nor a percentage")
    return math.ceil(of * int(digits) / 100) if quantity.endswith("%") else int(digits)


def budgets(resources: Iterable[Resource]) -> tuple[Budget, ...]:
    """Every disruption budget among these resources."""
    return tuple(Budget(each) for each in resources if kubernetes_kind(each) == "PodDisruptionBudget")


def services(resources: Iterable[Resource]) -> tuple[Service, ...]:
    """Every Service among these resources."""
    return tuple(Service(each) for each in resources if each.type == "kubernetes:core/v1:Service")


def _selects(selector: Selector | None, namespace: str, workload: Workload) -> bool:
    return selector is not None and workload.namespace == namespace and selector.selects(workload.labels)
