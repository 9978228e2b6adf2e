"""Container image references, made of the stack's registry, Kolla's image names, and a tag or a digest.

Tags in Kolla's public namespace (quay.io/openstack.kolla) move with every publish job; digests never change.
"""

from __future__ import annotations

from blueprint.openstack.projects.process_definition import Container
from blueprint.releases import image_tag
from blueprint.stackfile.settings import Override, Settings

CEPH_TAG = "v20.2.5"
"""Tag of Ceph's image: a version of Ceph Tentacle. Its daemons serve the older clients in Kolla's images, which are of
Reef (18.2) on Debian and of Squid (19.2) on Rocky Linux."""


def reference(container: Container, settings: Settings, override: Override, *, main: bool) -> str:
    """Returns the image reference of a container.

    `override`: the stack file's settings of the service; its `image` applies only to the main container (`main`).
    """
    if main and override.image:
        return override.image
    if container.kolla:
        return kolla_reference(container.image, settings)
    return _reference("ceph", container.image, CEPH_TAG, settings)


def kolla_reference(image: str, settings: Settings) -> str:
    """Returns the reference of Kolla's image with a name such as nova-api, for the release of the stack."""
    tag = image_tag(settings.release, settings.images.distro)
    return _reference(settings.images.namespace, image, tag, settings)


def _reference(namespace: str, image: str, tag: str, settings: Settings) -> str:
    name = settings.images.located(f"{settings.images.registry}/{namespace}/{image}")
    digest = settings.images.digests.get(image)
    return f"{name}@{digest}" if digest else f"{name}:{tag}"
