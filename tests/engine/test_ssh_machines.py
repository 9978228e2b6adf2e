"""A stack whose machines Quorate sets up over SSH, on the real engine. `make cloud` sets real machines up."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from blueprint.plan.planner import plan
from blueprint.stackfile.loader import load_file
from commands import stack
from commands.engine.machine_resources import without_machine
from commands.trials import lab_stack
from tests.engine.conftest import Done, FirstRun, FirstRuns, Projects, copied, open_project
from tests.shared import made_once
from tests.stacks import STACKS

HOST_KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAABAgMEBQYHCAkKCwwNDg8QERITFBUWFxgZGhscHR4f"
CHECKSUMS = "checksums"


@pytest.fixture(scope="module")
def live(tmp_path_factory: pytest.TempPathFactory, engine: dict[str, str]) -> FirstRun:
    """The first preview of the stack dev with the target live; no machine of it exists."""
    source = STACKS["dev"]

    def preview(directory: Path) -> None:
        keys = dict.fromkeys((node.name for node in plan(load_file(source)).nodes), HOST_KEY)
        document = stack.read_document(source)
        servers = lab_stack.with_host_keys(document["config"]["quorate:servers"], load_file(source), keys)
        document["config"] |= {stack.TARGET: "live", "quorate:servers": servers}
        written = directory / "dev.yaml"
        written.write_text("# a live stack\n" + yaml.safe_dump(document, sort_keys=False), encoding="utf-8")
        FirstRun.make(directory, open_project(directory / "project", "dev", engine, written), "preview")

    return FirstRun.read(made_once(tmp_path_factory, "live-machines", preview), "dev", engine)


def inputs(done: Done) -> dict[str, dict[str, Any]]:
    """Inputs of the resources that will be created, by name."""
    return {each["urn"].rpartition("::")[2]: each["new"].get("inputs", {}) for each in steps(done)}


def steps(done: Done) -> list[dict[str, Any]]:
    """The steps of a run, a resource each."""
    return [event["resourcePreEvent"]["metadata"] for event in done.events if "resourcePreEvent" in event]


def test_a_first_preview_needs_no_machine_and_names_each(live: FirstRun) -> None:
    found = inputs(live.done)
    planned = live.project.plan
    for node in planned.nodes:
        commands = [each["create"] for name, each in found.items() if name.endswith("-apply") and "create" in each]
        runs = [text for text in commands if f"/{node.name}/apply " in text]
        # Masters are started first, because etcd waits for a majority.
        started = [text for text in runs if text.endswith(" --before join-etcd")]
        assert (len(runs), len(started)) == ((2, 1) if node in planned.masters else (1, 0)), node.name
        assert all(text.startswith(f"sh quorate/machines/{node.name}/apply --expect ") for text in runs)
        left = [each["delete"] for each in found.values() if f"/{node.name}/leave " in each.get("delete", "")]
        (owner,) = {text.rpartition(" ")[2] for text in runs if " --resource " in text}
        assert left == [f"sh quorate/machines/{node.name}/leave --resource {owner}"], "one resource takes it out"
    resources = [{"urn": each["urn"], "type": each["type"]} for each in steps(live.done)]
    names = [node.name for node in planned.nodes]
    for node in planned.nodes:
        _, gone = without_machine({"deployment": {"resources": resources}}, node.name, names, [])
        runs = {name for name, each in found.items() if f"/{node.name}/apply " in each.get("create", "")}
        assert {urn.rpartition("::")[2] for urn in gone} == runs | {run.replace("-apply", "-files") for run in runs}


def test_both_targets_deliver_the_same_files(live: FirstRun, rendered: Projects) -> None:
    """Byte for byte, and each machine's directory has the checksums of its files."""
    mine = live.project.files("machines")
    assert {path: text for path, text in mine.items() if not path.endswith(f"/{CHECKSUMS}")} == rendered("dev").files(
        "machines"
    )
    for directory in (live.project.build / "machines").iterdir():
        subprocess.run(["sha256sum", "--check", "--quiet", CHECKSUMS], cwd=directory, check=True)
    assert not any("PRIVATE KEY" in text for text in mine.values())


def test_a_file_that_left_a_machine_leaves_its_directory(live: FirstRun, tmp_path: Path) -> None:
    project = copied(live.project, tmp_path / "project")
    stray = project.build / "machines" / "master1" / "root" / "etc" / "stray" / "file"
    stray.parent.mkdir(parents=True)
    stray.touch()
    assert project.run("preview").code == 0
    assert not stray.parent.exists()


def violations(done: Done) -> set[tuple[str, str]]:
    """The rules that a run reports, with the names of the resources."""
    events = (event["policyEvent"] for event in done.events if "policyEvent" in event)
    return {(each["policyName"], each.get("resourceUrn", "").rpartition("::")[2]) for each in events}


def test_a_first_preview_is_judged_as_the_rendered_stack_is(live: FirstRun, first_preview: FirstRuns) -> None:
    """Although Pulumi knows no outputs of the objects before the masters run."""
    assert violations(live.done) == violations(first_preview("dev").done)
