"""Defines `quorate:virt`: how the target live makes virtual machines with libvirt. Checks its values.

Also defines `numa` of a virtual machine.

The image is a file, not a URL, because libvirt's provider uploads what a URL gives without comparing it with a digest.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

from pydantic import Field, StringConstraints

from blueprint.problems import Problem
from blueprint.stackfile.values import Address, Network, Strict

MADE = ("kvm", "qemu")
"""Hypervisors whose virtual machines Quorate makes. libvirt's provider looks for machine types, which lxc has not."""
KEY = "quorate:virt"
_QCOW2 = b"QFI\xfb"
"""First bytes of a disk image in the format qcow2 (QEMU, docs/interop/qcow2)."""


CPUS = r"^[0-9]{1,4}(-[0-9]{1,4})?(,[0-9]{1,4}(-[0-9]{1,4})?){0,99}$"
"""Matches numbers and ranges of CPUs, as libvirt's attribute `cpuset` has them."""


def cpu_numbers(text: str) -> frozenset[int]:
    """Returns the CPUs in a text such as 0-7,32-39; none for another text."""
    if not re.fullmatch(CPUS, text):
        return frozenset()
    ranges = (part.partition("-") for part in text.split(","))
    return frozenset(number for first, _, last in ranges for number in range(int(first), int(last or first) + 1))


class Numa(Strict):
    """The NUMA node and the CPUs of a virt host that a virtual machine is pinned to."""

    node: Annotated[int, Field(ge=0, le=1023, description="NUMA node of the virt host that has all of its memory")]
    cpus: Annotated[
        str,
        StringConstraints(pattern=CPUS),
        Field(description="CPUs of this NUMA node that run it, such as 0-15 or 0-7,32-39"),
    ]


class BaseImage(Strict):
    """The disk image that the disks of virtual machines start from."""

    source: Annotated[
        str,
        StringConstraints(min_length=1, max_length=1024),
        Field(description="path of a qcow2 image with cloud-init, absolute or relative to the project"),
    ]
    sha256: Annotated[
        str, StringConstraints(pattern=r"^[0-9a-f]{64}$"), Field(description="SHA-256 digest of the image")
    ]


class Virt(Strict):
    """How the target live makes the virtual machines of virt hosts with hypervisor kvm or qemu."""

    image: BaseImage
    authorized_keys: Annotated[
        tuple[str, ...], Field(min_length=1, description="public SSH keys that may log in as the user of quorate:ssh")
    ]
    gateway: Annotated[Address | None, Field(description="default gateway of the virtual machines")] = None
    nameservers: Annotated[tuple[Address, ...], Field(description="DNS servers of the virtual machines")] = ()


def problems(virt: Virt, management: Network | None, *, reads_image: bool) -> Iterator[Problem]:
    """Yields the problems of the values.

    `management`: the machines' network. `reads_image`: whether to read the image and compare its digest.
    """
    if management is None:
        yield Problem(
            "quorate:networks.management", "is missing; virtual machines get its prefix; write one such as 10.20.0.0/24"
        )
    elif virt.gateway and virt.gateway not in management:
        yield Problem(f"{KEY}.gateway", f"{virt.gateway} is not in {management}; write an address of this network")
    for number, key in enumerate(virt.authorized_keys):
        if len(key.split()) < 2 or "PRIVATE KEY" in key or "\n" in key.strip() or not key.split()[0].startswith(_KINDS):
            yield Problem(f"{KEY}.authorizedKeys[{number}]", "is not a public SSH key; write a line of `ssh-add -L`")
    if reads_image:
        yield from _image(virt.image)


_KINDS = ("ssh-", "ecdsa-", "sk-")
"""Beginnings of the types of public SSH keys (ssh-keygen(1))."""


def _image(image: BaseImage) -> Iterator[Problem]:
    key = f"{KEY}.image"
    try:
        with Path(image.source).open("rb") as file:
            if file.read(len(_QCOW2)) != _QCOW2:
                advice = "write the path of one; `qemu-img convert -O qcow2` makes it"
                yield Problem(f"{key}.source", f"{image.source} is not an image in the format qcow2; {advice}")
                return
            file.seek(0)
            digest = hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        reason = error.strerror or type(error).__name__
        yield Problem(f"{key}.source", f"{image.source} cannot be read: {reason.lower()}; write the path of an image")
        return
    if digest != image.sha256:
        yield Problem(
            f"{key}.sha256",
            f"{image.source} has the digest {digest}; download it again, or write this digest if it is the publisher's",
        )
