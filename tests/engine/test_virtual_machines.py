"""A live stack whose virtual machines Quorate makes, on the real engine. tests/trials/machines makes real ones."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

import contract
from blueprint.hypervisor_types import SYSTEM_CONTAINERS
from blueprint.plan.planner import plan
from blueprint.stackfile.loader import load_file
from commands import stack
from commands.trials import lab_stack
from console.errors import UserError
from console.progress import Reporter
from policy.facts.machines.host_commands import COPY_TO_REMOTE, REMOTE
from tests import host_programs
from tests.engine.conftest import PACK, Project, open_project
from tests.engine.test_ssh_machines import HOST_KEY, inputs
from tests.shared import made_once
from tests.stacks import ROOT, STACKS
from toolchain import libvirt_provider
from toolchain.engine import installed

IMAGE, ARCHIVE = b"QFI\xfb an image", b"\x1f\x8b an archive"
KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAABAgMEBQYHCAkKCwwNDg8QERITFBUWFxgZGhscHR4f deployer"


@pytest.fixture
def live(tmp_path: Path, engine: dict[str, str]) -> Project:
    """The stack dev with the target live; no virt host of it exists."""
    return made_by_libvirt(tmp_path, engine)


def made_by_libvirt(directory: Path, engine: dict[str, str]) -> Project:
    host_programs.require(libvirt_provider.HELPERS, [*libvirt_provider.HELPERS.values()])
    try:
        libvirt_provider.ensure(installed(ROOT), Reporter())
    except UserError as reason:
        pytest.skip(str(reason))
    return live_project(directory, engine, "image", IMAGE)


@pytest.fixture(params=SYSTEM_CONTAINERS)
def containers(tmp_path: Path, engine: dict[str, str], request: pytest.FixtureRequest) -> Project:
    """The same with system containers."""
    project = live_project(tmp_path, engine, "rootFilesystem", ARCHIVE)
    document = yaml.safe_load(project.stack_file.read_text(encoding="utf-8"))
    for each in document["config"]["quorate:servers"]:
        each["hypervisor"] = request.param
    project.stack_file.write_text(yaml.safe_dump(document, sort_keys=False), encoding="utf-8")
    return project


def live_project(tmp_path: Path, engine: dict[str, str], key: str, content: bytes) -> Project:
    """The stack dev with the target live, whose machines start from a file with this content."""
    image = tmp_path / "image"
    image.write_bytes(content)
    source = STACKS["dev"]
    keys = dict.fromkeys((node.name for node in plan(load_file(source)).nodes), HOST_KEY)
    document = stack.read_document(source)
    servers = lab_stack.with_host_keys(document["config"]["quorate:servers"], load_file(source), keys)
    document["config"] |= {
        stack.TARGET: "live",
        "quorate:servers": [
            {**server, "vms": [{key: each[key] for key in each if key != "hostKey"} for each in server["vms"]]}
            for server in servers
        ],
        "quorate:virt": {
            key: {"source": str(image), "sha256": hashlib.sha256(content).hexdigest()},
            "authorizedKeys": [KEY],
        },
    }
    written = tmp_path / "dev.yaml"
    written.write_text("# a live stack\n" + yaml.safe_dump(document, sort_keys=False), encoding="utf-8")
    return open_project(tmp_path / "project", "dev", engine, written)


def test_a_first_preview_needs_no_virt_host_and_shows_every_machine(live: Project) -> None:
    done = live.run("preview", *PACK)
    assert done.code == 0, done.output
    found = inputs(done)
    for node in live.plan.nodes:
        if node.virtual:
            own = f"cloud-{node.server}-{node.name}"
            assert found[f"{own}-domain"]["name"] == node.name
            assert found[f"{own}-disk"]["size"] == (node.machine.vm.disk if node.machine.vm else 0) * 1024**3
            assert f"<name>{node.name}</name>" in found[f"{own}-definition"]["definition"]
    assert "PRIVATE KEY" not in done.output


def test_a_preview_of_system_containers_needs_no_libvirt(containers: Project) -> None:
    done = containers.run("preview", *PACK)
    assert done.code == 0, done.output
    assert "PRIVATE KEY" not in done.output
    found = inputs(done)
    for node in containers.plan.nodes:
        if node.virtual:
            own = f"cloud-{node.server}-{node.name}"
            assert found[f"{own}-container"]["create"].startswith(f"sh -s make {node.name} {node.machine.hypervisor} ")
            assert (f"{own}-definition" in found) == (node.machine.hypervisor == "lxc")
    assert not [name for name in found if name.endswith(("-domain", "-libvirt")) and "-openstack-" not in name]


@pytest.fixture(scope="module")
def states(tmp_path_factory: pytest.TempPathFactory, engine: dict[str, str]) -> dict[str, Any]:
    """The states that a first update of the stack would make, by URN."""

    def preview(directory: Path) -> None:
        done = made_by_libvirt(directory, engine).run("preview", "--json")
        assert done.code == 0, done.output
        (directory / "preview.json").write_text(done.output[done.output.index("{") :], encoding="utf-8")

    text = (made_once(tmp_path_factory, "live-virtual-machines", preview) / "preview.json").read_text(encoding="utf-8")
    return {step["urn"]: step["newState"] for step in json.loads(text)["steps"]}


def test_machines_restart_one_after_the_other_before_anything_else_changes(states: dict[str, Any]) -> None:
    definitions = {urn for urn, state in states.items() if state["type"] == contract.DOMAIN_DEFINITION}
    assert len(definitions) == sum(node.virtual for node in plan(load_file(STACKS["dev"])).nodes)
    before = {urn: definitions & needed(states, urn) for urn in states}
    assert sorted(len(before[urn]) for urn in definitions) == list(range(len(definitions))), "two may restart at once"
    changed = [urn for urn, state in states.items() if state["type"] in (REMOTE, COPY_TO_REMOTE)]
    machines = [urn for urn in changed if not urn.endswith("-storage")]
    assert machines
    early = [urn.rpartition("::")[2] for urn in machines if len(before[urn]) < len(definitions)]
    assert early == []


def test_a_machine_is_deleted_before_its_virtual_machine(states: dict[str, Any]) -> None:
    """Pulumi orders deletions by direct dependencies and parents, among the resources that it deletes."""
    for node in plan(load_file(STACKS["dev"])).nodes:
        if node.virtual:
            own = f"cloud-{node.server}-{node.name}"
            deleted = {urn: state for urn, state in states.items() if _is_of(urn, own)}
            (apply,) = [urn for urn in deleted if urn.endswith(f"::{own}-apply")]
            (domain,) = [urn for urn in deleted if urn.endswith(f"::{own}-domain")]
            assert domain in needed(deleted, apply)


def _is_of(urn: str, own: str) -> bool:
    name = urn.rpartition("::")[2]
    return name == own or name.startswith(f"{own}-")


def needed(states: Mapping[str, Any], urn: str) -> set[str]:
    """Returns the resources that must exist before a resource: its parent's and its own dependencies, recursively.

    Only those in `states` count.
    """
    found: set[str] = set()
    waiting = [urn]
    while waiting:
        state = states[waiting.pop()]
        for each in (*state.get("dependencies", ()), state.get("parent", "")):
            if each in states and each not in found:
                found.add(each)
                waiting.append(each)
    return found
