"""Checks a user's own libvirt domain template (`quorate:template`, or `template` of a virtual machine).

A template is a file with placeholders such as {ram}.

As in Fuel (source 000, Data model impact), a value that the template does not use is ignored, and a placeholder without
a value is replaced by an empty text. An unknown placeholder is therefore not an error.
"""

from __future__ import annotations

import re
from pathlib import Path
from xml.etree import ElementTree

from blueprint.problems import Problem, quoted
from files import text_file

PLACE = re.compile(r"\{([A-Za-z_][A-Za-z0-9_]{0,99})\}")
"""A placeholder for a value, such as {ram}."""

DERIVED = ("name", "server", "address", "type", "memory", "cpuMode", "uuid", "mac")
"""Values that Quorate derives; no value of the stack file replaces them."""

KEY = "quorate:template"
KERNEL_SHARE, KERNEL_MIB = 64, 128
"""Memory that a guest's kernel takes for itself: one byte of 64, and 128 MiB.

Linux keeps 64 bytes for each page of 4096. Project figure for the rest: 36 MiB were measured with a small kernel, 77
MiB with a larger one (docs/virt-hosts.md).
"""
LARGEST = 256 * 1024
"""Maximum size of a template in bytes. libvirt's own examples have a few KiB."""


def memory_of(ram: int) -> int:
    """Returns the memory of a libvirt domain in MiB, of which the guest's programs get `ram` GiB.

    The plan counts `ram`, which kubelet compares with what the kernel reports.
    """
    asked = ram * 1024
    return asked + asked // KERNEL_SHARE + KERNEL_MIB


def problems(path: str | None, key: str = KEY) -> list[Problem]:
    """Returns the reasons why the file at `path` cannot be a domain template; [] if it can, or if `path` is None.

    `key`: the key in the stack file that names the file.
    """
    if path is None:
        return []
    try:
        text = text_file.read(Path(path), LARGEST)
    except text_file.UnreadableError as error:
        advice = "write the path of a libvirt domain template, or leave the key out"
        return [Problem(key, f"{path} cannot be read: {error}; {advice}")]
    if "<!DOCTYPE" in text:
        # A document type can define entities that stand for gigabytes or for other files.
        return [Problem(key, f"{path} has a document type; remove <!DOCTYPE …>, a domain needs none")]
    try:
        # Values are XML-escaped when the template is filled in, so the result is valid if it is valid with the text x.
        root = ElementTree.fromstring(PLACE.sub("x", text))  # noqa: S314 - no document type, so no entities
    except ElementTree.ParseError as error:
        return [Problem(key, f"{path} is not valid XML: {error}; write a libvirt domain, <domain type='{{type}}'>…")]
    if root.tag != "domain":
        return [Problem(key, f"{path} holds {quoted(root.tag)}; write a libvirt domain, <domain type='{{type}}'>…")]
    return []
