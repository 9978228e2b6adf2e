"""Puts programs of a Debian root into a machine of a test bed that has the host's root."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from trials.services.testbed import ServiceMachine


def borrow(machine: ServiceMachine, root: Path, programs: Mapping[str, str]) -> None:
    """Puts programs on the machine's PATH, which run with the libraries of their own root.

    `programs`: by the command, the path of the program in the root; arguments that come first may follow it.
    """
    libraries = f"{root}/usr/lib/x86_64-linux-gnu:{root}/lib/x86_64-linux-gnu"
    for command, program in programs.items():
        words = f'exec {root}/lib64/ld-linux-x86-64.so.2 --library-path {libraries} {root}/{program} "$@"'
        machine.write(f"/usr/local/bin/{command}", f"#!/bin/sh\n{words}\n", mode="0755")
