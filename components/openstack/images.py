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
    if container.kolla:
        return kolla_reference(container.image, settings)
    return _reference("ceph", container.image, CEPH_TAG, settings)


def kolla_reference(image: str, settings: Settings) -> str:
    """Returns the reference of an image of Kolla's."""
    tag = image_tag(settings.release, settings.images.distro)
    return _reference(settings.images.namespace, image, tag, settings)


def _reference(namespace: str, image: str, tag: str, settings: Settings) -> str:
    name = f"{settings.images.registry}/{namespace}/{image}"
    digest = settings.images.digests.get(image)
    return f"{name}@{digest}" if digest else f"{name}:{tag}"
