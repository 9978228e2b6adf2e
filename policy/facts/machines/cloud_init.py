"""Reads cloud-init user data: the files that it writes, and the commands that it runs at the first and at each boot.

Reads user data that begins with `#cloud-config` or `#!`. Other formats (MIME, Jinja) are ignored.
https://cloudinit.readthedocs.io/en/latest/reference/modules.html
"""

from __future__ import annotations

import base64
import binascii
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, cast

from files import yaml_reader
from policy.shell.syntax import UNKNOWN

_PLAIN = ("", "text/plain")
_BASE64 = ("b64", "base64")


@dataclass(frozen=True)
class CloudInit:
    """Host name, files and commands in the cloud-init user data of one machine."""

    host: str = ""
    """The host name; empty if it is not set."""
    files: Mapping[str, str] = field(default_factory=dict[str, str])
    """Text of each file that cloud-init writes, by its path; UNKNOWN if the encoding is not supported."""
    first_boot: str = ""
    """Shell text that runs once, at the first boot."""
    each_boot: str = ""
    """Shell text that runs at each boot."""


def cloud_init(user_data: str) -> CloudInit:
    """Reads cloud-init user data. Returns a CloudInit without any content if the data is invalid or unsupported."""
    if user_data.startswith("#!"):
        return CloudInit(first_boot=user_data)
    if not user_data.startswith("#cloud-config"):
        return CloudInit()
    try:
        read = yaml_reader.load(user_data)
    except yaml_reader.YamlError:
        return CloudInit()
    config = cast("dict[str, Any]", read) if isinstance(read, dict) else {}
    return CloudInit(
        str(config.get("hostname") or str(config.get("fqdn") or "").partition(".")[0]),
        {str(each["path"]): _content(each) for each in _entries(config, "write_files") if "path" in each},
        _commands(config.get("runcmd")),
        _commands(config.get("bootcmd")),
    )


def _entries(config: Mapping[str, Any], key: str) -> list[dict[str, Any]]:
    written = config.get(key)
    entries = cast("list[object]", written) if isinstance(written, list) else []
    return [cast("dict[str, Any]", each) for each in entries if isinstance(each, dict)]


def _content(entry: Mapping[str, Any]) -> str:
    encoding, content = str(entry.get("encoding") or ""), str(entry.get("content") or "")
    if encoding in _PLAIN:
        return content
    if encoding not in _BASE64:
        return UNKNOWN
    try:
        return base64.b64decode(content, validate=False).decode()
    except (binascii.Error, UnicodeDecodeError):
        return UNKNOWN


def _commands(written: object) -> str:
    """Joins commands to shell text. Each command is shell text, or a list of words."""
    commands = cast("list[object]", written) if isinstance(written, list) else []
    return "\n".join(
        shlex.join(map(str, cast("list[object]", each))) if isinstance(each, list) else str(each) for each in commands
    )
