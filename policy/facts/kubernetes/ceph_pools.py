"""Reads the pools that Rook makes from custom resources: copies, failure domain, erasure coding.

A pool of a file system or an object store has the same fields as a CephBlockPool (PoolSpec of Rook 1.20,
https://github.com/rook/rook/blob/v1.20.6/pkg/apis/ceph.rook.io/v1/types.go).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from policy.facts.kubernetes.workload import kubernetes_kind
from policy.properties import Properties
from policy.resource import Resource

_GROUP = "kubernetes:ceph.rook.io/"
_PARTS = {
    "CephBlockPool": (),
    "CephFilesystem": ("metadataPool", "dataPools", "dataPool"),
    "CephObjectStore": ("metadataPool", "dataPool"),
    "CephObjectZone": ("metadataPool", "dataPool"),
}
"""Fields of the spec with the pools of a kind; none if the spec is a pool itself."""
OSD = "osd"


@dataclass(frozen=True)
class CephPool:
    """A pool of a custom resource of Rook."""

    resource: Resource
    spec: Properties
    place: str = ""
    """The field of the spec with the pool; "" if the spec is the pool."""

    @property
    def title(self) -> str:
        """The pool's name in messages."""
        title = f"{kubernetes_kind(self.resource)} {self.resource.name}"
        return f"{self.place} of {title}" if self.place else title

    @property
    def copies(self) -> int | None:
        """Copies of each object; None if the pool does not say, or is erasure-coded."""
        size = self.spec.at("replicated", "size")
        return size.number(0) or None if size.given() else None

    @property
    def least(self) -> str | None:
        """Copies that acknowledge a write (min_size), as written; None if Ceph's default holds."""
        written = self.spec.at("parameters", "min_size")
        return str(written.quantity()) if written.given() else None

    @property
    def coding_chunks(self) -> int | None:
        """Chunks of each object that may be lost; None if the pool keeps copies."""
        chunks = self.spec.at("erasureCoded", "codingChunks")
        return chunks.number(0) if chunks.given() and not self.copies else None

    @property
    def failure_domain(self) -> str:
        """What has at most one copy of an object; Rook's default is a host."""
        return self.spec.at("failureDomain").text("host")


def is_pool(type_: str) -> bool:
    """Whether a type token is that of a custom resource with pools of Ceph."""
    return type_.startswith(_GROUP) and type_.rpartition(":")[2] in _PARTS


def ceph_pools(resources: Iterable[Resource]) -> Iterator[CephPool]:
    """Yields the pools in the custom resources of Rook."""
    for resource in resources:
        if not is_pool(resource.type):
            continue
        spec = resource.props.at("spec")
        parts = _PARTS[kubernetes_kind(resource)]
        if not parts:
            yield CephPool(resource, spec)
        for part in parts:
            found = spec.at(part)
            if found.is_list():
                yield from (CephPool(resource, each, f"{part}[{index}]") for index, each in enumerate(found.items()))
            elif found.given():
                yield CephPool(resource, found, part)
