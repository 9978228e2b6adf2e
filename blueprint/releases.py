"""OpenStack releases that Quorate can build: those that Kolla publishes images for."""

from __future__ import annotations

DISTRO_VERSIONS: dict[str, dict[str, str]] = {
    "2025.1": {"rocky": "9", "ubuntu": "noble", "debian": "bookworm", "centos": "stream9"},
    "2025.2": {"rocky": "10", "ubuntu": "noble", "debian": "bookworm", "centos": "stream10"},
    "2026.1": {"rocky": "10", "ubuntu": "noble", "debian": "trixie", "centos": "stream10"},
}
"""Kolla-Ansible's map of OpenStack series and distribution to the distribution's version."""


def image_tag(release: str, distro: str) -> str:
    """Returns the tag of Kolla's images, such as 2026.1-debian-trixie. Raises KeyError for an unknown release."""
    return f"{release}-{distro}-{DISTRO_VERSIONS[release][distro]}"
