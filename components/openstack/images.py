"""Where images come from: Kolla's names and tags (kolla.md), a mirror, or digests.

Tags of Kolla's public namespace move with every publish job; a digest does not.
"""

from __future__ import annotations

from blueprint.problems import InvalidStackError, Problem
from blueprint.stackfile.settings import Override, Settings
from components.openstack.definition import Container

CEPH_TAG = "v19.2.3"
"""Squid: the series that Kolla's 2026.1 clients are of."""

DISTRO_VERSIONS: dict[str, dict[str, str]] = {
    "2025.1": {"rocky": "9", "ubuntu": "noble", "debian": "bookworm", "centos": "stream9"},
    "2025.2": {"rocky": "10", "ubuntu": "noble", "debian": "bookworm", "centos": "stream10"},
    "2026.1": {"rocky": "10", "ubuntu": "noble", "debian": "trixie", "centos": "stream10"},
}
"""Kolla-Ansible's map of OpenStack series and distribution to the distribution's version."""


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
    return f"{name}:{_tag(settings) if container.kolla else CEPH_TAG}"


def _tag(settings: Settings) -> str:
    versions = DISTRO_VERSIONS.get(settings.release)
    if versions is None:
        known = ", ".join(DISTRO_VERSIONS)
        raise InvalidStackError(
            [Problem("quorate:release", f"{settings.release} has no Kolla images; write one of: {known}")]
        )
    distro = settings.images.distro
    return f"{settings.release}-{distro}-{versions[distro]}"
