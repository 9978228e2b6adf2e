"""A stack file of 1,078 servers listed singly: larger than what Linux passes to a program in its environment."""

from __future__ import annotations

import base64
import hashlib
import json
from pathlib import Path

import yaml

from blueprint.stackfile.inventory import Machine, machines
from blueprint.stackfile.loader import load_file
from tests.engine.clones import Clone
from tests.stacks import STACKS

LARGEST_VARIABLE = 128 * 1024
"""Bytes of one environment variable on Linux (MAX_ARG_STRLEN)."""


def singly(machine: Machine) -> dict[str, object]:
    """A machine as an entry of its own."""
    key = b"\0\0\0\x0bssh-ed25519\0\0\0\x20" + hashlib.sha256(machine.name.encode()).digest()
    facts = {
        "name": machine.name,
        "address": machine.address,
        "roles": list(machine.roles),
        "pool": machine.pin,
        "cpu": machine.cpu,
        "memory": machine.memory,
        "rack": machine.rack,
        "hostKey": f"ssh-ed25519 {base64.b64encode(key).decode()}",
        "disks": [disk.model_dump() for disk in machine.disks],
    }
    return {key: value for key, value in facts.items() if value}


def test_servers_listed_singly_reach_the_program(tmp_path: Path, engine: dict[str, str]) -> None:
    document = yaml.safe_load(STACKS["ra1000"].read_text())
    document["config"]["quorate:servers"] = [singly(each) for each in machines(load_file(STACKS["ra1000"]))]
    file = tmp_path / "Pulumi.large.yaml"
    file.write_text(yaml.dump(document, Dumper=yaml.CSafeDumper, sort_keys=False))
    assert file.stat().st_size > 200_000
    assert len(json.dumps(document["config"]["quorate:servers"])) > LARGEST_VARIABLE

    clone = Clone.make(tmp_path / "clone", "large", file)
    done = clone.run("preview")
    assert done.code == 0, done.output
    assert "Argument list too long" not in done.output
    plan = json.loads((clone.build / "plan.json").read_text())
    assert len(plan["nodes"]) == 1078
