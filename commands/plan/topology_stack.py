"""`quorate topology --to-stack`: writes the stack file of a Fuel-CCP topology.

A topology names nodes, and neither their addresses nor the masters, because Fuel-CCP required a running Kubernetes
cluster. So servers have placeholders. Placement stays in the topology, which the stack file names; its configuration
keys are settings of the stack file.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from ipaddress import IPv4Address
from pathlib import Path
from typing import Any

from blueprint import topology_settings
from blueprint.imports.placeholders import FIRST_ADDRESS, HARDWARE, MASTERS
from blueprint.stackfile.settings import Settings
from blueprint.topology import TopologyLine
from console.errors import UserError
from files import yaml_writer

_HEAD = """\
# A stack of a Fuel-CCP topology (docs/topology.md). Write your own servers: the names of nodes are the topology's, all
# other values are placeholders, as are the masters. The profile lab advises where production refuses.
"""


def stack_file(file: Path, nodes: Sequence[str], lines: Iterable[TopologyLine]) -> str:
    """Returns the text of a stack file that places services by a topology and has its configuration as settings.

    `nodes`: the names of the nodes. `lines`: what became of the topology's configuration keys. Raises UserError if a
    stack file of this project cannot name the topology.
    """
    path = Path(os.path.relpath(file))
    if ".." in path.parts:
        raise UserError(f"{file} is outside of this project, and a stack file names files inside it; copy it here")
    settings: dict[str, Any] = {"profile": "lab", "machines": "existing", "topology": path.as_posix()}
    settings |= topology_settings.tree(lines, str(Settings.model_fields["release"].default))
    settings["servers"] = [
        *_servers(MASTERS, ["master"], FIRST_ADDRESS),
        *_servers(nodes, [], FIRST_ADDRESS + len(MASTERS)),
    ]
    document = {"config": {f"quorate:{key}": value for key, value in settings.items()}}
    return _HEAD + yaml_writer.plain_document(document)


def _servers(names: Iterable[str], roles: list[str], first: IPv4Address) -> list[dict[str, Any]]:
    return [
        {"name": name, "address": str(first + place), "roles": roles, **HARDWARE} for place, name in enumerate(names)
    ]
