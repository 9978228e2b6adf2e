"""References of images: Kolla's names and tags, in a registry of the stack's choice, or digests.

A publish job of Kolla moves the tags of its public namespace (quay.io/openstack.kolla). A digest never changes.
"""

from __future__ import annotations

from blueprint.releases import image_tag
from blueprint.stackfile.settings import Override, Settings
from components.openstack.definition import Container

CEPH_TAG = "v19.2.3"
"""Squid: the series that Kolla's 2026.1 clients are of."""


def reference(container: Container, settings: Settings, override: Override, *, main: bool) -> str:
    """The image of a container. What the stack says of a service is about its main container."""
    if main and override.image:
        return override.image
    images = settings.images
    namespace = images.namespace if container.kolla else "ceph"
    name = f"{images.registry}/{namespace}/{container.image}"
    digest = images.digests.get(container.image)
    if digest:
        return f"{name}@{digest}"
    return f"{name}:{image_tag(settings.release, images.distro) if container.kolla else CEPH_TAG}"
