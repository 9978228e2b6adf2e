"""Lists the releases of OpenStack, for which Kolla publishes images, and of Kubernetes that Quorate can deploy."""

from __future__ import annotations

DISTRO_VERSIONS: dict[str, dict[str, str]] = {
    "2025.1": {"rocky": "9", "ubuntu": "noble", "debian": "bookworm", "centos": "stream9"},
    "2025.2": {"rocky": "10", "ubuntu": "noble", "debian": "bookworm", "centos": "stream10"},
    "2026.1": {"rocky": "10", "ubuntu": "noble", "debian": "trixie", "centos": "stream10"},
    "2026.2": {"rocky": "10", "ubuntu": "noble", "debian": "trixie"},
}
"""The version of each Linux distribution in Kolla's images, by OpenStack release and distribution (Kolla-Ansible)."""


KUBERNETES_MINORS = (35, 36, 37)
"""Minor versions of Kubernetes 1 whose kubeadm accepts the rendered configuration: those that its maintainers support.
Tests run the newest one."""


def image_tag(release: str, distro: str) -> str:
    """Returns the tag of Kolla's images for a release and a Linux distribution, such as 2026.1-debian-trixie.

    Raises KeyError if the release or the distribution is unknown.
    """
    return f"{release}-{distro}-{DISTRO_VERSIONS[release][distro]}"
