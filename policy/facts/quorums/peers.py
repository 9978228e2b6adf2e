"""Finds workloads whose pods form one cluster, such as three StatefulSets with one member of etcd each.

Two workloads discover each other if one Service selects both, if they have the same cluster name, or if the
configuration of each (environment, command, arguments, mounted ConfigMaps) names the other. If only one names the other
and a preview does not know the configuration or image of that other workload, the result is unknown.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

from formats import image_reference
from policy.facts.kubernetes.configuration import written
from policy.facts.kubernetes.workload import REPLICATED, Workload
from policy.facts.stack import Facts
from policy.properties import NotKnown

_NAME = re.compile(r"[a-z0-9](?:[-a-z0-9]*[a-z0-9])?")
_CLUSTER_NAME = re.compile(
    r"""(?:wsrep_cluster_name|cluster[._-]?name|initial-cluster-token)["']?\s*[=:\s]\s*["']?([\w.-]+)""", re.IGNORECASE
)


class Peers:
    """Answers which workloads of a stack discover each other."""

    def __init__(self, facts: Facts) -> None:
        self._facts = facts
        self._names: dict[Workload, frozenset[str]] = {}
        self._texts: dict[Workload, tuple[str, ...]] = {}
        self._unknown: dict[Workload, NotKnown] = {}
        self._words: dict[Workload, frozenset[str]] = {}
        self._programs: dict[str, list[tuple[Workload, frozenset[str] | None]]] = {}
        for each in facts.workloads:
            if each.kind in (*REPLICATED, "Pod"):
                self._programs.setdefault(each.namespace, []).append((each, _program(each)))

    def has_peer(self, workload: Workload) -> bool:
        """Whether the workload and another workload of the same program form one cluster.

        They do if a headless Service selects both, or if the configuration of each names the other. Raises NotKnown if
        this depends on a value that a preview does not know.
        """
        program = _program(workload)
        return any(
            self._share_service(workload, other, headless=True) or self._name_each_other(workload, other)
            for other, its in self._programs.get(workload.namespace, ())
            if other is not workload and (its == program or its is None or program is None)
        )

    def find_each_other(self, one: Workload, other: Workload) -> bool:
        """Whether two workloads of quorum members of the same kind, such as etcd, belong to the same cluster.

        Raises NotKnown if this depends on a value that a preview does not know.
        """
        if one.namespace != other.namespace:
            return False
        mine, others = self._cluster_names(one), self._cluster_names(other)
        if mine and others and not self._share_service(one, other, headless=True):
            return bool(mine & others)
        if (mine or others) and (unknown := self._unknown.get(other if mine else one)):
            raise unknown
        return self._share_service(one, other, headless=False) or self._name_each_other(one, other)

    def alike(self, one: Workload, other: Workload) -> bool:
        """Whether two workloads run the same program, by the names of their images.

        Raises NotKnown if a preview does not know an image of two workloads that discover each other.
        """
        known = (_program(one), _program(other))
        if None in known and self.find_each_other(one, other):
            known = (_known_program(one), _known_program(other))
        return known[0] is not None and known[0] == known[1]

    def _share_service(self, one: Workload, other: Workload, *, headless: bool) -> bool:
        return any(
            each.selects(one) and each.selects(other) for each in self._facts.services if each.headless or not headless
        )

    def _name_each_other(self, one: Workload, other: Workload) -> bool:
        there, back = self._knows(one, other), self._knows(other, one)
        if there != back and (unknown := self._unknown.get(other if there else one)):
            raise unknown
        return there and back

    def _knows(self, one: Workload, other: Workload) -> bool:
        return not self._names_of(other).isdisjoint(self._words_of(one))

    def _names_of(self, workload: Workload) -> frozenset[str]:
        """Names by which other configurations can refer to the workload: its own, its first pod's, its Services'."""
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
            self._texts[workload] = tuple(self._read(workload))
        return self._texts[workload]

    def _read(self, workload: Workload) -> Iterator[str]:
        """Yields the known texts of the workload's configuration, as name=text.

        If a text is not known, records the NotKnown error in `_unknown`.
        """
        try:
            for each in written(workload, self._facts.config_maps):
                try:
                    yield f"{each.name}={each.read()}"
                except NotKnown as reason:
                    self._unknown[workload] = reason
        except NotKnown as reason:
            self._unknown[workload] = reason


@lru_cache(maxsize=2)  # a comparison of two stacks needs both
def peers(facts: Facts) -> Peers:
    """Returns the Peers of a stack; a second call with the same facts returns the same object."""
    return Peers(facts)


def _program(workload: Workload) -> frozenset[str] | None:
    """Returns the names of the workload's images; None if the workload has no image or one is not known."""
    try:
        return _known_program(workload)
    except NotKnown:
        return None


def _known_program(workload: Workload) -> frozenset[str] | None:
    """Returns the names of the workload's images; None if it has no image. Raises NotKnown if one is not known."""
    return frozenset(image_reference.parse(image).name for image in workload.images) or None
