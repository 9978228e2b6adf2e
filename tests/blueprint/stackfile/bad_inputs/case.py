"""The class Bad, a bad input with its message, and the functions that read such inputs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import yaml

from blueprint.architecture.loader import load_architecture
from blueprint.plan.planner import plan
from blueprint.problems import InvalidStackError
from blueprint.stackfile.loader import load_file
from blueprint.topology.place import place
from blueprint.topology.sections import read_topology
from blueprint.topology.shapes import TopologyError
from cluster.kubeconfig import read_kubeconfig
from console.errors import UserError
from tests.stacks import full_size, server

NAMES = {
    "stack": "Pulumi.test.yaml",
    "topology": "topology.yaml",
    "architecture": "own.yaml",
    "kubeconfig": "kubeconfig",
}


@dataclass(frozen=True)
class Bad:
    """A file that its reader must reject."""

    content: str | bytes | Callable[[Path], object]
    """Content of the file, or a function that creates it at a path."""
    said: str
    """Beginning of the only message about the file, without the path of its directory."""
    kind: Literal["stack", "topology", "architecture", "kubeconfig"] = "stack"
    files: Mapping[str, str | bytes] = field(default_factory=dict[str, str | bytes])
    """Further files in the same directory, by name."""
    messages: int = 1


def messages(bad: Bad, directory: Path) -> list[str]:
    """Writes the files into a directory, which must be the working directory, and returns what is said of them."""
    for name, content in {NAMES[bad.kind]: bad.content, **bad.files}.items():
        if callable(content):
            content(directory / name)
        else:
            (directory / name).write_bytes(content.encode() if isinstance(content, str) else content)
    return [message.replace(f"{directory}/", "") for message in _read(bad, directory / NAMES[bad.kind])]


def _read(bad: Bad, path: Path) -> list[str]:
    try:
        if bad.kind == "stack":
            plan(load_file(path))
        elif bad.kind == "architecture":
            load_architecture(str(path))
        elif bad.kind == "kubeconfig":
            read_kubeconfig(path)
        else:
            found = place(read_topology(path), ["node1", "node2", "a" * 63]).findings
            return [str(each) for each in found if each.severity == "error"]
    except TopologyError as error:
        return [str(each) for each in error.findings if each.severity == "error"]
    except InvalidStackError as error:
        return [str(problem) for problem in error.problems]
    except UserError as error:
        return [str(error)]
    return []


def stack(**changes: Any) -> str:
    """A stack file of architecture 100 with these keys changed."""
    config = {f"quorate:{key}": value for key, value in {**full_size("100"), **changes}.items()}
    return yaml.safe_dump({"config": config}, sort_keys=False, allow_unicode=True)


def one_more(**facts: Any) -> str:
    """A stack file with one more server, servers[4]."""
    extra = {**server("x1", ["compute"], "10.20.9.9"), **facts}
    return stack(servers=[*full_size("100")["servers"], extra])


def with_vm(**facts: Any) -> str:
    """A stack file with a virt host, servers[4], and its virtual machine."""
    vm = {"id": 0, "cpu": 4, "ram": 8, "address": "10.20.9.20", "roles": ["compute"], **facts}
    host = server("v1", ["virt"], "10.20.9.9", vms=[vm])
    return stack(servers=[*full_size("100")["servers"], host], features=["reduced-footprint"])
