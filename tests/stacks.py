"""Stacks for tests: small builders of settings, so that a test shows only what it is about."""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import yaml

from blueprint.stackfile.loader import from_pulumi, load_file
from blueprint.stackfile.settings import Settings

ROOT = Path(__file__).parent.parent

SIZES = {"100": 6, "300": 9, "500": 11, "1000": 30}
"""Architecture to its dedicated nodes (004, 5.3.16 and 5.4.16)."""

STACKS = {
    "dev": ROOT / "Pulumi.dev.yaml",
    "prod": ROOT / "Pulumi.prod.yaml",
    **{f"ra{size}": ROOT / "examples" / f"ra{size}.yaml" for size in ("100", "500", "1000")},
    **{
        name: ROOT / "examples" / f"{name}.yaml"
        for name in ("one-server", "three-servers", "two-computes", "two-computes-ovn", "two-servers")
    },
}


SOURCES = (
    "Pulumi.yaml",
    *sorted(path.name for path in ROOT.glob("*.py")),
    *sorted(path.parent.name for path in ROOT.glob("*/__init__.py") if path.parent.name != "tests"),
)
"""What a copy of the project needs to run: its top-level modules and packages, without the tests."""


HALF_WRITTEN = shutil.ignore_patterns("*.pyc.*")
"""Leaves out bytecode that another process is writing. Finished bytecode is valid in a copy: it names no path."""


def copy_sources(into: Path) -> None:
    """Copies what the project needs to run into a directory, with the bytecode of what has run already."""
    for name in SOURCES:
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, into / name, ignore=HALF_WRITTEN)
        else:
            shutil.copy(ROOT / name, into)


def server(name: str, roles: Sequence[str], address: str, **facts: Any) -> dict[str, Any]:
    """A server of the reference hardware (004, 5.3.3)."""
    return {"name": name, "roles": list(roles), "address": address, "cpu": 24, "memory": 256, **facts}


def full_size(architecture: str, computes: int = 3, controllers: int | None = None, **more: Any) -> dict[str, Any]:
    """A production stack on physical servers with just what the architecture needs."""
    count = SIZES[architecture] if controllers is None else controllers
    return {
        "profile": "production",
        "architecture": architecture,
        "servers": [
            server("master[1-3]", ["master"], "10.20.0.11", rack="r[1-3]"),
            server(f"ctl[01-{count:02}]", ["controller"], "10.20.0.31", rack="r[1-3]"),
            server("stor[1-3]", ["storage"], "10.20.1.1"),
            server(f"cmp[1-{computes}]", ["compute"], "10.20.4.1"),
        ],
        **more,
    }


def external_ceph(**changes: Any) -> dict[str, Any]:
    """The key `ceph` of a stack whose Ceph cluster another team runs, as source 004, 2.3.1 has it."""
    accounts = {name: {"key": {"environment": f"{name.upper()}_KEY"}} for name in ("glance", "cinder")}
    cluster = {
        "fsid": "afca8524-2c47-4b81-a0b7-2300e62212f9",
        "monitors": ["10.90.0.2", "10.90.0.3", "10.90.0.4"],
        "accounts": accounts,
    }
    return {"external": {**cluster, **changes}}


def without_storage(architecture: str, **more: Any) -> dict[str, Any]:
    """A production stack without storage nodes, for an external Ceph."""
    whole = full_size(architecture, ceph=external_ceph(), **more)
    return {**whole, "servers": [each for each in whole["servers"] if "storage" not in each["roles"]]}


def two_brokers(**first: Any) -> dict[str, Any]:
    """Keys of a stack with two clusters of RabbitMQ beside its own: for Neutron's calls, and for notifications."""
    events = {"mapping": {"notifications": "events-rabbitmq"}}
    return {
        "services": {
            "neutron-rabbitmq": {"definition": "rabbitmq", **first},
            "events-rabbitmq": {"definition": "rabbitmq"},
        },
        "projects": {
            "neutron": {"mapping": {"rpc": "neutron-rabbitmq", "notifications": "events-rabbitmq"}},
            "nova": events,
            "cinder": events,
        },
    }


def own_galera(**own: Any) -> dict[str, Any]:
    """Keys of a stack with a cluster of Galera beside its own, for Neutron and Heat."""
    mapped = {"mapping": {"database": "neutron-mysqld"}}
    return {
        "services": {"neutron-mysqld": {"definition": "mysqld", **own}},
        "projects": {"neutron": mapped, "heat": mapped},
    }


def two_galeras(**first: Any) -> dict[str, Any]:
    """Keys of a stack with two clusters of Galera beside its own: that of `own_galera`, and one for Nova."""
    stack = own_galera(**first)
    stack["services"]["nova-mysqld"] = {"definition": "mysqld"}
    stack["projects"]["nova"] = {"mapping": {"database": "nova-mysqld"}}
    return stack


_DUMPER: Any = getattr(yaml, "CSafeDumper", yaml.SafeDumper)


def write(directory: Path, config: dict[str, Any], name: str = "Pulumi.test.yaml") -> Path:
    """Writes these settings to a stack file, and returns the path."""
    path = directory / name
    document = {"config": {f"quorate:{key}": value for key, value in config.items()}}
    path.write_text(yaml.dump(document, Dumper=_DUMPER, sort_keys=False), encoding="utf-8")
    return path


def settings(directory: Path, config: dict[str, Any]) -> Settings:
    """Returns the settings after writing them to a stack file and reading the file."""
    return load_file(write(directory, config))


def parsed(config: dict[str, Any]) -> Settings:
    """Returns the parsed settings without writing a file, for tests with many stacks."""
    texts = {key: value if isinstance(value, str) else json.dumps(value) for key, value in config.items()}
    return from_pulumi({f"quorate:{key}": text for key, text in texts.items()}, set())
