"""Defines `quorate:virt`: how the target live makes virtual machines and system containers. Checks its values.

Also defines `numa` of a virtual machine.

An image is a file, not a URL, because libvirt's provider uploads what a URL gives without comparing it with a digest.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from pydantic import Field, StringConstraints

from blueprint.hypervisor_types import SYSTEM_CONTAINERS, VIRTUAL_MACHINES, HypervisorType
from blueprint.problems import Problem
from blueprint.stackfile.values import Address, Network, Strict

KEY = "quorate:virt"
_OWN_KERNEL, _SHARED_KERNEL = " and ".join(VIRTUAL_MACHINES), " and ".join(SYSTEM_CONTAINERS)

CPUS = r"^[0-9]{1,4}(-[0-9]{1,4})?(,[0-9]{1,4}(-[0-9]{1,4})?){0,99}$"
"""Matches numbers and ranges of CPUs, as libvirt's attribute `cpuset` has them."""


def cpu_numbers(text: str) -> frozenset[int]:
    """Returns the CPUs in a text such as 0-7,32-39; none for another text."""
    if not re.fullmatch(CPUS, text):
        return frozenset()
    ranges = (part.partition("-") for part in text.split(","))
    return frozenset(number for first, _, last in ranges for number in range(int(first), int(last or first) + 1))


def cpu_ranges(cpus: Iterable[int]) -> str:
    """Returns CPUs as text, such as 0-7,32-39."""
    ranges: list[list[int]] = []
    for cpu in sorted(cpus):
        if ranges and ranges[-1][-1] == cpu - 1:
            ranges[-1][1:] = [cpu]
        else:
            ranges.append([cpu])
    return ",".join("-".join(map(str, each)) for each in ranges)


class Numa(Strict):
    """The NUMA node and the CPUs of a virt host that a virtual machine is pinned to."""

    node: Annotated[int, Field(ge=0, le=1023, description="NUMA node of the virt host that has all of its memory")]
    cpus: Annotated[
        str,
        StringConstraints(pattern=CPUS),
        Field(description="CPUs of this NUMA node that run it, such as 0-15 or 0-7,32-39"),
    ]


class MachineImage(Strict):
    """A file that machines start from, with its digest."""

    source: Annotated[
        str,
        StringConstraints(min_length=1, max_length=1024),
        Field(description="path of the file, absolute or relative to the project"),
    ]
    sha256: Annotated[
        str, StringConstraints(pattern=r"^[0-9a-f]{64}$"), Field(description="SHA-256 digest of the file")
    ]


class Virt(Strict):
    """How the target live makes the machines of virt hosts. Those without an image here must exist."""

    image: Annotated[
        MachineImage | None,
        Field(description=f"disk image with cloud-init in the format qcow2, for hypervisor {_OWN_KERNEL}"),
    ] = None
    root_filesystem: Annotated[
        MachineImage | None,
        Field(description=f"tar archive of a root file system with cloud-init, for hypervisor {_SHARED_KERNEL}"),
    ] = None
    authorized_keys: Annotated[
        tuple[str, ...], Field(min_length=1, description="public SSH keys that may log in as the user of quorate:ssh")
    ]
    gateway: Annotated[Address | None, Field(description="default gateway of the virtual machines")] = None
    time_servers: Annotated[
        tuple[Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9]([-A-Za-z0-9.]{0,251}[A-Za-z0-9])?$")], ...],
        Field(description="NTP servers of the machines; left out: those of the image"),
    ] = ()
    nameservers: Annotated[tuple[Address, ...], Field(description="DNS servers of the virtual machines")] = ()

    def image_for(self, hypervisor: HypervisorType) -> MachineImage | None:
        """Returns what machines of a hypervisor start from; None if Quorate does not make them."""
        return self.image if hypervisor.has_own_kernel else self.root_filesystem


def problems(virt: Virt, management: Network | None, *, reads_images: bool) -> Iterator[Problem]:
    """Yields the problems of the values.

    `management`: the machines' network. `reads_images`: whether to read the images and compare their digests.
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
    if virt.image is None and virt.root_filesystem is None:
        advice = f"write image for hypervisor {_OWN_KERNEL}, or rootFilesystem for {_SHARED_KERNEL}"
        yield Problem(KEY, f"has nothing that machines start from; {advice}")
    if reads_images and virt.image:
        yield from _image(virt.image, f"{KEY}.image", _QCOW2)
    if reads_images and virt.root_filesystem:
        yield from _image(virt.root_filesystem, f"{KEY}.rootFilesystem", _TAR)


_KINDS = ("ssh-", "ecdsa-", "sk-")
"""Beginnings of the types of public SSH keys (ssh-keygen(1))."""


@dataclass(frozen=True)
class _Format:
    """A format of images: how its first bytes are recognized, and what to write in place of another file."""

    name: str
    matches: Callable[[bytes], bool]
    advice: str


_COMPRESSED = (b"\x1f\x8b", b"\xfd7zXZ\0", b"\x28\xb5\x2f\xfd", b"BZh")
"""First bytes of files of gzip, xz, Zstandard and bzip2. GNU tar recognizes them too."""
_USTAR = slice(257, 262)
"""Place of the word `ustar` in an archive (tar(5), POSIX ustar Archives)."""
_HEAD = 512
_QCOW2 = _Format(
    "an image in the format qcow2",
    lambda head: head.startswith(b"QFI\xfb"),  # QEMU, docs/interop/qcow2
    "write the path of one; `qemu-img convert -O qcow2` makes it",
)
_TAR = _Format(
    "a tar archive",
    lambda head: head.startswith(_COMPRESSED) or head[_USTAR] == b"ustar",
    "write the path of an archive of a root file system; `mmdebstrap` makes one",
)


def _image(image: MachineImage, key: str, expected: _Format) -> Iterator[Problem]:
    try:
        with Path(image.source).open("rb") as file:
            if not expected.matches(file.read(_HEAD)):
                yield Problem(f"{key}.source", f"{image.source} is not {expected.name}; {expected.advice}")
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
