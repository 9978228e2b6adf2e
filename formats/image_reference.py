"""Splits container image references, such as quay.io/openstack.kolla/nova-api:2026.1@sha256:…, into their parts.

The grammar is that of the project distribution (github.com/distribution/reference): a colon before the last slash
separates a port, a digest follows an `@`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_PART = r"[a-z0-9]+(?:(?:\.|_{1,2}|-+)[a-z0-9]+)*"
_DIGEST = re.compile(r"sha256:[0-9a-f]{64}")
_REPOSITORY = re.compile(rf"(?:[A-Za-z0-9]+(?:[.-]+[A-Za-z0-9]+)*(?::[0-9]+)?/)?{_PART}(?:/{_PART})*")
_TAG = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}")


@dataclass(frozen=True)
class ImageReference:
    """The parts of a container image reference. An absent part is ""."""

    repository: str
    """Registry, namespace and name, without tag and digest."""
    tag: str
    digest: str

    @property
    def name(self) -> str:
        """The last part of the repository, such as nova-api: usually the program that the image runs."""
        return self.repository.rpartition("/")[2]

    @property
    def path(self) -> str:
        """The repository without its registry: a first part with a period or a colon, or localhost."""
        first, slash, rest = self.repository.partition("/")
        return rest if slash and (first == "localhost" or {".", ":"} & set(first)) else self.repository

    @property
    def version(self) -> str:
        """The tag, or the digest if there is no tag: what differs between two versions of an image."""
        return self.tag or self.digest

    @property
    def is_pinned(self) -> bool:
        """Whether the reference contains a valid sha256 digest."""
        return _DIGEST.fullmatch(self.digest) is not None

    @property
    def is_valid(self) -> bool:
        """Whether the repository, and tag and digest if present, follow the grammar of image references."""
        digest = not self.digest or self.is_pinned
        tag = not self.tag or _TAG.fullmatch(self.tag) is not None
        return digest and tag and _REPOSITORY.fullmatch(self.repository) is not None


def parse(text: str) -> ImageReference:
    """Splits an image reference into its parts. Does not check them; use `is_valid` of the result."""
    named, _, digest = text.partition("@")
    path, slash, last = named.rpartition("/")
    name, _, tag = last.partition(":")
    return ImageReference(f"{path}{slash}{name}", tag, digest)
