"""`up` after an `up` that was killed, on the real engine; and after faults of the rendered tree."""

from __future__ import annotations

import random
import shlex
import shutil
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.engine.clones import Clone
from tests.engine.conftest import Projects
from tests.file_system import mounted
from tests.stacks import STACKS

STACK = "one-server"
HISTORY = ("Previous", "StackReference")
"""Parts of the types of resources that differ between two updates even if the stack file is unchanged."""


def lasting(inputs: dict[str, Any]) -> dict[str, Any]:
    return {urn: value for urn, value in inputs.items() if not any(each in urn for each in HISTORY)}


@pytest.fixture
def clone(tmp_path: Path, engine: dict[str, str]) -> Clone:
    return Clone.make(tmp_path / "clone", STACK, STACKS[STACK])


def test_a_killed_up_leaves_no_engine_and_no_lock_and_loses_nothing(clone: Clone, rendered: Projects) -> None:
    clone.disturbed_up(40, signal.SIGKILL)
    assert clone.locks() == []
    clone.up()
    expected = rendered(STACK)
    assert clone.files() == {path: text for path, text in expected.files().items() if path != "plan.json"}

    before, manifests = clone.files(), clone.build / "manifests" / "1-manifest"
    shutil.rmtree(clone.build / "machines")
    (service, other, *_) = sorted(manifests.glob("v1-service-*.yaml"))
    service.write_text(service.read_text() + "# edited\n")
    other.unlink()
    told = clone.run("preview").output
    assert f"missing: build/{STACK}/machines/" in told
    assert "`make up STACK=one-server` writes them again" in told
    done = clone.up()
    assert "missing or changed since the last `up` and written again" in done.output
    assert "No changes" not in done.output
    assert clone.files() == before


def damage(clone: Clone, chance: random.Random) -> None:
    """Deletes, truncates or edits some files of the rendered tree."""
    files = sorted(path for area in ("manifests", "machines") for path in (clone.build / area).rglob("*"))
    files = [path for path in files if path.is_file()]
    for path in chance.sample(files, min(5, len(files))):
        match chance.choice(("delete", "cut", "edit", "empty")):
            case "delete":
                path.unlink()
            case "cut":
                path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
            case "edit":
                path.write_bytes(path.read_bytes() + b"# edited\n")
            case _:
                path.write_bytes(b"")


@pytest.mark.heavy
@pytest.mark.parametrize("seed", range(6))
def test_any_disturbed_up_is_completed_by_the_next(seed: int, clone: Clone, tmp_path: Path) -> None:
    """Kills the command at random moments, damages the tree, changes the stack: the next `up` completes it."""
    chance = random.Random(seed)  # noqa: S311 - a repeatable choice, not a secret
    for memory in (64, 96, 80):
        document = yaml.safe_load(clone.stack_file.read_text())
        document["config"]["quorate:servers"][0]["memory"] = memory
        clone.stack_file.write_text(yaml.safe_dump(document, sort_keys=False))
        number = chance.choice((signal.SIGKILL, signal.SIGHUP, signal.SIGTERM, signal.SIGINT))
        everything = number == signal.SIGINT or chance.random() < 0.3
        clone.disturbed_up(chance.choice((1, 5, 50, 150, 250)), number, everything=everything)
        damage(clone, chance)
    clone.up()
    undisturbed = Clone.make(tmp_path / "undisturbed", STACK, clone.stack_file)
    undisturbed.up()
    assert clone.files() == undisturbed.files()
    assert lasting(clone.inputs()).keys() == lasting(undisturbed.inputs()).keys()
    again = clone.up().output
    assert "No changes: all" in again
    assert "missing or changed" not in again


@pytest.mark.heavy
@pytest.mark.parametrize("room", [0, 800, 1064, 1200, 1800])
def test_an_up_on_a_full_disk_is_completed_when_there_is_room(room: int, clone: Clone, tmp_path: Path) -> None:
    """The disk has `room` KiB when the second `up` starts. A damaged state is restored as the message says."""
    disk = clone.root / "build"
    secret = (clone.build / ".root-secret").read_text()
    with mounted(disk, 64):
        clone.build.mkdir()
        (clone.build / ".root-secret").write_text(secret)
        clone.up()
        document = yaml.safe_load(clone.stack_file.read_text())
        document["config"]["quorate:servers"][0]["memory"] = 96
        clone.stack_file.write_text(yaml.safe_dump(document, sort_keys=False))
        filler = disk / ".filler"
        filler.write_bytes(b"\0" * (shutil.disk_usage(disk).free - room * 1024))
        full = clone.run("up")
        assert "Traceback" not in full.output
        assert full.code == 0 or "no space left on" in full.output.lower()
        assert full.code or room > 1064
        filler.unlink()
        done = clone.run("up")
        if "is damaged" in done.output:
            remedy = done.output.rstrip().splitlines()[-1]
            assert remedy.startswith("  cp ")
            subprocess.run(shlex.split(remedy), cwd=clone.root, check=True)
            done = clone.run("up")
        assert done.code == 0, done.output
        undisturbed = Clone.make(tmp_path / "undisturbed", STACK, clone.stack_file)
        undisturbed.up()
        assert clone.files() == undisturbed.files()
        assert lasting(clone.inputs()).keys() == lasting(undisturbed.inputs()).keys()
        assert "No changes: all" in clone.up().output
