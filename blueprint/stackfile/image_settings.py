"""Settings of `quorate:images`: from where images come, which ones exactly, and who may pull them."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from blueprint.stackfile.values import Digests, Namespace, ObjectName, Registry, Strict
from formats import image_reference


class Images(Strict):
    """Registry and digests of images. Tags of Kolla's public namespace move; production pins digests."""

    registry: Registry = "quay.io"
    namespace: Namespace = "openstack.kolla"
    distro: Literal["debian", "ubuntu", "rocky", "centos"] = "debian"
    digests: Annotated[Digests, Field(description="image name to sha256 digest")] = {}
    pull_secrets: Annotated[
        tuple[ObjectName, ...],
        Field(
            description="Secrets of type kubernetes.io/dockerconfigjson in the cloud's namespace, which you make: the "
            "accounts of all pods for their registries"
        ),
    ] = ()
    mirror: Annotated[
        Registry | None,
        Field(
            description="registry, with a path if needed, that has the images of all registries under their own "
            "paths: OpenStack's, Ceph's, Kubernetes', Calico's and nginx; `quorate images --copy` fills it"
        ),
    ] = None

    def located(self, reference: str) -> str:
        """Returns an image's reference with the mirror in place of its registry; as it is if there is no mirror."""
        return f"{self.mirror}/{reference.partition('/')[2]}" if self.mirror else reference

    def of_nodes(self, reference: str) -> str:
        """Returns the reference of an image that nodes run (node_software.py): in the mirror, with its digest."""
        digest = self.digests.get(image_reference.parse(reference).name)
        return self.located(f"{reference}@{digest}" if digest else reference)
