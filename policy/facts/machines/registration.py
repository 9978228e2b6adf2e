"""Reads the settings with which a machine's kubelet registers its node: name, address, labels, taints.

Reads kubeadm's InitConfiguration and JoinConfiguration, KubeletConfiguration, and the kubelet's flags in units and
environment files. Files of a pool are templates with placeholders such as `${node}` for each node's values.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from policy.facts.machines.machine import MachineFacts
from policy.properties import Properties

JOINING = ("InitConfiguration", "JoinConfiguration")
KUBELET = "KubeletConfiguration"
_FLAG = re.compile(r"--(node-labels|register-with-taints)[= ]([^\s\"'\\]+)")
_UNIT = re.compile(r"/etc/(systemd/system|default|sysconfig)/\S*kubelet\S*|\S*kubelet\S*\.(service|conf|env)")


@dataclass(frozen=True)
class Registration:
    """Settings with which a kubelet registers its node, from one file or document. A setting that it lacks is None."""

    source: str
    """The kind of the YAML document, such as JoinConfiguration, or the path of the file."""
    name: str | None = None
    address: str | None = None
    labels: Mapping[str, str] | None = None
    taints: frozenset[str] | None = None
    """Taints, each as key=value:effect."""


def registrations(machine: MachineFacts) -> Iterator[Registration]:
    """Yields the registration settings in each document and file of a machine.

    Raises NotKnown if the text of a file is not known.
    """
    for document in machine.documents:
        kind = document.get("kind")
        if kind in JOINING:
            yield _joining(str(kind), document)
        elif kind == KUBELET and document.get("registerWithTaints") is not None:
            written = Properties(document, kind).at("registerWithTaints")
            yield Registration(kind, taints=frozenset(map(_taint, written.items())))
    for path in machine.files:
        if _UNIT.fullmatch(path):
            yield from _flags(path, machine.files[path])


def joins_as_master(machine: MachineFacts) -> bool:
    """Whether kubeadm initializes or joins the machine as a control-plane node."""
    joining = list(machine.of_kind("JoinConfiguration"))
    if joining:  # a master may have both: the first one to run initialises the cluster, all others join it
        return all(each.get("controlPlane") is not None for each in joining)
    return any(machine.of_kind("InitConfiguration"))


def _joining(kind: str, document: Mapping[str, Any]) -> Registration:
    node = Properties(document, kind).at("nodeRegistration")
    given = node.at("kubeletExtraArgs")
    arguments = (
        {each.at("name").text(): each.at("value").text() for each in given.items()}
        if given.is_list()
        else dict(given.texts())
    )
    labels = arguments.get("node-labels")
    return Registration(
        kind,
        name=node.at("name").text() or None,
        address=arguments.get("node-ip"),
        labels=None if labels is None else _pairs(labels),
        taints=frozenset(map(_taint, node.at("taints").items())) if node.at("taints").given() else None,
    )


def _flags(path: str, text: str) -> Iterator[Registration]:
    for name, value in _FLAG.findall(text):
        if name == "node-labels":
            yield Registration(path, labels=_pairs(value))
        else:
            yield Registration(path, taints=frozenset(value.split(",")))


def _pairs(text: str) -> dict[str, str]:
    return {key: value for pair in text.split(",") if pair for key, _, value in [pair.partition("=")]}


def _taint(tree: Properties) -> str:
    return f"{tree.at('key').text()}={tree.at('value').text()}:{tree.at('effect').text()}"
