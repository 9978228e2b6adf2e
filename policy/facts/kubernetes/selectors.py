"""Labels, and the selectors of Kubernetes: LabelSelector, plain label maps and node selector expressions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from policy.properties import Malformed, Properties

Labels = Mapping[str, str]


@dataclass(frozen=True)
class Requirement:
    """One expression of a label selector, such as `tier In (a, b)`.

    An object must meet all expressions of a selector.
    """

    key: str
    operator: str
    values: tuple[str, ...] = ()

    def met_by(self, labels: Labels) -> bool:
        """Whether these labels meet the requirement, as Kubernetes decides."""
        return _OPERATORS[self.operator](labels, self)


@dataclass(frozen=True)
class Selector:
    """A label selector. Functions that read selectors use None for an absent selector, which selects nothing."""

    requirements: tuple[Requirement, ...] = ()
    """The selector's expressions. If there are none, the selector matches every object."""

    def selects(self, labels: Labels) -> bool:
        """Whether the selector matches an object with these labels."""
        return all(requirement.met_by(labels) for requirement in self.requirements)


def label_selector(tree: Properties) -> Selector | None:
    """Reads a LabelSelector (matchLabels, matchExpressions). Returns None if it is absent."""
    if not tree.given():
        return None
    equal = label_map(tree.at("matchLabels")).requirements
    return Selector((*equal, *(requirement(each) for each in tree.at("matchExpressions").items())))


def label_map(tree: Properties) -> Selector:
    """Reads a plain map of labels, as in a Service's selector or a nodeSelector."""
    return Selector(tuple(Requirement(key, "In", (value,)) for key, value in tree.texts().items()))


def requirement(tree: Properties) -> Requirement:
    """Reads one entry of matchExpressions or matchFields. Raises Malformed if its operator is not valid."""
    operator = tree.at("operator").text()
    if operator not in _OPERATORS:
        raise Malformed(f"operator '{operator}' is not valid; use one of {', '.join(_OPERATORS)}")
    return Requirement(tree.at("key").text(), operator, tree.at("values").words())


def _greater(labels: Labels, requirement: Requirement) -> bool:
    return _whole(labels.get(requirement.key, "")) > _whole(requirement.values[0])


def _less(labels: Labels, requirement: Requirement) -> bool:
    return _whole(labels.get(requirement.key, "")) < _whole(requirement.values[0])


def _whole(text: str) -> int:
    return int(text)


def _numbers(compare: Callable[[Labels, Requirement], bool]) -> Callable[[Labels, Requirement], bool]:
    """Makes the operator Gt or Lt from a comparison. A value that is not a whole number does not match."""

    def met(labels: Labels, requirement: Requirement) -> bool:
        try:
            return len(requirement.values) == 1 and compare(labels, requirement)
        except ValueError:
            return False

    return met


_OPERATORS: dict[str, Callable[[Labels, Requirement], bool]] = {
    "In": lambda labels, each: each.key in labels and labels[each.key] in each.values,
    "NotIn": lambda labels, each: each.key not in labels or labels[each.key] not in each.values,
    "Exists": lambda labels, each: each.key in labels,
    "DoesNotExist": lambda labels, each: each.key not in labels,
    "Gt": _numbers(_greater),
    "Lt": _numbers(_less),
}
