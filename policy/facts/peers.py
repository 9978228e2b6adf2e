"""Which workloads find each other, as members of one cluster do.

They do if one Service selects both, if they have the same cluster name, or if the configuration of each names the
other: environment, command, arguments and mounted ConfigMaps. Values that are not known yet name nobody.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

import image_reference
from policy.facts.kubernetes.configuration import read_by
from policy.facts.kubernetes.workload import REPLICATED, Workload
from policy.facts.properties import NotKnown, Properties
from policy.facts.stack import Facts

_NAME = re.compile(r"[a-z0-9](?:[-a-z0-9]*[a-z0-9])?")
_CLUSTER_NAME = re.compile(
    r"""(?:wsrep_cluster_name|cluster[._-]?name|initial-cluster-token)["']?\s*[=:\s]\s*["']?([\w.-]+)""", re.IGNORECASE
)


class Peers:
    """Workloads of a stack by whom they find."""

    def __init__(self, facts: Facts) -> None:
        self._facts = facts
        self._names: dict[Workload, frozenset[str]] = {}
        self._texts: dict[Workload, tuple[str, ...]] = {}
        self._words: dict[Workload, frozenset[str]] = {}
        self._alike: dict[tuple[str, frozenset[str]], list[Workload]] = {}
        for each in facts.workloads:
            if each.kind in (*REPLICATED, "Pod") and (program := _program(each)):
                self._alike.setdefault((each.namespace, program), []).append(each)

    def has_peer(self, workload: Workload) -> bool:
        """Whether another workload of the same program and the workload find each other without a balancer."""
        program = _program(workload)
        alike = self._alike.get((workload.namespace, program), []) if program else []
        return any(
            self._share_service(workload, other, headless=True) or self._name_each_other(workload, other)
            for other in alike
            if other is not workload
        )

    def find_each_other(self, one: Workload, other: Workload) -> bool:
        """Whether members of the same kind are members of the same cluster."""
        if one.namespace != other.namespace:
            return False
        mine, others = self._cluster_names(one), self._cluster_names(other)
        if mine and others:
            return bool(mine & others)
        return self._share_service(one, other, headless=False) or self._name_each_other(one, other)

    def alike(self, one: Workload, other: Workload) -> bool:
        """Whether both run the same program, by the names of their images."""
        program = _program(one)
        return program is not None and program == _program(other)

    def _share_service(self, one: Workload, other: Workload, *, headless: bool) -> bool:
        return any(
            each.selects(one) and each.selects(other) for each in self._facts.services if each.headless or not headless
        )

    def _name_each_other(self, one: Workload, other: Workload) -> bool:
        return not self._names_of(other).isdisjoint(self._words_of(one)) and not self._names_of(one).isdisjoint(
            self._words_of(other)
        )

    def _names_of(self, workload: Workload) -> frozenset[str]:
        """Names that lead to the workload's pods: its own, its first pod's, those of its Services."""
        if workload not in self._names:
            services = (each.name for each in self._facts.services if each.selects(workload))
            self._names[workload] = frozenset({workload.name, f"{workload.name}-0", *services} - {""})
        return self._names[workload]

    def _words_of(self, workload: Workload) -> frozenset[str]:
        if workload not in self._words:
            texts = self._texts_of(workload)
            self._words[workload] = frozenset(word for text in texts for word in _NAME.findall(text))
        return self._words[workload]

    def _cluster_names(self, workload: Workload) -> frozenset[str]:
        return frozenset(name for text in self._texts_of(workload) for name in _CLUSTER_NAME.findall(text))

    def _texts_of(self, workload: Workload) -> tuple[str, ...]:
        if workload not in self._texts:
            self._texts[workload] = tuple(_texts(self._facts, workload))
        return self._texts[workload]


@lru_cache(maxsize=2)  # a comparison has two sides
def peers(facts: Facts) -> Peers:
    """The workloads of a stack by whom they find."""
    return Peers(facts)


def _program(workload: Workload) -> frozenset[str] | None:
    try:
        return frozenset(image_reference.parse(image).name for image in workload.images) or None
    except NotKnown:
        return None


def _texts(facts: Facts, workload: Workload) -> Iterator[str]:
    for container in workload.pod.at("containers").items():
        for key in ("command", "args"):
            yield from _known(container.at(key))
        for variable in container.at("env").items():
            value = " ".join(_known(variable.at("value")))
            yield f"{variable.at('name').text()}={value}"
    for each in read_by(workload, facts.config_maps):
        for name in each.files:
            try:
                yield each.files[name]
            except NotKnown:
                continue


def _known(tree: Properties) -> Iterator[str]:
    """A text or the texts of a list, as far as they are known."""
    try:
        yield from tree.words() if tree.is_list() else (tree.text(),)
    except NotKnown:
        return
