"""Data types of an import: what each line of another deployer's file became, and the servers in it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from blueprint.topology import StackSetting

ImportFate = Literal["becomes", "same", "placeholder", "left out", "unknown"]
"""What became of a part of the file, in the order of the report."""


@dataclass(frozen=True)
class ImportLine:
    """What a line, a group or a key of the file became."""

    key: str
    """The line, such as `[control]`, `node1.ansible_host` or `spec.size`."""
    fate: ImportFate
    """`placeholder`: the file does not have what a stack needs. `same`: every stack has it, without a setting."""
    text: str
    """What it became, or why it did not and what to write instead. Contains no secret."""
    settings: tuple[StackSetting, ...] = ()


@dataclass(frozen=True)
class ReadFile:
    """What a file gives to a stack, before the stack is checked."""

    servers: tuple[dict[str, object], ...]
    """Entries of quorate:servers."""
    fixed: dict[str, object] = field(default_factory=dict[str, object])
    """Settings that every stack of such a file has, such as `machines: existing`."""
    lines: tuple[ImportLine, ...] = ()
