"""Objects that select pods: disruption budgets and services."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

from policy.facts.kubernetes.selectors import Selector, label_map, label_selector
from policy.facts.kubernetes.workload import Workload, kubernetes_kind
from policy.facts.properties import Malformed, Properties
from policy.facts.resource import Resource


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
        """Whether the budget selects the workload's pods."""
        return _selects(self.selector, self.namespace, workload)

    def allowed(self, members: int) -> int:
        """How many of these members may be evicted while all are healthy."""
        most = self._spec.at("maxUnavailable").quantity()
        if most is not None:
            return max(0, min(members, share(most, members)))
        least = self._spec.at("minAvailable").quantity()
        # With neither limit the controller expects no pod at all and allows no eviction.
        return 0 if least is None else max(0, members - share(least, members))

    @property
    def written(self) -> str:
        """The limit as written, for messages."""
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
        """Whether it balances connections. A headless Service only names pods."""
        kind = self._spec.at("type").text("ClusterIP")
        if kind == "ExternalName":
            return False
        return self._spec.at("clusterIP").text() != "None"

    @property
    def targets(self) -> tuple[int | str, ...]:
        """Target ports of its pods, by number or by name."""
        ports = self._spec.at("ports").items()
        return tuple(each.at("targetPort").quantity() or each.at("port").number(0) for each in ports)

    @property
    def name(self) -> str:
        """The name that StatefulSets refer to."""
        return self.resource.props.at("metadata", "name").text()

    @property
    def headless(self) -> bool:
        """Whether it is headless, so that DNS resolves each pod by name."""
        return self._spec.at("clusterIP").text() == "None"

    def selects(self, workload: Workload) -> bool:
        """Whether it selects the workload's pods. A Service without a selector selects none."""
        selector = label_map(self._spec.at("selector"))
        return bool(selector.requirements) and _selects(selector, self.namespace, workload)


def share(quantity: int | str, of: int) -> int:
    """A number, or a percentage of `of`, rounded up like in the disruption controller."""
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
