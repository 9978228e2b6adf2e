"""Settings of `quorate:images`: from where images come, which ones exactly, and who may pull them."""

from __future__ import annotations

import re
from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from blueprint.stackfile.values import (
    Digests,
    Namespace,
    ObjectName,
    OthersSecret,
    Registry,
    RegistryHost,
    Strict,
    error,
)
from formats import image_reference

ACCOUNTS = "registry-accounts"
"""Name of the Secret with the stack's own accounts."""
_USER = re.compile(r"[!-9;-~]{1,255}")


def _user(value: str) -> str:
    if not _USER.fullmatch(value):  # the message must not repeat what may be a password
        raise error("is not the name of a user; write up to 255 characters without spaces and ':'")
    return value


class RegistryAccount(Strict):
    """An account with which images are pulled from a registry."""

    user: Annotated[str, AfterValidator(_user), Field(description="its name, without ':'")]
    password: Annotated[OthersSecret, Field(description="where 'quorate up' finds the password or token")]


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
    accounts: Annotated[
        dict[RegistryHost, RegistryAccount],
        Field(
            description="accounts by registry, such as registry.example:5000, for pods and for containerd of machines "
            "that Quorate prepares"
        ),
    ] = {}
    mirror: Annotated[
        Registry | None,
        Field(
            description="registry, with a path if needed, that has the images of all registries under their own "
            "paths: OpenStack's, Ceph's, Kubernetes', Calico's and nginx; `quorate images --copy` fills it"
        ),
    ] = None

    @property
    def secrets_of_pods(self) -> tuple[str, ...]:
        """Names of the Secrets with accounts that every pod has."""
        return (*self.pull_secrets, ACCOUNTS) if self.accounts else self.pull_secrets

    def located(self, reference: str) -> str:
        """Returns an image's reference with the mirror in place of its registry; as it is if there is no mirror."""
        return f"{self.mirror}/{reference.partition('/')[2]}" if self.mirror else reference

    def of_nodes(self, reference: str) -> str:
        """Returns the reference of an image that nodes run (node_software.py): in the mirror, with its digest."""
        digest = self.digests.get(image_reference.parse(reference).name)
        return self.located(f"{reference}@{digest}" if digest else reference)
